/*
 * From text to policy, in three steps on a copy of the policy:
 *   1. keys marked RESET go back to their defaults, and `strict` is looked for, since it
 *      decides how the other keys are judged wherever it stands;
 *   2. each item is read into its field; an item that is wrong is reported and the next one is
 *      read, so that one run shows all mistakes;
 *   3. options that depend on each other are checked, so their order in the text does not matter.
 * Only without an error is the copy put in place of the policy.
 *
 * Unknown keys are skipped with a warning, brackets and all, because one environment serves several
 * releases; a bad value of a known key refuses the whole text, because the rest of it was chosen
 * with it.
 */
#include "policy/conf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "policy/conf_scan.h"

struct apply {
    struct xs_slice text;
    bool is_lines;
    uint8_t origin;
    struct xs_policy next;
    const char *given[XS_OPTION_COUNT]; /* where the text names the option; NULL: nowhere */
    struct xs_conf_report *report;
};

/* ---- messages ---- */

static const char *line_start(const struct apply *a, const char *at)
{
    while (a->is_lines && at > a->text.at && at[-1] != '\n')
        at--;
    return a->is_lines ? at : a->text.at;
}

static unsigned line_number(const struct apply *a, const char *at)
{
    unsigned n = a->is_lines;
    for (const char *p = a->text.at; a->is_lines && p < at; p++)
        n += *p == '\n';
    return n;
}

