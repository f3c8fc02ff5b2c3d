/* Reports R74, R86, R87, R90 and R92: what the figures say, and when they must not change. */
#include <pthread.h>

#include "../model/model_random.h"
#include "driver/driver.h"
#include "driver/driver_fault.h"
#include "report_fixture.h"
#include "xseg/pools.h"

/* ---- R74: pointers that are not live ---------------------------------------------------------- */

static void unknown(void *p)
{
    const struct xseg_stats before = xt_stats(0);
    size_t bytes = 12345;
    XT_EQUAL(xseg_free(p), XSEG_ERROR_UNKNOWN_POINTER);
    XT_EQUAL(xseg_pointer_sizes(p, &bytes, NULL), XSEG_ERROR_UNKNOWN_POINTER);
    XT_EQUAL(bytes, 12345);
    const struct xseg_stats after = xt_stats(0);
    XT_EQUAL(after.requested_bytes.current, before.requested_bytes.current);
    XT_EQUAL(after.allocated_bytes.freed, before.allocated_bytes.freed);
    XT_EQUAL(after.reserved_bytes.current, before.reserved_bytes.current);
    xt_check();
}

static void r74(void)
{
    int on_stack;
    unknown(&on_stack); /* before the first use, too */
    char *p = xt_alloc(3 * XS_MIB), *q = xt_alloc(1000);
    xs_cu_ptr foreign;
    xt_make_context(0);
    XT_CU(cu.cuMemAlloc_v2(&foreign, XS_MIB));
    XT_EQUAL(xseg_free((void *)(uintptr_t)foreign), XSEG_ERROR_UNKNOWN_POINTER);
    XT_CU(cu.cuMemFree_v2(foreign));
    unknown(&on_stack);
    unknown(p + 1);
    unknown(p + 512);
    unknown(p + 2 * XS_MIB);
    unknown(p - 512);
    unknown((void *)(uintptr_t)1);
    unknown((void *)UINTPTR_MAX);
    xt_free(p);
    unknown(p);
    unknown(p);
    xt_free(q);
    unknown(q);
    XT_OK(xseg_free(NULL));
    XT_EQUAL(xt_stats(0).allocations.current, 0);
}

#define THREADS 8
#define ROUNDS  2000

static _Atomic(void *) shared[64];

/* Threads free each other's blocks, and now and then one that is free already. */
static void *random_work(void *seed)
{
    uint64_t state = *(uint64_t *)seed;
    for (unsigned i = 0; i < ROUNDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        _Atomic(void *) *slot = &shared[state >> 58];
        void *p = NULL;
        if (!xseg_malloc(&p, 1 + (state >> 40) % (4 * XS_MIB), 0, NULL))
            p = atomic_exchange(slot, p);
        if (p && xseg_free(p))
            XT_FAIL("a live block was refused: %s", xseg_last_error());
        if (i % 500 == 0)
            XT_OK(xseg_empty_cache(0));
        if (i % 100 == 0)
            xt_stats(0);
    }
    return NULL;
}

