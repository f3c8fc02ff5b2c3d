/* When freed memory is handed out again, and who waits for whom. Streams are manual: their work waits until the
 * simulator is told to run it, or a call waits for it. */
#include "program.h"

#include <pthread.h>

static xs_cu_stream new_stream(void)
{
    xs_cu_stream stream;
    CU(cu.stream_create(&stream, XS_CU_STREAM_NON_BLOCKING));
    CU(sim.stream_manual(stream, true));
    return stream;
}

static xs_cu_ptr get(size_t bytes)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, bytes));
    return va;
}

static void work(xs_cu_stream stream, xs_cu_ptr va)
{
    CU(cu.set_bytes(va, 1, 4096, stream));
}

static void legacy_memory_comes_back_at_once(void)
{
    start();
    CU(sim.stream_manual(NULL, true));
    for (int i = 0; i < 100; i++) {
        xs_cu_ptr p = get(8 * MIB);
        work(NULL, p);
        CU(cu.release_memory(p));
    }
    EQUAL(sim.stream_advance(NULL, SIZE_MAX), 100); /* nothing has waited */
    EQUAL(stats().reserved_bytes.peak, 8 * MIB);
    no_violations();
}

static void first_work_on_a_second_stream_waits_once(void)
{
    start();
    CU(sim.stream_manual(NULL, true));
    xs_cu_stream s = new_stream();
    xs_cu_ptr p = get(8 * MIB);
    work(NULL, p);
    CU(cu.release_memory(p));
    xs_cu_ptr q = get(8 * MIB);
    EQUAL(p, q);
    work(s, q);
    EQUAL(sim.stream_advance(NULL, SIZE_MAX), 0); /* it has run */
    work(NULL, q);
    work(s, q);
    EQUAL(sim.stream_advance(NULL, SIZE_MAX), 1); /* and that was the only time */
    CU(cu.stream_wait(s));
    no_violations();
}

static void memory_waits_for_all_streams(void)
{
    start();
    CU(sim.stream_manual(NULL, true));
    xs_cu_stream s = new_stream(), t = new_stream();
    xs_cu_ptr p = get(8 * MIB);
    work(s, p);
    work(t, p);
    CU(cu.release_memory(p));
    xs_cu_ptr q = get(8 * MIB);
    CHECK(p != q);
    EQUAL(sim.stream_advance(s, SIZE_MAX), 1); /* the free has not waited */
    CU(cu.release_memory(q));
    q = get(8 * MIB);
    CHECK(p != q); /* the other one has not passed */
    CU(cu.release_memory(q));
    EQUAL(sim.stream_advance(t, SIZE_MAX), 1);
    size_t reserved = stats().reserved_bytes.current;
    for (int i = 0; i < 20; i++) {
        q = get(8 * MIB);
        CU(cu.release_memory(q));
    }
    EQUAL(stats().reserved_bytes.current, reserved);
    no_violations();
}

/* Work that is queued on any stream after the free and on the new owner must not meet the old owner's. */
static void a_freed_address_is_never_used_twice(void)
{
    start();
    xs_cu_stream s[4];
    xs_cu_ptr busy[4] = {0};
    for (int i = 0; i < 4; i++)
        s[i] = new_stream();
    for (int i = 0; i < 400; i++) {
        int k = i * 7 % 4;
        if (i % 5 == 4) {
            sim.stream_advance(s[k], SIZE_MAX);
            busy[k] = 0;
        }
        xs_cu_ptr p = get(MIB / 16); /* little enough that nothing has to be waited for */
        for (int j = 0; j < 4; j++)
            CHECK(p != busy[j]);
        work(s[k], p);
        busy[k] = p;
        CU(cu.release_memory(p));
    }
    for (int i = 0; i < 4; i++)
        CU(cu.stream_wait(s[i]));
    no_violations();
}

static void a_stream_that_is_gone_is_waited_for(void)
{
    start();
    xs_cu_stream s = new_stream();
    xs_cu_ptr p = get(8 * MIB);
    work(s, p);
    CU(cu.stream_destroy(s));
    CU(cu.release_memory(p));
    CHECK(get(8 * MIB) != p);
    no_violations();
}

/* Where memory is short, the wait that the native free would have had. */
static void the_last_memory_is_waited_for(void)
{
    start();
    xs_cu_stream s = new_stream();
    for (int i = 0; i < 5; i++) {
        xs_cu_ptr p = get(700 * MIB);
        work(s, p);
        CU(cu.release_memory(p));
    }
    CHECK(stats().reserved_bytes.peak < 800 * MIB);
    no_violations();
}

