/* SPDX-License-Identifier: MIT */
/*
 * The machine. Values live in one pool and refer to each other by index, so that cycles and deep
 * nesting are harmless: nothing here walks them. Memory grows with the pickle's own length, up to
 * fixed caps.
 */
#include "pickle.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    PICKLE_BYTES_MAX = 64 << 20,
    VALUES_MAX = 4 << 20, /* of each pool */
    PROTOCOL = 2
};

typedef enum kind {
    MARK,
    NONE,
    BOOL,
    INT,     /* number */
    FLOAT,   /* its value is not needed */
    TEXT,    /* text, count bytes */
    TUPLE,   /* number: first of count children */
    DICT,    /* number: first pair or -1, count: last pair */
    LIST,    /* its items are not needed */
    GLOBAL,  /* tag: global_id */
    STORAGE, /* tag: hg_dtype, text and count: key, number: elements */
    TENSOR   /* number: the tuple of its arguments */
} kind;

typedef enum global_id {
    ORDERED_DICT,
    REBUILD_TENSOR,
    STORAGE_BF16,
    STORAGE_F16,
    STORAGE_F32
} global_id;

static const struct {
    const char *module, *name;
    hg_dtype dtype;
} globals[] = {
    {"collections", "OrderedDict", HG_DTYPE_NONE},
    {"torch._utils", "_rebuild_tensor_v2", HG_DTYPE_NONE},
    {"torch", "BFloat16Storage", HG_DTYPE_BF16},
    {"torch", "HalfStorage", HG_DTYPE_F16},
    {"torch", "FloatStorage", HG_DTYPE_F32},
};

typedef struct value {
    uint16_t kind, tag;
    uint32_t count;
    int64_t number;
    const uint8_t *text;
} value;

typedef struct pair {
    uint32_t key, item;
    int64_t next;
} pair;

/* A growing array of elements of one size. */
typedef struct pool {
    void *items;
    size_t element_bytes;
    uint32_t count, room;
} pool;

typedef struct machine {
    const hg_log *log;
    const char *label;
    const uint8_t *data;
    uint64_t bytes, at, op_at;
    pool values;   /* value */
    pool stack;    /* uint32_t, indices into values */
    pool children; /* uint32_t */
    pool pairs;    /* pair */
    pool memo;     /* uint32_t, index + 1; 0: nothing stored */
} machine;

static hg_result bad(const machine *m, const char *what)
{
    hg_say(m->log, HG_LOG_ERROR, "%s: no sound state dict: at byte %llu: %s", m->label,
           (unsigned long long)m->op_at, what);
    return HG_ERR_FILE;
}

static hg_result pool_reserve(const machine *m, pool *p, uint32_t count)
{
    uint32_t room = p->room ? p->room : 256;
    void *items;

    if (count <= p->room)
        return HG_OK;
    if (count > VALUES_MAX)
        return bad(m, "it has more values than any state dict needs");
    while (room < count)
        room *= 2;
    items = realloc(p->items, room * p->element_bytes);
    if (!items) {
        hg_say(m->log, HG_LOG_ERROR, "%s: out of memory", m->label);
        return HG_ERR_HOST_MEMORY;
    }
    p->items = items;
    p->room = room;
    return HG_OK;
}

static hg_result pool_add(const machine *m, pool *p, const void *item)
{
    hg_result res = pool_reserve(m, p, p->count + 1);

    if (res == HG_OK)
        memcpy((char *)p->items + p->count++ * p->element_bytes, item, p->element_bytes);
    return res;
}

static value *value_at(const machine *m, uint32_t index)
{
    return (value *)m->values.items + index;
}

/* index < stack.count, so there are items. */
static uint32_t stack_at(const machine *m, uint32_t index)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    return ((const uint32_t *)m->stack.items)[index];
}

static const value *child_at(const machine *m, const value *tuple, uint32_t index)
{
    return value_at(m, ((const uint32_t *)m->children.items)[tuple->number + index]);
}

static hg_result push_index(machine *m, uint32_t index)
{
    return pool_add(m, &m->stack, &index);
}

static hg_result push(machine *m, value v)
{
    uint32_t index = m->values.count;
    hg_result res = pool_add(m, &m->values, &v);

    return res == HG_OK ? push_index(m, index) : res;
}