static void r74_threads(void)
{
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seed[i] = i * 7919 + 1;
        XT_EQUAL(pthread_create(&thread[i], NULL, random_work, &seed[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    xt_check();
    for (unsigned i = 0; i < XS_COUNT_OF(shared); i++)
        xt_free(atomic_load(&shared[i]));
    xt_check();
    const struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.allocations.current, 0);
    XT_EQUAL(s.requested_bytes.current, 0);
    XT_EQUAL(s.allocated_bytes.current, 0);
    XT_EQUAL(s.allocated_bytes.allocated, s.allocated_bytes.freed);
    XT_EQUAL(s.allocations.allocated, (uint64_t)THREADS * ROUNDS);
}

/* ---- R84: the peak of a program that allocates on one thread and frees on another, as training does ------ */

enum { TENSORS = 40, STEPS_TRAINED = 12, IDLE_MIB = 6000 };

static struct {
    pthread_barrier_t turn;
    void *tensor[TENSORS];
    size_t live, peak; /* in MiB; whose turn it is writes them */
} training;

static void *tensor_of(size_t mib)
{
    training.live += mib;
    training.peak = xs_max(training.peak, training.live);
    return xt_alloc(mib * XS_MIB);
}

static void drop_tensor(void *p, size_t mib)
{
    training.live -= mib;
    xt_free(p);
}

static size_t tensor_mib(unsigned i)
{
    return 1 + i * 7 % 20;
}

/* What it allocates itself makes the peak; and what it frees is never less than what the other allocates. */
static void *backward(void *unused)
{
    for (unsigned step = 0; step < STEPS_TRAINED; step++) {
        pthread_barrier_wait(&training.turn);
        for (unsigned i = TENSORS; i-- > 0;) {
            void *gradients[2] = {tensor_of(30), tensor_of(12)};
            drop_tensor(training.tensor[i], tensor_mib(i));
            drop_tensor(gradients[0], 30);
            drop_tensor(gradients[1], 12);
        }
        pthread_barrier_wait(&training.turn);
    }
    return unused;
}

/* Reserved and not live, so that no peak can be told by what is reserved. */
static void hold_memory(size_t mib)
{
    xseg_pool pool;
    void *p;
    XT_OK(xseg_pool_create(0, 0, &pool));
    XT_OK(xseg_pool_malloc(&p, mib * XS_MIB, pool, NULL));
    xt_free(p);
}

static void r84_trained(void)
{
    pthread_t other;
    hold_memory(IDLE_MIB);
    xt_free(xt_alloc(IDLE_MIB * XS_MIB)); /* there is so much that for long nothing is merged */
    XT_EQUAL(pthread_barrier_init(&training.turn, NULL, 2), 0);
    XT_EQUAL(pthread_create(&other, NULL, backward, NULL), 0);
    for (unsigned step = 0; step < STEPS_TRAINED; step++) {
        if (step == STEPS_TRAINED / 2) { /* from here on memory does not grow */
            XT_OK(xseg_reset_peaks(0));
            training.peak = training.live;
        }
        if (step == STEPS_TRAINED - 1) /* merges one thread's books, then the other's */
            XT_OK(xseg_empty_cache(0));
        for (unsigned i = 0; i < TENSORS; i++)
            training.tensor[i] = tensor_of(tensor_mib(i));
        pthread_barrier_wait(&training.turn);
        pthread_barrier_wait(&training.turn);
    }
    pthread_join(other, NULL);
    pthread_barrier_destroy(&training.turn);
    const struct xseg_stats s = xt_stats(0);
    const size_t true_to = 2 * XS_MIB; /* a MiB for each thread */
    XT_AT_MOST(s.allocated_bytes.peak, training.peak * XS_MIB + true_to);
    XT_AT_MOST(training.peak * XS_MIB, s.allocated_bytes.peak + true_to);
    XT_AT_MOST(training.peak * XS_MIB, s.requested_bytes.peak + true_to);
    XT_AT_MOST(s.requested_bytes.peak, training.peak * XS_MIB + true_to);
    XT_EQUAL(s.allocated_bytes.current, 0);
}

/* ---- R87: resetting --------------------------------------------------------------------------- */

static void r87(void)
{
    void *p = xt_alloc(30 * XS_MIB);
    xt_free(xt_alloc(50 * XS_MIB));
    XT_OK(xseg_reset_peaks(0));
    struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.allocated_bytes.current, 30 * XS_MIB);
    XT_EQUAL(s.allocated_bytes.peak, 30 * XS_MIB);
    XT_EQUAL(s.allocations.allocated, 2);
    XT_EQUAL(s.allocations.freed, 1);
    xt_free(xt_alloc(10 * XS_MIB));
    s = xt_stats(0);
    XT_EQUAL(s.allocated_bytes.peak, 40 * XS_MIB);
    XT_EQUAL(s.requested_bytes.peak, 40 * XS_MIB);
    XT_EQUAL(s.allocations.allocated, 3);
    XT_EQUAL(s.allocated_bytes.allocated, 90 * XS_MIB);
    XT_EQUAL(s.allocated_bytes.freed, 60 * XS_MIB);
    XT_OK(xseg_reset_totals(0));
    s = xt_stats(0);
    XT_EQUAL(s.allocated_bytes.current, 30 * XS_MIB);
    XT_EQUAL(s.allocated_bytes.peak, 40 * XS_MIB);
    XT_EQUAL(s.allocated_bytes.allocated, 0);
    XT_EQUAL(s.allocations.freed, 0);
    XT_EQUAL(s.rung_create, 0);
    XT_EQUAL(s.driver_create, 0);
    xt_check();
    xt_free(p);
}

/* ---- R90: requested, allocated, active, reserved ---------------------------------------------- */

static void rounded(size_t bytes, size_t block)
{
    void *p[1000];
    for (unsigned i = 0; i < 1000; i++) {
        p[i] = xt_alloc(bytes);
        const struct xseg_stats s = xt_stats(0);
        XT_EQUAL(s.requested_bytes.current, (i + 1) * bytes);
        XT_EQUAL(s.allocated_bytes.current, (i + 1) * block);
        XT_EQUAL(s.active_bytes.current, (i + 1) * block);
        xt_check_stats(&s);
    }
    for (unsigned i = 0; i < 1000; i++)
        xt_free(p[i]);
    const struct xseg_stats s = xt_stats(0);
    xt_check_stats(&s);
    XT_EQUAL(s.requested_bytes.current, 0);
    XT_EQUAL(s.reserved_bytes.current, s.cached_bytes.current);
}

static void r90(void)
{
    rounded(513, 1024);
}

static void r90_divisions(void)
{
    rounded(1300, 1536);
    rounded(513, 1024);
}

/* ---- R86: what could be given back, where an extent is the unit ------------------------------- */

#define EXTENT (20 * XS_MIB)
#define PINS   50

/* 50 extents, in each of which one block of 512 bytes lives. */
static void r86(void)
{
    void *rest[PINS], *pin[PINS];
    for (unsigned i = 0; i < PINS; i++) {
        rest[i] = xt_alloc(EXTENT - XS_MIB);
        pin[i] = xt_alloc(512);
        xt_free(xt_alloc(XS_MIB - 512));
    }
    for (unsigned i = 0; i < PINS; i++)
        xt_free(rest[i]);
    XT_OK(xseg_empty_cache(0));
    struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.allocated_bytes.current, PINS * 512);
    XT_CHECK(s.pinned_extents >= s.extents.current - 1);
    XT_EQUAL(s.frag_free_bytes + s.frag_idle_bytes, 0);
    XT_EQUAL(s.frag_pinned_bytes, s.reserved_bytes.current - PINS * 512);
    XT_EQUAL(s.unreleasable_bytes.current, s.frag_pinned_bytes);
    for (unsigned i = 0; i < PINS; i++)
        xt_free(pin[i]);
    XT_OK(xseg_empty_cache(0));
    s = xt_stats(0);
    XT_EQUAL(s.pinned_extents, 0);
    XT_EQUAL(s.unreleasable_bytes.current, 0);
    XT_CHECK(s.unreleasable_bytes.peak > 0);
    XT_EQUAL(s.unreleasable_bytes.allocated, s.unreleasable_bytes.freed);
}

