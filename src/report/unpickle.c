#include "report/unpickle.h"

#include <string.h>

#include "base/error.h"

#define CHUNK_BYTES (1 * XS_MIB)

/* Memory for what is read: only ever added to. */
struct xs_chunk {
    struct xs_chunk *next;
    size_t bytes, used;
    max_align_t memory[];
};

struct reader {
    struct xs_unpickled *u;
    const char *name;
    const unsigned char *data;
    size_t bytes, at;
    struct xs_array stack, marks, memo; /* values; uint32_t; values */
    size_t depth, n_marks, n_memo;
};

/* ---- memory ----------------------------------------------------------------------------------- */

static void *take(struct xs_unpickled *u, size_t bytes)
{
    struct xs_chunk *c = u->chunks;
    bytes = xs_round_up(bytes, 16);
    if (!c || c->bytes - c->used < bytes) {
        size_t want = xs_max(sizeof(*c) + bytes, CHUNK_BYTES);
        struct xs_array map = {0};
        if (!xs_array_reserve(&map, want))
            return NULL;
        c = map.base;
        c->bytes = map.bytes - sizeof(*c);
        c->next = u->chunks;
        u->chunks = c;
    }
    void *p = (char *)c->memory + c->used;
    c->used += bytes;
    return p;
}

void xs_unpickle_drop(struct xs_unpickled *u)
{
    while (u->chunks) {
        struct xs_chunk *c = u->chunks;
        u->chunks = c->next;
        struct xs_array map = {c, c->bytes + sizeof(*c)};
        xs_array_drop(&map);
    }
    memset(u, 0, sizeof(*u));
}

static bool append(struct xs_unpickled *u, struct xs_items *items, const struct xs_value *values,
                   size_t n)
{
    if (items->count + n > items->capacity) {
        size_t capacity = xs_max(items->count + n, (size_t)items->capacity * 2);
        struct xs_value *to = capacity <= UINT32_MAX ? take(u, capacity * sizeof(*to)) : NULL;
        if (!to)
            return false;
        if (items->count)
            memcpy(to, items->item, items->count * sizeof(*to));
        items->item = to;
        items->capacity = (uint32_t)capacity;
    }
    if (n)
        memcpy(items->item + items->count, values, n * sizeof(*values));
    items->count += (uint32_t)n;
    return true;
}

/* ---- errors ----------------------------------------------------------------------------------- */

static enum xseg_result bad(const struct reader *r, const char *why)
{
    return xs_fail(XSEG_ERROR_IO, "%s: byte %zu: %s", r->name, r->at, why);
}

static enum xseg_result no_memory(const struct reader *r)
{
    return xs_fail(XSEG_ERROR_HOST_MEMORY, "%s: no memory to read it", r->name);
}

/* ---- the stack -------------------------------------------------------------------------------- */

static struct xs_value *stack_of(const struct reader *r)
{
    return r->stack.base;
}

static enum xseg_result push(struct reader *r, struct xs_value value)
{
    if (!xs_array_reserve(&r->stack, (r->depth + 1) * sizeof(value)))
        return no_memory(r);
    stack_of(r)[r->depth++] = value;
    return XSEG_OK;
}

static enum xseg_result push_number(struct reader *r, uint64_t number)
{
    return push(r, (struct xs_value){.kind = XS_VALUE_INT, .number = number});
}

static enum xseg_result push_kind(struct reader *r, enum xs_value_kind kind, uint64_t number)
{
    return push(r, (struct xs_value){.kind = (uint32_t)kind, .number = number});
}

static enum xseg_result push_items(struct reader *r, enum xs_value_kind kind,
                                   const struct xs_value *values, size_t n)
{
    struct xs_items *items = take(r->u, sizeof(*items));
    if (!items)
        return no_memory(r);
    *items = (struct xs_items){0};
    if (n && !append(r->u, items, values, n))
        return no_memory(r);
    return push(r, (struct xs_value){.kind = (uint32_t)kind, .items = items});
}

