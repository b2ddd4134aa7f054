/* SPDX-License-Identifier: MIT */
/*
 * The one pass over a weight (docs/DECISIONS.md D9): copy, flush below 2^-50 (rule 4 of the exact
 * kernels), count what is not finite. Integers only, so that the host's own denormal mode does not
 * matter.
 */
#include "device.h"

#include "check.h"
#include "os.h"
#include "panel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_ELEMENTS = 1 << 18 }; /* of the buffer between file and map: stays in the cache */

/* Exponent fields of float32 (and of bf16, its upper half). */
enum { EXPONENT_2_NEG_50 = 127 - 50, EXPONENT_2_100 = 127 + 100, EXPONENT_SPECIAL = 255 };

static uint16_t pass_bf16(uint16_t w, hg_upload_counts *counts)
{
    const uint32_t exponent = (w >> 7) & 0xffu;

    if (exponent == EXPONENT_SPECIAL) {
        if (w & 0x7fu)
            counts->nan_count++;
        else
            counts->inf_count++;
        return w;
    }
    if (exponent < EXPONENT_2_NEG_50) {
        counts->tiny_count += (w & 0x7fffu) != 0;
        return 0;
    }
    counts->huge_count += exponent >= EXPONENT_2_100;
    return w;
}

static uint32_t pass_f32(uint32_t w, hg_upload_counts *counts)
{
    const uint32_t exponent = (w >> 23) & 0xffu;

    if (exponent == EXPONENT_SPECIAL) {
        if (w & 0x7fffffu)
            counts->nan_count++;
        else
            counts->inf_count++;
        return w;
    }
    if (exponent < EXPONENT_2_NEG_50) {
        counts->tiny_count += (w & 0x7fffffffu) != 0;
        return 0;
    }
    counts->huge_count += exponent >= EXPONENT_2_100;
    return w;
}

/* The smallest f16 is 2^-24: nothing to flush but the sign of zero. */
static uint16_t pass_f16(uint16_t w, hg_upload_counts *counts)
{
    if ((w & 0x7c00u) == 0x7c00u) {
        if (w & 0x3ffu)
            counts->nan_count++;
        else
            counts->inf_count++;
    }
    return (w & 0x7fffu) ? w : 0;
}

/* source at any byte address, out aligned. bf16 as an own loop without calls: most of every
 * checkpoint. */
static void pass(const uint8_t *source, uint8_t *out, hg_dtype dtype, size_t count,
                 hg_upload_counts *counts)
{
    for (size_t i = 0; i < count; i++) {
        if (dtype == HG_DTYPE_F32) {
            uint32_t w;

            memcpy(&w, source + 4 * i, 4);
            w = pass_f32(w, counts);
            memcpy(out + 4 * i, &w, 4);
        } else {
            uint16_t w;

            memcpy(&w, source + 2 * i, 2);
            w = dtype == HG_DTYPE_BF16 ? pass_bf16(w, counts) : pass_f16(w, counts);
            memcpy(out + 2 * i, &w, 2);
        }
    }
}

/* Nearly every block of weights is plain: then a copy will do, found out by one vectorisable look.
 */
static int plain_bf16(const uint8_t *source, size_t count)
{
    uint32_t odd = 0;

    for (size_t i = 0; i < count; i++) {
        uint16_t w;
        uint32_t exponent;

        memcpy(&w, source + 2 * i, 2);
        exponent = (w >> 7) & 0xffu;
        odd |= (uint32_t)((exponent - EXPONENT_2_NEG_50 >= EXPONENT_2_100 - EXPONENT_2_NEG_50) &
                          (w != 0));
    }
    return !odd;
}

static void pass_slice(const uint8_t *source, uint8_t *out, hg_dtype dtype, size_t count,
                       hg_upload_counts *counts)
{
    if (dtype == HG_DTYPE_BF16 && plain_bf16(source, count))
        memcpy(out, source, 2 * count);
    else
        pass(source, out, dtype, count, counts);
}

