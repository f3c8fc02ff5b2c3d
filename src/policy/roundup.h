/* The value of roundup_power2_divisions: one number of divisions for each of 16 sizes of
 * request. */
#ifndef XS_POLICY_ROUNDUP_H
#define XS_POLICY_ROUNDUP_H

#include "policy/option.h"

/* Slot s holds requests of 2^s to 2^(s+1) - 1 MiB; the first also all below, the last all above. */
#define XS_ROUNDUP_SLOTS 16

bool xs_roundup_read(struct xs_slice text, size_t slots[XS_ROUNDUP_SLOTS],
                     struct xs_value_error *error);
void xs_roundup_write(const size_t slots[XS_ROUNDUP_SLOTS], char *out, size_t size);

#endif
