#include "policy/conf_scan.h"

static bool ends_item(const struct xs_conf_scan *scan, char c, size_t depth)
{
    return (c == ',' && depth == 0) || (scan->is_lines && (c == '\n' || c == '#'));
}

static void follow_brackets(struct xs_conf_item *item, const char *c, size_t *depth)
{
    if (*c == '[') {
        if ((*depth)++ == 0)
            item->open_bracket = c;
    } else if (*c == ']' && *depth > 0) {
        if (--*depth == 0)
            item->open_bracket = NULL;
    } else if (*c == ']' && !item->stray_bracket) {
        item->stray_bracket = c;
    }
}

static void skip_comment(struct xs_conf_scan *scan)
{
    if (scan->pos < scan->text.len && scan->text.at[scan->pos] == '#')
        while (scan->pos < scan->text.len && scan->text.at[scan->pos] != '\n')
            scan->pos++;
}

bool xs_conf_scan_next(struct xs_conf_scan *scan, struct xs_conf_item *item)
{
    size_t start = scan->pos, depth = 0;
    if (start > scan->text.len)
        return false;
    *item = (struct xs_conf_item){.has_separator = false};
    for (; scan->pos < scan->text.len; scan->pos++) {
        const char *c = scan->text.at + scan->pos;
        if (ends_item(scan, *c, depth))
            break;
        follow_brackets(item, c, &depth);
    }
    item->whole = xs_slice_trim((struct xs_slice){scan->text.at + start, scan->pos - start});
    item->has_separator =
        xs_slice_cut(item->whole, scan->is_lines ? ":=" : ":", &item->key, &item->value);
    item->key = xs_slice_trim(item->key);
    item->value = xs_slice_trim(item->value);
    skip_comment(scan);
    item->is_last = scan->pos == scan->text.len;
    scan->pos++;
    return true;
}