/* One pass as work for several threads: items are slices of elements, or panels. */
typedef struct pass_work {
    uint8_t *to;
    const uint8_t *source;
    hg_dtype dtype;
    uint64_t elements; /* in rows */
    uint64_t rows, k;  /* in panels */
    atomic_uint_least64_t nan_count, inf_count, tiny_count, huge_count;
    atomic_int failed;
} pass_work;

static void add_counts(pass_work *work, const hg_upload_counts *counts)
{
    atomic_fetch_add(&work->nan_count, counts->nan_count);
    atomic_fetch_add(&work->inf_count, counts->inf_count);
    atomic_fetch_add(&work->tiny_count, counts->tiny_count);
    atomic_fetch_add(&work->huge_count, counts->huge_count);
}

static void take_counts(const pass_work *work, hg_upload_counts *counts)
{
    counts->nan_count += work->nan_count;
    counts->inf_count += work->inf_count;
    counts->tiny_count += work->tiny_count;
    counts->huge_count += work->huge_count;
}

static void pass_slices(void *user, uint32_t begin, uint32_t end)
{
    pass_work *work = user;
    const uint64_t size = hg_dtype_bytes(work->dtype);
    hg_upload_counts counts = {0};

    for (uint64_t done = (uint64_t)begin * SLICE_ELEMENTS, i = begin; i < end; i++) {
        const uint64_t left = work->elements - done;
        const uint64_t part = left < SLICE_ELEMENTS ? left : SLICE_ELEMENTS;

        pass_slice(work->source + done * size, work->to + done * size, work->dtype, (size_t)part,
                   &counts);
        done += part;
    }
    add_counts(work, &counts);
}

/* Few items are not worth waking anybody. */
static void share(hg_engine *engine, uint64_t items, hg_pool_work run, pass_work *work)
{
    if (!engine->pool && items > 1)
        engine->pool = hg_pool_create(hg_os_processors());
    if (engine->pool && items > 1)
        hg_pool_run(engine->pool, (uint32_t)items, run, work);
    else
        run(work, 0, (uint32_t)items);
}

/* Into `bytes` of mapped memory: the elements, and zeros up to the last word. */
static void pass_into(hg_engine *engine, uint8_t *to, uint64_t bytes, const uint8_t *source,
                      hg_dtype dtype, uint64_t elements, hg_upload_counts *counts)
{
    const uint64_t size = hg_dtype_bytes(dtype);
    pass_work work = {.to = to, .source = source, .dtype = dtype, .elements = elements};

    share(engine, (elements + SLICE_ELEMENTS - 1) / SLICE_ELEMENTS, pass_slices, &work);
    take_counts(&work, counts);
    memset(to + elements * size, 0, (size_t)(bytes - elements * size));
}

/* Where the host writes what comes to stand at offset: there, or in staging. */
static hg_result place(hg_engine *engine, hg_mem *mem, uint64_t offset, hg_bind *out)
{
    if (!mem->mappable)
        return hg_engine_stage_half(engine, out);
    *out = (hg_bind){mem, offset, mem->size_bytes - offset};
    return HG_OK;
}

/* Reads nothing before it has a place to write to, so an error costs nothing. */
static hg_result upload_weight_locked(hg_engine *engine, hg_mem *mem, uint64_t offset,
                                      const uint8_t *source, hg_dtype dtype, uint64_t elements,
                                      hg_upload_counts *counts)
{
    const uint64_t size = dtype == HG_DTYPE_F32 ? 4 : 2;
    hg_result res = HG_OK;

    for (uint64_t done = 0, part; done < elements; done += part) {
        hg_bind to;
        uint64_t bytes;
        void *map = NULL;

        HG_TRY(place(engine, mem, offset + done * size, &to));
        part = elements - done < to.size_bytes / size ? elements - done : to.size_bytes / size;
        bytes = (part * size + 3) & ~UINT64_C(3);
        HG_TRY(engine->backend->map(to.mem, to.offset_bytes, bytes, HG_MAP_WRITE, &map));
        pass_into(engine, map, bytes, source + done * size, dtype, part, counts);
        engine->backend->unmap(to.mem, to.offset_bytes, bytes);
        if (to.mem != mem)
            HG_TRY(hg_engine_stage_send(engine, (hg_bind){mem, offset + done * size, bytes}, to));
        engine->counters.upload_bytes += bytes;
    }
out:
    return res;
}

