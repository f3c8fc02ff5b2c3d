/* How large the extents are that a growth creates: docs/design.md "Extent size follows the request". Under HEAP. */
#ifndef XS_CORE_EXTENT_SIZE_H
#define XS_CORE_EXTENT_SIZE_H

#include "core/growth.h"

/*
 * Bytes of the next new extent, a power of two of granules, where the window's part still lacks `missing`, could go on for
 * `room` more, and the limit leaves `headroom`, a granule at least.
 */
size_t xs_extent_size(const struct xs_growth *growth, size_t missing, size_t room, size_t headroom);

/* The largest that memory which is freed and taken again is kept in. */
size_t xs_extent_most_to_pin(const struct xs_device *dev);

/* The program takes memory for good, as when it loads its weights. */
bool xs_extent_only_accumulates(const struct xs_growth *growth);

#endif
