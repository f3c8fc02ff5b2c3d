#include "core/extent_size.h"

/* Nothing suggests that the memory of a program that hardly frees anything will ever be cut up, and each handle
 * costs the same. Not under a limit, where every byte may count in the end. */
#define LARGE_REQUEST (64 * XS_MIB)
#define ACCUMULATES   10 /* one byte in so many came back */

bool xs_extent_only_accumulates(const struct xs_growth *g)
{
    return g->new_bytes >= LARGE_REQUEST && g->dev->limit_bytes == SIZE_MAX &&
           g->dev->came_back * ACCUMULATES <= g->dev->went_out;
}

/* A small program gets its memory by a quarter of the calls. Further on this would cost memory: large extents that
 * are pinned add up. */
static unsigned least_granules(size_t reserved)
{
    if (reserved < XS_GIB / 4)
        return 8;
    if (reserved < XS_GIB / 2)
        return 4;
    return reserved < XS_GIB ? 2 : 1;
}

/* What is reserved and was never wanted, beyond what slack allows, is free around blocks that stay: only extents of the
 * smallest size go on moving then. */
#define BEYOND_SLACK 4 /* by one part in so many */

static bool is_fragmented(const struct xs_device *dev)
{
    size_t slack = xs_device_slack(dev, dev->most_out);
    size_t most = dev->most_out + slack + slack / BEYOND_SLACK;
    return dev->stats.now.reserved_bytes.current > most;
}

static size_t least_of_small(const struct xs_device *dev)
{
    if (dev->limit_bytes != SIZE_MAX || is_fragmented(dev))
        return 0;
    return least_granules(dev->stats.now.reserved_bytes.current) * dev->caps.granule;
}

static size_t share_of_reserved(const struct xs_device *dev, double share)
{
    return (size_t)((double)dev->stats.now.reserved_bytes.current * share);
}

/*
 * A pinned extent keeps what is free in it, half of it on average, and how many are pinned hardly depends on how large
 * they are. A single pass of a program does not show it; after a hundred it is most of what is reserved and not live.
 */
#define LEAST_TO_PIN 4 /* granules */

size_t xs_extent_most_to_pin(const struct xs_device *dev)
{
    size_t bytes = dev->caps.granule;
    if (!is_fragmented(dev))
        bytes = xs_max(LEAST_TO_PIN * bytes, share_of_reserved(dev, dev->policy.extent_ahead / 2));
    return xs_max(bytes, xs_max(least_of_small(dev), dev->policy.extent_min));
}

/* Before the policy's bounds. Near a limit memory that a small request does not need is wanted elsewhere. */
static size_t wanted(const struct xs_growth *g, size_t missing, bool tight)
{
    const struct xs_device *dev = g->dev;
    size_t bytes = g->new_bytes / dev->policy.extent_share;
    if (tight)
        return xs_max(bytes, xs_min(least_of_small(dev), missing));
    if (xs_extent_only_accumulates(g)) /* the next one finds the rest */
        return xs_max(missing, xs_min(2 * missing, share_of_reserved(dev, 0.125)));
    bytes = xs_max(bytes, share_of_reserved(dev, dev->policy.extent_ahead));
    bytes = xs_min(bytes, xs_extent_most_to_pin(dev));
    return xs_max(bytes, xs_min(least_of_small(dev), missing));
}

size_t xs_extent_size(const struct xs_growth *g, size_t missing, size_t room, size_t headroom)
{
    const struct xs_device *dev = g->dev;
    size_t granule = dev->caps.granule, reserved = dev->stats.now.reserved_bytes.current;
    bool tight = headroom < (reserved + g->fresh_bytes + headroom) / 4;
    size_t bytes = xs_max(wanted(g, missing, tight), dev->policy.extent_min);
    size_t most = tight ? missing : missing + room;
    most = xs_min(most, xs_min(headroom, dev->max_fresh_bytes));
    bytes = xs_max(granule, xs_min(bytes, dev->policy.extent_max));
    return xs_pow2_floor(xs_min(bytes, most) / granule) * granule;
}
