/*
 * Whether blocks hold what was written to them: each is filled when it is allocated and checked when
 * it is freed, in the order of its stream. On the simulator the processor does both, to a sample of
 * the bytes; on a GPU all whole words are filled by memset and checked by a kernel. Not thread-safe.
 */
#ifndef XS_CLI_VERIFY_H
#define XS_CLI_VERIFY_H

#include "cli/cuda.h"

struct xs_verify;

/* For blocks in slots below n_slots. Errors: NOT_SUPPORTED, DRIVER, HOST_MEMORY; *verify is untouched. */
enum xseg_result xs_verify_open(struct xs_verify **verify, const struct xs_cuda *cuda,
                                size_t n_slots);
/* Does on `stream` what the driver does late, at the first fill and the first check there. */
void xs_verify_warm(struct xs_verify *v, xseg_stream stream);
/* `seed` tells this block from all others. Failures are kept for xs_verify_finish(). */
void xs_verify_fill(struct xs_verify *v, uint32_t slot, void *ptr, uint64_t bytes,
                    xseg_stream stream, uint64_t seed);
void xs_verify_check(struct xs_verify *v, uint32_t slot, void *ptr);
/* Waits for nothing: all streams must have been waited for. Total since the start, in words on a GPU,
 * in bytes on the simulator. Errors: DRIVER, also if an earlier fill or check failed. */
enum xseg_result xs_verify_finish(struct xs_verify *v, uint64_t *mismatches);
void xs_verify_close(struct xs_verify *v);

#endif
