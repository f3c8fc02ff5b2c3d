/* Cuts a policy string, or a file of lines, into items "key:value". Knows no keys. No
 * allocation. */
#ifndef XS_POLICY_CONF_SCAN_H
#define XS_POLICY_CONF_SCAN_H

#include "policy/slice.h"

struct xs_conf_scan {
    struct xs_slice text;
    size_t pos;
    bool is_lines; /* line ends part items too, '=' is as good as ':', '#' begins a comment */
};

struct xs_conf_item {
    struct xs_slice whole, key, value; /* without the blanks around them */
    bool has_separator;
    const char *stray_bracket; /* a ']' that nothing opened; NULL: none */
    const char *open_bracket;  /* a '[' that nothing closed; NULL: none */
    bool is_last;              /* the text ends here, without another comma */
};

/* False: there are no more. */
bool xs_conf_scan_next(struct xs_conf_scan *scan, struct xs_conf_item *item);

#endif
