/*
 * xseg: a caching allocator for CUDA device memory.
 *
 * C11 and C++. No CUDA header is needed: `struct CUstream_st *` is cudaStream_t and CUstream.
 *
 * Conventions of every function here, unless it says otherwise:
 *  - Sizes are bytes. Pointers to device memory are `void *`, aligned to 512 bytes at least.
 *  - Thread-safe, also against each other. May be called with any CUDA context current, or none; the
 *    current context is the same afterwards.
 *  - Returns XSEG_OK or the error; then the text is in xseg_last_error() of the calling thread and
 *    nothing has changed: no memory is lost, no out-parameter written.
 *  - Never exits, never throws, never waits for the GPU unless it says so.
 *  - The first call that needs the driver loads libcuda.so.1, calls cuInit and reads ALLOC_CONF.
 *  - `device` is a CUDA device ordinal, or XSEG_CURRENT_DEVICE: that of the current CUDA context.
 *  - A stream of NULL or cudaStreamLegacy is the legacy default stream; cudaStreamPerThread is the
 *    calling thread's own. A stream must be alive during the call it is passed to, and belong to the device.
 */
#ifndef XSEG_XSEG_H
#define XSEG_XSEG_H

#include <stddef.h>
#include <stdint.h>

#define XSEG_VERSION_MAJOR 0
#define XSEG_VERSION_MINOR 1
#define XSEG_VERSION_PATCH 0

#if defined(__GNUC__)
#define XSEG_API __attribute__((visibility("default")))
#else
#define XSEG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
typedef struct CUstream_st *xseg_stream;

#define XSEG_CURRENT_DEVICE (-1)

/* Stable: a value keeps its meaning for ever. */
enum xseg_result {
    XSEG_OK = 0,
    XSEG_ERROR_INVALID_VALUE = 1,   /* an argument is out of its range */
    XSEG_ERROR_OUT_OF_MEMORY = 2,   /* device memory, or the limit that was set, is exhausted */
    XSEG_ERROR_HOST_MEMORY = 3,     /* no memory for the allocator's own records */
    XSEG_ERROR_NO_DRIVER = 4,       /* libcuda.so.1 is missing or lacks a required entry */
    XSEG_ERROR_NO_DEVICE = 5,       /* there is no such CUDA device, or no context is current */
    XSEG_ERROR_DRIVER = 6,          /* a CUDA driver call failed; the text names it and its code */
    XSEG_ERROR_CONFIG = 7,          /* a configuration string was refused */
    XSEG_ERROR_UNKNOWN_POINTER = 8, /* the pointer is not the start of a live allocation of xseg */
    XSEG_ERROR_NOT_SUPPORTED = 9,   /* this device or driver cannot do it */
    XSEG_ERROR_IO = 10,             /* a file could not be read or written */
    XSEG_ERROR_SHUTDOWN =
        11 /* the CUDA driver has been torn down (process exit), or this is a forked child */
};

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Allocates `bytes` on `device` for work queued on `stream` from now on; stands in for
 * cudaMallocAsync (and, with the legacy stream, for cudaMalloc). Bytes 0 gives NULL and XSEG_OK.
 * The caller owns *ptr until xseg_free(). Memory that was freed on the same stream may be handed out
 * at once; memory freed on another stream only when the GPU has passed everything queued there, or
 * when `stream` has been made to wait for it on the GPU (cross_stream_wait). So the memory is for work
 * on `stream`: another user, the CPU among them, has to come after that stream first.
 * Waits for the GPU only where the request would otherwise exceed the limit or the device; and for 10 ms at most where
 * reserved memory would exceed the most that was in use since memory was last given back by more than `slack`
 * (docs/options.md), while the GPU still works on what was freed on other streams.
 * Errors: OUT_OF_MEMORY, INVALID_VALUE (2^60 bytes and more), NO_DRIVER, NO_DEVICE, DRIVER, HOST_MEMORY,
 * NOT_SUPPORTED (4095 streams hold memory of the device; a second CUDA context of it is current).
 */
XSEG_API enum xseg_result xseg_malloc(void **ptr, size_t bytes, int device, xseg_stream stream);

/*
 * Frees a pointer in the order of the stream that it was allocated for: work queued there before
 * this call may still use it. Stands in for cudaFreeAsync on that stream. NULL is fine.
 * Makes no driver call and never waits, so it may be called in a CUDA host callback.
 * Work on other streams that uses the memory must have been waited for by the stream of the block.
 * Errors: UNKNOWN_POINTER (foreign, inner or already freed); nothing changes then.
 */
XSEG_API enum xseg_result xseg_free(void *ptr);

/*
 * Frees a pointer in the order of `stream`, of the same device, which need not be the one it was allocated
 * for; stands in for cudaFreeAsync. All work on the memory must come before this call in that stream's
 * order. Like xseg_free() otherwise, but asks the driver who a created stream is, so that in a CUDA host callback
 * only a default stream may be named. Errors: UNKNOWN_POINTER, HOST_MEMORY, DRIVER, NOT_SUPPORTED (as xseg_malloc()).
 */
XSEG_API enum xseg_result xseg_free_async(void *ptr, xseg_stream stream);

