/*
 * What an outside program supplies: its allocator as a contestant. Everything else, the workloads, the
 * timing and the output, is the code of bench/, compiled into it, so that all are timed alike.
 */
#ifndef XS_BENCH_PEER_PEER_H
#define XS_BENCH_PEER_PEER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "bench/contestant.h"
#include "bench/failure.h"

extern const struct xs_contestant xs_peer_contestant;

#ifdef __cplusplus
}
#endif

#endif
