/*
 * Every option of ALLOC_CONF, one row each. From these rows come the fields of struct xs_policy,
 * the parser, the dump, alloc.conf.example and docs/options.md; a default is written nowhere else.
 *
 *   X(field, key, TYPE, default, range, word, change, when, text)
 *
 * field    name in struct xs_policy; sizes are bytes there, whatever the unit of the key
 * key      name in ALLOC_CONF
 * TYPE     BOOL; CHOICE one word of the range; COUNT whole number; MB whole number of MiB; SIZE
 *          bytes with an optional unit; SHARE fraction; PATH name of a file; ROUNDUP, RESERVE:
 *          grammars of their own
 * default  in the grammar of ALLOC_CONF
 * range    an interval: [ ] with, ( ) without its ends, an end left out is open; or words a|b
 * word     what may stand for "no number": "unlimited" is the largest value, "auto" and "off" zero
 * change   RESET: a string that does not name the key puts it back to its default, as in PyTorch
 * when     LIVE: new requests follow it at once; START: until a device is first used
 * text     one sentence
 */
#ifndef XS_POLICY_OPTION_LIST_H
#define XS_POLICY_OPTION_LIST_H

/* clang-format off */
#define XS_OPTION_PYTORCH_LIST(X)                                                                  \
    X(expandable_segments, "expandable_segments",                                                  \
      BOOL, "True", "False|True", "", KEEP, LIVE,                                                  \
      "Build segments from extents that can be added, moved and given back (virtual memory "       \
      "calls); False: classic segments from cudaMalloc.")                                          \
    X(large_segment_size, "large_segment_size_mb",                                                 \
      MB, "20", "(10, )", "", KEEP, LIVE,                                                          \
      "Size of the classic segment that serves requests of 1 to 10 MiB.")                          \
    X(max_split_size, "max_split_size_mb",                                                         \
      MB, "unlimited", "[1, )", "unlimited", RESET, LIVE,                                          \
      "Classic blocks of at least this size are never split, and never given to a smaller "        \
      "request.")                                                                                  \
    X(max_non_split_rounding, "max_non_split_rounding_mb",                                         \
      MB, "auto", "[1, )", "auto", RESET, LIVE,                                                    \
      "How much larger than the request a block of at least max_split_size_mb may be; auto: "      \
      "large_segment_size_mb.")                                                                    \
    X(garbage_collection_threshold, "garbage_collection_threshold",                                \
      SHARE, "off", "(0, 1)", "off", RESET, LIVE,                                                  \
      "Share of the limit, or without one of the device's memory, above which classic segments "   \
      "that are long unused go back to the driver before memory grows.")                           \
    X(roundup_power2_divisions, "roundup_power2_divisions",                                        \
      ROUNDUP, "off", "", "off", RESET, LIVE,                                                      \
      "Round requests up to a power of two cut into this many steps: a power of two for all "      \
      "sizes, or [MB:steps,...,>:steps]; 0 and 1: no such rounding.")                              \
    X(per_process_memory_fraction, "per_process_memory_fraction",                                  \
      SHARE, "1", "[0, 1]", "", KEEP, LIVE,                                                       \
      "Limit of reserved memory as a share of the device's total memory; 1: no limit.")            \
    X(backend, "backend",                                                                          \
      CHOICE, "native", "native|cudaMalloc", "", KEEP, LIVE,                                      \
      "native: cache memory; cudaMalloc: no caching, every request and every free goes to the "    \
      "driver.")                                                                                   \
    X(expandable_segments_reserve, "expandable_segments_reserve",                                  \
      RESERVE, "auto", "", "auto", KEEP, LIVE,                                                     \
      "Address space of one segment, as a share of the device's memory (0.5) or as a size (40G); " \
      "a value that cannot be read is noted and ignored; va_reserve goes before it.")