/*
 * Work on `stream` uses the memory too: when it is freed, it is not handed out or given back before what
 * that stream has been given by then is done. As torch's Tensor.record_stream. Call it after queueing the
 * work and before the free. Nothing for the stream that the memory was allocated for.
 * Errors: UNKNOWN_POINTER, HOST_MEMORY, DRIVER, NOT_SUPPORTED (as xseg_malloc()).
 */
XSEG_API enum xseg_result xseg_record_stream(void *ptr, xseg_stream stream);

/* What was asked for, and what the block holds. Either out-pointer may be NULL. Costs no driver call;
 * stands in for cuMemGetAddressRange. Errors: UNKNOWN_POINTER. */
XSEG_API enum xseg_result xseg_pointer_sizes(const void *ptr, size_t *requested, size_t *allocated);

/* Gives all memory that nothing uses back to the driver; stands in for cudaMemPoolTrimTo(pool, 0).
 * Memory that the GPU still works on is kept: synchronise first to get everything back. Device
 * XSEG_CURRENT_DEVICE: every device that xseg has used, creating no context. Idempotent. Errors: DRIVER. */
XSEG_API enum xseg_result xseg_empty_cache(int device);

/* The same, but stops once not more than `keep_bytes` are reserved; stands in for cudaMemPoolTrimTo. */
XSEG_API enum xseg_result xseg_trim(int device, size_t keep_bytes);

/* Free and total bytes for this process: what the driver says, plus what xseg holds and could give
 * back, never more than the limit leaves. Stands in for cudaMemGetInfo. Either may be NULL. */
XSEG_API enum xseg_result xseg_memory_info(int device, size_t *free_bytes, size_t *total_bytes);

/*
 * Whether kernels of device `peer` may use the memory of `device`: what there is and what there will be. Off at first,
 * as for cudaMalloc; stands in for cudaMemPoolSetAccess, and for cudaDeviceEnablePeerAccess, which does nothing for
 * memory of virtual memory calls. (Classic segments are the driver's, and follow that call alone.) What work of
 * another device does with a block, the caller orders by events before it is freed. Thread-safe, waits for no GPU.
 * Errors: INVALID_VALUE (the device itself, more than 63), NO_DEVICE, NOT_SUPPORTED (these two have no peer access), DRIVER; nothing
 * has changed then.
 */
XSEG_API enum xseg_result xseg_peer_access(int device, int peer, int may_access);

/* ---- streams --------------------------------------------------------------------------------- */

/*
 * The caller vouches for a stream: until xseg_stream_unregister() its handle means this stream and no
 * other. Saves the look at its id that every call with a created stream makes otherwise (about 20 ns). The
 * default streams need no vouching. Errors: NO_DEVICE, HOST_MEMORY, DRIVER.
 */
XSEG_API enum xseg_result xseg_stream_register(int device, xseg_stream stream);
/* Before such a stream is destroyed. Its cached blocks go back to the heap, and become usable by others
 * once the GPU has passed them. Waits only for a thread that is growing the device's memory. */
XSEG_API enum xseg_result xseg_stream_unregister(int device, xseg_stream stream);

/*
 * Tells that a capture of streams of this device is about to begin (true) or has ended (false); calls nest. While one
 * is open, nothing that would invalidate it is done on behalf of other streams. A capturing stream that is
 * passed to xseg_malloc() is recognised without this, and taken to capture until it is passed again, or until the
 * last announced capture has ended: who announces captures announces all of them.
 * Errors: INVALID_VALUE (an end without a begin), and those of a first call.
 */
XSEG_API enum xseg_result xseg_capture(int device, int begins);

/* ---- limits ---------------------------------------------------------------------------------- */

/* Never to reserve more than this on the device, in bytes; SIZE_MAX: no limit. Exact to the granule:
 * floor(limit / granule) granules can be used. Memory that is already reserved stays. */
XSEG_API enum xseg_result xseg_set_limit(int device, size_t bytes);
XSEG_API enum xseg_result xseg_get_limit(int device, size_t *bytes);
/* The limit as a share of the device's total memory, 0 to 1; 1: no limit. As torch's
 * set_per_process_memory_fraction. Errors: INVALID_VALUE. */
XSEG_API enum xseg_result xseg_set_memory_fraction(int device, double fraction);

/* ---- policy ---------------------------------------------------------------------------------- */

/*
 * Applies a policy string in the grammar of ALLOC_CONF (docs/options.md), over what the environment
 * gave: parsed whole, then applied whole, or not at all. Keys that are not named keep their value, except
 * those which docs/options.md marks "reset". What exists stays as it is; new requests follow it.
 * Errors: CONFIG with position and offending text.
 */
XSEG_API enum xseg_result xseg_configure(const char *conf);

/* ---- statistics ------------------------------------------------------------------------------ */

#include "xseg/stats_list.h"

/* A quantity that goes up and down. */
struct xseg_gauge {
    uint64_t current;
    uint64_t peak;      /* highest current since the last xseg_reset_peaks() */
    uint64_t allocated; /* sum of all increases since the last xseg_reset_totals() */
    uint64_t freed;     /* sum of all decreases, likewise */
};

