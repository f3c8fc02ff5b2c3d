#include "sim/sim_address.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "sim/sim_state.h"

/* Low enough to leave 80 TiB in an ordinary process; the second one is free under sanitizers. */
static const xs_cu_ptr bases[] = {(xs_cu_ptr)1 << 40, (xs_cu_ptr)32 << 40};

static const int no_memory = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

static void *host(xs_cu_ptr va)
{
    return (void *)(uintptr_t)va;
}

/*
 * Takes exactly this range from the host's address space, if it is free there too. The address is a
 * hint and the answer is checked: MAP_FIXED_NOREPLACE is mishandled by the thread sanitizer.
 */
static bool claim(xs_cu_ptr va, size_t bytes)
{
    void *p = mmap(host(va), bytes, PROT_NONE, no_memory, -1, 0);
    if (p == MAP_FAILED)
        return false;
    if (p != host(va))
        munmap(p, bytes);
    return p == host(va);
}

/* Any aligned range, or 0: a larger one is taken and its ends are given back. */
static xs_cu_ptr claim_anywhere(size_t bytes, size_t align)
{
    char *p = mmap(NULL, bytes + align, PROT_NONE, no_memory, -1, 0);
    if (p == MAP_FAILED)
        return 0;
    const size_t head = (align - (uintptr_t)p % align) % align;
    if (head)
        munmap(p, head);
    if (align - head)
        munmap(p + head + bytes, align - head);
    return (uintptr_t)p + head;
}

static xs_cu_ptr find_place(size_t bytes, size_t align, xs_cu_ptr hint)
{
    if (hint && hint % align == 0 && !xs_sim_ranges_overlap(&xs_sim.reservations, hint, bytes) &&
        claim(hint, bytes))
        return hint;
    for (size_t i = 0; i < XS_COUNT_OF(bases); i++) {
        const xs_cu_ptr va = xs_sim_ranges_gap(&xs_sim.reservations, bases[i], bytes, align);
        if (claim(va, bytes))
            return va;
    }
    return claim_anywhere(bytes, align);
}

struct xs_sim_reservation *xs_sim_reserve(size_t bytes, size_t align, xs_cu_ptr hint)
{
    if (bytes > (size_t)1 << 47 || align > (size_t)1 << 46)
        return NULL;
    /* Large arrays come zeroed and untouched from the kernel: only slots in use cost memory. */
    const size_t slots = bytes / xs_sim.config.granule;
    struct xs_sim_reservation *made = calloc(1, sizeof(*made) + slots * sizeof(made->slots[0]));
    if (!made)
        return NULL;
    made->bytes = bytes;
    made->va = find_place(bytes, align, hint);
    if (!made->va)
        goto free_it;
    if (!xs_sim_ranges_insert(&xs_sim.reservations, made->va, bytes, made))
        goto give_place_back;
    return made;

give_place_back:
    munmap(host(made->va), bytes);
free_it:
    free(made);
    return NULL;
}

void xs_sim_unreserve(struct xs_sim_reservation *reservation)
{
    munmap(host(reservation->va), reservation->bytes);
    xs_sim_ranges_remove(&xs_sim.reservations, reservation->va);
    free(reservation);
}

struct xs_sim_reservation *xs_sim_reservation_of(xs_cu_ptr va, size_t bytes)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.reservations, va);
    if (!range || bytes > range->va + range->bytes - va)
        return NULL;
    return range->owner;
}

struct xs_sim_mapping **xs_sim_slot(struct xs_sim_reservation *reservation, xs_cu_ptr va)
{
    return &reservation->slots[(va - reservation->va) / xs_sim.config.granule];
}

struct xs_sim_mapping *xs_sim_mapping_of(xs_cu_ptr va)
{
    struct xs_sim_reservation *reservation = xs_sim_reservation_of(va, 1);
    return reservation ? *xs_sim_slot(reservation, va) : NULL;
}