#define XS_OPTION_OWN_LIST(X)                                                                      \
    X(memory_limit, "memory_limit",                                                                \
      SIZE, "unlimited", "[1, )", "unlimited", KEEP, LIVE,                                        \
      "Limit of reserved memory on each device; the smaller of it and "                            \
      "per_process_memory_fraction counts.")                                                       \
    X(extent_share, "extent_share",                                                                \
      COUNT, "44", "[1, 256]", "", KEEP, LIVE,                                                     \
      "A new extent is about this part (one Nth) of the bytes that a request lacks.")              \
    X(extent_min, "extent_min",                                                                    \
      SIZE, "0", "[0, 1T]", "", KEEP, LIVE,                                                        \
      "The smallest extent; 0: one granule.")                                                      \
    X(extent_max, "extent_max",                                                                    \
      SIZE, "64M", "[1, 1T]", "", KEEP, LIVE,                                                     \
      "The largest extent.")                                                                       \
    X(extent_ahead, "extent_ahead",                                                                \
      SHARE, "0.0006", "[0, 0.5]", "", KEEP, LIVE,                                                  \
      "A new extent is at least this share of reserved memory, and where memory is also freed at " \
      "most half of it, or four granules or extent_min if that is more.")                          \
    X(slack, "slack",                                                                              \
      SHARE, "0.02", "[0, 1]", "", KEEP, LIVE,                                                     \
      "Share of peak live memory by which reserved may exceed it while the GPU is still busy "     \
      "with what other streams have freed, before a request waits for that, for 10 ms at most; a " \
      "quarter more, and it grows by the smallest extents. 32 MiB at least.")                                                                          \
    X(alias, "alias",                                                                              \
      BOOL, "True", "False|True", "", KEEP, LIVE,                                                  \
      "Map what a stream has freed and the GPU is still using at a second address for the same "   \
      "stream, in place of new memory or a wait.")                                                 \
    X(va_reserve, "va_reserve",                                                                    \
      SIZE, "auto", "[0, 64T]", "auto", KEEP, LIVE,                                                \
      "Address space of one segment; auto: chosen by the device's memory.")                        \
    X(handle_type, "handle_type",                                                                  \
      CHOICE, "auto", "none|posix_fd|fabric|auto", "", KEEP, START,                                \
      "How other processes may import extents; auto: posix_fd, and fabric where the device "       \
      "permits it.")                                                                               \
    X(gpu_direct_rdma, "gpu_direct_rdma",                                                          \
      CHOICE, "auto", "auto|True|False", "", KEEP, START,                                          \
      "Create extents that network cards may read and write; auto: where the device supports it.") \
    X(cache, "cache",                                                                              \
      CHOICE, "auto", "auto|True|False", "", KEEP, LIVE,                                           \
      "Keep freed blocks in a cache of each thread, to be handed out again as they are; auto: "    \
      "where segments are expandable.")                                                            \
    X(cache_blocks, "cache_blocks",                                                                \
      COUNT, "256", "[1, 65535]", "", KEEP, LIVE,                                                  \
      "Most blocks of one size and stream in a thread's cache; more go to other threads.")         \
    X(cache_bytes, "cache_bytes",                                                                  \
      SIZE, "unlimited", "[0, )", "unlimited", KEEP, LIVE,                                         \
      "Most bytes in a thread's cache of one device, and in what threads have left for each "      \
      "other; they never cost reserved memory, since caches are emptied before it grows.")                                                       \
    X(cache_keep, "cache_keep",                                                                    \
      SIZE, "0", "[0, )", "unlimited", KEEP, LIVE,                                                 \
      "Cached blocks up to this size stay when a thread gives its others back to find a better "   \
      "fit; larger is faster where sizes vary, and costs reserved memory.")                        \
    X(cross_stream_wait, "cross_stream_wait",                                                      \
      BOOL, "True", "False|True", "", KEEP, LIVE,                                                  \
      "Where the limit is reached, make the requesting stream wait for what other streams have "   \
      "freed, on the GPU, before the CPU has to.")                                                 \
    X(poison, "poison",                                                                            \
      COUNT, "0", "[0, 255]", "", KEEP, LIVE,                                                      \
      "Debugging: fill blocks with this byte when they are freed and when they are handed out; "   \
      "streams must outlive their blocks, and nothing is cached; 0: off.")                         \
    X(native_from, "native_from",                                                                  \
      SIZE, "unlimited", "[0, )", "unlimited", KEEP, START,                                        \
      "Preload: requests from this size on, up to native_to, are the driver's own cudaMalloc, "    \
      "for libraries that need such memory.")                                                      \
    X(native_to, "native_to",                                                                      \
      SIZE, "unlimited", "[0, )", "unlimited", KEEP, START,                                        \
      "Preload: the largest request that native_from concerns.")                                   \
    X(preload_order, "preload_order",                                                              \
      CHOICE, "auto", "auto|context", "", KEEP, START,                                             \
      "Preload: when freed memory may be handed out again; auto: at once as long as only the "     \
      "legacy stream has been given work; context: never before all streams have passed the "      \
      "free.")                                                                                     \
    X(preload_memory_info, "preload_memory_info",                                                  \
      CHOICE, "cached", "cached|native", "", KEEP, START,                                          \
      "Preload: whether cudaMemGetInfo counts as free what is cached.")                            \
    X(history, "history",                                                                          \
      COUNT, "0", "[0, 16777216]", "", KEEP, LIVE,                                                 \
      "Keep this many of each thread's latest events (48 bytes each), for snapshots; rounded up "  \
      "to a power of two; 0: none.")                                                               \
    X(history_stacks, "history_stacks",                                                            \
      BOOL, "False", "False|True", "", KEEP, LIVE,                                                 \
      "Record the native call stack of each allocation too; a few microseconds each.")             \
    X(page, "page",                                                                                \
      BOOL, "True", "False|True", "", KEEP, START,                                                 \
      "Show what is reserved and allocated to other programs of the same user (xseg stat, top, "   \
      "metrics), in a file of shared memory.")                                                     \
    X(oom_report, "oom_report",                                                                    \
      BOOL, "False", "False|True", "", KEEP, LIVE,                                                 \
      "Log a report of each request that is refused for want of memory: where the memory is, "     \
      "why it did not do, and what would help.")                                                   \
    X(snapshot_path, "snapshot_path",                                                              \
      PATH, "off", "", "off", KEEP, LIVE,                                                          \
      "File for snapshots that nobody names: %p is the process's id; JSON if it ends in .json; "   \
      "ignored in programs that run with raised privileges.")                                      \
    X(snapshot_on_oom, "snapshot_on_oom",                                                          \
      BOOL, "False", "False|True", "", KEEP, LIVE,                                                 \
      "Write one there when a request is refused for want of memory.")                             \
    X(snapshot_signal, "snapshot_signal",                                                          \
      COUNT, "0", "[0, 64]", "", KEEP, START,                                                      \
      "Write one there when this signal comes (10 is SIGUSR1); its handler is replaced; 0: none.") \
    X(strict, "strict",                                                                            \
      BOOL, "False", "False|True", "", KEEP, LIVE,                                                 \
      "An unknown key is an error, and a string that is refused stops xseg from starting.")

