#include "policy/option.h"

#include "policy/policy.h"

const struct xs_conf_option xs_options[XS_OPTION_COUNT] = {
#define XS_OPTION_ROW(is_pytorch, field, key, type, preset, range, word, change, when, text)       \
    [XS_OPTION_##field] = {key,                                                                    \
                           preset,                                                                 \
                           range,                                                                  \
                           word,                                                                   \
                           text,                                                                   \
                           offsetof(struct xs_policy, field),                                      \
                           XS_TYPE_##type,                                                         \
                           XS_CHANGE_##change,                                                     \
                           XS_WHEN_##when,                                                         \
                           is_pytorch},
#define XS_PYTORCH_ROW(...) XS_OPTION_ROW(true, __VA_ARGS__)
#define XS_OWN_ROW(...)     XS_OPTION_ROW(false, __VA_ARGS__)
    XS_OPTION_PYTORCH_LIST(XS_PYTORCH_ROW) XS_OPTION_OWN_LIST(XS_OWN_ROW)};

const struct xs_ignored_key xs_ignored_keys[] = {
#define XS_IGNORED_ROW(key, reason) {key, reason},
    XS_OPTION_IGNORED_LIST(XS_IGNORED_ROW)};
const size_t xs_ignored_key_count = XS_COUNT_OF(xs_ignored_keys);

const struct xs_option_order xs_option_orders[] = {
#define XS_ORDER_ROW(larger, smaller) {XS_OPTION_##larger, XS_OPTION_##smaller},
    XS_OPTION_ORDER_LIST(XS_ORDER_ROW)};
const size_t xs_option_order_count = XS_COUNT_OF(xs_option_orders);

const struct xs_conf_option *xs_option_find(struct xs_slice key)
{
    for (size_t i = 0; i < XS_OPTION_COUNT; i++)
        if (xs_slice_is(key, xs_options[i].key))
            return &xs_options[i];
    return NULL;
}

const struct xs_ignored_key *xs_ignored_key_find(struct xs_slice key)
{
    for (size_t i = 0; i < xs_ignored_key_count; i++)
        if (xs_slice_is(key, xs_ignored_keys[i].key))
            return &xs_ignored_keys[i];
    return NULL;
}

enum { kKeyMax = 48 }; /* longer than any key: what is longer resembles none */

/* Insertions, deletions and replacements that turn one into the other (Levenshtein); case is
 * free. */
static size_t edit_distance(struct xs_slice a, struct xs_slice b)
{
    size_t row[kKeyMax + 1]; /* the row of the table for the first i characters of a */
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replaced = diagonal + (xs_to_lower(a.at[i - 1]) != xs_to_lower(b.at[j - 1]));
            diagonal = row[j];
            row[j] = xs_min(replaced, xs_min(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.len];
}

static void keep_nearer(struct xs_slice key, const char *candidate, const char **nearest,
                        size_t *distance)
{
    size_t d = edit_distance(key, xs_slice_of(candidate));
    if (d < *distance) {
        *distance = d;
        *nearest = candidate;
    }
}

const char *xs_option_nearest(struct xs_slice key)
{
    if (key.len == 0 || key.len > kKeyMax)
        return NULL;
    const char *nearest = NULL;
    size_t distance = key.len / 5 + 2; /* must be closer than this: one letter in four or so */
    for (size_t i = 0; i < XS_OPTION_COUNT; i++)
        keep_nearer(key, xs_options[i].key, &nearest, &distance);
    for (size_t i = 0; i < xs_ignored_key_count; i++)
        keep_nearer(key, xs_ignored_keys[i].key, &nearest, &distance);
    return nearest;
}
