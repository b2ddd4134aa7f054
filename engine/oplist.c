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

hg_cost hg_op_cost(const hg_op *op)
{
    hg_cost cost = {0};

    switch (op->kind) {
    case HG_OP_DISPATCH:
        return hg_kernels[op->kernel].cost(op->words, &op->reach, op->dtype);
    case HG_OP_COPY:
        cost.bytes = 2 * (double)op->bind[0].size_bytes;
        break;
    case HG_OP_FILL:
        cost.bytes = (double)op->bind[0].size_bytes;
        break;
    }
    return cost;
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
