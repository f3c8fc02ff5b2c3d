/*
 * Streams of several threads. Each block is filled by work on its stream and looked at by work behind it, on
 * the same stream or, declared and ordered by an event, on another; a thread of its own lets the streams
 * run on now and then. A block that is handed out before its last user's fence has passed is seen to
 * hold another's number. Streams come and go, vouched for or not, and their handles' values come back.
 */
#include "driver/driver_fault.h"
#include "race.h"

#define SHARED 4   /* streams that all threads use */
#define CHECKS 512 /* of one thread, in the order they were queued */
#define BYTES  64  /* looked at, at either end */

static xs_cu_stream shared[SHARED];

/* One look at a block, carried out by a stream. */
struct check {
    _Atomic bool done;
    unsigned char *p;
    size_t bytes;
    unsigned char value;
    bool wrong;
};

static void look_at_end(struct check *check, const unsigned char *p)
{
    for (unsigned i = 0; i < BYTES; i++)
        check->wrong |= p[i] != check->value;
}

static void look(void *arg)
{
    struct check *check = arg;
    look_at_end(check, check->p);
    look_at_end(check, check->p + check->bytes - BYTES);
    atomic_store(&check->done, true);
}

struct worker {
    struct racer *r;
    xs_cu_event event;
    struct check check[CHECKS];
    unsigned next;
};

static void wait_for_check(struct check *check)
{
    while (!atomic_load(&check->done))
        race_pause(20);
    if (check->wrong)
        XT_FAIL("%zu bytes at %p do not hold %#x: another was given the memory too early",
                check->bytes, (void *)check->p, check->value);
}

static void queue_check(struct worker *w, void *p, size_t bytes, unsigned char value,
                        xs_cu_stream stream)
{
    struct check *check = &w->check[w->next++ % CHECKS];
    if (check->p)
        wait_for_check(check);
    check->p = p;
    check->bytes = bytes;
    check->value = value;
    atomic_store(&check->done, false);
    XT_CU(cu.cuLaunchHostFunc(stream, look, check));
}

static void queue_behind(struct worker *w, xs_cu_stream first, xs_cu_stream then)
{
    XT_CU(cu.cuEventRecord(w->event, first));
    XT_CU(cu.cuStreamWaitEvent(then, w->event, 0));
}

/* One block, from its allocation to its free: filled on `stream`, looked at there, and perhaps on `other`. */
static void use_block(struct worker *w, xs_cu_stream stream, xs_cu_stream other)
{
    static const size_t sizes[] = {512, 4 * XS_KIB, 64 * XS_KIB, XS_MIB, 2 * XS_MIB, 6 * XS_MIB};
    const size_t bytes = sizes[race_below(w->r, XS_COUNT_OF(sizes))];
    const unsigned char value = (unsigned char)(1 + race_below(w->r, 255));
    void *p = xt_try(bytes, stream);
    if (!p) {
        race_pause(50);
        return;
    }
    XT_CU(cu.cuMemsetD8Async((uintptr_t)p, value, BYTES, stream));
    XT_CU(cu.cuMemsetD8Async((uintptr_t)p + bytes - BYTES, value, BYTES, stream));
    queue_check(w, p, bytes, value, stream);
    if (other != stream) {
        queue_behind(w, stream, other);
        queue_check(w, p, bytes, value, other);
        if (race_below(w->r, 2)) {
            XT_OK(xseg_free_async(p, other));
            return;
        }
        XT_OK(xseg_record_stream(p, other));
    }
    xt_free(p);
}

static struct worker *begin_worker(struct racer *r)
{
    struct worker *w = calloc(1, sizeof(*w));
    XT_CHECK(w != NULL);
    w->r = r;
    xt_make_context(0);
    XT_CU(cu.cuEventCreate(&w->event, XS_CU_EVENT_DISABLE_TIMING));
    return w;
}

static void end_worker(struct worker *w)
{
    XT_CU(cu.cuCtxSynchronize());
    for (unsigned i = 0; i < CHECKS; i++)
        if (w->check[i].p)
            wait_for_check(&w->check[i]);
    XT_CU(cu.cuEventDestroy_v2(w->event));
    free(w);
    xt_drop_context(0);
}

/* ---- roles ------------------------------------------------------------------------------------- */

static void work_on_shared(struct racer *r)
{
    struct worker *w = begin_worker(r);
    while (race_goes_on()) {
        xs_cu_stream stream = shared[race_below(r, SHARED)];
        use_block(w, stream, race_below(r, 3) ? stream : shared[race_below(r, SHARED)]);
        if (!race_below(r, 400))
            XT_OK(xseg_trim(0, race_below(r, 32) * XS_MIB));
    }
    end_worker(w);
}

static void work_on_default(struct racer *r)
{
    struct worker *w = begin_worker(r);
    while (race_goes_on()) {
        xs_cu_stream stream = race_below(r, 2) ? XS_CU_STREAM_PER_THREAD : XS_CU_STREAM_LEGACY;
        use_block(w, stream, race_below(r, 3) ? stream : shared[race_below(r, SHARED)]);
    }
    end_worker(w);
}