#define XS_OPTION_LIST(X) XS_OPTION_PYTORCH_LIST(X) XS_OPTION_OWN_LIST(X)

/* X(larger, smaller): refused unless field `larger` is at least field `smaller`; both are of type
 * MB or SIZE. */
#define XS_OPTION_ORDER_LIST(X)                                                                    \
    X(max_split_size, large_segment_size)                                                          \
    X(max_non_split_rounding, large_segment_size)                                                  \
    X(extent_max, extent_min)

/* X(field, word, reason): words of other allocators that are refused with a reason of their own. */
#define XS_OPTION_REFUSED_LIST(X)                                                                  \
    X(backend, "cudaMallocAsync", "is the driver's own pool, which xseg stands in for; leave the " \
      "key out")

#define XS_REASON_LOCK "always so: no lock that a cached request needs is held over a driver call"
#define XS_REASON_HOST "concerns host memory, which this string does not set"

/* X(key, reason): keys that other allocators know and that are skipped with a note. */
#define XS_OPTION_IGNORED_LIST(X)                                                                  \
    X("release_lock_on_cudamalloc", XS_REASON_LOCK)                                                \
    X("release_lock_on_hipmalloc", XS_REASON_LOCK)                                                 \
    X("throw_on_cudamalloc_oom",                                                                   \
      "always so: what the limit leaves no room for is refused before the driver is asked")        \
    X("graph_capture_record_stream_reuse",                                                         \
      "reuse inside a capture follows streams, not the shape of the graph")                        \
    X("expandable_segments_reserve_by_class",                                                      \
      "segments are not kept by class of stream: set va_reserve")                                  \
    X("expandable_segments_page_size",                                                             \
      "the size of an extent follows the request: set extent_min and extent_max")                  \
    X("expandable_segments_handle_type", "set handle_type")                                        \
    X("pinned_use_background_threads", XS_REASON_HOST)                                             \
    X("pinned_max_round_threshold_mb", XS_REASON_HOST)                                             \
    X("pinned_max_cached_size_mb", XS_REASON_HOST)                                                 \
    X("pinned_use_cuda_host_register", XS_REASON_HOST)                                             \
    X("pinned_use_hip_host_register", XS_REASON_HOST)                                              \
    X("pinned_num_register_threads", XS_REASON_HOST)                                               \
    X("pinned_reserve_segment_size_mb", XS_REASON_HOST)                                            \
    X("pinned_free_catch_all", XS_REASON_HOST)
/* clang-format on */

#endif