static enum xseg_result mark(struct reader *r)
{
    if (!xs_array_reserve(&r->marks, (r->n_marks + 1) * sizeof(uint32_t)))
        return no_memory(r);
    ((uint32_t *)r->marks.base)[r->n_marks++] = (uint32_t)r->depth;
    return XSEG_OK;
}

/* The latest n values, or those since the last mark, are no longer on the stack, but still at *values. */
static enum xseg_result pop(struct reader *r, size_t n, const struct xs_value **values)
{
    size_t floor = r->n_marks ? ((uint32_t *)r->marks.base)[r->n_marks - 1] : 0;
    if (r->depth - floor < n)
        return bad(r, "nothing is left to be taken");
    r->depth -= n;
    *values = stack_of(r) + r->depth;
    return XSEG_OK;
}

static enum xseg_result pop_to_mark(struct reader *r, const struct xs_value **values, size_t *n)
{
    if (!r->n_marks)
        return bad(r, "there is no mark");
    size_t at = ((uint32_t *)r->marks.base)[--r->n_marks];
    *n = r->depth - at;
    r->depth = at;
    *values = stack_of(r) + at;
    return XSEG_OK;
}

/* ---- opcodes with arguments ------------------------------------------------------------------- */

static enum xseg_result argument(struct reader *r, size_t bytes, const unsigned char **at)
{
    if (r->bytes - r->at < bytes)
        return bad(r, "the file is cut");
    *at = r->data + r->at;
    r->at += bytes;
    return XSEG_OK;
}

static enum xseg_result little_endian(struct reader *r, size_t bytes, uint64_t *value)
{
    const unsigned char *at = NULL;
    enum xseg_result e = argument(r, bytes, &at);
    *value = 0;
    for (size_t i = 0; i < bytes && !e; i++)
        *value |= (uint64_t)at[i] << 8 * i;
    return e;
}

static enum xseg_result read_number(struct reader *r, size_t bytes)
{
    uint64_t value;
    enum xseg_result e = little_endian(r, bytes, &value);
    if (!e && bytes == 4)
        value = (uint64_t)(int64_t)(int32_t)value;
    return e ? e : push_number(r, value);
}

/* Two's complement of so many bytes. What is more than 64 bits hold is the most that they do. */
static enum xseg_result read_long(struct reader *r)
{
    const unsigned char *at = NULL;
    uint64_t length, value = 0;
    enum xseg_result e = little_endian(r, 1, &length);
    if (!e)
        e = argument(r, length, &at);
    if (e)
        return e;
    bool negative = length && at[length - 1] & 0x80, fits = true;
    for (size_t i = 8; i < length; i++)
        fits &= at[i] == (negative ? 0xff : 0);
    for (size_t i = 0; i < 8; i++)
        value |= (uint64_t)(i < length ? at[i] : negative ? 0xff : 0) << 8 * i;
    return push_number(r, fits ? value : UINT64_MAX);
}

static enum xseg_result read_real(struct reader *r)
{
    const unsigned char *at = NULL;
    enum xseg_result e = argument(r, 8, &at);
    uint64_t bits = 0;
    struct xs_value value = {.kind = XS_VALUE_REAL};
    for (size_t i = 0; i < 8 && !e; i++)
        bits = bits << 8 | at[i];
    memcpy(&value.real, &bits, sizeof(bits));
    return e ? e : push(r, value);
}

static enum xseg_result read_text(struct reader *r, size_t length_bytes)
{
    const unsigned char *at = NULL;
    uint64_t length;
    enum xseg_result e = little_endian(r, length_bytes, &length);
    if (!e && length > UINT32_MAX)
        e = bad(r, "a text of more than 4 GiB");
    if (!e)
        e = argument(r, length, &at);
    return e ? e
             : push(r, (struct xs_value){.kind = XS_VALUE_TEXT,
                                         .length = (uint32_t)length,
                                         .text = (const char *)at});
}

