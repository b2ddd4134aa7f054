/* SPDX-License-Identifier: MIT */
/*
 * Input: a tokenizer.json, a zero byte, a text. Starting with the zero byte: the text alone, with a
 * good tokenizer that must then give it back. Nothing may crash, and what is promised about ids and
 * offsets must hold.
 */
#include "tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int kept)
{
    if (!kept)
        abort();
}

/* Vocabulary: the 256 bytes and two words. */
static char *good_file(void)
{
    static const char head[] = "{\"added_tokens\":[{\"id\":300,\"content\":\"<s>\",\"special\":"
                               "true},{\"id\":301,\"content\":\"<s>x\"}],"
                               "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{"
                               "\"type\":\"Split\",\"pattern\":{\"Regex\":"
                               "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{"
                               "L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+"
                               "[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"
                               "\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\","
                               "\"add_prefix_space\":false,\"use_regex\":false}]},\"model\":{"
                               "\"type\":\"BPE\",\"merges\":[\"a b\",\"ab a\"],"
                               "\"vocab\":{";
    hg_bytes text = {NULL, 0, 0};
    uint32_t byte;

    promise(hg_bytes_append(&text, head, strlen(head)));
    for (byte = 0; byte < 256; byte++) {
        char spelling[4], number[4];
        uint32_t length = hg_utf8_put(hg_byte_spelling(byte), spelling);
        promise(hg_bytes_append(&text, "\"", 1));
        if (byte == '"' || byte == '\\')
            promise(hg_bytes_append(&text, "\\", 1));
        promise(hg_bytes_append(&text, spelling, length));
        promise(hg_bytes_append(&text, "\":", 2));
        number[0] = (char)('0' + byte / 100);
        number[1] = (char)('0' + byte / 10 % 10);
        number[2] = (char)('0' + byte % 10);
        length = byte >= 100 ? 0 : byte >= 10 ? 1 : 2; /* JSON has no leading zeros */
        promise(hg_bytes_append(&text, number + length, 3 - length));
        promise(hg_bytes_append(&text, ",", 1));
    }
    promise(
        hg_bytes_append(&text, "\"ab\":256,\"aba\":257}}}", sizeof("\"ab\":256,\"aba\":257}}}")));
    return text.data;
}

static void use(const hg_tokenizer *tokenizer, const char *text, size_t bytes, int gives_back)
{
    hg_encoding *encoding;
    hg_labels *labels;
    char *back;
    size_t back_bytes;
    uint32_t i;
    hg_result res = hg_tokenizer_encode(tokenizer, text, bytes, 0, &encoding);

    promise(res == HG_OK || encoding == NULL);
    promise((res == HG_ERR_TEXT) == (hg_utf8_check(text, bytes) < bytes));
    promise(res == HG_OK || !gives_back || res == HG_ERR_TEXT);
    if (res != HG_OK)
        return;
    for (i = 0; i < encoding->count; i++) {
        promise(hg_tokenizer_token(tokenizer, encoding->ids[i]) != NULL);
        promise(encoding->byte_begin[i] <= encoding->byte_end[i] && encoding->byte_end[i] <= bytes);
        promise(!gives_back || encoding->byte_begin[i] == (i ? encoding->byte_end[i - 1] : 0));
    }
    promise(hg_tokenizer_decode(tokenizer, encoding->ids, encoding->count, 0, &back, &back_bytes) ==
            HG_OK);
    promise(hg_utf8_check(back, back_bytes) == back_bytes);
    promise(!gives_back || (back_bytes == bytes && memcmp(back, text, bytes) == 0));
    promise(hg_labels_create(tokenizer, encoding->ids, encoding->count, &labels) == HG_OK);
    for (i = 0; i < labels->count; i++)
        promise(labels->text[i][0] != '\0' &&
                hg_utf8_check(labels->text[i], strlen(labels->text[i])) == strlen(labels->text[i]));
    hg_labels_free(&labels);
    hg_text_free(&back);
    hg_encoding_free(&encoding);
}

static hg_result open_text(const char *text, size_t bytes, hg_tokenizer **out)
{
    hg_tokenizer_params params = {sizeof(params), "fuzz", 0, {NULL, NULL, HG_LOG_ERROR}};
    hg_result res = hg_tokenizer_open_text(&params, text, bytes, out);

    promise((res == HG_OK) == (*out != NULL));
    promise(res == HG_OK || res == HG_ERR_FILE);
    return res;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char sample[] = "the <|x|> caf\xC3\xA9 e\xCC\x81 12 \n\n x";
    static hg_tokenizer *good; /* opened once */
    const char *text = (const char *)data;
    const char *zero = size ? memchr(text, 0, size) : NULL;
    size_t file_bytes = zero ? (size_t)(zero - text) : size;
    hg_tokenizer *tokenizer;

    if (!good) {
        char *file = good_file();
        promise(open_text(file, strlen(file), &good) == HG_OK);
        free(file);
    }
    if (zero == text && size) {
        use(good, text + 1, size - 1, 1);
        return 0;
    }
    open_text(text, file_bytes, &tokenizer);
    if (tokenizer && zero)
        use(tokenizer, zero + 1, size - file_bytes - 1, 0);
    else if (tokenizer)
        use(tokenizer, sample, sizeof(sample) - 1, 0);
    hg_tokenizer_close(&tokenizer);
    return 0;
}
