/* SPDX-License-Identifier: MIT */
/* Logits and maps of a session, band by band, into sums. */
#include "exact_hash.h"

#include "interrupt.h"
#include "message.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { BAND_FLOATS = 1 << 20 };

typedef struct hash_state {
    hg_app *app;
    const hg_model_info *info;
    hg_session *session;
    uint64_t tokens;
    float *buffer;
    EVP_MD_CTX *part, *maps, *all; /* part: the logits, then one layer */
    uint64_t done, total;          /* in floats, for the progress */
} hash_state;

static hg_result fail_sum(void)
{
    return hg_message_fail(HG_ERR_HOST_MEMORY,
                           "libcrypto cannot compute a sha256 (out of memory?)");
}

/* Bytes have one order in the hash, whatever the processor's. */
static void order_bytes(float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint8_t bytes[4];
        uint32_t word;

        memcpy(&word, &values[i], 4);
        for (uint32_t b = 0; b < 4; b++)
            bytes[b] = (uint8_t)(word >> 8 * b);
        memcpy(&values[i], bytes, 4);
    }
}

static hg_result add_floats(hash_state *h, uint64_t count, int is_map)
{
    const size_t bytes = (size_t)count * sizeof(float);

    order_bytes(h->buffer, count);
    if (!EVP_DigestUpdate(h->part, h->buffer, bytes) ||
        !EVP_DigestUpdate(h->all, h->buffer, bytes) ||
        (is_map && !EVP_DigestUpdate(h->maps, h->buffer, bytes)))
        return fail_sum();
    h->done += count;
    hg_meter_step(&h->app->meter, "hash", h->done, h->total);
    return hg_interrupt_check();
}

static hg_result end_sum(EVP_MD_CTX *sum, char hex[HG_SHA256_TEXT])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];

    if (!EVP_DigestFinal_ex(sum, bytes, NULL))
        return fail_sum();
    hg_sha256_text(bytes, hex);
    return HG_OK;
}

static hg_result add_logits(hash_state *h, char hex[HG_SHA256_TEXT])
{
    hg_result res = HG_OK;

    if (!EVP_DigestInit_ex(h->part, EVP_sha256(), NULL))
        return fail_sum();
    for (uint64_t token = 0; token < h->tokens; token++) {
        HG_TRY(hg_session_logits(h->session, (uint32_t)token, h->buffer));
        HG_TRY(add_floats(h, h->info->vocab, 0));
    }
    res = end_sum(h->part, hex);
out:
    return res;
}

static hg_result add_layer(hash_state *h, uint32_t layer, char hex[HG_SHA256_TEXT])
{
    const uint64_t rows = BAND_FLOATS / h->tokens ? BAND_FLOATS / h->tokens : 1;
    hg_map_params params = {.struct_size = sizeof(params), .layer = layer, .head_count = 1};
    hg_result res = HG_OK;

    if (!EVP_DigestInit_ex(h->part, EVP_sha256(), NULL))
        return fail_sum();
    for (uint32_t head = 0; head < h->info->heads; head++) {
        for (uint64_t first = 0; first < h->tokens; first += rows) {
            const uint64_t count = h->tokens - first < rows ? h->tokens - first : rows;

            params.head_first = head;
            params.query_first = (uint32_t)first;
            params.query_count = (uint32_t)count;
            HG_TRY(hg_capture_map(h->session, &params, h->buffer));
            HG_TRY(add_floats(h, count * h->tokens, 1));
        }
    }
    res = end_sum(h->part, hex);
out:
    return res;
}

static hg_result open_state(hash_state *h)
{
    uint64_t floats = h->tokens > BAND_FLOATS ? h->tokens : BAND_FLOATS;

    if (h->info->vocab > floats)
        floats = h->info->vocab;
    h->total = h->tokens * h->info->vocab +
               (uint64_t)h->info->layers * h->info->heads * h->tokens * h->tokens;
    h->buffer = malloc((size_t)floats * sizeof(float));
    h->part = EVP_MD_CTX_new();
    h->maps = EVP_MD_CTX_new();
    h->all = EVP_MD_CTX_new();
    if (!h->buffer || !h->part || !h->maps || !h->all)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    if (!EVP_DigestInit_ex(h->maps, EVP_sha256(), NULL) ||
        !EVP_DigestInit_ex(h->all, EVP_sha256(), NULL))
        return fail_sum();
    return HG_OK;
}

hg_result hg_exact_hash_make(hg_app *app, const hg_model_info *info, hg_session *session,
                             hg_exact_hash *out)
{
    hash_state h = {
        .app = app, .info = info, .session = session, .tokens = hg_session_tokens(session)};
    hg_result res;

    memset(out, 0, sizeof(*out));
    out->layer_count = info->layers;
    out->layers = calloc((size_t)info->layers + 1, sizeof(*out->layers));
    if (!out->layers) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        goto out;
    }
    HG_TRY(open_state(&h));
    HG_TRY(add_logits(&h, out->logits));
    for (uint32_t layer = 0; layer < info->layers; layer++)
        HG_TRY(add_layer(&h, layer, out->layers[layer]));
    HG_TRY(end_sum(h.maps, out->maps));
    HG_TRY(end_sum(h.all, out->all));
out:
    hg_meter_stop(&app->meter);
    EVP_MD_CTX_free(h.all);
    EVP_MD_CTX_free(h.maps);
    EVP_MD_CTX_free(h.part);
    free(h.buffer);
    if (res != HG_OK)
        hg_exact_hash_free(out);
    return res;
}

void hg_exact_hash_free(hg_exact_hash *hash)
{
    free(hash->layers);
    memset(hash, 0, sizeof(*hash));
}
