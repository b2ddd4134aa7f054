/* SPDX-License-Identifier: MIT */
/* The growing array behind hg_oplist. */
#include "oplist.h"

#include <stdlib.h>
#include <string.h>

hg_op *hg_oplist_append(hg_oplist *list, hg_op_kind kind)
{
    hg_op *op;

    if (list->count == list->room) {
        const uint32_t room = list->room ? list->room * 2 : 256;
        hg_op *grown = realloc(list->ops, (size_t)room * sizeof(*grown));

        if (!grown) {
            list->failed = HG_ERR_HOST_MEMORY;
            return NULL;
        }
        list->ops = grown;
        list->room = room;
    }
    op = &list->ops[list->count++];
    memset(op, 0, sizeof(*op));
    op->kind = kind;
    op->layer = -1;
    return op;
}

void hg_oplist_clear(hg_oplist *list)
{
    list->count = 0;
    list->failed = HG_OK;
}

void hg_oplist_free(hg_oplist *list)
{
    free(list->ops);
    memset(list, 0, sizeof(*list));
}
