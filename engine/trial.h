/* SPDX-License-Identifier: MIT */
/*
 * One call of a kernel to judge a device by. It is laid out in one block of memory: bindings at
 * multiples of 512, guard words between them, outputs poisoned. A device gets a copy of the block
 * and its result is compared as a whole, so that a stray write anywhere shows.
 */
#ifndef HG_ENGINE_TRIAL_H
#define HG_ENGINE_TRIAL_H

#include "device.h"
#include "shape.h"

typedef struct hg_trial {
    const hg_variant *variant;
    const hg_kernel *kernel;
    uint32_t spec[HG_SPEC_MAX];
    hg_params params;
    uint32_t groups[3]; /* flat */
    uint64_t offset_bytes[HG_BINDS_MAX], size_bytes[HG_BINDS_MAX];
    uint64_t elements[HG_BINDS_MAX];
    uint8_t *before; /* block_bytes: inputs in place, the rest poison */
    size_t block_bytes;
} hg_trial;

/* spec NULL: the defaults. 0: no memory. */
int hg_trial_make(hg_trial *trial, const hg_variant *variant, const hg_shape *shape,
                  const uint32_t *spec);
void hg_trial_free(hg_trial *trial);

/* An empty trial of these sizes, for inputs from elsewhere; finish by hg_trial_inputs_done. */
int hg_trial_make_sizes(hg_trial *trial, const hg_variant *variant, const hg_params *params,
                        const uint64_t *size_bytes);
float *hg_trial_bind(const hg_trial *trial, uint32_t bind);
void hg_trial_inputs_done(hg_trial *trial, const uint64_t *elements);

/* The oracles, each into a block of its own. oracle: the text of T0 as the table has it, whatever
 * the trial's variant and tile numbers; text: the variant's own. magnitude: one double per element
 * of the output, 0 where nothing is written. */
void hg_trial_oracle(const hg_trial *trial, uint8_t *block);
void hg_trial_text(const hg_trial *trial, uint8_t *block);
void hg_trial_ref(const hg_trial *trial, uint8_t *block, double *magnitude);
uint64_t hg_trial_output_elements(const hg_trial *trial);

/* The first word that differs. 0: none does; *bind is the kernel's bind_count where it is a
 * guard's.
 */
int hg_trial_difference(const hg_trial *trial, const uint8_t *expected, const uint8_t *found,
                        uint32_t *bind, uint64_t *element);

/* The whole blocks are the same bytes; why: the first word that is not, in words. */
int hg_trial_same(const hg_trial *trial, const uint8_t *expected, const uint8_t *found, char *why,
                  size_t why_bytes);

/* Everything outside the bindings that the kernel writes is as it was. */
int hg_trial_whole(const hg_trial *trial, const uint8_t *found, char *why, size_t why_bytes);

/* Every written element is within its bound of ref (bound.h), what ref left alone is left alone.
 * spent: NULL, or raised to the largest error seen, in u magnitude. */
int hg_trial_close(const hg_trial *trial, uint8_t *ref, const uint8_t *found,
                   const double *magnitude, double *spent, char *why, size_t why_bytes);

/* Device memory for trials: one block for all of them (drivers that do not like much allocating).
 */
typedef struct hg_trial_room {
    hg_engine *engine;
    hg_mem *upload, *block, *readback;
    uint64_t room_bytes;
} hg_trial_room;

hg_result hg_trial_room_open(hg_trial_room *room, hg_engine *engine, uint64_t room_bytes);
void hg_trial_room_close(hg_trial_room *room);

/* What a trial of this variant on this shape needs, at most. */
uint64_t hg_trial_bytes(const hg_variant *variant, const hg_shape *shape);

/* Copied in, computed on, copied out, waited for. Takes the engine's lock. after: block_bytes, what
 * the block holds afterwards. ns: NULL, or the time of the kernel. */
hg_result hg_trial_run(hg_trial_room *room, const hg_trial *trial, uint8_t *after, uint64_t *ns);

#endif
