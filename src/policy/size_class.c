#include "policy/size_class.h"

size_t xs_class_segment_bytes(const struct xs_policy *policy, size_t rounded)
{
    if (xs_class_is_small(rounded))
        return kSmallSegment;
    if (rounded < kLargeSegmentMax)
        return policy->large_segment_size;
    return xs_round_up(rounded, kSegmentUnit);
}