/* One consistent reading: in it, reserved = active + cached, to the byte. */
struct xseg_stats {
    size_t size; /* set by the caller to sizeof(struct xseg_stats) */
    int device;  /* the ordinal that was asked for */
#define XSEG_GAUGE(name, unit, text) struct xseg_gauge name;
#define XSEG_VALUE(name, unit, text) uint64_t name;
    XSEG_STATS_LIST(XSEG_GAUGE, XSEG_VALUE, XSEG_VALUE)
#undef XSEG_GAUGE
#undef XSEG_VALUE
};

/* A device that has not been used reads as zeroes and is not touched: no context is created. The
 * library fills at most stats->size bytes, so an older caller works with a newer library. */
XSEG_API enum xseg_result xseg_get_stats(int device, struct xseg_stats *stats);
/* Peaks become the current values, those of the device's pools too. */
XSEG_API enum xseg_result xseg_reset_peaks(int device);
/* Totals and counters become zero; current and peak values stay. */
XSEG_API enum xseg_result xseg_reset_totals(int device);

enum xseg_format { XSEG_FORMAT_TEXT, XSEG_FORMAT_JSON, XSEG_FORMAT_PROMETHEUS };

/* Called with a report piece by piece, on the thread that asked for it and with no lock held; the pieces end
 * anywhere. It may call xseg. */
typedef void (*xseg_write)(void *ctx, const char *text, size_t bytes);

/*
 * One reading as a report. TEXT: in the layout of torch.cuda.memory_summary(), and what that lacks. JSON: the names
 * of torch.cuda.memory_stats() (docs/reports.md) and those above under "xseg". PROMETHEUS: its text format.
 * write NULL: to standard error. Errors as xseg_get_stats(), and INVALID_VALUE (another format).
 */
XSEG_API enum xseg_result xseg_stats_print(int device, enum xseg_format format, xseg_write write,
                                           void *ctx);

/*
 * Writes what is known of all devices in use to a file: as the pickle that torch.cuda._memory_viz and
 * pytorch.org/memory_viz read, or where the name ends in ".json" as JSON (docs/reports.md). Blocks and events
 * (key `history`) are of one moment, for which other threads wait less than a millisecond per 10,000 blocks.
 * The file appears whole or not at all, with mode 0600; "%p" in the name is the process's id.
 * Errors: INVALID_VALUE (NULL), IO, HOST_MEMORY.
 */
XSEG_API enum xseg_result xseg_snapshot(const char *path);

/*
 * Called after each request that is refused for want of memory, on its thread, with no lock held, before the call
 * returns: the device, the bytes asked for, and the report as text and as JSON, valid during the call. It may call
 * xseg, but a request that is refused in it calls it again. fn NULL: no more.
 */
typedef void (*xseg_out_of_memory_fn)(void *ctx, int device, size_t bytes, const char *text,
                                      const char *json);
XSEG_API enum xseg_result xseg_on_out_of_memory(xseg_out_of_memory_fn fn, void *ctx);

/*
 * The same analysis at any time (TEXT or JSON): where the memory is, what pins it, how much of it lives long.
 * Creates no context. Errors: NO_DEVICE (not in use), INVALID_VALUE, HOST_MEMORY, IO.
 */
XSEG_API enum xseg_result xseg_diagnose(int device, enum xseg_format format, xseg_write write,
                                        void *ctx);

/* ---- tags ------------------------------------------------------------------------------------ */

/*
 * What the calling thread allocates from now on is for this: shown in snapshots and reports. Tags nest, so
 * "layer3" and in it "attention" give "layer3.attention". The name is copied; what is longer than 51 bytes is cut.
 * Per thread, some ten nanoseconds. Errors: INVALID_VALUE (NULL or empty), HOST_MEMORY.
 */
XSEG_API enum xseg_result xseg_tag_push(const char *name);
/* Back to the tag before. Errors: INVALID_VALUE (none was pushed). */
XSEG_API enum xseg_result xseg_tag_pop(void);

/* ---- the library ----------------------------------------------------------------------------- */

/* Why the calling thread's last failed call failed; "" if none has. Valid until its next failure. */
XSEG_API const char *xseg_last_error(void);
/* "XSEG_ERROR_OUT_OF_MEMORY"; never NULL. */
XSEG_API const char *xseg_result_name(enum xseg_result result);
/* "0.1.0" */
XSEG_API const char *xseg_version(void);

/*
 * Loads this file as the driver instead of libcuda.so.1. Before the first other call; for simulators
 * and tests. Errors: NO_DRIVER (cannot be loaded, or lacks an entry), INVALID_VALUE (another one is loaded).
 */
XSEG_API enum xseg_result xseg_use_driver_library(const char *path);

/*
 * Gives everything back to the driver and forgets all state, as at process exit, where it is never
 * called by itself. Waits for the GPU. Every pointer that xseg gave out becomes invalid. No other
 * call may be running. The next call starts afresh, reading the environment again.
 */
XSEG_API enum xseg_result xseg_shutdown(void);

#ifdef __cplusplus
}
#endif

#endif