/* A window of the line around `at` that can be printed with a caret under it. */
static void take_excerpt(struct apply *a, const char *at)
{
    const size_t before_max = XS_CONF_QUOTE_BYTES / 2;
    struct xs_conf_report *r = a->report;
    const char *from = line_start(a, at), *end = a->text.at + a->text.len;
    if ((size_t)(at - from) > before_max)
        from = at - before_max;
    size_t n = 0;
    for (; from + n < end && n < XS_CONF_QUOTE_BYTES - 1 && !(a->is_lines && from[n] == '\n'); n++)
        r->excerpt[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    r->excerpt[n] = '\0';
    r->caret = (size_t)(at - from);
}

static void say(struct apply *a, enum xs_conf_level level, const char *at, const char *fmt, ...)
    XS_PRINTF(4, 5);

static void say(struct apply *a, enum xs_conf_level level, const char *at, const char *fmt, ...)
{
    char text[XS_CONF_TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (level == XS_CONF_ERROR && a->report->count[level] == 0 && at)
        take_excerpt(a, at);
    unsigned column = at ? (unsigned)(at - line_start(a, at)) + 1 : 0;
    xs_conf_report_add(a->report, level, at ? line_number(a, at) : 0, column, "%s", text);
}

/* ---- one item ---- */

/* Whether the item is "key:value" at all. */
static bool check_shape(struct apply *a, const struct xs_conf_item *item)
{
    char quote[XS_CONF_QUOTE_BYTES];
    if (item->stray_bracket)
        say(a, XS_CONF_ERROR, item->stray_bracket, "']' without a '[' before it");
    else if (item->open_bracket)
        say(a, XS_CONF_ERROR, item->open_bracket, "'[' without a ']' after it");
    else if (!item->has_separator)
        say(a, XS_CONF_ERROR, item->whole.at, "'%s' has no value: expected key:value",
            xs_conf_quote(item->whole, quote));
    else if (item->key.len == 0)
        say(a, XS_CONF_ERROR, item->whole.at, "a key is missing before '%c'", item->whole.at[0]);
    else if (item->value.len == 0)
        say(a, XS_CONF_ERROR, item->key.at, "'%s' has no value: expected key:value",
            xs_conf_quote(item->key, quote));
    else
        return true;
    return false;
}

static void skip_ignored(struct apply *a, const struct xs_conf_item *item,
                         const struct xs_ignored_key *k)
{
    say(a, XS_CONF_NOTE, item->key.at, "%s has no effect: %s", k->key, k->reason);
}

static void skip_unknown(struct apply *a, const struct xs_conf_item *item)
{
    char quote[XS_CONF_QUOTE_BYTES];
    const char *nearest = xs_option_nearest(item->key);
    bool strict = a->report->strict;
    say(a, strict ? XS_CONF_ERROR : XS_CONF_WARNING, item->key.at, "unknown key '%s'%s%s%s%s",
        xs_conf_quote(item->key, quote), strict ? "" : ", skipped",
        nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* "a:True:b:2": a comma is missing, which would else be reported as a strange value. */
static bool has_stray_separator(struct apply *a, const struct xs_conf_option *o,
                                struct xs_slice value)
{
    char quote[XS_CONF_QUOTE_BYTES];
    struct xs_slice first, rest;
    if (o->type == XS_TYPE_ROUNDUP || !xs_slice_cut(value, ":", &first, &rest))
        return false;
    say(a, XS_CONF_ERROR, rest.at - 1, "%s:%s: expected ',' or the end, found ':'", o->key,
        xs_conf_quote(first, quote));
    return true;
}

/* In PyTorch too, a reserve that cannot be read is no reason to refuse the rest. */
static void refuse_value(struct apply *a, const struct xs_conf_option *o,
                         const struct xs_value_error *error)
{
    char quote[XS_CONF_QUOTE_BYTES];
    bool is_lenient = o->type == XS_TYPE_RESERVE;
    say(a, is_lenient ? XS_CONF_NOTE : XS_CONF_ERROR, error->what.at, "%s: '%.60s': %s%s", o->key,
        xs_conf_quote(error->what, quote), error->text, is_lenient ? "; ignored" : "");
}

static void note_ones(struct apply *a, const struct xs_conf_option *o, const char *at)
{
    for (size_t i = 0; o->type == XS_TYPE_ROUNDUP && i < XS_ROUNDUP_SLOTS; i++) {
        if (a->next.roundup_power2_divisions[i] != 1)
            continue;
        say(a, XS_CONF_NOTE, at, "%s: 1 means no rounding, as in PyTorch; 2 is the coarsest",
            o->key);
        return;
    }
}

static void read_option(struct apply *a, const struct xs_conf_option *o,
                        const struct xs_conf_item *item)
{
    enum xs_option_id id = xs_option_id(o);
    struct xs_value_error error;
    if (has_stray_separator(a, o, item->value))
        return;
    if (a->given[id])
        say(a, XS_CONF_NOTE, item->key.at, "%s is given more than once; the last one counts",
            o->key);
    if (!xs_option_read(o, item->value, &a->next, &error)) {
        refuse_value(a, o, &error);
        return;
    }
    a->given[id] = item->key.at;
    a->next.origins.of[id] = a->origin;
    a->next.origins.line[id] = (uint16_t)line_number(a, item->key.at);
    note_ones(a, o, item->value.at);
}

static void read_item(struct apply *a, const struct xs_conf_item *item)
{
    if (item->whole.len == 0) {
        if (!item->is_last && !a->is_lines)
            say(a, XS_CONF_NOTE, item->whole.at, "an empty item, ignored");
        return;
    }
    if (!check_shape(a, item))
        return;
    const struct xs_conf_option *o = xs_option_find(item->key);
    const struct xs_ignored_key *ignored = xs_ignored_key_find(item->key);
    if (o)
        read_option(a, o, item);
    else if (ignored)
        skip_ignored(a, item, ignored);
    else
        skip_unknown(a, item);
}

/* ---- the whole ---- */

static void begin(struct apply *a, const char *source)
{
    struct xs_conf_report *r = a->report;
    snprintf(r->source, sizeof(r->source), "%s", source);
    r->input[0] = '\0';
    if (!a->is_lines)
        xs_conf_quote(a->text, r->input);
    a->origin = xs_origins_add(&a->next.origins, source);
    for (size_t i = 0; i < XS_OPTION_COUNT; i++)
        if (xs_options[i].change == XS_CHANGE_RESET)
            xs_policy_reset(&a->next, (enum xs_option_id)i);
}

static void find_strict(struct apply *a)
{
    const struct xs_conf_option *o = &xs_options[XS_OPTION_strict];
    struct xs_conf_scan scan = {.text = a->text, .is_lines = a->is_lines};
    struct xs_conf_item item;
    struct xs_value_error error;
    while (xs_conf_scan_next(&scan, &item))
        if (xs_slice_is(item.key, o->key))
            (void)xs_option_read(o, item.value, &a->next, &error);
    a->report->strict = a->next.strict;
}

static void read_items(struct apply *a)
{
    struct xs_conf_scan scan = {.text = a->text, .is_lines = a->is_lines};
    struct xs_conf_item item;
    while (xs_conf_scan_next(&scan, &item))
        read_item(a, &item);
}

static void check_order(struct apply *a, const struct xs_option_order *order)
{
    char larger[XS_OPTION_TEXT_BYTES], smaller[XS_OPTION_TEXT_BYTES];
    const struct xs_conf_option *l = &xs_options[order->larger], *s = &xs_options[order->smaller];
    if (xs_option_size(order->larger, &a->next) >= xs_option_size(order->smaller, &a->next))
        return;
    const char *at = a->given[order->larger] ? a->given[order->larger] : a->given[order->smaller];
    say(a, XS_CONF_ERROR, at, "%s:%.40s: must be at least %s, which is %.40s", l->key,
        xs_option_write(l, &a->next, larger), s->key, xs_option_write(s, &a->next, smaller));
}

static enum xseg_result apply(struct apply *a, const char *source, struct xs_policy *policy)
{
    size_t errors_before = a->report->count[XS_CONF_ERROR];
    memcpy(&a->next, policy, sizeof(*policy));
    begin(a, source);
    if (a->text.len > XS_CONF_TEXT_MAX) {
        say(a, XS_CONF_ERROR, NULL, "longer than %d bytes", XS_CONF_TEXT_MAX);
        return xs_conf_fail(a->report);
    }
    find_strict(a);
    read_items(a);
    if (a->next.max_non_split_rounding == 0) /* auto */
        a->next.max_non_split_rounding = a->next.large_segment_size;
    for (size_t i = 0;
         a->report->count[XS_CONF_ERROR] == errors_before && i < xs_option_order_count; i++)
        check_order(a, &xs_option_orders[i]);
    if (a->report->count[XS_CONF_ERROR] > errors_before)
        return xs_conf_fail(a->report);
    memcpy(policy, &a->next, sizeof(*policy));
    return XSEG_OK;
}

enum xseg_result xs_conf_fail(const struct xs_conf_report *report)
{
    char line[XS_CONF_LINE_BYTES];
    return xs_fail(XSEG_ERROR_CONFIG, "%s",
                   xs_conf_message_line(report, &report->first_error, line));
}

enum xseg_result xs_conf_apply(const char *text, size_t len, const char *source,
                               struct xs_policy *policy, struct xs_conf_report *report)
{
    struct apply a = {.text = {text, len}, .report = report};
    return apply(&a, source, policy);
}

enum xseg_result xs_conf_apply_lines(const char *text, size_t len, const char *source,
                                     struct xs_policy *policy, struct xs_conf_report *report)
{
    struct apply a = {.text = {text, len}, .is_lines = true, .report = report};
    return apply(&a, source, policy);
}
