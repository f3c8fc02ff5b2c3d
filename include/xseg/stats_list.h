/*
 * Every statistic, once: the struct in xseg.h, the readers in the library, JSON and docs/statistics.md
 * come from this list. G: a gauge (current, peak, allocated, freed); V: a value as of now; C: a counter.
 * Words as in docs/design.md: reserved = active + cached; active = allocated + waiting for the GPU.
 */
#ifndef XSEG_STATS_LIST_H
#define XSEG_STATS_LIST_H

#define XSEG_STATS_LIST(G, V, C)                                                                   \
    G(requested_bytes, "bytes", "bytes that callers asked for and have not freed")                 \
    G(allocated_bytes, "bytes", "the same, each request rounded up to its block")                  \
    G(active_bytes, "bytes", "allocated, plus freed blocks that the GPU may still be using")       \
    G(reserved_bytes, "bytes", "physical memory held from the driver, mapped or not")              \
    G(cached_bytes, "bytes", "reserved and not active: free blocks and idle extents")              \
    G(allocations, "blocks", "live allocations")                                                   \
    G(segments, "segments", "address ranges reserved, or cudaMalloc segments in classic mode")     \
    G(extents, "extents", "physical allocations held from the driver, mapped or not")              \
    G(unreleasable_bytes, "bytes",                                                                 \
      "free, and not to be given back while their neighbours live: "                               \
      "frag_pinned + frag_split; peak and sums as far as readings saw it")                         \
    G(unreleasable_blocks, "blocks", "free blocks that hold such bytes; likewise")                 \
    V(limit_bytes, "bytes", "most that may be reserved; 2^64-1 where no limit is set")             \
    V(address_bytes, "bytes", "address space reserved; it is not memory")                          \
    V(metadata_bytes, "bytes", "host memory of the allocator's own records")                       \
    V(metadata_bytes_per_block, "bytes", "the same for each block record in use")                  \
    V(metadata_bytes_per_gib, "bytes", "the same for each GiB reserved")                           \
    V(device_total_bytes, "bytes", "memory of the device")                                         \
    V(device_free_bytes, "bytes", "what the driver has left; 2^64-1 where it does not say")        \
    V(other_bytes, "bytes",                                                                        \
      "in use on the device and not reserved here: contexts, other "                               \
      "processes; 2^64-1 where the driver does not say")                                           \
    V(largest_free_bytes, "bytes", "largest request served now without new memory or mapping")     \
    V(largest_reclaimable_bytes, "bytes",                                                          \
      "largest request served without new memory: caches "                                         \
      "emptied, extents moved, the GPU waited for")                                                \
    V(largest_obtainable_bytes, "bytes",                                                           \
      "the same with all the memory that limit and device leave")                                  \
    V(waiting_blocks, "blocks", "freed blocks that the GPU may still be using")                    \
    V(pinned_extents, "extents", "extents that hold both live and free bytes")                     \
    V(frag_cache_bytes, "bytes", "cause of reserved - allocated: in the block caches of threads")  \
    V(frag_free_bytes, "bytes", "cause: free, in extents that hold nothing live")                  \
    V(frag_idle_bytes, "bytes", "cause: extents that are not mapped anywhere")                     \
    V(frag_pinned_bytes, "bytes", "cause: free, but in an extent that a live block pins")          \
    V(frag_split_bytes, "bytes",                                                                   \
      "cause: free remainders of classic segments that are partly live")                           \
    V(frag_stream_bytes, "bytes", "cause: freed on a stream, not yet known to be free for others") \
    V(frag_pool_bytes, "bytes", "cause: free in a private pool that is held")                      \
    V(frag_waiting_bytes, "bytes",                                                                 \
      "cause: freed, and the GPU may still be using it (active - allocated)")                      \
    C(alloc_retries, "times", "requests that had to give cached memory back to be served")         \
    C(out_of_memory, "times", "requests refused for want of memory")                               \
    C(cache_hits, "times", "served by the thread's block cache")                                   \
    C(rung_depot, "times", "served by what another thread had freed")                              \
    C(rung_best_fit, "times", "served by a free block")                                            \
    C(rung_flush, "times", "served by a free block once all caches had been emptied")              \
    C(rung_poll, "times", "served by a block whose fence had passed when it was looked at")        \
    C(rung_map, "times", "served by mapping idle extents or moving them")                          \
    C(rung_create, "times", "served with at least one new extent or segment")                      \
    C(rung_borrow, "times", "served by making the stream wait, on the GPU, for other streams")     \
    C(rung_wait, "times", "served after waiting for the GPU")                                      \
    C(rung_pools, "times", "served by a free block of a pool with use_on_oom")                     \
    C(rung_release, "times", "served after giving cached memory back to the driver")               \
    C(extents_moved, "extents", "extents mapped at another address than before")                   \
    C(extents_aliased, "extents",                                                                  \
      "of these, left mapped at the former too until the GPU had passed")                          \
    C(driver_create, "calls", "cuMemCreate and cuMemAlloc calls")                                  \
    C(driver_release, "calls", "cuMemRelease and cuMemFree calls")                                 \
    C(driver_map, "calls", "cuMemMap calls")                                                       \
    C(driver_unmap, "calls", "cuMemUnmap calls")                                                   \
    C(driver_set_access, "calls", "cuMemSetAccess calls")                                          \
    C(driver_ns, "ns", "time spent in these calls (on the simulator: its cost table's)")           \
    C(driver_wall_ns, "ns", "host time spent in libcuda, whatever it is")

#endif
