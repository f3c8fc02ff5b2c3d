/* Texts that are the same kept once, each with a number; "" is 0. Not thread-safe. */
#ifndef XS_REPORT_NAMES_H
#define XS_REPORT_NAMES_H

#include "report/array.h"

struct xs_names {
    struct xs_array text;  /* all of them, each ended by NUL */
    struct xs_array at;    /* uint32_t: where each begins */
    struct xs_array table; /* uint32_t: number + 1, open addressing; 0: empty */
    size_t text_bytes;
    uint32_t count;
    unsigned bits;
};

/* The text's number, new if need be. UINT32_MAX: no memory. */
uint32_t xs_names_number(struct xs_names *names, const char *text, size_t length);
const char *xs_names_text(const struct xs_names *names, uint32_t number);
void xs_names_drop(struct xs_names *names);

#endif
