/* SPDX-License-Identifier: MIT */
/* Folders that are no model themselves, but hold some: a courtesy of hg_model_resolve and
 * hg_checkpoint_open. */
#ifndef HG_HOST_RESOLVE_H
#define HG_HOST_RESOLVE_H

#include <headgate/base.h>

/*
 * HG_ERR_FILE with a sentence when sub-folders of path have a config.json: it names them as
 * `prefix` + name (prefix "owner/name:", or "" for path/name). HG_OK, silently, when none has.
 */
hg_result hg_folder_say_models(const hg_log *log, const char *path, const char *prefix);

#endif