static hg_result push_kind(machine *m, kind k)
{
    return push(m, (value){.kind = (uint16_t)k, .number = k == DICT ? -1 : 0});
}

static hg_result pop(machine *m, uint32_t *index)
{
    *index = 0;
    if (m->stack.count == 0)
        return bad(m, "it takes a value from an empty stack");
    *index = stack_at(m, m->stack.count - 1);
    if (value_at(m, *index)->kind == MARK)
        return bad(m, "it takes a value where a mark is");
    m->stack.count--;
    return HG_OK;
}

/* Values above the last mark are [*first, stack.count); the mark is at *first - 1. */
static hg_result find_mark(const machine *m, uint32_t *first)
{
    uint32_t at = m->stack.count;

    *first = 0;
    while (at > 0 && value_at(m, stack_at(m, at - 1))->kind != MARK)
        at--;
    if (at == 0)
        return bad(m, "it needs a mark that was never set");
    *first = at;
    return HG_OK;
}

/* The next count bytes of the pickle. */
static hg_result take(machine *m, uint64_t count, const uint8_t **out)
{
    *out = m->data + m->at;
    if (count > m->bytes - m->at)
        return bad(m, "it ends in the middle of a value");
    m->at += count;
    return HG_OK;
}

static hg_result take_number(machine *m, int count, uint64_t *out)
{
    const uint8_t *p;
    hg_result res = take(m, (uint64_t)count, &p);

    *out = 0;
    while (res == HG_OK && count > 0)
        *out = *out << 8 | p[--count];
    return res;
}

static hg_result push_integer(machine *m, int count, int is_signed)
{
    uint64_t number;
    hg_result res = take_number(m, count, &number);

    if (res != HG_OK)
        return res;
    if (is_signed && number >> (8 * count - 1))
        number |= ~(uint64_t)0 << (8 * count - 1);
    return push(m, (value){.kind = INT, .number = (int64_t)number});
}

static hg_result op_long(machine *m)
{
    uint64_t count;
    hg_result res = take_number(m, 1, &count);

    if (res != HG_OK)
        return res;
    if (count > 8)
        return bad(m, "it has an integer of more than 64 bits");
    if (count == 0)
        return push(m, (value){.kind = INT});
    return push_integer(m, (int)count, 1);
}

static hg_result op_float(machine *m)
{
    const uint8_t *p;
    hg_result res = take(m, 8, &p);

    return res == HG_OK ? push_kind(m, FLOAT) : res;
}

static int is_text(const uint8_t *p, uint64_t bytes)
{
    while (bytes > 0) {
        utf8proc_int32_t point;
        utf8proc_ssize_t size =
            utf8proc_iterate(p, bytes < 4 ? (utf8proc_ssize_t)bytes : 4, &point);

        if (size <= 0 || point == 0)
            return 0;
        p += size;
        bytes -= (uint64_t)size;
    }
    return 1;
}

static hg_result op_text(machine *m)
{
    const uint8_t *p;
    uint64_t count;
    hg_result res;

    HG_TRY(take_number(m, 4, &count));
    HG_TRY(take(m, count, &p));
    if (!is_text(p, count))
        return bad(m, "it has a string that is no UTF-8, or holds U+0000");
    res = push(m, (value){.kind = TEXT, .text = p, .count = (uint32_t)count});
out:
    return res;
}

static hg_result op_proto(machine *m)
{
    uint64_t protocol;
    hg_result res = take_number(m, 1, &protocol);

    if (res == HG_OK && protocol != PROTOCOL)
        res = bad(
            m, "expected pickle protocol 2; save the checkpoint again with torch.save's default");
    return res;
}

/* A line of the pickle without its newline. */
static hg_result take_line(machine *m, const uint8_t **line, uint64_t *bytes)
{
    const uint8_t *end = NULL;

    if (m->at < m->bytes)
        end = memchr(m->data + m->at, '\n', (size_t)(m->bytes - m->at));
    if (!end)
        return bad(m, "it ends in the middle of a name");
    *line = m->data + m->at;
    *bytes = (uint64_t)(end - *line);
    m->at += *bytes + 1;
    return HG_OK;
}

