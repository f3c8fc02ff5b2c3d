/*
 * Outside programs that run the same workloads with another allocator and print the same rows: every
 * executable file of a folder, one after the other, each in a process of its own (bench/peer builds
 * them). Not thread-safe.
 */
#ifndef XS_CLI_BENCH_PEERS_H
#define XS_CLI_BENCH_PEERS_H

#include "base/base.h"
#include "bench/workload.h"

#define XS_BENCH_PEERS_MAX 16

struct xs_bench_peers {
    size_t n;
    char *names[XS_BENCH_PEERS_MAX]; /* of the files, in their order */
    char *paths[XS_BENCH_PEERS_MAX];
};

/* Errors: IO (the folder cannot be read, or holds none). */
enum xseg_result xs_bench_peers_find(struct xs_bench_peers *peers, const char *folder);
void xs_bench_peers_clear(struct xs_bench_peers *peers);

struct xs_bench_peer_options {
    bool is_quick;
    unsigned rounds;  /* 0: the default */
    const char *only; /* NULL: all workloads */
    const struct xs_bench_trace *traces;
    size_t n_traces;
};

/* Runs one and hands on each row as it comes. False: it could not be run or failed; a message has been
 * written. */
bool xs_bench_peers_run(const char *path, const struct xs_bench_peer_options *options,
                        void (*emit)(void *ctx, const struct xs_row *row), void *ctx);

#endif
