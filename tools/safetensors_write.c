/* SPDX-License-Identifier: MIT */
/* Writing safetensors: a length, a JSON header padded to 8 bytes, the values. */
#include "safetensors_write.h"

#include "json_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are written as they lie in memory, which must be little-endian"
#endif

static uint64_t spec_bytes(const hg_tensor_spec *spec)
{
    uint64_t bytes = strcmp(spec->dtype, "I64") == 0 ? 8 : 4;

    for (uint32_t i = 0; i < spec->rank; i++)
        bytes *= spec->shape[i]; /* what the session holds: far from 2^64 */
    return bytes;
}

static void put_spec(hg_put *put, const hg_tensor_spec *spec, uint64_t offset)
{
    hg_put_object(put, spec->name);
    hg_put_text(put, "dtype", spec->dtype);
    hg_put_row(put, "shape");
    for (uint32_t i = 0; i < spec->rank; i++)
        hg_put_unsigned(put, NULL, spec->shape[i]);
    hg_put_end(put);
    hg_put_row(put, "data_offsets");
    hg_put_unsigned(put, NULL, offset);
    hg_put_unsigned(put, NULL, offset + spec_bytes(spec));
    hg_put_end(put);
    hg_put_end(put);
}

static uint64_t put_header(hg_output *output, const hg_tensor_spec *specs, uint32_t count,
                           const hg_tensor_note *notes, uint32_t note_count)
{
    hg_put put = {.output = output};
    uint64_t offset = 0;

    hg_put_object(&put, NULL);
    hg_put_object(&put, "__metadata__");
    for (uint32_t i = 0; i < note_count; i++)
        hg_put_text(&put, notes[i].key, notes[i].value);
    hg_put_end(&put);
    for (uint32_t i = 0; i < count; i++) {
        put_spec(&put, &specs[i], offset);
        offset += spec_bytes(&specs[i]);
    }
    hg_put_end(&put);
    return offset;
}

hg_result hg_tensor_file_start(hg_tensor_file *file, hg_output *output, const hg_tensor_spec *specs,
                               uint32_t count, const hg_tensor_note *notes, uint32_t note_count)
{
    static const char padding[8] = "       ";
    unsigned char prefix[8];
    hg_output *memory;
    char *header;
    size_t length, padded;
    hg_result res;

    file->output = output;
    res = hg_output_open_memory(&memory);
    if (res != HG_OK)
        return res;
    file->bytes_left = put_header(memory, specs, count, notes, note_count);
    res = hg_output_take(&memory, &header, &length);
    if (res != HG_OK)
        return res;
    padded = (length + 7) / 8 * 8;
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    res = hg_output_write(output, prefix, sizeof(prefix));
    if (res == HG_OK)
        res = hg_output_write(output, header, length);
    if (res == HG_OK)
        res = hg_output_write(output, padding, padded - length);
    free(header);
    return res;
}

hg_result hg_tensor_file_append(hg_tensor_file *file, const void *values, uint64_t bytes)
{
    assert(bytes <= file->bytes_left);
    file->bytes_left -= bytes;
    return hg_output_write(file->output, values, (size_t)bytes);
}

void hg_tensor_file_finish(const hg_tensor_file *file)
{
    assert(file->bytes_left == 0);
    (void)file;
}