/* ---- memo ------------------------------------------------------------------------------------- */

/* Numbers are dense in what Python writes; more of them than bytes there cannot be. */
static enum xseg_result remember(struct reader *r, uint64_t number)
{
    if (number > r->bytes || !r->depth)
        return bad(r, "a reference that cannot be");
    if (!xs_array_reserve(&r->memo, (number + 1) * sizeof(struct xs_value)))
        return no_memory(r);
    r->n_memo = xs_max(r->n_memo, number + 1);
    ((struct xs_value *)r->memo.base)[number] = stack_of(r)[r->depth - 1];
    return XSEG_OK;
}

static enum xseg_result recall(struct reader *r, uint64_t number)
{
    if (number >= r->n_memo)
        return bad(r, "a reference to nothing");
    return push(r, ((struct xs_value *)r->memo.base)[number]);
}

static enum xseg_result with_number(struct reader *r, size_t bytes,
                                    enum xseg_result (*use)(struct reader *, uint64_t))
{
    uint64_t number;
    enum xseg_result e = little_endian(r, bytes, &number);
    return e ? e : use(r, number);
}

/* ---- containers ------------------------------------------------------------------------------- */

static enum xseg_result make(struct reader *r, enum xs_value_kind kind)
{
    const struct xs_value *values = NULL;
    size_t n = 0;
    enum xseg_result e = pop_to_mark(r, &values, &n);
    if (!e && kind == XS_VALUE_DICT && n % 2)
        e = bad(r, "a key without a value");
    return e ? e : push_items(r, kind, values, n);
}

static enum xseg_result make_tuple(struct reader *r, size_t n)
{
    const struct xs_value *values = NULL;
    enum xseg_result e = pop(r, n, &values);
    return e ? e : push_items(r, XS_VALUE_LIST, values, n);
}

static enum xseg_result add(struct reader *r, enum xs_value_kind kind,
                            const struct xs_value *values, size_t n)
{
    if (!r->depth || stack_of(r)[r->depth - 1].kind != (uint32_t)kind)
        return bad(r, "items for what holds none");
    if (kind == XS_VALUE_DICT && n % 2)
        return bad(r, "a key without a value");
    struct xs_items *items = stack_of(r)[r->depth - 1].items;
    return append(r->u, items, values, n) ? XSEG_OK : no_memory(r);
}

static enum xseg_result add_to_mark(struct reader *r, enum xs_value_kind kind)
{
    const struct xs_value *values = NULL;
    size_t n = 0;
    enum xseg_result e = pop_to_mark(r, &values, &n);
    return e ? e : add(r, kind, values, n);
}

static enum xseg_result add_few(struct reader *r, enum xs_value_kind kind, size_t n)
{
    const struct xs_value *values = NULL;
    enum xseg_result e = pop(r, n, &values);
    return e ? e : add(r, kind, values, n);
}

/* ---- the whole -------------------------------------------------------------------------------- */

static enum xseg_result skip(struct reader *r, size_t bytes)
{
    const unsigned char *at = NULL;
    return argument(r, bytes, &at);
}

