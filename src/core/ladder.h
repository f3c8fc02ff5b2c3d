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

/* Not under any lock. On success the block is LIVE and handed out. */
enum xseg_result xs_ladder_climb(const struct xs_request *request, struct xs_block **block);

#endif
