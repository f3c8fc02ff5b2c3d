/*
 * What a request does that no free block can serve: it goes down the rungs, one function each, and
 * stops at the first that serves. After every rung that frees anything the heap is searched again.
 *
 * (The caller has emptied the block caches and looked again: core/alloc.c.)
 *
 *   poll      look at the fences: blocks of other streams may be idle by now
 *   grow      map idle extents, move them, create new ones (core/growth.h); classic: a new segment
 *   borrow    make the stream wait, on the GPU, for what other streams have freed, and take that
 *   wait      for the oldest fence, then look and grow again
 *   pools     take a free block of a pool that lends them (use_on_oom)
 *   release   give back what is cached elsewhere, where it helps, then grow again
 *
 * Then it is out of memory, and the error text says of what and why.
 */
#ifndef XS_CORE_LADDER_H
#define XS_CORE_LADDER_H

#include "core/alloc.h"
#include "driver/driver.h"

/* Not under any lock. On success the block is LIVE and handed out. */
enum xseg_result xs_ladder_climb(const struct xs_request *request, struct xs_block **block);

/* A request that nothing could serve. */
struct xs_refused {
    const struct xs_request *request;
    struct xs_driver_error error; /* the last since the ladder was climbed; code 0: none */
    size_t free_bytes;            /* of the device; UINT64_MAX: the driver does not say */
};

/* Those above say what it means. look() is called under GROWTH and sets the text of the error; what it returns is
 * handed to tell() once no lock is held. */
struct xs_refusal_hooks {
    void *(*look)(const struct xs_refused *refused);
    void (*tell)(void *report);
};
void xs_ladder_on_refusal(const struct xs_refusal_hooks *hooks);

#endif
