/*
 * One value, from text to a field of struct xs_policy and back.
 *
 * Most types are scalars: one uint64_t in the unit of the key, with an interval that it must lie
 * in and perhaps a word for "no number". A row of scalar_types[] is all that such a type needs.
 * BOOL and CHOICE are the index of a word. ROUNDUP, RESERVE and PATH have a grammar of their own.
 */
#include <stdio.h>

#include "base/fmt.h"
#include "policy/number.h"
#include "policy/option.h"
#include "policy/option_range.h"
#include "policy/policy.h"
#include "policy/roundup.h"

static bool refuse(struct xs_value_error *error, struct xs_slice what, const char *text)
{
    error->what = what;
    snprintf(error->text, sizeof(error->text), "%s", text);
    return false;
}

/* ---- scalars ---- */

struct scalar_type {
    enum xs_number (*read)(struct xs_slice text, uint64_t *n);
    void (*store)(void *field, uint64_t n);
    uint64_t (*load)(const void *field);
    const char *(*write)(char out[XS_NUMBER_BYTES], uint64_t n);
    const char *unit;
};

static enum xs_number read_mb(struct xs_slice text, uint64_t *n)
{
    enum xs_number e = xs_read_count(text, n);
    return e == XS_NUMBER_OK && *n > (INT64_MAX >> 20) ? XS_NUMBER_TOO_LARGE : e;
}

static enum xs_number read_size(struct xs_slice text, uint64_t *n)
{
    size_t bytes;
    if (!xs_parse_bytes(text.at, text.len, &bytes)) {
        uint64_t digits;
        return xs_read_count(text, &digits) == XS_NUMBER_BAD ? XS_NUMBER_BAD : XS_NUMBER_TOO_LARGE;
    }
    *n = bytes;
    return XS_NUMBER_OK;
}

static void store_count(void *field, uint64_t n)
{
    *(unsigned *)field = (unsigned)n;
}

static uint64_t load_count(const void *field)
{
    return *(const unsigned *)field;
}

static void store_mb(void *field, uint64_t n)
{
    *(size_t *)field = n == UINT64_MAX ? SIZE_MAX : (size_t)n << 20;
}

static uint64_t load_mb(const void *field)
{
    size_t bytes = *(const size_t *)field;
    return bytes == SIZE_MAX ? UINT64_MAX : bytes >> 20;
}

static void store_size(void *field, uint64_t n)
{
    *(size_t *)field = (size_t)n;
}

static uint64_t load_size(const void *field)
{
    return *(const size_t *)field;
}

static void store_share(void *field, uint64_t n)
{
    *(double *)field = (double)n / (double)XS_SHARE_ONE;
}

static uint64_t load_share(const void *field)
{
    return (uint64_t)(*(const double *)field * (double)XS_SHARE_ONE + 0.5);
}

static const char *write_count(char out[XS_NUMBER_BYTES], uint64_t n)
{
    snprintf(out, XS_NUMBER_BYTES, "%llu", (unsigned long long)n);
    return out;
}

static const struct scalar_type scalar_types[] = {
    [XS_TYPE_COUNT] = {xs_read_count, store_count, load_count, write_count, "whole number"},
    [XS_TYPE_MB] = {read_mb, store_mb, load_mb, write_count, "whole number of MiB"},
    [XS_TYPE_SIZE] = {read_size, store_size, load_size, xs_write_size,
                      "size in bytes or with K, M, G or T"},
    [XS_TYPE_SHARE] = {xs_read_share, store_share, load_share, xs_write_share,
                       "fraction such as 0.8"},
};

static const struct scalar_type *scalar_type_of(const struct xs_conf_option *o)
{
    bool is_scalar = o->type >= XS_TYPE_COUNT && o->type <= XS_TYPE_SHARE;
    return is_scalar ? &scalar_types[o->type] : NULL;
}

static uint64_t word_value(const struct xs_conf_option *o)
{
    return strcmp(o->word, "unlimited") == 0 ? UINT64_MAX : 0;
}

static bool is_in_range(const struct xs_conf_option *o, uint64_t n)
{
    const struct scalar_type *t = scalar_type_of(o);
    struct xs_interval r = xs_option_interval(o);
    uint64_t end;
    if (r.lo.len > 0 && t->read(r.lo, &end) == XS_NUMBER_OK && (r.lo_open ? n <= end : n < end))
        return false;
    if (r.hi.len > 0 && t->read(r.hi, &end) == XS_NUMBER_OK && (r.hi_open ? n >= end : n > end))
        return false;
    return true;
}