/* ---- the largest request: what the reading promises is served, and no more -------------------- */

static void holes_and_scraps(void **live, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        live[i] = xt_alloc(1 + i * 777777 % (9 * XS_MIB));
    for (unsigned i = 0; i < n; i += 2)
        xt_free(live[i]);
}

static void largest_without_new_memory(void)
{
    void *live[100];
    holes_and_scraps(live, 100);
    const struct xseg_stats s = xt_stats(0);
    set_limit(s.reserved_bytes.current);
    XT_CHECK(s.largest_reclaimable_bytes > s.largest_free_bytes);
    XT_EQUAL(xt_stats(0).largest_obtainable_bytes, s.largest_reclaimable_bytes);
    must_not_fit(s.largest_reclaimable_bytes + (2 * XS_MIB));
    xt_free(must_fit(s.largest_reclaimable_bytes / (2 * XS_MIB) * (2 * XS_MIB)));
    for (unsigned i = 1; i < 100; i += 2)
        xt_free(live[i]);
}

static void largest_under_a_limit(void)
{
    void *live[100];
    holes_and_scraps(live, 100);
    set_limit(xt_stats(0).reserved_bytes.current + 100 * XS_MIB + 12345);
    const size_t largest = xt_stats(0).largest_obtainable_bytes;
    must_not_fit(largest + (2 * XS_MIB));
    xt_free(must_fit(largest / (2 * XS_MIB) * (2 * XS_MIB)));
    for (unsigned i = 1; i < 100; i += 2)
        xt_free(live[i]);
}

