/* The range column of option_list.h, taken apart. */
#ifndef XS_POLICY_OPTION_RANGE_H
#define XS_POLICY_OPTION_RANGE_H

#include "policy/option.h"

/* The ends as text, empty where there is none. */
struct xs_interval {
    struct xs_slice lo, hi;
    bool lo_open, hi_open;
};

/* Of a scalar option: COUNT, MB, SIZE, SHARE. */
struct xs_interval xs_option_interval(const struct xs_conf_option *o);

#endif