static bool refuse_scalar(const struct xs_conf_option *o, struct xs_slice text,
                          struct xs_value_error *error)
{
    error->what = text;
    snprintf(error->text, sizeof(error->text), "expected a %s%s%s", scalar_type_of(o)->unit,
             o->word[0] ? ", or " : "", o->word);
    return false;
}

static bool refuse_range(const struct xs_conf_option *o, struct xs_slice text,
                         struct xs_value_error *error)
{
    char range[XS_OPTION_TEXT_BYTES];
    error->what = text;
    snprintf(error->text, sizeof(error->text), "must be %.120s", xs_option_range(o, range));
    return false;
}

static bool read_scalar(const struct xs_conf_option *o, struct xs_slice text, void *field,
                        struct xs_value_error *error)
{
    const struct scalar_type *t = scalar_type_of(o);
    uint64_t n = 0;
    if (o->word[0] && xs_slice_is(text, o->word)) {
        t->store(field, word_value(o));
        return true;
    }
    switch (t->read(text, &n)) {
    case XS_NUMBER_BAD:
        return refuse_scalar(o, text, error);
    case XS_NUMBER_TOO_LARGE:
        return refuse(error, text, "the number is too large");
    case XS_NUMBER_OK:
        break;
    }
    if (!is_in_range(o, n))
        return refuse_range(o, text, error);
    t->store(field, n);
    return true;
}

static void write_scalar(const struct xs_conf_option *o, const void *field, char *out)
{
    const struct scalar_type *t = scalar_type_of(o);
    uint64_t n = t->load(field);
    if (o->word[0] && n == word_value(o))
        snprintf(out, XS_OPTION_TEXT_BYTES, "%s", o->word);
    else
        t->write(out, n);
}

/* ---- words ---- */

/* PyTorch spells booleans True and False; true and false are as good. */
static bool is_choice(struct xs_slice choice, struct xs_slice text)
{
    bool is_bool = xs_slice_is(choice, "True") || xs_slice_is(choice, "False");
    if (choice.len != text.len || text.len == 0)
        return false;
    char first = is_bool ? xs_to_lower(choice.at[0]) : choice.at[0];
    return (text.at[0] == choice.at[0] || text.at[0] == first) &&
           memcmp(text.at + 1, choice.at + 1, text.len - 1) == 0;
}

static const struct {
    enum xs_option_id id;
    const char *word, *reason;
} refused_words[] = {
#define XS_REFUSED_ROW(field, word, reason) {XS_OPTION_##field, word, reason},
    XS_OPTION_REFUSED_LIST(XS_REFUSED_ROW)};

static bool refuse_word(const struct xs_conf_option *o, struct xs_slice text,
                        struct xs_value_error *error)
{
    for (size_t i = 0; i < XS_COUNT_OF(refused_words); i++)
        if (refused_words[i].id == xs_option_id(o) && xs_slice_is(text, refused_words[i].word))
            return refuse(error, text, refused_words[i].reason);
    return refuse_range(o, text, error);
}

static bool read_word(const struct xs_conf_option *o, struct xs_slice text, unsigned *index,
                      struct xs_value_error *error)
{
    struct xs_slice choice, rest = xs_slice_of(o->range);
    bool more = true;
    for (unsigned i = 0; more; i++) {
        more = xs_slice_cut(rest, "|", &choice, &rest);
        if (is_choice(choice, text)) {
            *index = i;
            return true;
        }
    }
    return refuse_word(o, text, error);
}

static void write_word(const struct xs_conf_option *o, unsigned index, char *out)
{
    struct xs_slice choice, rest = xs_slice_of(o->range);
    do
        xs_slice_cut(rest, "|", &choice, &rest);
    while (index-- > 0);
    snprintf(out, XS_OPTION_TEXT_BYTES, "%.*s", (int)choice.len, choice.at);
}

/* ---- RESERVE: "0.5" of the device, or "40G"; kept in whole MiB so that it can be written
 * exactly ---- */

static const uint64_t kReserveMost = (uint64_t)1
                                     << 62; /* "1e20G": clamped to the device's size anyway */
static const uint64_t kShareMost =
    XS_SHARE_ONE / 8 * 9; /* more than 9/8 of the device is of no use */

static bool read_reserve_gib(struct xs_slice digits, struct xs_reserve *r)
{
    uint64_t units = 0;
    enum xs_number e = xs_read_share(digits, &units);
    if (e == XS_NUMBER_BAD || (e == XS_NUMBER_OK && units == 0))
        return false;
    const uint64_t per_mib = XS_SHARE_ONE / 1024;
    uint64_t mib = units / per_mib + (units % per_mib != 0);
    r->bytes = e == XS_NUMBER_OK ? mib << 20 : kReserveMost;
    return true;
}

