/*
 * What a snapshot means: where the memory is, whether a request that was refused had to be, and why; and the advice
 * that follows from it and from nothing else. The same for a snapshot of ours, of PyTorch's, or a trace.
 * Makes no use of any other library (no NVML). Not thread-safe.
 */
#ifndef XS_REPORT_DIAGNOSIS_H
#define XS_REPORT_DIAGNOSIS_H

#include "base/json.h"
#include "report/snapshot.h"

enum xs_verdict {
    XS_VERDICT_NONE,          /* nothing was refused */
    XS_VERDICT_FULL,          /* live memory and the request are more than the device has */
    XS_VERDICT_LIMIT,         /* ... more than the limit */
    XS_VERDICT_OTHERS,        /* ... more than others on the device have left */
    XS_VERDICT_FRAGMENTATION, /* enough is not live, but live blocks lie between it */
    XS_VERDICT_POOLS,         /* enough is not live, but private pools hold it */
    XS_VERDICT_WAITING,       /* enough is freed, and the GPU has not passed it */
    XS_VERDICT_DRIVER         /* the driver refused what should have been there */
};

/* A request that was refused; all zero: none was. */
struct xs_refusal {
    uint64_t requested;
    uint64_t bytes; /* rounded */
    const char *tag;
    const char *by;   /* the callers, as they are named; NULL: not known */
    const char *call; /* the driver's, that failed last; NULL: none did */
    const char *arguments;
    const char *code_name;
    int code;
    bool is_out_of_memory; /* the code says so */
    uint64_t pool;         /* that the request was for; 0: the default one */
};

/* Live bytes by how long they have lived. */
struct xs_lifetimes {
    bool known;
    uint64_t
        persistent; /* older than the last pause in which nothing that lives now was allocated */
    uint64_t transient;
    uint64_t border_ms; /* age that parts them */
};

/* An extent that could go but for what lives in it. */
struct xs_pin {
    struct xs_snap_extent extent;
    uint64_t free_bytes;
    struct xs_snap_block block; /* the largest that lives in it */
    size_t n_blocks;
};

enum xs_advice {
    XS_ADVICE_PERSISTENT, /* parameters, gradients, optimizer state */
    XS_ADVICE_TRANSIENT,  /* activations */
    XS_ADVICE_LIMIT,
    XS_ADVICE_OTHERS,
    XS_ADVICE_EXPANDABLE,
    XS_ADVICE_SMALL_EXTENTS,
    XS_ADVICE_BUCKETS,
    XS_ADVICE_POOLS,
    XS_ADVICE_SYNCHRONISE,
    XS_ADVICE_DRIVER,
    XS_ADVICE_COUNT
};

#define XS_PINS_MAX 8

struct xs_diagnosis {
    enum xs_verdict verdict;
    struct xs_refusal refusal;
    const struct xs_snapshot *snapshot;
    const struct xs_event
        *earlier; /* a refusal before the last event, whose state is gone; NULL: none */
    uint64_t live, waiting, cached, reserved; /* bytes; cached: without what is waiting */
    uint64_t capacity;                        /* most that could be live; UINT64_MAX: not known */
    uint64_t largest; /* request that would have been served, in the pool of the one that was not */
    uint64_t recoverable;             /* free bytes that lie between live blocks */
    uint64_t recoverable_by_granules; /* of those, what extents of one granule would free */
    uint64_t usable_by_granules;      /* the largest request with such extents */
    uint64_t held_free;               /* free in private pools that are held, but the request's */
    size_t held_pools;                /* those that hold it */
    size_t n_sizes;                   /* different sizes of live and free blocks */
    struct xs_lifetimes lifetimes;
    struct xs_pin pins[XS_PINS_MAX]; /* those that hold most free bytes */
    size_t n_pins, all_pins;
    bool advice[XS_ADVICE_COUNT];
};

/* refusal NULL: nothing was refused, but for what the snapshot's last event says. */
void xs_diagnose(struct xs_diagnosis *d, const struct xs_snapshot *s,
                 const struct xs_refusal *refusal);

/* Live bytes of LIVE and WAITING blocks whose ages are known. */
void xs_lifetimes_measure(struct xs_lifetimes *l, const struct xs_snapshot *s);

/* Most live bytes if the transient part were divided by `batch`. False: not known. */
bool xs_diagnosis_batch_one(const struct xs_diagnosis *d, double batch, uint64_t *bytes);

/* "fragmentation" */
const char *xs_verdict_name(enum xs_verdict verdict);
/* One line of text: what the verdict says, with its figures. Returns `out`. */
const char *xs_verdict_text(const struct xs_diagnosis *d, char out[400]);
/* One line; returns `out`. */
const char *xs_advice_text(const struct xs_diagnosis *d, enum xs_advice advice, char out[400]);

/* batch 0: not known. */
void xs_diagnosis_print_text(struct xs_out *out, const struct xs_diagnosis *d, double batch);
void xs_diagnosis_print_json(struct xs_json *j, const struct xs_diagnosis *d, double batch);

#endif
