#include "sim/sim_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_extent.h"
#include "sim/sim_memory.h"
#include "sim/sim_state.h"

static void *must(void *p)
{
    if (p)
        return p;
    fputs("xseg-sim: no host memory for queued work\n", stderr);
    abort();
}

struct xs_sim_mark *xs_sim_mark_new(void)
{
    struct xs_sim_mark *mark = must(calloc(1, sizeof(*mark)));
    mark->refs = 1;
    return mark;
}

void xs_sim_mark_drop(struct xs_sim_mark *mark)
{
    if (mark && --mark->refs == 0)
        free(mark);
}

struct xs_sim_item *xs_sim_item_new(enum xs_sim_work work)
{
    struct xs_sim_item *item = must(calloc(1, sizeof(*item)));
    xs_list_init(&item->link);
    item->work = work;
    return item;
}

struct xs_sim_item *xs_sim_item_clone(const struct xs_sim_item *item)
{
    struct xs_sim_item *clone = xs_sim_item_new(item->work);
    *clone = *item;
    xs_list_init(&clone->link);
    if (clone->mark)
        clone->mark->refs++;
    return clone;
}

void xs_sim_item_free(struct xs_sim_item *item)
{
    xs_list_remove(&item->link);
    xs_sim_mark_drop(item->mark);
    free(item);
}

bool xs_sim_item_uses(const struct xs_sim_item *item, xs_cu_ptr va, size_t bytes)
{
    for (size_t i = 0; i < XS_COUNT_OF(item->use); i++) {
        const struct xs_sim_use *use = &item->use[i];
        if (use->device && use->va < va + bytes && va < use->va + use->bytes)
            return true;
    }
    return false;
}

/* Copies and sets may reach what any device may; a kernel only what its own device may. */
static bool has_access(const struct xs_sim_mapping *mapping, int device, bool write)
{
    const int need = write ? XS_CU_ACCESS_READWRITE : XS_CU_ACCESS_READ;
    for (int i = 0; i < (int)xs_sim.config.devices; i++)
        if ((device < 0 || i == device) && mapping->access[i] >= need)
            return true;
    return false;
}

static const char *mapping_fault(struct xs_sim_reservation *reservation,
                                 const struct xs_sim_use *use, int device)
{
    for (xs_cu_ptr at = use->va; at < use->va + use->bytes;) {
        const struct xs_sim_mapping *mapping = *xs_sim_slot(reservation, at);
        if (!mapping)
            return "use after unmap: not mapped";
        if (!has_access(mapping, device, use->write))
            return "no access";
        at = mapping->va + mapping->extent->bytes;
    }
    return NULL;
}

static const char *use_fault(const struct xs_sim_use *use, int device)
{
    struct xs_sim_reservation *reservation = xs_sim_reservation_of(use->va, use->bytes);
    if (!reservation)
        return "use after unmap: not one reservation";
    if (!reservation->for_alloc)
        return mapping_fault(reservation, use, device);
    return xs_sim_block_holds(use->va, use->bytes) ? NULL : "use after free: not one allocation";
}

static bool check_uses(const struct xs_sim_item *item, int device, unsigned long long stream_id)
{
    for (size_t i = 0; i < XS_COUNT_OF(item->use); i++) {
        const struct xs_sim_use *use = &item->use[i];
        const bool looks = use->device && use->bytes;
        const char *fault =
            looks ? use_fault(use, item->work == XS_SIM_KERNEL ? device : -1) : NULL;
        if (!fault)
            continue;
        xs_sim_ledger_violation("work of stream %llu on 0x%llx + %zu: %s", stream_id,
                                (xs_cu_ptr)use->va, use->bytes, fault);
        return false;
    }
    return true;
}

static void *host(uint64_t va)
{
    return (void *)(uintptr_t)va;
}

static void fill(const struct xs_sim_item *item)
{
    char *to = host(item->use[0].va);
    if (item->value_bytes == 1) {
        memset(to, (int)item->value, item->use[0].bytes);
        return;
    }
    for (size_t i = 0; i < item->use[0].bytes; i += item->value_bytes)
        memcpy(to + i, &item->value, item->value_bytes);
}

void xs_sim_item_run(const struct xs_sim_item *item, int device, unsigned long long stream_id)
{
    if (item->work == XS_SIM_FREE)
        xs_sim_block_free(item->use[0].va);
    else if (!check_uses(item, device, stream_id) || !xs_sim.config.data)
        return;
    else if (item->work == XS_SIM_SET)
        fill(item);
    else if (item->work == XS_SIM_COPY)
        memmove(host(item->use[0].va), host(item->use[1].va), item->use[0].bytes);
}