hg_result hg_upload_weight(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes,
                           const void *source, hg_dtype dtype, uint64_t elements,
                           hg_upload_counts *counts)
{
    hg_result res;

    pthread_mutex_lock(&engine->lock);
    res = upload_weight_locked(engine, mem, offset_bytes, source, dtype, elements, counts);
    pthread_mutex_unlock(&engine->lock);
    return res;
}

/* A panel's rows are looked through into a strip that stays in the cache, then packed. */
static void pack_panels(void *user, uint32_t begin, uint32_t end)
{
    pass_work *work = user;
    const hg_dtype element = hg_dtype_element(work->dtype);
    const uint64_t row_bytes = work->k * hg_dtype_bytes(work->dtype);
    uint8_t *strip = malloc((size_t)row_bytes * HG_PANEL_ROWS);
    hg_upload_counts counts = {0};

    if (!strip) {
        atomic_store(&work->failed, 1);
        return;
    }
    for (uint64_t panel = begin; panel < end; panel++) {
        const uint64_t row = panel * HG_PANEL_ROWS, left = work->rows - row;
        const uint64_t count = left < HG_PANEL_ROWS ? left : HG_PANEL_ROWS;

        pass_slice(work->source + row * row_bytes, strip, element, (size_t)(count * work->k),
                   &counts);
        hg_panel_pack(work->dtype, strip, count, work->k, 0, 1, work->to + row * row_bytes);
    }
    free(strip);
    add_counts(work, &counts);
}

static hg_result upload_panels_locked(hg_engine *engine, hg_mem *mem, uint64_t offset,
                                      const uint8_t *source, hg_dtype dtype, uint64_t rows,
                                      uint64_t k, hg_upload_counts *counts)
{
    const uint64_t row_bytes = k * hg_dtype_bytes(dtype), panel = row_bytes * HG_PANEL_ROWS;
    hg_result res = HG_OK;

    for (uint64_t row = 0, part; row < rows; row += part) {
        hg_bind to;
        uint64_t bytes;
        void *map = NULL;

        HG_TRY(place(engine, mem, offset + row * row_bytes, &to));
        part = to.size_bytes / panel * HG_PANEL_ROWS;
        if (part == 0)
            return hg_fail(&engine->log, HG_ERR_UNSUPPORTED,
                           "rows of %llu bytes are too long to pack",
                           (unsigned long long)row_bytes);
        part = rows - row < part ? rows - row : part;
        bytes = (part + HG_PANEL_ROWS - 1) / HG_PANEL_ROWS * panel;
        HG_TRY(engine->backend->map(to.mem, to.offset_bytes, bytes, HG_MAP_WRITE, &map));
        pass_work work = {
            .to = map, .source = source + row * row_bytes, .dtype = dtype, .rows = part, .k = k};

        share(engine, (part + HG_PANEL_ROWS - 1) / HG_PANEL_ROWS, pack_panels, &work);
        take_counts(&work, counts);
        engine->backend->unmap(to.mem, to.offset_bytes, bytes);
        if (work.failed)
            return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to pack weights");
        if (to.mem != mem)
            HG_TRY(
                hg_engine_stage_send(engine, (hg_bind){mem, offset + row * row_bytes, bytes}, to));
        engine->counters.upload_bytes += bytes;
    }
out:
    return res;
}

hg_result hg_upload_panels(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes,
                           const void *source, hg_dtype dtype, uint64_t rows, uint64_t k,
                           hg_upload_counts *counts)
{
    hg_result res;

    pthread_mutex_lock(&engine->lock);
    res = upload_panels_locked(engine, mem, offset_bytes, source, dtype, rows, k, counts);
    pthread_mutex_unlock(&engine->lock);
    return res;
}