static void stream_ordered_memory_stays_in_order(void)
{
    start();
    xs_cu_stream s = new_stream(), t = new_stream();
    xs_cu_ptr p, q, r;
    CU(cu.alloc_async(&p, 8 * MIB, s));
    work(s, p);
    CU(cu.free_async(p, s));
    CU(cu.alloc_async(&q, 8 * MIB, t));
    CHECK(p != q);
    CU(cu.alloc_async(&r, 8 * MIB, s));
    EQUAL(p, r);
    EQUAL(sim.stream_advance(s, SIZE_MAX), 1);
    CU(cu.free_async(q, t));
    CU(cu.free_async(r, s));
    EQUAL(sim.calls("cuMemAllocAsync"), 0);
    EQUAL(stats().allocations.allocated, 3);
    no_violations();
}

/* cudaFree of stream-ordered memory counts for all streams. */
static void plain_free_of_stream_ordered_memory(void)
{
    start();
    xs_cu_stream s = new_stream(), t = new_stream();
    xs_cu_ptr p, q;
    CU(cu.alloc_async(&p, 8 * MIB, s));
    work(t, p);
    CU(cu.release_memory(p));
    CU(cu.alloc_async(&q, 8 * MIB, s));
    CHECK(p != q);
    CU(cu.stream_wait(t));
    no_violations();
}

static void the_threads_stream_is_another_stream(void)
{
    xs_cu_result (*set_bytes)(xs_cu_ptr, unsigned char, size_t, xs_cu_stream);
    start();
    *(void **)&set_bytes = dlsym(driver_library(), "cuMemsetD8Async_ptsz");
    CU(sim.stream_manual(XS_CU_STREAM_PER_THREAD, true));
    xs_cu_ptr p = get(8 * MIB);
    CU(set_bytes(p, 1, 100, NULL));
    CU(cu.release_memory(p));
    CHECK(get(8 * MIB) != p);
    EQUAL(sim.stream_advance(XS_CU_STREAM_PER_THREAD, SIZE_MAX), 1);
    no_violations();
}

/* preload_order:context */
static void order_can_be_chosen(void)
{
    start();
    CU(sim.stream_manual(NULL, true));
    xs_cu_ptr p = get(8 * MIB);
    work(NULL, p);
    CU(cu.release_memory(p));
    CHECK(get(8 * MIB) != p);
    EQUAL(sim.stream_advance(NULL, SIZE_MAX), 1);
    no_violations();
}

/* ---- threads ---------------------------------------------------------------------------------- */

static xs_cu_context shared;
static bool with_streams;

/* Every block holds its own number as long as it lives. */
static void *churn(void *arg)
{
    enum { LIVE = 16 };
    struct {
        xs_cu_ptr va;
        unsigned char value;
    } live[LIVE] = {{0}};
    uint64_t seed = (uintptr_t)arg * 977 + 1;
    xs_cu_stream stream = NULL;
    CU(cu.set_current(shared));
    if (with_streams)
        CU(cu.stream_create(&stream, XS_CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 4000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned k = (seed >> 33) % LIVE;
        if (live[k].va) {
            unsigned char got = 0;
            CU(cu.stream_wait(stream));
            CU(cu.to_host(&got, live[k].va + 4095, 1));
            EQUAL(got, live[k].value);
            CU(cu.release_memory(live[k].va));
        }
        live[k].value = (unsigned char)(seed >> 40);
        live[k].va = get(4096 + (seed >> 48) % 8 * 4096);
        CU(cu.set_bytes(live[k].va, live[k].value, 4096, stream));
    }
    for (unsigned k = 0; k < LIVE; k++)
        if (live[k].va)
            CU(cu.release_memory(live[k].va));
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[8];
    shared = start();
    for (uintptr_t i = 0; i < 8; i++)
        EQUAL(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    EQUAL(stats().allocations.current, 0);
    EQUAL(stats().allocations.allocated, 8 * 4000);
    no_violations();
}

static void threads_on_the_legacy_stream(void)
{
    run_threads();
}

static void threads_with_their_own_streams(void)
{
    with_streams = true;
    run_threads();
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(legacy_memory_comes_back_at_once),     X(first_work_on_a_second_stream_waits_once),
        X(memory_waits_for_all_streams),         X(a_freed_address_is_never_used_twice),
        X(a_stream_that_is_gone_is_waited_for),  X(the_last_memory_is_waited_for),
        X(stream_ordered_memory_stays_in_order), X(plain_free_of_stream_ordered_memory),
        X(the_threads_stream_is_another_stream), X(order_can_be_chosen),
        X(threads_on_the_legacy_stream),         X(threads_with_their_own_streams),
#undef X
    };
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
