/*
 * Every driver call fails once, in every situation; see fault_scenarios.h. For each scenario:
 *
 *   single        the Nth call of each entry fails with OUT_OF_MEMORY, then with UNKNOWN, N = 1, 2, 3 ...
 *                 until the scenario passes untouched
 *   two, three    the same for two and three calls in a row of any entry, so that undoing fails too
 *   dead          from the Nth call on all fail
 *   persistent    all calls of one entry fail
 *
 * Afterwards the call has reported an error or succeeded another way; the library's records are valid
 * and agree with the driver to the byte; live data is intact; the same call succeeds, now that nothing
 * fails; and shutdown leaves nothing. After a single failure that was reported, the driver holds what
 * it held before.
 *
 *   fault_alloc [WORD]      only scenarios whose name contains the word
 */
#include "../reports/forked.h"
#include "fault_scenarios.h"

static struct {
    const struct scenario *scenario;
    struct xs_sim_live before;
    uint64_t digest;
    struct xs_fault fault; /* of a case in a child */
    size_t way;
    unsigned cases, failures;
} test;

/* ---- before and after ------------------------------------------------------------------------- */

static void begin_case(const struct scenario *s)
{
    xs_fault_clear();
    setenv("ALLOC_CONF", s->conf ? s->conf : "", 1);
    s->set_up();
    xt_check();
    test.before = xt_live();
    test.digest = sim.digest();
}

static void check_unchanged(const struct scenario *s)
{
    const struct xs_sim_live now = xt_live();
    const struct xs_sim_live *old = &test.before;
    XT_EQUAL(now.handles, old->handles);
    XT_EQUAL(now.handle_bytes, old->handle_bytes);
    XT_EQUAL(now.mappings, old->mappings);
    XT_EQUAL(now.allocs, old->allocs);
    XT_EQUAL(now.alloc_bytes, old->alloc_bytes);
    XT_EQUAL(now.used_bytes, old->used_bytes);
    if (s->starts)
        return;
    XT_EQUAL(now.contexts, old->contexts);
    XT_EQUAL(now.reservations, old->reservations);
    XT_EQUAL(now.reserved_bytes, old->reserved_bytes);
    if (!s->trades && now.events == old->events)
        XT_EQUAL(sim.digest(), test.digest);
}

static void check_data(void)
{
    for (size_t i = 0; i < model.count; i++)
        pattern_check(&model.at[i]);
    const struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.requested_bytes.current, model.requested);
    XT_EQUAL(s.allocated_bytes.current, model.allocated);
}

static void end_streams(void)
{
    if (!first_stream)
        return;
    XT_CU(cu.cuStreamDestroy_v2(first_stream));
    XT_CU(cu.cuStreamDestroy_v2(second_stream));
    first_stream = second_stream = NULL;
    xt_drop_context(0);
}

static void end_case(void)
{
    while (model.count)
        drop((void *)model.at[0].va);
    xt_check();
    XT_OK(xseg_shutdown());
    end_streams();
    xt_check_nothing_left();
}

/* ---- one case --------------------------------------------------------------------------------- */

/* A failing cuCtxPopCurrent leaves a context current; that is not what is being looked at. */
static void restore_context(xs_cu_context context)
{
    XT_CU(cu.cuCtxSetCurrent(context));
}

static enum xseg_result act_with(const struct scenario *s, const struct xs_fault *fault)
{
    xs_cu_context before = NULL, after = NULL;
    cu.cuCtxGetCurrent(&before);
    xs_fault_add(fault);
    const enum xseg_result e = s->act();
    test.failures = (unsigned)xs_fault_hits();
    xs_fault_clear();
    cu.cuCtxGetCurrent(&after);
    if (fault->call != XS_CALL_ctx_pop && fault->call != XS_CALL_ANY)
        XT_CHECK(before == after);
    restore_context(before);
    return e;
}

