/* How numbers are shown to a person, and read from one. */
#ifndef XS_BASE_FMT_H
#define XS_BASE_FMT_H

#include "base/base.h"

#define XS_FMT_BYTES 28

/* "512 B", "1.50 KiB", "20.00 MiB", ...; returns `out`. */
const char *xs_fmt_bytes(char out[XS_FMT_BYTES], uint64_t bytes);

/* Reads "1048576", "64K", "1.5GiB", "2g", "20MB" is refused: it may mean either. Powers of 1024; K, M, G,
 * T, each alone or followed by iB, in either case; a fraction only with a unit. The whole string must
 * be used. False: not a size, negative, or above 2^63-1; *bytes is then untouched. */
bool xs_parse_bytes(const char *text, size_t len, size_t *bytes);

#endif
