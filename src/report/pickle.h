/*
 * Writes a pickle of protocol 2: the opcodes that torch.cuda._memory_viz and Python's pickle module read, and none
 * that would make anything run. Keys are written once and referred to afterwards.
 */
#ifndef XS_REPORT_PICKLE_H
#define XS_REPORT_PICKLE_H

#include "base/out.h"

#define XS_PICKLE_KEYS  256
#define XS_PICKLE_DEPTH 16

struct xs_pickle {
    struct xs_out *out;
    const char *key[XS_PICKLE_KEYS]; /* by address: the keys are literals */
    uint8_t key_index[XS_PICKLE_KEYS];
    unsigned n_keys;
    unsigned depth;
    struct {
        char bracket;
        unsigned items; /* since the last batch */
    } level[XS_PICKLE_DEPTH];
};

void xs_pickle_begin(struct xs_pickle *p, struct xs_out *out);
void xs_pickle_end(struct xs_pickle *p);

/* '{' a dictionary, '[' a list, '(' a tuple of two. `key` as in base/json.h, a literal. */
void xs_pickle_open(struct xs_pickle *p, const char *key, char bracket);
void xs_pickle_close(struct xs_pickle *p);
void xs_pickle_text(struct xs_pickle *p, const char *key, const char *text);
void xs_pickle_count(struct xs_pickle *p, const char *key, uint64_t value);
void xs_pickle_signed(struct xs_pickle *p, const char *key, int64_t value);
void xs_pickle_real(struct xs_pickle *p, const char *key, double value);
void xs_pickle_bool(struct xs_pickle *p, const char *key, bool value);
void xs_pickle_null(struct xs_pickle *p, const char *key);

#endif
