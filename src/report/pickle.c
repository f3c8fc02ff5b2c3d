#include "report/pickle.h"

#include <string.h>

#include "base/utf8.h"

/* The viewer hands the items of one batch to a function as its arguments. */
#define BATCH 1000

/* Opcodes; their names are those of Python's pickletools. */
enum {
    PROTO = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    TUPLE = 't',
    BINUNICODE = 'X',
    BINPUT = 'q',
    BINGET = 'h',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    NONE = 'N',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
};

static void byte(struct xs_pickle *p, unsigned value)
{
    unsigned char b = (unsigned char)value;
    xs_out_bytes(p->out, &b, 1);
}

static void little_endian(struct xs_pickle *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        byte(p, (unsigned)(value >> 8 * i & 0xff));
}

/* What is not UTF-8 becomes U+FFFD. */
static void put_text(struct xs_pickle *p, const char *text)
{
    size_t length = 0;
    for (const char *s = text; *s; s += xs_max(xs_utf8_length(s), 1))
        length += xs_utf8_length(s) ? xs_utf8_length(s) : 3;
    byte(p, BINUNICODE);
    little_endian(p, length, 4);
    for (const char *s = text; *s; s += xs_max(xs_utf8_length(s), 1)) {
        if (xs_utf8_length(s))
            xs_out_bytes(p->out, s, xs_utf8_length(s));
        else
            xs_out_bytes(p->out, "\xef\xbf\xbd", 3);
    }
}

static void put_key(struct xs_pickle *p, const char *key)
{
    unsigned slot = (unsigned)((uintptr_t)key * 0x9E3779B97F4A7C15u >> 56);
    if (p->key[slot] == key) {
        byte(p, BINGET);
        byte(p, p->key_index[slot]);
        return;
    }
    put_text(p, key);
    if (p->key[slot] || p->n_keys == XS_PICKLE_KEYS)
        return;
    p->key[slot] = key;
    p->key_index[slot] = (uint8_t)p->n_keys++;
    byte(p, BINPUT);
    byte(p, p->key_index[slot]);
}

static void put_signed(struct xs_pickle *p, int64_t value)
{
    if (value >= 0 && value < 0x100) {
        byte(p, BININT1);
        little_endian(p, (uint64_t)value, 1);
    } else if (value >= 0 && value < 0x10000) {
        byte(p, BININT2);
        little_endian(p, (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        byte(p, BININT);
        little_endian(p, (uint64_t)value, 4);
    } else {
        byte(p, LONG1);
        byte(p, 8);
        little_endian(p, (uint64_t)value, 8);
    }
}

/* A new batch after so many: the old one is handed over, and another mark set. */
static void begin_value(struct xs_pickle *p, const char *key)
{
    if (!p->depth)
        return;
    char bracket = p->level[p->depth - 1].bracket;
    if (bracket != '(' && p->level[p->depth - 1].items++ == BATCH) {
        byte(p, bracket == '{' ? SETITEMS : APPENDS);
        byte(p, MARK);
        p->level[p->depth - 1].items = 1;
    }
    if (key)
        put_key(p, key);
}

void xs_pickle_begin(struct xs_pickle *p, struct xs_out *out)
{
    memset(p, 0, sizeof(*p));
    p->out = out;
    byte(p, PROTO);
    byte(p, 2);
}

void xs_pickle_end(struct xs_pickle *p)
{
    byte(p, STOP);
}

void xs_pickle_open(struct xs_pickle *p, const char *key, char bracket)
{
    begin_value(p, key);
    if (bracket != '(')
        byte(p, bracket == '{' ? EMPTY_DICT : EMPTY_LIST);
    byte(p, MARK);
    p->level[p->depth].bracket = bracket;
    p->level[p->depth++].items = 0;
}

void xs_pickle_close(struct xs_pickle *p)
{
    char bracket = p->level[--p->depth].bracket;
    byte(p, bracket == '{' ? SETITEMS : bracket == '[' ? APPENDS : TUPLE);
}

void xs_pickle_text(struct xs_pickle *p, const char *key, const char *text)
{
    begin_value(p, key);
    put_text(p, text);
}

void xs_pickle_count(struct xs_pickle *p, const char *key, uint64_t value)
{
    begin_value(p, key);
    if (value <= INT64_MAX) {
        put_signed(p, (int64_t)value);
        return;
    }
    byte(p, LONG1); /* a ninth byte, or it would be negative */
    byte(p, 9);
    little_endian(p, value, 8);
    byte(p, 0);
}

void xs_pickle_signed(struct xs_pickle *p, const char *key, int64_t value)
{
    begin_value(p, key);
    put_signed(p, value);
}

void xs_pickle_real(struct xs_pickle *p, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    begin_value(p, key);
    byte(p, BINFLOAT);
    for (unsigned i = 8; i-- > 0;)
        byte(p, (unsigned)(bits >> 8 * i & 0xff));
}

void xs_pickle_bool(struct xs_pickle *p, const char *key, bool value)
{
    begin_value(p, key);
    byte(p, value ? NEWTRUE : NEWFALSE);
}

void xs_pickle_null(struct xs_pickle *p, const char *key)
{
    begin_value(p, key);
    byte(p, NONE);
}
