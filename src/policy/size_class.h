/*
 * Which sizes there are: how a request is rounded, and which classic segment serves it. The same
 * rules as PyTorch's allocator, so that its traces and its users' habits carry over.
 */
#ifndef XS_POLICY_SIZE_CLASS_H
#define XS_POLICY_SIZE_CLASS_H

#include "policy/policy.h"

static const size_t kMinBlock = 512;            /* every block is a multiple of it */
static const size_t kAlignedMin = 256 * XS_KIB; /* the smallest alignment worth having */
static const size_t kSmallMax = XS_MIB;         /* the largest small block */
static const size_t kSmallSegment = 2 * XS_MIB; /* the classic segment of small blocks */
static const size_t kLargeSegmentMax =
    10 * XS_MIB; /* from here on a segment has the size of its block */
static const size_t kSegmentUnit = 2 * XS_MIB;     /* and is a multiple of this */
static const size_t kRequestMax = (size_t)1 << 60; /* requests below this can be rounded */

/* The slot of roundup_power2_divisions for a request of so many bytes. */
static inline size_t xs_roundup_slot(size_t bytes)
{
    return bytes < 2 * XS_MIB ? 0 : xs_min(xs_log2(bytes) - 20, XS_ROUNDUP_SLOTS - 1);
}

/* Up to a multiple of (power of two below) / divisions; divisions > 1, bytes > 512 * divisions. */
static inline size_t xs_round_up_divisions(size_t bytes, size_t divisions)
{
    size_t step = xs_pow2_floor(bytes) / divisions;
    return (bytes + step - 1) & ~(step - 1);
}

/* What a request of `bytes` < 2^60 occupies: at least 512, a multiple of 512. */
static inline size_t xs_policy_round(const struct xs_policy *policy, size_t bytes)
{
    size_t divisions = policy->roundup_power2_divisions[xs_roundup_slot(bytes)];
    if (xs_unlikely(divisions > 1) && divisions < kRequestMax / kMinBlock &&
        bytes > kMinBlock * divisions)
        return xs_round_up_divisions(bytes, divisions);
    return bytes <= kMinBlock ? kMinBlock : (bytes + kMinBlock - 1) & ~(kMinBlock - 1);
}

/*
 * Where a block in extents should begin: at a multiple of the largest power of two that divides its size,
 * a granule at most. Sizes that are whole granules then cover whole granules, which can be unmapped when
 * the block is free; without it they pin one more at each end. Below kAlignedMin the crumbs would cost more.
 */
static inline size_t xs_class_alignment(size_t rounded, size_t granule)
{
    size_t natural = rounded & -rounded;
    return natural < kAlignedMin ? 1 : xs_min(natural, granule);
}

static inline bool xs_class_is_small(size_t rounded)
{
    return rounded <= kSmallMax;
}

/* max_split_size_mb: such a block is never split, and only serves requests of this kind. */
static inline bool xs_class_is_oversize(const struct xs_policy *policy, size_t rounded)
{
    return rounded >= policy->max_split_size;
}

/* The size of the classic segment for a rounded request that no cached block serves. */
size_t xs_class_segment_bytes(const struct xs_policy *policy, size_t rounded);

#endif
