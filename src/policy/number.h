/* Numbers from text and back, the same in every locale: no strtod, no printf of a double. No
 * state. */
#ifndef XS_POLICY_NUMBER_H
#define XS_POLICY_NUMBER_H

#include "policy/slice.h"

enum xs_number { XS_NUMBER_OK, XS_NUMBER_BAD, XS_NUMBER_TOO_LARGE };

/* Shares are read in units of 1e-15, which a double holds exactly up to 9; so text, share, text
 * is lossless. */
#define XS_SHARE_ONE UINT64_C(1000000000000000)

/* Decimal digits and nothing else. */
enum xs_number xs_read_count(struct xs_slice text, uint64_t *n);

/* "0.8", ".5", "1e-3", without a sign; digits beyond 1e-15 are dropped. */
enum xs_number xs_read_share(struct xs_slice text, uint64_t *units);

#define XS_NUMBER_BYTES 40

/* "20", "128M", "1048577": the largest unit that divides it. Returns `out`. */
const char *xs_write_size(char out[XS_NUMBER_BYTES], uint64_t bytes);
/* "0.8". Returns `out`. */
const char *xs_write_share(char out[XS_NUMBER_BYTES], uint64_t units);

#endif
