/* SPDX-License-Identifier: MIT */
/*
 * json_value FILE [PATH]: checks that a file is one JSON text in UTF-8, and prints the value at
 * PATH ("maps.0.layer"; "a.#" is the number of members). Ends with 1 when it is not, or when there
 * is no such value.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 16, used = 0, count;
    char *text = malloc(room);

    while (file && text && (count = fread(text + used, 1, room - used - 1, file)) > 0) {
        used += count;
        if (room - used < 2)
            text = realloc(text, room *= 2);
    }
    if (file)
        fclose(file);
    if (!file || !text) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    *bytes = used;
    return text;
}

static int is_utf8(const char *text, size_t bytes)
{
    const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t left = (utf8proc_ssize_t)bytes;

    while (left > 0) {
        utf8proc_int32_t codepoint;
        utf8proc_ssize_t count = utf8proc_iterate(at, left, &codepoint);

        /* cJSON lets raw control characters pass; JSON does not. */
        if (count <= 0 || (codepoint < 0x20 && codepoint != '\n'))
            return 0;
        at += count;
        left -= count;
    }
    return 1;
}

static const cJSON *follow(const cJSON *value, const char *path, int *counted)
{
    while (value && *path) {
        size_t length = strcspn(path, ".");
        char name[128];

        if (length >= sizeof(name))
            return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        if (strcmp(name, "#") == 0) {
            *counted = 1;
            return value;
        }
        value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, atoi(name))
                                     : cJSON_GetObjectItemCaseSensitive(value, name);
        path += length + (path[length] == '.');
    }
    return value;
}

int main(int argc, char **argv)
{
    size_t bytes = 0;
    char *text = argc > 1 ? read_file(argv[1], &bytes) : NULL;
    const char *end = NULL;
    const cJSON *value = NULL;
    cJSON *root = NULL;
    int counted = 0;

    if (text && is_utf8(text, bytes))
        root = cJSON_ParseWithLengthOpts(text, bytes + 1, &end, 1);
    if (!root)
        fprintf(stderr, "json_value: %s is no JSON\n", argc > 1 ? argv[1] : "nothing");
    else
        value = follow(root, argc > 2 ? argv[2] : "", &counted);
    if (value && argc > 2) {
        char *printed = cJSON_PrintUnformatted(value);

        if (counted)
            printf("%d\n", cJSON_GetArraySize(value));
        else
            puts(cJSON_IsString(value) ? value->valuestring : printed);
        cJSON_free(printed);
    }
    cJSON_Delete(root);
    free(text);
    return value ? 0 : 1;
}
