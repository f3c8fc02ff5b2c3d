/* The GPU is behind, and memory is short: nobody waits for it, nor takes new memory, where what was freed long enough ago will do. */
#include "driver/driver_fault.h"
#include "two_streams.h"

#define PIECES 8
#define PIECE  (64 * XS_MIB)

static unsigned late; /* work that was queued after the frees and has run */

static void *pieces[PIECES];

static void note_late(void *unused)
{
    (void)unused;
    late++;
}

static void use(void *p, size_t bytes)
{
    XT_CU(sim.launch(s1, (uintptr_t)p, bytes));
}

/* Every other piece is freed, with its use still queued. */
static void free_odd_ones(void)
{
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    XT_CU(sim.stream_manual(s1, true));
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = xt_alloc_on(PIECE, s1);
        use(pieces[i], PIECE);
    }
    for (unsigned i = 1; i < PIECES; i += 2)
        xt_free(pieces[i]);
}

static void end(void *kept)
{
    xt_check();
    XT_CU(cu.cuCtxSynchronize());
    xt_free(kept);
    for (unsigned i = 0; i < PIECES; i += 2)
        xt_free(pieces[i]);
    destroy_streams();
}

/* A request that is served out of one of the gaps, so that it is time for a fence; then comes much more work. */
static void *go_on(void)
{
    void *kept = xt_alloc_on(40 * XS_MIB, s1);
    for (unsigned i = 0; i < 1000; i++)
        XT_CU(cu.cuLaunchHostFunc(s1, note_late, NULL));
    return kept;
}

/* The GPU has just done what came before the frees. */
static void moves_what_has_passed(void)
{
    free_odd_ones();
    void *kept = go_on();
    XT_EQUAL(sim.stream_advance(s1, PIECES), PIECES);
    size_t reserved = xt_reserved();
    void *p = xt_alloc_on(3 * PIECE, s1);
    XT_EQUAL(xt_reserved(), reserved);
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    XT_EQUAL(late, 0);
    xt_free(p);
    end(kept);
    XT_EQUAL(late, 1000);
}

/* The same, but nothing has run: then slack is all there is, and what is beyond it waits, for no more than it needs. */
static void waits_for_the_oldest_only(void)
{
    free_odd_ones();
    void *kept = go_on();
    size_t reserved = xt_reserved();
    void *p = xt_alloc_on(3 * PIECE, s1);
    XT_EQUAL(xt_reserved(), reserved);
    XT_EQUAL(xt_stats(0).rung_wait, 1);
    XT_EQUAL(late, 0);
    xt_free(p);
    end(kept);
}

/* Memory that suffices needs no fences, however much of it changes hands. */
static void records_none_in_a_steady_state(void)
{
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    xt_free(xt_alloc_on(256 * XS_MIB, s1));
    uint64_t before = sim.calls("cuEventRecord");
    for (unsigned i = 0; i < 1000; i++)
        xt_free(xt_alloc_on((1 + i % 50) * XS_MIB, s1));
    XT_AT_MOST(sim.calls("cuEventRecord"), before + 64);
    before = sim.calls("cuEventRecord");
    for (unsigned i = 0; i < 1000; i++)
        xt_free(xt_alloc_on((1 + i % 50) * XS_MIB, s1));
    XT_EQUAL(sim.calls("cuEventRecord"), before);
    destroy_streams();
}

/* A stream that captures gets no event, and its capture stays valid. */
static void records_none_in_a_capture(void)
{
    xs_cu_graph graph;
    free_odd_ones();
    XT_CU(cu.cuStreamSynchronize(s1));
    XT_CU(cu.cuStreamBeginCapture_v2(s1, XS_CU_CAPTURE_MODE_RELAXED));
    uint64_t before = sim.calls("cuEventRecord");
    void *kept = xt_alloc_on(40 * XS_MIB, s1);
    XT_EQUAL(sim.calls("cuEventRecord"), before);
    XT_CU(cu.cuStreamEndCapture(s1, &graph));
    XT_CU(cu.cuGraphDestroy(graph));
    end(kept);
}

/* The event that cannot be recorded is one that nobody has asked for. */
static void goes_on_without(void)
{
    free_odd_ones();
    const struct xs_fault fails = {XS_CALL_event_record, 1, 1, 0, XS_CUDA_ERROR_UNKNOWN, 0};
    XT_CHECK(xs_fault_add(&fails));
    void *kept = xt_alloc_on(40 * XS_MIB, s1);
    xs_fault_clear();
    end(kept);
}

/* A program that counts its peaks anew for each step is not made to wait for that. */
static void peaks_are_only_counted(void)
{
    free_odd_ones();
    for (unsigned i = 0; i < PIECES; i += 2)
        xt_free(pieces[i]);
    XT_OK(xseg_reset_peaks(0));
    void *p = xt_alloc_on(4 * XS_MIB, s2);
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    XT_AT_MOST(xt_reserved(), PIECES * PIECE + 4 * XS_MIB);
    memset(pieces, 0, sizeof(pieces));
    end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("behind: what was freed a while ago moves without a wait", moves_what_has_passed,
               "ALLOC_CONF=alias:False"),
        REPORT("behind: a wait is for the oldest work only", waits_for_the_oldest_only,
               "ALLOC_CONF=alias:False"),
        REPORT("behind: where memory suffices no event is recorded",
               records_none_in_a_steady_state),
        REPORT("behind: nor on a stream that captures", records_none_in_a_capture),
        REPORT("behind: nor does it wait because peaks are reset", peaks_are_only_counted),
        REPORT("behind: an event that cannot be recorded costs nothing", goes_on_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
