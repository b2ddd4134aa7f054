/* SPDX-License-Identifier: MIT */
/*
 * share MODEL [DEVICE]: how much of their attention the heads of each layer give to the first token
 * of a short text. The shortest whole program with headgate; valid as C11 and as C++17. Build: cc
 * share.c $(pkg-config --cflags --libs headgate)
 */
#include <headgate/headgate.h>
#include <stdio.h>

static void say(void *user, hg_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)fprintf(stderr, "share: %s\n", line);
}

int main(int argc, char **argv)
{
    const char text[] = "It is a truth universally acknowledged";
    hg_log log = {say, NULL, HG_LOG_WARNING};
    hg_engine *engine = NULL;
    hg_checkpoint *files = NULL;
    hg_model *model = NULL;
    hg_session *session = NULL;
    hg_tokenizer *tokenizer = NULL;
    hg_encoding *tokens = NULL;
    hg_engine_params device = {sizeof device};
    hg_checkpoint_params folder = {sizeof folder};
    hg_model_params upload = {sizeof upload};
    hg_session_params room = {sizeof room};
    hg_tokenizer_params words = {sizeof words};
    hg_model_info info = {sizeof info};
    hg_layer_metrics metrics;

    device.log = folder.log = upload.log = room.log = words.log = log;
    device.selector = argc > 2 ? argv[2] : "";
    words.path = folder.path = argc > 1 ? argv[1] : ".";
    room.max_tokens = 64;
    room.capture = HG_CAPTURE_ATTENTION;
    if (hg_engine_create(&device, &engine) == HG_OK &&
        hg_checkpoint_open(&folder, &files) == HG_OK &&
        hg_model_load(engine, files, &upload, &model) == HG_OK &&
        hg_tokenizer_open(&words, &tokenizer) == HG_OK &&
        hg_tokenizer_encode(tokenizer, text, sizeof text - 1, 0, &tokens) == HG_OK &&
        hg_session_create(model, &room, &session) == HG_OK &&
        hg_session_eval(session, tokens->ids, tokens->count) == HG_OK) {
        hg_model_describe(model, &info);
        for (uint32_t layer = 0;
             layer < info.layers && hg_capture_metrics(session, layer, &metrics, NULL) == HG_OK;
             layer++) {
            (void)printf("layer %u: %.4f\n", layer + 1, metrics.first_token_share);
        }
        (void)printf("uniform: %.4f\n", hg_uniform_share(tokens->count, 0));
    }
    hg_encoding_free(&tokens);
    hg_tokenizer_close(&tokenizer);
    hg_session_free(&session);
    hg_model_free(&model);
    hg_checkpoint_close(&files);
    hg_engine_destroy(&engine);
    return info.layers == 0;
}
