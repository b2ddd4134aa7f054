/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint: config.json and weights, read and checked, no device needed.
 * A model: the weights of a checkpoint on an engine, immutable.
 *
 * Sources: the classes of github.com/qiuzh20/gated_attention at 49645df (arXiv 2505.06708).
 * Thread-safety: a checkpoint and a model may be read from several threads once they are open.
 */
#ifndef HEADGATE_MODEL_H
#define HEADGATE_MODEL_H

#include <headgate/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hg_gate_kind {
    HG_GATE_NONE = 0,
    HG_GATE_HEADWISE = 1,   /* one gate per head, gate_dim 1 */
    HG_GATE_ELEMENTWISE = 2 /* one per element, gate_dim head_dim */
} hg_gate_kind;

typedef enum hg_gate_layout {
    HG_GATE_LAYOUT_GROUPED = 0, /* q_proj rows per KV group: queries of the group, then its gates */
    HG_GATE_LAYOUT_PER_HEAD = 1 /* per head: its query, then its gate */
} hg_gate_layout;

typedef struct hg_model_info {
    uint32_t struct_size;
    char architecture[64]; /* "Qwen3 with gated attention", told by tensors and shapes */
    char weight_types[32]; /* "bf16", "bf16+f32": types of the matrices in the files */
    char rope_type[16];    /* "default", "yarn", ... */
    hg_gate_kind gate;
    hg_gate_layout gate_layout;
    uint32_t gate_dim; /* 0, 1 or head_dim */
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    uint32_t max_positions;
    uint32_t sliding_window;                  /* 0: off */
    uint32_t qk_norm, tied, qkv_bias, o_bias; /* booleans; biases: the tensors are there */
    int32_t bos_token_id, eos_token_id;       /* -1: none */
    float rms_norm_eps;
    double rope_theta;
    uint64_t parameters;   /* of the model; a tied head counts once */
    uint64_t weight_bytes; /* what load puts on a device */
    uint64_t file_bytes;
    uint32_t file_count, tensor_count;
    uint32_t warning_count; /* said while opening */
} hg_model_info;

typedef struct hg_tensor_info {
    uint32_t struct_size;
    char name[128];
    char dtype[8]; /* "BF16", "F16", "F32" */
    uint32_t rank;
    uint64_t shape[4];
    uint64_t bytes;
    uint32_t file; /* index, see hg_checkpoint_file */
    uint32_t used; /* 0: in the file, but not part of the model */
} hg_tensor_info;

typedef struct hg_checkpoint hg_checkpoint;

typedef struct hg_checkpoint_params {
    uint32_t struct_size;
    const char *path; /* a directory with config.json and weights */
    hg_log log;
} hg_checkpoint_params;

/*
 * Opens model.safetensors, or shards by model.safetensors.index.json, or pytorch_model.bin (single
 * or by pytorch_model.bin.index.json). Everything in a file is hostile until checked; no code of a
 * checkpoint is run. HG_ERR_FILE with the reason: missing, broken, or a key that changes the
 * mathematics and is not supported.
 */
HG_API hg_result hg_checkpoint_open(const hg_checkpoint_params *params, hg_checkpoint **out);
HG_API void hg_checkpoint_close(hg_checkpoint **checkpoint);
HG_API const char *hg_checkpoint_path(const hg_checkpoint *checkpoint);
HG_API void hg_checkpoint_describe(const hg_checkpoint *checkpoint, hg_model_info *out);
/* Path of weight file i < file_count, and its size; NULL past the end. */
HG_API const char *hg_checkpoint_file(const hg_checkpoint *checkpoint, uint32_t index,
                                      uint64_t *bytes);
HG_API hg_result hg_checkpoint_tensor(const hg_checkpoint *checkpoint, uint32_t index,
                                      hg_tensor_info *out);

typedef struct hg_scan {
    uint32_t struct_size;
    uint64_t values;
    uint64_t nan_count, inf_count;
    uint64_t tiny_count; /* 0 < |w| < 2^-50: these count as zero in exact mode */
    float abs_max;
    char first_bad[128]; /* tensor of the first NaN or Inf, or empty */
} hg_scan;

/* Reads every weight once (docs/DECISIONS.md D9). */
HG_API hg_result hg_checkpoint_scan(const hg_checkpoint *checkpoint, const hg_progress *progress,
                                    hg_scan *out);

/*
 * MODEL as a user writes it to a directory: an existing directory as it is; else
 * owner/name[@revision][:subdir] in the Hugging Face cache at hub_dir (NULL: none). Read only,
 * never downloads: when it is not there, the log has the `hf download` line. Also says so when a
 * folder has no config.json but its sub-folders do.
 */
HG_API hg_result hg_model_resolve(const hg_log *log, const char *model, const char *hub_dir,
                                  char *path, size_t path_size);

typedef struct hg_model hg_model;

/* How weights lie where a device has kernels for both (OpenCL on processors, not under exact):
 * packed side by side, which is fastest and costs a pass over all of them, or in rows as in the
 * file. Rows are read in the mapped file itself where the driver can (PoCL): the files must then
 * stay as they are while the model lives. */
typedef enum hg_repack {
    HG_REPACK_AUTO = 0, /* rows for a large model and little work */
    HG_REPACK_NEVER = 1,
    HG_REPACK_ALWAYS = 2
} hg_repack;

typedef struct hg_model_params {
    uint32_t struct_size;
    hg_progress progress; /* "upload", bytes done, bytes total */
    hg_log log;
    hg_repack repack;
    uint32_t expected_tokens; /* the work at hand, for HG_REPACK_AUTO; 0: much */
} hg_model_params;

/* Weights to the device. Checks the memory first: HG_ERR_DEVICE_MEMORY names needed and free. The
 * checkpoint may be closed afterwards. Under HG_PRECISION_EXACT non-finite weights are HG_ERR_FILE,
 * else a warning. */
HG_API hg_result hg_model_load(hg_engine *engine, const hg_checkpoint *checkpoint,
                               const hg_model_params *params, hg_model **out);
HG_API void hg_model_free(hg_model **model);
HG_API void hg_model_describe(const hg_model *model, hg_model_info *out);
HG_API hg_engine *hg_model_engine(const hg_model *model);

/* Bytes a device needs for a session of this many tokens: weights + cache + activations + captures
 * of `layers` layers. */
HG_API uint64_t hg_model_device_bytes(const hg_model_info *info, uint32_t tokens,
                                      uint32_t captured_layers);

#ifdef __cplusplus
}
#endif
#endif
