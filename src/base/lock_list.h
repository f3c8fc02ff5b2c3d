/*
 * The order in which locks are taken: a thread may only take one that stands below every one it holds.
 *   X(rank, driver, text)   driver: whether a driver call may be made while it is held
 */
#define XS_LOCK_LIST(X)                                                                            \
    X(TORCH, true, "which pool a graph of PyTorch captures into")                                  \
    X(START, true, "start-up, shutdown, policy changes")                                           \
    X(LOAD, true, "loading the driver")                                                            \
    X(WATCH, true, "the page that other programs read")                                            \
    X(GROWTH, true, "one thread at a time changes a device's mappings")                            \
    X(FENCE, true, "a device's events")                                                            \
    X(CACHES, false, "the list of a device's thread caches")                                       \
    X(HEAP, false, "a device's blocks, extents and counters")                                      \
    X(DEPOT, false, "a shard of a device's depot")                                                 \
    X(META, false, "slabs of records")                                                             \
    X(TAGS, false, "the tags and the call stacks that there are")
