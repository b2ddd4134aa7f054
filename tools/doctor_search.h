/* SPDX-License-Identifier: MIT */
/*
 * Where loaders look: folders in their order, files in them, and what a Vulkan manifest says. The
 * files are hostile: bounded, regular, checked.
 */
#ifndef HG_TOOLS_DOCTOR_SEARCH_H
#define HG_TOOLS_DOCTOR_SEARCH_H

#include "app.h"

enum { HG_LIST_MAX = 64 };

typedef struct hg_list {
    char *paths[HG_LIST_MAX];
    uint32_t count;
    uint32_t dropped; /* beyond the room */
} hg_list;

/* No twins. HG_ERR_HOST_MEMORY. */
hg_result hg_list_add(hg_list *list, const char *path);
/* Files of a folder whose names end so, by name. A folder that is not there has none. */
hg_result hg_list_add_folder(hg_list *list, const char *folder, const char *ending);
/* Parts between colons: files as they are, folders with the files in them. */
hg_result hg_list_add_parts(hg_list *list, const char *parts, const char *ending);
void hg_list_free(hg_list *list);

/* Folders for Vulkan manifests as the loader has them, KIND "icd.d", "implicit_layer.d",
 * "explicit_layer.d". */
hg_result hg_search_vulkan(hg_list *folders, const char *kind);

typedef struct hg_manifest {
    char wrong[320];            /* "" or why it cannot be used */
    char library[HG_PATH_SIZE]; /* as dlopen takes it; "" for a layer made of layers */
    char name[HG_NAME_SIZE];    /* of a layer */
    char api[32];               /* "1.3.230" */
    char enable[HG_NAME_SIZE];  /* variable that turns an implicit layer on; "": always on */
    char enable_value[64];      /* its value; "": any */
    char disable[HG_NAME_SIZE]; /* variable that turns it off */
} hg_manifest;

/* root: "ICD" or "layer". */
void hg_manifest_read(const char *path, const char *root, hg_manifest *out);

/* The whole of a small regular file, ended by 0; NULL and a reason when it cannot be had. */
char *hg_read_small(const char *path, size_t max_bytes, char why[160]);

/* "" or how a library cannot be for this program: "is for 32-bit programs". */
const char *hg_foreign_library(const char *path, char text[96]);

/* The last part of a path. */
const char *hg_base_name(const char *path);

#endif