static int is_name(const uint8_t *line, uint64_t bytes, const char *name)
{
    return bytes == strlen(name) && memcmp(line, name, (size_t)bytes) == 0;
}

/* For a sentence: printable ASCII, cut at the buffer. */
static void show_name(char *buffer, size_t size, const uint8_t *line, uint64_t bytes)
{
    size_t i;

    for (i = 0; i < bytes && i + 1 < size; i++)
        buffer[i] = (char)(line[i] > 0x20 && line[i] < 0x7f ? line[i] : (uint8_t)'?');
    buffer[i] = 0;
}

static hg_result op_global(machine *m)
{
    const uint8_t *module, *name;
    uint64_t module_bytes, name_bytes;
    char module_shown[80], name_shown[80];
    size_t i;
    hg_result res;

    HG_TRY(take_line(m, &module, &module_bytes));
    HG_TRY(take_line(m, &name, &name_bytes));
    for (i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
        if (is_name(module, module_bytes, globals[i].module) &&
            is_name(name, name_bytes, globals[i].name))
            return push(m, (value){.kind = GLOBAL, .tag = (uint16_t)i});
    show_name(module_shown, sizeof(module_shown), module, module_bytes);
    show_name(name_shown, sizeof(name_shown), name, name_bytes);
    res = hg_fail(
        m->log, HG_ERR_FILE,
        "%s: it refers to \"%s\" of \"%s\"; expected tensors of type bfloat16, float16 or float32 "
        "in a "
        "plain state dict. Nothing was run; a program that unpickles this file would run it",
        m->label, name_shown, module_shown);
out:
    return res;
}

/* count values at the top of the stack become one tuple, above `keep` of them. */
static hg_result make_tuple(machine *m, uint32_t first, uint32_t keep)
{
    value tuple = {.kind = TUPLE, .count = m->stack.count - first, .number = m->children.count};
    uint32_t i;
    hg_result res;

    for (i = first; i < m->stack.count; i++) {
        uint32_t index = stack_at(m, i);

        if (value_at(m, index)->kind == MARK)
            return bad(m, "it takes a value where a mark is");
        res = pool_add(m, &m->children, &index);
        if (res != HG_OK)
            return res;
    }
    m->stack.count = keep;
    return push(m, tuple);
}

static hg_result op_tuple(machine *m)
{
    uint32_t first;
    hg_result res = find_mark(m, &first);

    return res == HG_OK ? make_tuple(m, first, first - 1) : res;
}

static hg_result op_short_tuple(machine *m, uint32_t count)
{
    if (m->stack.count < count)
        return bad(m, "it takes a value from an empty stack");
    return make_tuple(m, m->stack.count - count, m->stack.count - count);
}

static hg_result dict_add(machine *m, uint32_t dict, uint32_t key, uint32_t item)
{
    pair p = {key, item, -1};
    uint32_t index = m->pairs.count;
    value *d = value_at(m, dict);
    hg_result res = pool_add(m, &m->pairs, &p);

    if (res != HG_OK)
        return res;
    if (d->number < 0)
        d->number = index;
    else
        ((pair *)m->pairs.items)[d->count].next = index;
    d->count = index;
    return HG_OK;
}

static hg_result op_setitem(machine *m)
{
    uint32_t dict, key, item;
    hg_result res;

    HG_TRY(pop(m, &item));
    HG_TRY(pop(m, &key));
    HG_TRY(pop(m, &dict));
    if (value_at(m, dict)->kind != DICT)
        return bad(m, "it sets an item of something that is no dict");
    HG_TRY(dict_add(m, dict, key, item));
    res = push_index(m, dict);
out:
    return res;
}

static hg_result op_setitems(machine *m)
{
    uint32_t first, dict, i;
    hg_result res;

    HG_TRY(find_mark(m, &first));
    if ((m->stack.count - first) % 2)
        return bad(m, "it has a key without a value");
    dict = first >= 2 ? stack_at(m, first - 2) : 0;
    if (first < 2 || value_at(m, dict)->kind != DICT)
        return bad(m, "it sets items of something that is no dict");
    for (i = first; i < m->stack.count; i += 2)
        HG_TRY(dict_add(m, dict, stack_at(m, i), stack_at(m, i + 1)));
    m->stack.count = first - 1;
out:
    return res;
}

/* Items of lists mean nothing in a state dict; they are dropped. */
static hg_result op_append(machine *m)
{
    uint32_t item;
    hg_result res = pop(m, &item);

    if (res == HG_OK &&
        (m->stack.count == 0 || value_at(m, stack_at(m, m->stack.count - 1))->kind != LIST))
        res = bad(m, "it appends to something that is no list");
    return res;
}

static hg_result op_appends(machine *m)
{
    uint32_t first;
    hg_result res = find_mark(m, &first);

    if (res != HG_OK)
        return res;
    if (first < 2 || value_at(m, stack_at(m, first - 2))->kind != LIST)
        return bad(m, "it appends to something that is no list");
    m->stack.count = first - 1;
    return HG_OK;
}

static hg_result memo_put(machine *m, int count)
{
    static const uint32_t empty = 0;
    uint64_t index;
    hg_result res;

    HG_TRY(take_number(m, count, &index));
    if (m->stack.count == 0)
        return bad(m, "it remembers a value of an empty stack");
    /* Writers count up from 0, so an index beyond the pickle's length is a lie. */
    if (index >= m->bytes || index >= VALUES_MAX)
        return bad(m, "it remembers a value under a number that is far too large");
    while (m->memo.count <= index)
        HG_TRY(pool_add(m, &m->memo, &empty));
    ((uint32_t *)m->memo.items)[index] = stack_at(m, m->stack.count - 1) + 1;
out:
    return res;
}

static hg_result memo_get(machine *m, int count)
{
    uint64_t index;
    uint32_t stored;
    hg_result res = take_number(m, count, &index);

    if (res != HG_OK)
        return res;
    stored = index < m->memo.count ? ((const uint32_t *)m->memo.items)[index] : 0;
    if (!stored || value_at(m, stored - 1)->kind == MARK)
        return bad(m, "it recalls a value that was never remembered");
    return push_index(m, stored - 1);
}

/* ('storage', class, key, device, elements) */
static hg_result op_persistent(machine *m)
{
    const value *tuple, *class, *key, *elements;
    uint32_t index;
    hg_result res = pop(m, &index);

    if (res != HG_OK)
        return res;
    tuple = value_at(m, index);
    if (tuple->kind != TUPLE || tuple->count != 5)
        return bad(m, "a persistent id is no tuple of five");
    if (child_at(m, tuple, 0)->kind != TEXT ||
        !is_name(child_at(m, tuple, 0)->text, child_at(m, tuple, 0)->count, "storage"))
        return bad(m, "a persistent id is no storage");
    class = child_at(m, tuple, 1);
    key = child_at(m, tuple, 2);
    elements = child_at(m, tuple, 4);
    if (class->kind != GLOBAL || globals[class->tag].dtype == HG_DTYPE_NONE)
        return bad(m,
                   "the class of a storage is none of BFloat16Storage, HalfStorage, FloatStorage");
    if (key->kind != TEXT || child_at(m, tuple, 3)->kind != TEXT)
        return bad(m, "the key or the device of a storage is no string");
    if (elements->kind != INT || elements->number < 0)
        return bad(m, "the number of elements of a storage is no number from 0");
    return push(m, (value){.kind = STORAGE,
                           .tag = (uint16_t)globals[class->tag].dtype,
                           .text = key->text,
                           .count = key->count,
                           .number = elements->number});
}

static int is_sizes(const machine *m, const value *tuple)
{
    uint32_t i;

    if (tuple->kind != TUPLE || tuple->count > HG_TENSOR_RANK_MAX)
        return 0;
    for (i = 0; i < tuple->count; i++)
        if (child_at(m, tuple, i)->kind != INT || child_at(m, tuple, i)->number < 0)
            return 0;
    return 1;
}

/* (storage, offset, size, stride, requires_grad, hooks[, metadata]) */
static hg_result make_tensor(machine *m, uint32_t args)
{
    const value *tuple = value_at(m, args);

    if (tuple->kind != TUPLE || tuple->count < 6 || tuple->count > 7)
        return bad(m, "a tensor does not have six arguments");
    if (child_at(m, tuple, 0)->kind != STORAGE)
        return bad(m, "a tensor has no storage");
    if (child_at(m, tuple, 1)->kind != INT || child_at(m, tuple, 1)->number < 0)
        return bad(m, "the offset of a tensor is no number from 0");
    if (!is_sizes(m, child_at(m, tuple, 2)))
        return bad(m, "the sizes of a tensor are no tuple of at most 8 numbers from 0");
    if (!is_sizes(m, child_at(m, tuple, 3)))
        return bad(m, "the strides of a tensor are no tuple of at most 8 numbers from 0");
    if (child_at(m, tuple, 2)->count != child_at(m, tuple, 3)->count)
        return bad(m, "a tensor has another number of strides than of sizes");
    if (child_at(m, tuple, 4)->kind != BOOL || child_at(m, tuple, 5)->kind != DICT)
        return bad(m, "the last arguments of a tensor are no flag and no dict");
    return push(m, (value){.kind = TENSOR, .number = args});
}

static hg_result op_reduce(machine *m)
{
    uint32_t args, callee;
    hg_result res;

    HG_TRY(pop(m, &args));
    HG_TRY(pop(m, &callee));
    if (value_at(m, callee)->kind == GLOBAL && value_at(m, callee)->tag == REBUILD_TENSOR)
        return make_tensor(m, args);
    if (value_at(m, callee)->kind != GLOBAL || value_at(m, callee)->tag != ORDERED_DICT)
        return bad(m, "it calls something that is no function of a state dict");
    if (value_at(m, args)->kind != TUPLE || value_at(m, args)->count != 0)
        return bad(m, "an OrderedDict has arguments");
    res = push_kind(m, DICT);
out:
    return res;
}

/* torch.save hangs _metadata on the state dict this way; nothing in it is needed. */
static hg_result op_build(machine *m)
{
    uint32_t state;
    hg_result res = pop(m, &state);

    if (res != HG_OK)
        return res;
    if (m->stack.count == 0 || value_at(m, stack_at(m, m->stack.count - 1))->kind != DICT ||
        value_at(m, state)->kind != DICT)
        return bad(m, "it sets the state of something that is no dict");
    return HG_OK;
}

static hg_result op_other(const machine *m, uint8_t op)
{
    char what[120];

    snprintf(what, sizeof(what), "opcode 0x%02X is none that torch.save writes for a state dict",
             op);
    return bad(m, what);
}

static hg_result step_value(machine *m, uint8_t op)
{
    switch (op) {
    case 'N':
        return push_kind(m, NONE);
    case 0x88: /* True, False */
    case 0x89:
        return push_kind(m, BOOL);
    case 'J':
        return push_integer(m, 4, 1);
    case 'K':
        return push_integer(m, 1, 0);
    case 'M':
        return push_integer(m, 2, 0);
    case 0x8a: /* LONG1 */
        return op_long(m);
    case 'G':
        return op_float(m);
    case 'X':
        return op_text(m);
    case 'c':
        return op_global(m);
    case 0x80: /* PROTO */
        return op_proto(m);
    default:
        return op_other(m, op);
    }
}

static hg_result step(machine *m, uint8_t op)
{
    switch (op) {
    case '(':
        return push_kind(m, MARK);
    case '}':
        return push_kind(m, DICT);
    case ']':
        return push_kind(m, LIST);
    case ')':
        return push_kind(m, TUPLE);
    case 't':
        return op_tuple(m);
    case 0x85: /* TUPLE1, 2, 3 */
    case 0x86:
    case 0x87:
        return op_short_tuple(m, (uint32_t)op - 0x84);
    case 's':
        return op_setitem(m);
    case 'u':
        return op_setitems(m);
    case 'a':
        return op_append(m);
    case 'e':
        return op_appends(m);
    case 'q':
        return memo_put(m, 1);
    case 'r':
        return memo_put(m, 4);
    case 'h':
        return memo_get(m, 1);
    case 'j':
        return memo_get(m, 4);
    case 'Q':
        return op_persistent(m);
    case 'R':
        return op_reduce(m);
    case 'b':
        return op_build(m);
    default:
        return step_value(m, op);
    }
}

static void copy_sizes(const machine *m, const value *tuple, uint64_t *out)
{
    uint32_t i;

    for (i = 0; i < tuple->count; i++)
        out[i] = (uint64_t)child_at(m, tuple, i)->number;
}

static hg_result read_pair(const machine *m, const pair *p, hg_pickle_tensor *out)
{
    const value *name = value_at(m, p->key), *item = value_at(m, p->item), *args, *storage;
    int shown = name->count < 100 ? (int)name->count : 100;

    if (name->kind != TEXT)
        return bad(m, "a name in the state dict is no string");
    if (item->kind == DICT)
        return hg_fail(m->log, HG_ERR_FILE,
                       "%s: \"%.*s\" is a dict; expected a tensor. This looks like a training "
                       "checkpoint: save "
                       "model.state_dict() alone",
                       m->label, shown, (const char *)name->text);
    if (item->kind != TENSOR)
        return hg_fail(m->log, HG_ERR_FILE, "%s: \"%.*s\" is no tensor", m->label, shown,
                       (const char *)name->text);
    args = value_at(m, (uint32_t)item->number);
    storage = child_at(m, args, 0);
    *out = (hg_pickle_tensor){.name = (const char *)name->text, .name_bytes = name->count};
    out->key = (const char *)storage->text;
    out->key_bytes = storage->count;
    out->dtype = (hg_dtype)storage->tag;
    out->storage_elements = (uint64_t)storage->number;
    out->offset = (uint64_t)child_at(m, args, 1)->number;
    out->rank = child_at(m, args, 2)->count;
    copy_sizes(m, child_at(m, args, 2), out->shape);
    copy_sizes(m, child_at(m, args, 3), out->stride);
    return HG_OK;
}

/* At STOP: one dict is left, from names to tensors. */
static hg_result read_result(const machine *m, hg_pickle *out)
{
    const pair *pairs = m->pairs.items;
    const value *dict;
    uint32_t count = 0;
    int64_t at;
    hg_result res = HG_OK;

    if (m->stack.count != 1 || value_at(m, stack_at(m, 0))->kind != DICT)
        return bad(m, "expected one dict of tensors as the whole");
    dict = value_at(m, stack_at(m, 0));
    for (at = dict->number; at >= 0; at = pairs[at].next)
        count++;
    if (count == 0)
        return bad(m, "the dict is empty");
    if (count > VALUES_MAX / 4)
        return bad(m, "it has more tensors than any model");
    out->tensors = malloc(count * sizeof(*out->tensors));
    if (!out->tensors)
        return hg_fail(m->log, HG_ERR_HOST_MEMORY, "%s: out of memory for %u tensors", m->label,
                       count);
    for (at = dict->number; at >= 0 && res == HG_OK; at = pairs[at].next)
        res = read_pair(m, &pairs[at], &out->tensors[out->count++]);
    return res;
}

static hg_result run(machine *m, hg_pickle *out)
{
    hg_result res = HG_OK;

    while (res == HG_OK) {
        uint8_t op;

        m->op_at = m->at;
        if (m->at >= m->bytes)
            return bad(m, "it ends before its end mark; the file is damaged or cut short");
        op = m->data[m->at++];
        if (op == '.')
            return read_result(m, out);
        res = step(m, op);
    }
    return res;
}

hg_result hg_pickle_read(const hg_log *log, const char *label, const uint8_t *data, uint64_t bytes,
                         hg_pickle *out)
{
    machine m = {.log = log, .label = label, .data = data, .bytes = bytes};
    hg_result res;

    *out = (hg_pickle){NULL, 0};
    if (bytes > PICKLE_BYTES_MAX)
        return hg_fail(log, HG_ERR_FILE, "%s: expected at most 64 MiB, found %llu bytes", label,
                       (unsigned long long)bytes);
    m.values.element_bytes = sizeof(value);
    m.stack.element_bytes = m.children.element_bytes = m.memo.element_bytes = sizeof(uint32_t);
    m.pairs.element_bytes = sizeof(pair);
    res = run(&m, out);
    free(m.values.items);
    free(m.stack.items);
    free(m.children.items);
    free(m.pairs.items);
    free(m.memo.items);
    if (res != HG_OK)
        hg_pickle_free(out);
    return res;
}

void hg_pickle_free(hg_pickle *pickle)
{
    free(pickle->tensors);
    *pickle = (hg_pickle){NULL, 0};
}