/* A stream of its own for a while, destroyed while it may still be at work. */
static void come_and_go(struct racer *r)
{
    struct worker *w = begin_worker(r);
    while (race_goes_on()) {
        xs_cu_stream stream = xt_new_stream();
        const bool vouched = race_below(r, 2);
        if (vouched)
            XT_OK(xseg_stream_register(0, stream));
        if (race_below(r, 2))
            XT_CU(sim.stream_manual(stream, true));
        for (size_t n = 1 + race_below(r, 6); n; n--)
            use_block(w, stream, race_below(r, 3) ? stream : shared[race_below(r, SHARED)]);
        if (vouched)
            XT_OK(xseg_stream_unregister(0, stream));
        XT_CU(cu.cuStreamDestroy_v2(stream));
    }
    end_worker(w);
}

/* Vouched for, and gone at once: whoever closes epochs meanwhile may hold its handle. */
static void vouch_shortly(struct racer *r)
{
    struct held h;
    xt_make_context(0);
    while (race_goes_on()) {
        xs_cu_stream stream = xt_new_stream();
        XT_OK(xseg_stream_register(0, stream));
        if (race_take(r, &h, 2 * XS_MIB, stream))
            race_give(&h);
        XT_OK(xseg_stream_unregister(0, stream));
        XT_CU(cu.cuStreamDestroy_v2(stream));
        race_pause((long)race_below(r, 600)); /* its handle stands for nothing */
    }
    xt_drop_context(0);
}

static void empty(struct racer *r)
{
    (void)r;
    while (race_goes_on())
        XT_OK(xseg_empty_cache(0));
}

static void trim(struct racer *r)
{
    while (race_goes_on()) {
        XT_OK(xseg_trim(0, race_below(r, 16) * XS_MIB));
        race_pause((long)race_below(r, 500));
    }
}

/* Time goes on for the streams that keep their work. */
static void advance(struct racer *r)
{
    xt_make_context(0);
    while (race_goes_on()) {
        sim.stream_advance(shared[race_below(r, SHARED)], 1 + race_below(r, 40));
        if (!race_below(r, 20))
            XT_CU(cu.cuCtxSynchronize()); /* also what destroyed streams have left */
        race_pause((long)race_below(r, 200));
    }
    for (unsigned i = 0; i < SHARED; i++)
        XT_CU(sim.stream_manual(shared[i], false));
    XT_CU(cu.cuCtxSynchronize());
    xt_drop_context(0);
}

static void make_shared(void)
{
    for (unsigned i = 0; i < SHARED; i++) {
        shared[i] = xt_new_stream();
        XT_CU(sim.stream_manual(shared[i], true));
    }
}

static void make_shared_vouched(void)
{
    make_shared();
    for (unsigned i = 0; i < SHARED; i++)
        XT_OK(xseg_stream_register(0, shared[i]));
}

/* Between learning of a handle and asking about it, time passes. */
static void make_shared_and_ask_slowly(void)
{
    const struct xs_fault slow = {
        XS_CALL_stream_is_capturing, 1, UINT32_MAX, 0, XS_CUDA_SUCCESS, 300000};
    make_shared();
    XT_CHECK(xs_fault_add(&slow));
}

static void destroy_shared(void)
{
    xs_fault_clear();
    for (unsigned i = 0; i < SHARED; i++) {
        XT_OK(xseg_stream_unregister(0, shared[i]));
        XT_CU(cu.cuStreamDestroy_v2(shared[i]));
    }
    XT_CU(cu.cuCtxSynchronize());
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    XT_AT_MOST(xt_live().events, 4096);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"threads share streams that lag",
         NULL,
         make_shared,
         {{work_on_shared, 3}, {advance, 1}},
         destroy_shared},
        {"the same, vouched for",
         NULL,
         make_shared_vouched,
         {{work_on_shared, 3}, {advance, 1}},
         destroy_shared},
        {"the same under a limit: memory is borrowed",
         "memory_limit:40M",
         make_shared_vouched,
         {{work_on_shared, 3}, {advance, 1}},
         destroy_shared},
        {"the same under a limit, waited for",
         "memory_limit:40M,cross_stream_wait:False",
         make_shared,
         {{work_on_shared, 3}, {advance, 1}},
         destroy_shared},
        {"default streams beside others",
         NULL,
         make_shared,
         {{work_on_default, 2}, {work_on_shared, 1}, {advance, 1}, {trim, 1}},
         destroy_shared},
        {"streams come and go",
         NULL,
         make_shared,
         {{come_and_go, 3}, {work_on_shared, 1}, {advance, 1}, {trim, 1}},
         destroy_shared},
        {"streams come and go under a limit",
         "memory_limit:60M",
         make_shared_vouched,
         {{come_and_go, 2}, {work_on_shared, 2}, {advance, 1}, {trim, 1}},
         destroy_shared},
        {"vouched streams end while epochs are closed",
         NULL,
         make_shared_and_ask_slowly,
         {{vouch_shortly, 3}, {empty, 1}},
         destroy_shared},
        {"streams come and go, classic",
         "expandable_segments:False,cache:True",
         make_shared,
         {{come_and_go, 2}, {work_on_shared, 1}, {advance, 1}, {trim, 1}},
         destroy_shared},
    };
    return race_main(scenes, XS_COUNT_OF(scenes), argc, argv);
}