/* ---- R92: looking is free --------------------------------------------------------------------- */

static void nothing_made(void)
{
    const struct xs_sim_live live = xt_live();
    XT_EQUAL(live.contexts, 0);
    XT_EQUAL(live.used_bytes, 0);
    XT_EQUAL(live.reservations, 0);
}

static void r92(void)
{
    const struct xseg_stats s = xt_stats(0), current = xt_stats(0);
    XT_EQUAL(s.reserved_bytes.current, 0);
    XT_EQUAL(s.limit_bytes, UINT64_MAX);
    XT_EQUAL(current.device, 0);
    nothing_made();
    XT_OK(xseg_reset_peaks(0));
    XT_OK(xseg_reset_totals(0));
    XT_OK(xseg_empty_cache(XSEG_CURRENT_DEVICE));
    XT_OK(xseg_trim(0, 0));
    XT_OK(xseg_free(NULL));
    void *p = &p;
    XT_OK(xseg_malloc(&p, 0, 0, NULL));
    XT_CHECK(p == NULL);
    XT_OK(xseg_configure("expandable_segments:True"));
    nothing_made();
    XT_OK(xseg_set_limit(0, XS_GIB));
    nothing_made();
    xt_free(xt_alloc(1));
    XT_EQUAL(xt_live().contexts, 1);
}

/* What others hold on the device is told without asking anybody but the driver. */
static void r92_not_ours(void)
{
    void *p = xt_alloc(30 * XS_MIB);
    const struct xseg_stats before = xt_stats(0);
    xs_cu_ptr foreign;
    xt_make_context(0);
    XT_CU(cu.cuMemAlloc_v2(&foreign, 64 * XS_MIB));
    const struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.other_bytes, before.other_bytes + 64 * XS_MIB);
    XT_EQUAL(s.device_total_bytes, s.device_free_bytes + s.other_bytes + s.reserved_bytes.current);
    XT_CU(cu.cuMemFree_v2(foreign));
    XT_EQUAL(xt_stats(0).other_bytes, before.other_bytes);
    xt_free(p);
}

/* R32: where the driver does not say, that is what the figures say. */
static void r32_unknown(void)
{
    void *p = xt_alloc(30 * XS_MIB);
    struct xs_fault fault = {.call = XS_CALL_mem_get_info, .nth = 1, .repeat = 1, .code = 800};
    XT_CHECK(xs_fault_add(&fault));
    const struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.device_free_bytes, UINT64_MAX);
    XT_EQUAL(s.other_bytes, UINT64_MAX);
    XT_EQUAL(s.allocated_bytes.current, 30 * XS_MIB);
    xs_fault_clear();
    xt_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R74: double, foreign and inner pointers are refused and change nothing", r74),
        REPORT("R74: the same in classic mode", r74, CLASSIC),
        REPORT("R74: threads that free each other's blocks", r74_threads),
        REPORT("R74: threads that free each other's blocks, classic", r74_threads, CLASSIC),
        REPORT("R84: peaks of one thread that allocates and another that frees", r84_trained),
        REPORT("R87: resetting peaks leaves current values and counts", r87),
        REPORT("R90: requested and rounded bytes are told apart", r90),
        REPORT("R90: the same in classic mode", r90, CLASSIC),
        REPORT("R90: the same with divisions", r90_divisions,
               "ALLOC_CONF=roundup_power2_divisions:[1:4,>:4]"),
        REPORT("R86: free memory in pinned extents is told apart", r86,
               "ALLOC_CONF=extent_min:20M,extent_max:20M"),
        REPORT("the largest request without new memory", largest_without_new_memory),
        REPORT("the largest request under a limit", largest_under_a_limit),
        REPORT("R92: what is not ours", r92_not_ours),
        REPORT("R32: a driver that does not say what is free", r32_unknown),
        REPORT("R92: looking before the first use creates nothing", r92),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
