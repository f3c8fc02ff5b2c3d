/*
 * Reads a pickle that is data alone: numbers, texts, lists, tuples, dictionaries, as snapshots of ours and of PyTorch
 * are. An opcode that would look anything up or call anything is an error; nothing is ever executed. What is read may
 * come from anywhere: all lengths and references are checked. Not thread-safe.
 */
#ifndef XS_REPORT_UNPICKLE_H
#define XS_REPORT_UNPICKLE_H

#include "report/array.h"

enum xs_value_kind {
    XS_VALUE_NONE,
    XS_VALUE_BOOL,
    XS_VALUE_INT, /* 64 bits; also above INT64_MAX */
    XS_VALUE_REAL,
    XS_VALUE_TEXT,
    XS_VALUE_LIST, /* and tuples */
    XS_VALUE_DICT  /* its items are keys and values in turn */
};

struct xs_items {
    struct xs_value *item;
    uint32_t count;
    uint32_t capacity;
};

struct xs_value {
    uint32_t kind;
    uint32_t length; /* of a text */
    union {
        uint64_t number;
        double real;
        const char *text; /* not terminated */
        struct xs_items *items;
    };
};

struct xs_chunk;

struct xs_unpickled {
    struct xs_value root;
    struct xs_chunk *chunks;
};

/* `data` must live as long as what is read. `name` is for messages. Errors: IO (not such a pickle), HOST_MEMORY. */
enum xseg_result xs_unpickle(struct xs_unpickled *u, const char *name, const void *data,
                             size_t bytes);
void xs_unpickle_drop(struct xs_unpickled *u);

/* All of these take any value, and give a default where it is not what is asked for. */
const struct xs_value *xs_value_at(const struct xs_value *list, size_t i); /* NULL: no such */
size_t xs_value_count(const struct xs_value *list);
const struct xs_value *xs_value_get(const struct xs_value *dict, const char *key);
uint64_t xs_value_number(const struct xs_value *value, uint64_t otherwise);
bool xs_value_is_text(const struct xs_value *value, const char *text);

#endif
