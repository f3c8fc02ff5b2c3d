/*
 * The table of options: what option_list.h says, as data, and the reading and writing of one value.
 * Everything here is constant: thread-safe, no allocation.
 */
#ifndef XS_POLICY_OPTION_H
#define XS_POLICY_OPTION_H

#include "policy/option_list.h"
#include "policy/slice.h"

struct xs_policy;

enum xs_option_id {
#define XS_OPTION_ID(field, ...) XS_OPTION_##field,
    XS_OPTION_LIST(XS_OPTION_ID)
#undef XS_OPTION_ID
        XS_OPTION_COUNT
};

enum xs_option_type {
    XS_TYPE_BOOL,
    XS_TYPE_CHOICE,
    XS_TYPE_COUNT,
    XS_TYPE_MB,
    XS_TYPE_SIZE,
    XS_TYPE_SHARE,
    XS_TYPE_ROUNDUP,
    XS_TYPE_RESERVE,
    XS_TYPE_PATH
};

enum xs_option_change { XS_CHANGE_KEEP, XS_CHANGE_RESET };
enum xs_option_when { XS_WHEN_LIVE, XS_WHEN_START };

/* One row of option_list.h. */
struct xs_conf_option {
    const char *key;
    const char *preset; /* the default */
    const char *range;
    const char *word;
    const char *text;
    size_t offset; /* of the field in struct xs_policy */
    enum xs_option_type type;
    enum xs_option_change change;
    enum xs_option_when when;
    bool is_pytorch;
};

struct xs_ignored_key {
    const char *key;
    const char *reason;
};

/* Field `larger` may not be below field `smaller`. */
struct xs_option_order {
    enum xs_option_id larger;
    enum xs_option_id smaller;
};

extern const struct xs_conf_option xs_options[XS_OPTION_COUNT];
extern const struct xs_ignored_key xs_ignored_keys[];
extern const size_t xs_ignored_key_count;
extern const struct xs_option_order xs_option_orders[];
extern const size_t xs_option_order_count;

static inline enum xs_option_id xs_option_id(const struct xs_conf_option *o)
{
    return (enum xs_option_id)(o - xs_options);
}

/* NULL: not a key that is used. */
const struct xs_conf_option *xs_option_find(struct xs_slice key);
/* NULL: not a key that is ignored. */
const struct xs_ignored_key *xs_ignored_key_find(struct xs_slice key);
/* The known key that looks most like it; NULL where none is close. */
const char *xs_option_nearest(struct xs_slice key);

/* What is wrong with a value, and which part of it. */
struct xs_value_error {
    struct xs_slice what;
    char text[160];
};

/* Reads a value into the option's field. False: *error says why, the field is unchanged. */
bool xs_option_read(const struct xs_conf_option *o, struct xs_slice text, struct xs_policy *policy,
                    struct xs_value_error *error);

#define XS_OPTION_TEXT_BYTES 512

/* The value as ALLOC_CONF would say it; xs_option_read() of it gives the same value. Returns
 * `out`. */
const char *xs_option_write(const struct xs_conf_option *o, const struct xs_policy *policy,
                            char out[XS_OPTION_TEXT_BYTES]);

/* "more than 10", "True or False"; "" where the type has no range. Returns `out`. */
const char *xs_option_range(const struct xs_conf_option *o, char out[XS_OPTION_TEXT_BYTES]);
/* "MiB", "share": what kind of value it is, for a table. */
const char *xs_option_unit(const struct xs_conf_option *o);

/* The field of an option whose type is MB or SIZE. */
size_t xs_option_size(enum xs_option_id id, const struct xs_policy *policy);

#endif