static enum xseg_result step(struct reader *r, unsigned opcode)
{
    switch (opcode) {
    case 0x80: /* PROTO */
        return skip(r, 1);
    case 0x95: /* FRAME */
        return skip(r, 8);
    case '(':
        return mark(r);
    case 'N':
        return push_kind(r, XS_VALUE_NONE, 0);
    case 0x88: /* NEWTRUE */
        return push_kind(r, XS_VALUE_BOOL, 1);
    case 0x89: /* NEWFALSE */
        return push_kind(r, XS_VALUE_BOOL, 0);
    case 'K':
        return read_number(r, 1);
    case 'M':
        return read_number(r, 2);
    case 'J':
        return read_number(r, 4);
    case 0x8a: /* LONG1 */
        return read_long(r);
    case 'G':
        return read_real(r);
    case 0x8c: /* SHORT_BINUNICODE */
        return read_text(r, 1);
    case 'X':
        return read_text(r, 4);
    case '}':
        return push_items(r, XS_VALUE_DICT, NULL, 0);
    case ']':
    case ')':
        return push_items(r, XS_VALUE_LIST, NULL, 0);
    case 'd':
        return make(r, XS_VALUE_DICT);
    case 'l':
    case 't':
        return make(r, XS_VALUE_LIST);
    case 0x85: /* TUPLE1 to TUPLE3 */
    case 0x86:
    case 0x87:
        return make_tuple(r, opcode - 0x84);
    case 'a':
        return add_few(r, XS_VALUE_LIST, 1);
    case 'e':
        return add_to_mark(r, XS_VALUE_LIST);
    case 's':
        return add_few(r, XS_VALUE_DICT, 2);
    case 'u':
        return add_to_mark(r, XS_VALUE_DICT);
    case 'q':
        return with_number(r, 1, remember);
    case 'r':
        return with_number(r, 4, remember);
    case 0x94: /* MEMOIZE */
        return remember(r, r->n_memo);
    case 'h':
        return with_number(r, 1, recall);
    case 'j':
        return with_number(r, 4, recall);
    default:
        return xs_fail(XSEG_ERROR_IO, "%s: byte %zu: opcode 0x%02x: no snapshot has it", r->name,
                       r->at - 1, opcode);
    }
}

static enum xseg_result read_all(struct reader *r)
{
    if (r->bytes && r->data[0] == '{')
        return bad(r, "this is JSON, for other programs; the same as a pickle can be read");
    if (r->bytes < 2 || r->data[0] != 0x80)
        return bad(r, "this is no pickle");
    for (;;) {
        uint64_t opcode;
        enum xseg_result e = little_endian(r, 1, &opcode);
        if (!e && opcode == '.')
            break;
        if (!e)
            e = step(r, (unsigned)opcode);
        if (e)
            return e;
    }
    if (r->depth != 1 || r->n_marks)
        return bad(r, "it does not end with one value");
    r->u->root = stack_of(r)[0];
    return XSEG_OK;
}

enum xseg_result xs_unpickle(struct xs_unpickled *u, const char *name, const void *data,
                             size_t bytes)
{
    struct reader r = {.u = u, .name = name, .data = data, .bytes = bytes};
    memset(u, 0, sizeof(*u));
    /* Values are taken from the stack by their place in it, also none of them. */
    enum xseg_result e =
        xs_array_reserve(&r.stack, sizeof(struct xs_value)) ? read_all(&r) : no_memory(&r);
    xs_array_drop(&r.stack);
    xs_array_drop(&r.marks);
    xs_array_drop(&r.memo);
    if (e)
        xs_unpickle_drop(u);
    return e;
}

/* ---- looking at it ---------------------------------------------------------------------------- */

size_t xs_value_count(const struct xs_value *list)
{
    return list && list->kind == XS_VALUE_LIST ? list->items->count : 0;
}

const struct xs_value *xs_value_at(const struct xs_value *list, size_t i)
{
    return i < xs_value_count(list) ? &list->items->item[i] : NULL;
}

bool xs_value_is_text(const struct xs_value *value, const char *text)
{
    return value && value->kind == XS_VALUE_TEXT && value->length == strlen(text) &&
           memcmp(value->text, text, value->length) == 0;
}

const struct xs_value *xs_value_get(const struct xs_value *dict, const char *key)
{
    if (!dict || dict->kind != XS_VALUE_DICT)
        return NULL;
    for (uint32_t i = dict->items->count; i >= 2; i -= 2) /* the last of several wins */
        if (xs_value_is_text(&dict->items->item[i - 2], key))
            return &dict->items->item[i - 1];
    return NULL;
}

uint64_t xs_value_number(const struct xs_value *value, uint64_t otherwise)
{
    return value && (value->kind == XS_VALUE_INT || value->kind == XS_VALUE_BOOL) ? value->number
                                                                                  : otherwise;
}
