/* SPDX-License-Identifier: MIT */
/*
 * A list of prompts as a file in JSON Lines: one JSON value a line, empty lines left out.
 *
 *   {"prompt": "a text"}             also "text" for "prompt", or the string alone: "a text"
 *   {"ids": [1, 2, 3]}               token ids instead; or the list alone: [1, 2, 3]
 *
 * An object may also have "name" (or "id": a text or a whole number), and "special": false for a
 * text without the special tokens around it. Other keys are for others, so that a data set can be
 * used as it is. Nothing is tokenized here. Thread-safety: a list may be read from several threads.
 */
#ifndef HEADGATE_PROMPTS_H
#define HEADGATE_PROMPTS_H

#include <headgate/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_prompt_list hg_prompt_list;

typedef struct hg_prompt_list_params {
    uint32_t struct_size;
    const char *label; /* begins every sentence: the file's name; NULL: "prompts" */
    hg_log log;
} hg_prompt_list_params;

/* One of text and ids is there. Everything points into the list. */
typedef struct hg_prompt_entry {
    uint32_t struct_size;
    uint64_t line;    /* of the file, from 1 */
    const char *name; /* NULL: none; never empty */
    const char *text; /* UTF-8, NUL-terminated, no U+0000 in it; NULL: ids */
    uint64_t text_bytes;
    const int32_t *ids; /* [id_count], at least one, none below 0 */
    uint32_t id_count;
    uint32_t no_special; /* 1: "special": false */
} hg_prompt_entry;

/*
 * The whole file's bytes, copied as far as they are needed; at most 1,048,576 prompts. HG_ERR_FILE
 * names the line, what was expected and what was found; a file without any prompt is one, too.
 * params may be NULL. Free *out with hg_prompt_list_free.
 */
HG_API hg_result hg_prompt_list_parse(const hg_prompt_list_params *params, const void *text,
                                      uint64_t bytes, hg_prompt_list **out);
HG_API void hg_prompt_list_free(hg_prompt_list **list);
HG_API uint32_t hg_prompt_list_count(const hg_prompt_list *list);
/* HG_ERR_ARGUMENT: index is not below the count. */
HG_API hg_result hg_prompt_list_at(const hg_prompt_list *list, uint32_t index,
                                   hg_prompt_entry *out);

#ifdef __cplusplus
}
#endif
#endif
