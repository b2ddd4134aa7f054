/* SPDX-License-Identifier: MIT */
/* The option table. A new option is a row here, an id in args.h and a place in the lists of the
 * commands that take it. */
#include "args.h"

#include <assert.h>
#include <stddef.h>

static const hg_option table[HG_OPTION_COUNT] = {
    [HG_OPTION_PROMPT] = {"prompt", "TEXT", "the text to look at, UTF-8", 0},
    [HG_OPTION_PROMPT_FILE] =
        {"prompt-file", "FILE",
         "the text from a file, byte for byte (a last newline is part of it); - is "
         "standard input",
         0},
    [HG_OPTION_IDS] = {"ids", "LIST",
                       "token ids instead of a text: 1,2,3; - reads them from standard input", 0},
    [HG_OPTION_PROMPTS] =
        {"prompts", "FILE",
         "many prompts, run side by side: a JSON value a line, {\"prompt\": \"a text\"} or "
         "{\"ids\": [1,2]}, also with \"name\"; - is standard input",
         0},
    [HG_OPTION_NO_SPECIAL] = {"no-special", NULL,
                              "without special tokens: neither added around a text nor decoded", 0},
    [HG_OPTION_LAYERS] =
        {"layers", "LIST",
         "layers, counted from 1: 1,7,21-28, or all (default: map draws four spread over the "
         "depth, 1, 7, 21 and 28 of 28; other commands take all)",
         0},
    [HG_OPTION_HEADS] =
        {"heads", "LIST",
         "heads, counted from 1: mean is one map over all heads (default), all or 3,5-7 is "
         "one map each",
         0},
    [HG_OPTION_OUTPUT] =
        {"output", "FILE",
         "where the result goes; the name's end tells the format; - is standard output", 'o'},
    [HG_OPTION_OUTPUT_MAP] =
        {"output", "FILE",
         "where the result goes; the name's end tells the format; - is standard output; with "
         "--prompts a folder, or a name with {name} or {number} in it",
         'o'},
    [HG_OPTION_OUTPUT_FOLDER] = {"output", "DIR", "the folder for the pictures (default: here)",
                                 'o'},
    [HG_OPTION_FORMAT_FIGURE] = {"format", "png|svg|pdf|json",
                                 "format of the result, where the name does not tell it", 0},
    [HG_OPTION_FORMAT_TABLE] = {"format", "md|json|csv", "form of the table (default: md)", 0},
    [HG_OPTION_SCALE] = {"scale", "linear|log", "scale of the colours (default: linear)", 0},
    [HG_OPTION_DUMP] = {"dump", "FILE", "write tensors to a safetensors file; - is standard output",
                        0},
    [HG_OPTION_WHAT] =
        {"what", "LIST",
         "tensors of --dump: logits, last_logits, attentions, gate_scores, hidden_states, "
         "final_residual, or all (default: logits)",
         0},
    [HG_OPTION_TOP] = {"top", "N", "how many of the likeliest next tokens to print (default: 10)",
                       0},
    [HG_OPTION_ONLY] = {"only", "ids", "print the ids alone, as --ids takes them", 0},
    [HG_OPTION_SCAN] =
        {"scan", NULL,
         "read every weight and count NaN, infinities and values that exact mode takes as "
         "zero",
         0},
    [HG_OPTION_CHECK] = {"check", NULL, "a model or prompt whose hash is not listed is a failure",
                         0},
    [HG_OPTION_PREFILL] = {"prefill", "LIST", "prompt lengths in tokens (default: 32,128)", 'p'},
    [HG_OPTION_DECODE] = {"decode", "LIST", "tokens to decode one by one (default: 16)", 'n'},
    [HG_OPTION_DEPTH] = {"depth", "LIST",
                         "tokens in the cache before, which are not timed (default: 0)", 'd'},
    [HG_OPTION_REPEAT] = {"repeat", "N",
                          "measured runs of each row, after one that is not (default: 5)", 'r'},
    [HG_OPTION_SEED] = {"seed", "N", "seed of the random token ids (default: 1)", 0},
    [HG_OPTION_MAPS] = {"maps", NULL,
                        "also read each prompt with everything captured that maps are made of", 0},
    [HG_OPTION_CEILING] =
        {"ceiling", NULL,
         "measure what the device can do at most; needs no MODEL, with one rows tell their share",
         0},
    [HG_OPTION_KERNELS] = {"kernels", NULL,
                           "time every kernel at the model's shapes instead, by the device's clock",
                           0},
    [HG_OPTION_SAMPLES] = {"samples", "DIR", "the folder with the sample models", 0},
    [HG_OPTION_DEVICE] =
        {"device", "SEL",
         "N or vk:N, cl:N, ref as 'headgate devices' lists them, name:PART, uuid:HEX (the first 8 "
         "or more digits); /T0 after it keeps to that tier of kernels, @exact, "
         "@fp32 or @fast sets the precision "
         "(default: $HG_DEVICE, else the best device)",
         0},
    [HG_OPTION_DEVICES] =
        {"device", "SEL",
         "a device, as often as there are devices, the first is the baseline: N or vk:N, cl:N, "
         "ref, name:PART, uuid:HEX; all is every one that can be used; /T0 after it keeps to that "
         "tier of "
         "kernels, @exact or @fp32 sets the precision",
         0},
    [HG_OPTION_DEVICES_EXACT] =
        {"device", "SEL",
         "a device, as often as there are devices: N or vk:N, cl:N, ref, name:PART, UUID; all is "
         "every one that can be used; /T0 after it keeps to that tier of kernels "
         "(default: $HG_DEVICE, else the best device)",
         0},
    [HG_OPTION_REPLAY] = {"replay", "N",
                          "run the same work N times on each device and compare the bits", 0},
    [HG_OPTION_RUNS] = {"replay", "N",
                        "runs of each shape, compared bit for bit (default: 5, with --quick 2)", 0},
    [HG_OPTION_QUICK] = {"quick", NULL, "a few shapes of each kernel: about a second", 0},
    [HG_OPTION_FULL] = {"full", NULL, "every shape of each kernel (default)", 0},
    [HG_OPTION_SAVE] = {"save", "FILE",
                        "keep the first device's stages for --load on another machine (.hgr)", 0},
    [HG_OPTION_VALUES] =
        {"values", "LIST",
         "stages whose values --save keeps beside the hashes of all: names of stages, all or none "
         "(default: logits, residual, attn_out, gates, attn_probs, up to 8 MiB)",
         0},
    [HG_OPTION_LOAD] = {"load", "FILE",
                        "what --save wrote is the baseline; needs the same weights, and no prompt: "
                        "the file has it",
                        0},
    [HG_OPTION_OUTPUT_PAGE] = {"output", "FILE.html",
                               "also write the report as one page with maps of the differences",
                               'o'},
    [HG_OPTION_TIMEOUT] = {"timeout", "S",
                           "seconds without a sign of life after which a driver has hung "
                           "(default: 120)",
                           0},
    [HG_OPTION_PRECISION] =
        {"precision", "exact|fp32|fast",
         "exact: results have the same bytes on every device; fp32: within float32 tolerances "
         "(default); fast: activations rounded to 11 bits where the device has matrix units (T2), "
         "else fp32",
         0},
    [HG_OPTION_PRECISION_EXACT] = {"precision", "exact", "which it is without being asked", 0},
    [HG_OPTION_EXACT] = {"exact", NULL, "short for --precision exact", 0},
    [HG_OPTION_LIMITS] =
        {"limits", "LIST",
         "pretend to be a lesser device: spec-minimum, or shared=16384,invocations=128,...", 0},
    [HG_OPTION_REPACK] =
        {"repack", "auto|never|always",
         "weights side by side on processors under OpenCL: auto, by the work (default), always, or "
         "never (in rows, PoCL reads them in the file itself)",
         0},
    [HG_OPTION_TUNE] = {"tune", "auto|off|quick",
                        "measure ways to compute before they are first used (2 s, kept): auto: not "
                        "on processors (default)",
                        0},
    [HG_OPTION_THREADS] = {"threads", "N",
                           "threads of the reference device (default: one per processor)", 0},
    [HG_OPTION_VALIDATE] =
        {"validate", NULL,
         "run under the Khronos validation layer; any message ends with exit code 1", 0},
    [HG_OPTION_JSON] = {"json", NULL, "JSON on standard output", 0},
    [HG_OPTION_QUIET] = {"quiet", NULL, "errors only", 'q'},
    [HG_OPTION_VERBOSE] = {"verbose", NULL,
                           "also say what drivers and the library note; twice: more", 'v'},
    [HG_OPTION_HELP] = {"help", NULL, "this help", 'h'},
    [HG_OPTION_VERSION] = {"version", NULL, "the version", 0},
};

const hg_option *hg_option_row(hg_option_id id)
{
    assert(id > HG_OPTION_END && id < HG_OPTION_COUNT);
    return &table[id];
}