static bool read_reserve_share(struct xs_slice digits, struct xs_reserve *r)
{
    uint64_t units = 0;
    enum xs_number e = xs_read_share(digits, &units);
    if (e == XS_NUMBER_BAD || (e == XS_NUMBER_OK && units == 0))
        return false;
    if (e == XS_NUMBER_TOO_LARGE || units > kShareMost)
        units = kShareMost;
    store_share(&r->share, units);
    return true;
}

static bool read_reserve(struct xs_slice text, struct xs_reserve *reserve,
                         struct xs_value_error *error)
{
    struct xs_reserve r = {0};
    char last = text.len ? xs_to_lower(text.at[text.len - 1]) : '\0';
    size_t bytes;
    bool ok;
    if (xs_slice_is(text, "auto")) {
        ok = true;
    } else if (last == 'g') {
        ok = read_reserve_gib((struct xs_slice){text.at, text.len - 1}, &r);
    } else if (last >= 'a' && last <= 'z') {
        ok = xs_parse_bytes(text.at, text.len, &bytes) && bytes > 0 && bytes <= kReserveMost;
        r.bytes = ok ? xs_round_up(bytes, XS_MIB) : 0;
    } else {
        ok = read_reserve_share(text, &r);
    }
    if (!ok)
        return refuse(
            error, text,
            "expected a share of the device's memory such as 0.5, a size such as 40G, or auto");
    *reserve = r;
    return true;
}

static void write_reserve(const struct xs_reserve *r, char *out)
{
    if (r->bytes)
        xs_write_size(out, r->bytes);
    else if (r->share > 0)
        xs_write_share(out, load_share(&r->share));
    else
        snprintf(out, XS_OPTION_TEXT_BYTES, "auto");
}

/* ---- PATH: the name of a file; what cannot stand in ALLOC_CONF cannot be in it ---- */

static bool read_path(struct xs_slice text, char out[XS_PATH_BYTES], struct xs_value_error *error)
{
    bool is_off = xs_slice_is(text, "off");
    if (text.len == 0 || memchr(text.at, '\0', text.len))
        return refuse(error, text, "expected the name of a file, or off");
    if (text.len >= XS_PATH_BYTES)
        return refuse(error, text, "the name is too long");
    memset(out, 0, XS_PATH_BYTES); /* policies are compared byte by byte */
    if (!is_off)
        memcpy(out, text.at, text.len);
    return true;
}

static void write_path(const char *path, char *out)
{
    snprintf(out, XS_OPTION_TEXT_BYTES, "%s", path[0] ? path : "off");
}

/* ---- any type ---- */

bool xs_option_read(const struct xs_conf_option *o, struct xs_slice text, struct xs_policy *policy,
                    struct xs_value_error *error)
{
    void *field = (char *)policy + o->offset;
    unsigned index;
    switch (o->type) {
    case XS_TYPE_BOOL:
        if (!read_word(o, text, &index, error))
            return false;
        *(bool *)field = index == 1;
        return true;
    case XS_TYPE_CHOICE:
        return read_word(o, text, field, error);
    case XS_TYPE_ROUNDUP:
        return xs_roundup_read(text, field, error);
    case XS_TYPE_RESERVE:
        return read_reserve(text, field, error);
    case XS_TYPE_PATH:
        return read_path(text, field, error);
    default:
        return read_scalar(o, text, field, error);
    }
}

const char *xs_option_write(const struct xs_conf_option *o, const struct xs_policy *policy,
                            char out[XS_OPTION_TEXT_BYTES])
{
    const void *field = (const char *)policy + o->offset;
    switch (o->type) {
    case XS_TYPE_BOOL:
        write_word(o, *(const bool *)field, out);
        break;
    case XS_TYPE_CHOICE:
        write_word(o, *(const unsigned *)field, out);
        break;
    case XS_TYPE_ROUNDUP:
        xs_roundup_write(field, out, XS_OPTION_TEXT_BYTES);
        break;
    case XS_TYPE_RESERVE:
        write_reserve(field, out);
        break;
    case XS_TYPE_PATH:
        write_path(field, out);
        break;
    default:
        write_scalar(o, field, out);
    }
    return out;
}

size_t xs_option_size(enum xs_option_id id, const struct xs_policy *policy)
{
    return *(const size_t *)((const char *)policy + xs_options[id].offset);
}
