/* SPDX-License-Identifier: MIT */
/*
 * See tensors.h. The header is parsed with cJSON; offsets are checked against the file all the
 * same, because a file that was cut off must give a readable message and not a crash.
 */
#include "tensors.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hg_test_tensors {
    char *bytes;
    size_t size_bytes;
    const char *data; /* where offset 0 lies, inside bytes */
    size_t data_bytes;
    cJSON *header;
};

char *hg_test_file_read(const char *path, size_t *size_bytes)
{
    char *bytes = NULL;
    long size = 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_SET) != 0) {
        goto out;
    }
    bytes = malloc((size_t)size + 1);
    if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes) {
        bytes[size] = '\0';
        if (size_bytes) {
            *size_bytes = (size_t)size;
        }
    }
out:
    (void)fclose(file);
    return bytes;
}

hg_test_tensors *hg_test_tensors_read(const char *path)
{
    uint64_t header_bytes = 0;
    hg_test_tensors *tensors = calloc(1, sizeof *tensors);
    if (!tensors) {
        return NULL;
    }
    tensors->bytes = hg_test_file_read(path, &tensors->size_bytes);
    if (!tensors->bytes || tensors->size_bytes < 8) {
        goto broken;
    }
    memcpy(&header_bytes, tensors->bytes, 8);
    if (header_bytes > tensors->size_bytes - 8) {
        goto broken;
    }
    tensors->header = cJSON_ParseWithLength(tensors->bytes + 8, (size_t)header_bytes);
    if (!tensors->header) {
        goto broken;
    }
    tensors->data = tensors->bytes + 8 + header_bytes;
    tensors->data_bytes = tensors->size_bytes - 8 - (size_t)header_bytes;
    return tensors;
broken:
    (void)fprintf(stderr, "%s: missing, or no safetensors file\n", path);
    hg_test_tensors_free(tensors);
    return NULL;
}

void hg_test_tensors_free(hg_test_tensors *tensors)
{
    if (tensors) {
        cJSON_Delete(tensors->header);
        free(tensors->bytes);
        free(tensors);
    }
}

size_t hg_test_tensors_count(const hg_test_tensors *tensors, const char *name, uint32_t *shape)
{
    size_t count = 1;
    int rank = 0;
    const cJSON *size = NULL;
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(tensors->header, name);
    if (!entry) {
        return 0;
    }
    for (int axis = 0; shape && axis < 4; axis++) {
        shape[axis] = 1;
    }
    cJSON_ArrayForEach(size, cJSON_GetObjectItemCaseSensitive(entry, "shape"))
    {
        count *= (size_t)size->valuedouble;
        if (shape && rank < 4) {
            shape[rank++] = (uint32_t)size->valuedouble;
        }
    }
    return count;
}

const char *hg_test_tensors_bytes(const hg_test_tensors *tensors, const char *name,
                                  const char *dtype, size_t item_bytes)
{
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(tensors->header, name);
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "dtype"));
    size_t bytes = hg_test_tensors_count(tensors, name, NULL) * item_bytes;
    size_t begin = 0;
    if (!type || strcmp(type, dtype) != 0 || cJSON_GetArraySize(offsets) != 2) {
        return NULL;
    }
    begin = (size_t)cJSON_GetArrayItem(offsets, 0)->valuedouble;
    if (begin > tensors->data_bytes || bytes > tensors->data_bytes - begin) {
        return NULL;
    }
    return tensors->data + begin;
}

double *hg_test_tensors_f64(const hg_test_tensors *tensors, const char *name)
{
    size_t count = hg_test_tensors_count(tensors, name, NULL);
    const char *wide = hg_test_tensors_bytes(tensors, name, "F64", sizeof(double));
    const char *narrow = hg_test_tensors_bytes(tensors, name, "F32", sizeof(float));
    double *values = count && (wide || narrow) ? calloc(count, sizeof *values) : NULL;
    if (!values) {
        return NULL;
    }
    if (wide) {
        memcpy(values, wide, count * sizeof *values);
        return values;
    }
    for (size_t item = 0; item < count; item++) {
        float value = 0;
        memcpy(&value, narrow + item * sizeof value, sizeof value);
        values[item] = (double)value;
    }
    return values;
}

float *hg_test_tensors_f32(const hg_test_tensors *tensors, const char *name)
{
    size_t count = hg_test_tensors_count(tensors, name, NULL);
    double *wide = hg_test_tensors_f64(tensors, name);
    float *values = wide ? malloc(count * sizeof *values) : NULL;
    for (size_t item = 0; values && item < count; item++) {
        values[item] = (float)wide[item];
    }
    free(wide);
    return values;
}

int32_t *hg_test_tensors_i32(const hg_test_tensors *tensors, const char *name)
{
    size_t count = hg_test_tensors_count(tensors, name, NULL);
    const char *bytes = hg_test_tensors_bytes(tensors, name, "I64", sizeof(int64_t));
    int32_t *values = count && bytes ? malloc(count * sizeof *values) : NULL;
    for (size_t item = 0; values && item < count; item++) {
        int64_t value = 0;
        memcpy(&value, bytes + item * sizeof value, sizeof value);
        values[item] = (int32_t)value;
    }
    return values;
}
