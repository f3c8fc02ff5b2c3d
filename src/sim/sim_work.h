/*
 * Work items: what streams queue and graphs keep. MARK and WAIT are ordering only and take no time;
 * the others are work. An item says which memory it uses, so that unmapping under it can be
 * noticed.
 */
#ifndef XS_SIM_SIM_WORK_H
#define XS_SIM_SIM_WORK_H

#include "base/list.h"
#include "sim/sim_abi.h"

enum xs_sim_work {
    XS_SIM_MARK,
    XS_SIM_WAIT,
    XS_SIM_KERNEL,
    XS_SIM_SET,
    XS_SIM_COPY,
    XS_SIM_HOST_FN,
    XS_SIM_FREE
};

/*
 * A point in the work of one or more streams. Each stream passes its MARK item for it; when none is
 * left, the point is reached. Counted references: events, items and waiting callers hold it.
 */
struct xs_sim_mark {
    unsigned refs;
    unsigned remaining; /* streams that have not passed it yet */
};

struct xs_sim_use { /* a range of memory that an item touches; bytes is 0 for none */
    uint64_t va;
    size_t bytes;
    bool device; /* else host memory */
    bool write;
};

struct xs_sim_item {
    struct xs_list link;
    enum xs_sim_work work;
    struct xs_sim_mark *mark; /* MARK, WAIT */
    struct xs_sim_use use[2]; /* target, source */
    uint32_t value;           /* SET */
    size_t value_bytes;       /* SET: 1 or 4 */
    xs_cu_host_fn fn;         /* HOST_FN */
    void *data;
};

struct xs_sim_mark *xs_sim_mark_new(void);       /* with one reference */
void xs_sim_mark_drop(struct xs_sim_mark *mark); /* NULL is allowed */

/* The simulator cannot go on without memory for an item: these end the process with a message. */
struct xs_sim_item *xs_sim_item_new(enum xs_sim_work work);
struct xs_sim_item *xs_sim_item_clone(const struct xs_sim_item *item);
void xs_sim_item_free(struct xs_sim_item *item);

static inline bool xs_sim_item_is_work(const struct xs_sim_item *item)
{
    return item->work != XS_SIM_MARK && item->work != XS_SIM_WAIT;
}

bool xs_sim_item_uses(const struct xs_sim_item *item, xs_cu_ptr va, size_t bytes);

/* Checks what the item uses, and does its work. Not for MARK, WAIT and HOST_FN. */
void xs_sim_item_run(const struct xs_sim_item *item, int device, unsigned long long stream_id);

#endif