/* False: nothing failed any more. */
static bool run_case(const struct scenario *s, const struct xs_fault *fault, bool single)
{
    begin_case(s);
    const enum xseg_result e = act_with(s, fault);
    test.cases++;
    if (e && !test.failures)
        XT_FAIL("%s without a failing call: %s", xseg_result_name(e), xseg_last_error());
    if (e && !*xseg_last_error())
        XT_FAIL("%s without a text", xseg_result_name(e));
    xt_check();
    check_data();
    if (e && single && !s->releases)
        check_unchanged(s);
    if (e && xt_may_be_stuck) /* what is stuck counts, so the limit may leave no room */
        XT_OK(xseg_set_limit(0, SIZE_MAX));
    if (e)
        XT_OK(s->act());
    xt_check();
    check_data();
    end_case();
    return test.failures > 0;
}

/* What could not be given back at shutdown stays behind; only that it ends is looked at, in a child. */
static void act_in_child(void)
{
    begin_case(test.scenario);
    if (!freopen("/dev/null", "w", stderr)) /* the simulator lists there what is left */
        exit(1);
    act_with(test.scenario, &test.fault);
    exit(test.failures > 0 ? 2 : 0);
}

static bool run_ending_case(const struct xs_fault *fault)
{
    test.fault = *fault;
    test.cases++;
    const int status = run_forked(act_in_child);
    if (status != 0 && status != 2)
        XT_FAIL("ended with status %d", status);
    return status == 2;
}

/* ---- all cases of a scenario ------------------------------------------------------------------ */

static const xs_cu_result codes[] = {XS_CUDA_ERROR_OUT_OF_MEMORY, XS_CUDA_ERROR_UNKNOWN};

static void name_case(const struct scenario *s, const struct xs_fault *fault)
{
    const char *call = fault->call == XS_CALL_ANY ? "any call" : xs_driver_call_name(fault->call);
    snprintf(xt_where, sizeof(xt_where), "%s: %s %llu, %lld times, code %d", s->name, call,
             (unsigned long long)fault->nth, (long long)fault->repeat, fault->code);
}

static bool try_fault(struct xs_fault fault, bool single)
{
    name_case(test.scenario, &fault);
    return test.scenario->ends ? run_ending_case(&fault) : run_case(test.scenario, &fault, single);
}

static void fail_each_call(xs_cu_result code)
{
    for (unsigned call = 0; call < XS_CALL_COUNT; call++) {
        uint64_t nth = 1;
        while (try_fault((struct xs_fault){call, nth, 1, 0, code, 0}, true))
            nth++;
    }
}

static void fail_runs(xs_cu_result code, uint64_t repeat)
{
    xt_may_be_stuck = repeat > 2;
    uint64_t nth = 1;
    while (try_fault((struct xs_fault){XS_CALL_ANY, nth, repeat, 0, code, 0}, false))
        nth++;
}

static void fail_twice(xs_cu_result code)
{
    fail_runs(code, 2);
}

static void fail_three_times(xs_cu_result code)
{
    fail_runs(code, 3);
}

static void fail_all_from(xs_cu_result code)
{
    fail_runs(code, UINT64_MAX);
}

static void fail_each_for_ever(xs_cu_result code)
{
    for (unsigned call = 0; call < XS_CALL_COUNT; call++)
        try_fault((struct xs_fault){call, 1, UINT64_MAX, 0, code, 0}, false);
}

static const struct {
    const char *name;
    void (*run)(xs_cu_result code);
} ways[] = {
    {"single", fail_each_call}, {"two in a row", fail_twice},       {"three", fail_three_times},
    {"dead", fail_all_from},    {"persistent", fail_each_for_ever},
};

static void run_way(void)
{
    xt_load_simulator();
    for (size_t i = 0; i < XS_COUNT_OF(codes); i++)
        ways[test.way].run(codes[i]);
    printf("%-38s %-14s %5u cases\n", test.scenario->name, ways[test.way].name, test.cases);
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;
    setenv("XSEG_SIM_DEVICES", "2", 1);
    setenv("XSEG_SIM_CAPACITY", "64G", 0); /* small address ranges, quickly walked */
    for (size_t i = 0; i < XS_COUNT_OF(scenarios); i++) {
        test.scenario = &scenarios[i];
        if (argc > 1 && !strstr(scenarios[i].name, argv[1]))
            continue;
        for (test.way = 0; test.way < XS_COUNT_OF(ways); test.way++)
            ++*(run_forked(run_way) == 0 ? &passed : &failed);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
