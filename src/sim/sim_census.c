/* What the simulated driver holds: counted, hashed, and reported when the process ends. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/sim_context.h"
#include "sim/sim_control.h"
#include "sim/sim_extent.h"
#include "sim/sim_state.h"

static void count_extents(struct xs_sim_live *live)
{
    XS_SIM_SLOTS_FOR_EACH(struct xs_sim_extent, extent, &xs_sim.extents)
    {
        if (extent->for_alloc || extent->released)
            continue;
        live->handles++;
        live->handle_bytes += extent->bytes;
    }
    XS_LIST_FOR_EACH(node, &xs_sim.mappings)
        live->mappings += !((struct xs_sim_mapping *)node)->extent->for_alloc;
}

static void count_addresses(struct xs_sim_live *live)
{
    for (size_t i = 0; i < xs_sim.reservations.count; i++) {
        const struct xs_sim_reservation *reservation = xs_sim.reservations.at[i].owner;
        if (reservation->for_alloc)
            continue;
        live->reservations++;
        live->reserved_bytes += reservation->bytes;
    }
    live->allocs = xs_sim.blocks.count;
    for (size_t i = 0; i < xs_sim.blocks.count; i++)
        live->alloc_bytes += xs_sim.blocks.at[i].bytes;
}

static struct xs_sim_live census(void)
{
    struct xs_sim_live live = {0};
    count_extents(&live);
    count_addresses(&live);
    live.events = xs_sim_slots_live(&xs_sim.events);
    live.streams = xs_sim_slots_live(&xs_sim.streams);
    live.graphs = xs_sim_slots_live(&xs_sim.graphs);
    live.host_ranges = xs_sim.host_ranges.count;
    XS_SIM_SLOTS_FOR_EACH(struct xs_sim_context, ctx, &xs_sim.contexts)
    live.contexts += ctx->users > 0;
    for (size_t i = 0; i < xs_sim.config.devices; i++)
        live.used_bytes += xs_sim.physical[i].used;
    return live;
}

void xs_sim_live(struct xs_sim_live *out)
{
    xs_sim_control_enter(__func__);
    *out = census();
    xs_sim_control_leave();
}

uint64_t xs_sim_physical(xs_cu_ptr va, size_t *bytes)
{
    uint64_t at = 0;
    *bytes = 0;
    xs_sim_control_enter(__func__);
    const struct xs_sim_mapping *mapping = xs_sim_mapping_of(va);
    if (mapping) {
        at = mapping->extent->offset + (va - mapping->va);
        *bytes = mapping->va + mapping->extent->bytes - va;
    }
    xs_sim_control_leave();
    return at;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* Each object is hashed by itself and the hashes are added: the order of lists does not matter. */
static uint64_t digest_extents(void)
{
    uint64_t sum = 0;
    XS_SIM_SLOTS_FOR_EACH(struct xs_sim_extent, extent, &xs_sim.extents)
    {
        const uint64_t id = mix(xs_sim_extent_handle(extent), (uint64_t)extent->device);
        sum += mix(mix(id, extent->bytes), (uint64_t)extent->released + 1);
    }
    return sum;
}

static uint64_t digest_mappings(void)
{
    uint64_t sum = 0;
    XS_LIST_FOR_EACH(node, &xs_sim.mappings) {
        const struct xs_sim_mapping *mapping = (struct xs_sim_mapping *)node;
        uint64_t h = mix(mapping->va, xs_sim_extent_handle(mapping->extent));
        for (size_t i = 0; i < xs_sim.config.devices; i++)
            h = mix(h, mapping->access[i]);
        sum += mix(h, 2);
    }
    return sum;
}

static uint64_t digest_ranges(const struct xs_sim_ranges *ranges, uint64_t kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ranges->count; i++)
        sum += mix(mix(ranges->at[i].va, ranges->at[i].bytes), kind);
    return sum;
}

uint64_t xs_sim_digest(void)
{
    xs_sim_control_enter(__func__);
    uint64_t h = digest_extents() + digest_mappings();
    h += digest_ranges(&xs_sim.reservations, 3) + digest_ranges(&xs_sim.blocks, 4);
    h += digest_ranges(&xs_sim.host_ranges, 5);
    h = mix(h, xs_sim_slots_live(&xs_sim.events));
    for (size_t i = 0; i < xs_sim.config.devices; i++)
        h = mix(h, xs_sim.physical[i].used);
    xs_sim_control_leave();
    return h;
}

static void report_calls(void)
{
    const struct xs_sim_ledger *ledger = &xs_sim.ledger;
    uint64_t sum_ns = 0;
    for (int i = 0; i < XS_SIM_SYMBOLS; i++) {
        sum_ns += ledger->cost_ns[i];
        if (ledger->calls[i])
            fprintf(stderr, "xseg-sim: %12" PRIu64 " %-32s %14.3f ms\n", ledger->calls[i],
                    xs_sim_symbol_name((enum xs_sim_symbol)i), (double)ledger->cost_ns[i] / 1e6);
    }
    fprintf(stderr, "xseg-sim: %45s %14.3f ms\n", "driver time", (double)sum_ns / 1e6);
}

static void report_leaks(void)
{
    const struct xs_sim_live live = census();
    const struct {
        const char *what;
        size_t count;
        size_t bytes;
    } rows[] = {
        {"handles", live.handles, live.handle_bytes},
        {"mappings", live.mappings, 0},
        {"reservations", live.reservations, live.reserved_bytes},
        {"allocations", live.allocs, live.alloc_bytes},
        {"events", live.events, 0},
        {"streams", live.streams, 0},
        {"graphs", live.graphs, 0},
        {"host ranges", live.host_ranges, 0},
    };
    for (size_t i = 0; i < XS_COUNT_OF(rows); i++)
        if (rows[i].count)
            fprintf(stderr, "xseg-sim: leaked %zu %s (%zu bytes)\n", rows[i].count, rows[i].what,
                    rows[i].bytes);
}

/*
 * At the end of the process, without the lock: a thread that still runs may hold it for ever. What
 * it changes meanwhile can only make the report wrong in a detail.
 */
__attribute__((destructor)) static void report_at_exit(void)
{
    const struct xs_sim_ledger *ledger = &xs_sim.ledger;
    const bool wanted = xs_sim.initialised && xs_sim.config.report;
    if (wanted)
        report_calls();
    if (!wanted && !ledger->violations)
        return;
    report_leaks();
    fprintf(stderr, "xseg-sim: violations: %" PRIu64 "%s%s\n", ledger->violations,
            ledger->violations ? ", the last: " : "", ledger->last_violation);
}
