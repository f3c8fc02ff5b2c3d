#include "policy/option_range.h"

#include <stdio.h>

struct xs_interval xs_option_interval(const struct xs_conf_option *o)
{
    struct xs_slice all = xs_slice_of(o->range);
    struct xs_interval r = {.lo_open = all.at[0] == '(', .hi_open = all.at[all.len - 1] == ')'};
    xs_slice_cut((struct xs_slice){all.at + 1, all.len - 2}, ",", &r.lo, &r.hi);
    r.hi = xs_slice_trim(r.hi);
    return r;
}

/* "more than 10", "from 1 to 256", "more than 0 and less than 1" */
static void write_interval(const struct xs_conf_option *o, char out[XS_OPTION_TEXT_BYTES])
{
    struct xs_interval r = xs_option_interval(o);
    bool both_closed = r.hi.len > 0 && !r.lo_open && !r.hi_open;
    const char *before_lo = both_closed ? "from" : r.lo_open ? "more than" : "at least";
    const char *before_hi = both_closed ? " to " : r.hi_open ? " and less than " : " and at most ";
    snprintf(out, XS_OPTION_TEXT_BYTES, "%s %.*s%s%.*s", before_lo, (int)r.lo.len, r.lo.at,
             r.hi.len ? before_hi : "", (int)r.hi.len, r.hi.at);
}

/* "none, posix_fd or auto" */
static void write_words(struct xs_slice rest, char out[XS_OPTION_TEXT_BYTES])
{
    struct xs_slice word;
    const char *between = "";
    size_t n = 0;
    bool more = true;
    while (more) {
        more = xs_slice_cut(rest, "|", &word, &rest);
        n += (size_t)snprintf(out + n, XS_OPTION_TEXT_BYTES - n, "%s%.*s",
                              more || n == 0 ? between : " or ", (int)word.len, word.at);
        between = ", ";
    }
}

const char *xs_option_range(const struct xs_conf_option *o, char out[XS_OPTION_TEXT_BYTES])
{
    out[0] = '\0';
    if (strchr(o->range, '|'))
        write_words(xs_slice_of(o->range), out);
    else if (o->range[0])
        write_interval(o, out);
    return out;
}

const char *xs_option_unit(const struct xs_conf_option *o)
{
    static const char *const units[] = {
        [XS_TYPE_BOOL] = "boolean",
        [XS_TYPE_CHOICE] = "word",
        [XS_TYPE_COUNT] = "number",
        [XS_TYPE_MB] = "MiB",
        [XS_TYPE_SIZE] = "size",
        [XS_TYPE_SHARE] = "share",
        [XS_TYPE_ROUNDUP] = "number or list",
        [XS_TYPE_RESERVE] = "share or size",
        [XS_TYPE_PATH] = "file name",
    };
    return units[o->type];
}
