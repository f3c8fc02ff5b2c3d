/* A piece of somebody else's text: not terminated, not owned. */
#ifndef XS_POLICY_SLICE_H
#define XS_POLICY_SLICE_H

#include <string.h>

#include "base/base.h"

struct xs_slice {
    const char *at;
    size_t len;
};

static inline struct xs_slice xs_slice_of(const char *text)
{
    return (struct xs_slice){text, strlen(text)};
}

static inline bool xs_slice_is(struct xs_slice s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

/* Blank, tab and line ends, whatever the locale says. */
static inline bool xs_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char xs_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline struct xs_slice xs_slice_trim(struct xs_slice s)
{
    while (s.len > 0 && xs_is_blank(s.at[0]))
        s.at++, s.len--;
    while (s.len > 0 && xs_is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

/* What stands before the first of the `stops`, or all; *rest is what follows it. False: no stop
 * found. */
static inline bool xs_slice_cut(struct xs_slice s, const char *stops, struct xs_slice *first,
                                struct xs_slice *rest)
{
    size_t n = 0;
    while (n < s.len && (s.at[n] == '\0' || !strchr(stops, s.at[n])))
        n++;
    bool found = n < s.len;
    *first = (struct xs_slice){s.at, n};
    *rest = (struct xs_slice){s.at + n + found, s.len - n - found};
    return found;
}

#endif
