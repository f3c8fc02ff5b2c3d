/* Contexts that end, processes that fork, and all the ways to exit. */
#include "program.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "fake_cudart.h"

static xs_cu_ptr kept;

static xs_cu_ptr get(size_t bytes)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, bytes));
    return va;
}

static size_t used_bytes(void)
{
    struct xs_sim_live live;
    sim.live(&live);
    return live.used_bytes;
}

static void reset_gives_everything_back(void)
{
    start();
    for (int i = 0; i < 3; i++) {
        xs_cu_ptr p = get(100 * MIB), q = get(20 * MIB);
        CU(cu.release_memory(q));
        CU(cu.reset(0));
        EQUAL(used_bytes(), 0);
        CHECK(cu.release_memory(p) != 0);
        sim.clear_violations();
    }
    CU(cu.release_memory(get(MIB)));
    no_violations();
}

static void runtime_reset_gives_everything_back(void)
{
    void *p;
    find_controls();
    for (int i = 0; i < 3; i++) {
        CU(cudaMalloc(&p, 50 * MIB));
        CU(cudaFree(p));
        CU(cudaMalloc(&p, 50 * MIB));
        CU(cudaDeviceReset());
        EQUAL(used_bytes(), 0);
    }
    no_violations();
}

static void the_last_release_gives_everything_back(void)
{
    xs_cu_context context = start();
    CU(cu.retain(&context, 0));
    get(100 * MIB);
    CU(cu.release(0));
    EQUAL(used_bytes(), 100 * MIB);
    CU(cu.release(0));
    EQUAL(used_bytes(), 0);
    CU(cu.retain(&context, 0));
    CU(cu.set_current(context));
    CU(cu.release_memory(get(MIB)));
    no_violations();
}

static void a_destroyed_context_gives_everything_back(void)
{
    xs_cu_context context;
    find_controls();
    find_by_dlsym(driver_library());
    CU(cu.init(0));
    for (int i = 0; i < 3; i++) {
        CU(cu.ctx_create(&context, 0, 0));
        CU(cu.release_memory(get(10 * MIB)));
        get(100 * MIB);
        CU(cu.ctx_destroy(context));
        EQUAL(used_bytes(), 0);
    }
    no_violations();
}

/* ---- fork and exec ------------------------------------------------------------------------------ */

static void *lock_in_a_loop(void *context)
{
    CU(cu.set_current(context));
    for (;;)
        CU(cu.release_memory(get(3 * MIB)));
    return NULL;
}

static int end_of_child(pid_t pid)
{
    int status;
    EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* R82: the parent's locks are held by a thread that the child does not have. The simulator's are taken apart: its
 * own lock may be held too, so the child asks nothing of it. */
static void forked_children_end(void)
{
    pthread_t thread;
    xs_cu_context context = start();
    kept = get(MIB);
    EQUAL(pthread_create(&thread, NULL, lock_in_a_loop, context), 0);
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct xseg_stats s = {.size = sizeof(s)};
            get_stats(0, &s);
            if (i % 2)
                execlp("true", "true", (char *)NULL);
            _exit(s.size != sizeof(s));
        }
        EQUAL(end_of_child(pid), 0);
    }
    EQUAL(stats().allocations.current >= 1, true);
    _exit(0); /* the thread never ends */
}

static void a_child_leaves_the_parents_memory(void)
{
    start();
    kept = get(MIB);
    CU(cu.set_bytes(kept, 7, MIB, NULL));
    pid_t pid = fork();
    if (pid == 0) {
        xs_cu_ptr p;
        cu.release_memory(kept);
        cu.alloc(&p, MIB);
        exit(3);
    }
    EQUAL(end_of_child(pid), 3);
    unsigned char got = 0;
    CU(cu.to_host(&got, kept + 100, 1));
    EQUAL(got, 7);
    CU(cu.release_memory(kept));
    no_violations();
}

/* ---- exit ------------------------------------------------------------------------------------- */

static void free_kept(void)
{
    cu.release_memory(kept);
    cudaFree((void *)(uintptr_t)kept);
}

static void begin_to_exit(void)
{
    start();
    kept = get(MIB);
    atexit(free_kept);
}

static void exit_with_frees(void)
{
    atexit(free_kept); /* runs last */
    begin_to_exit();
    exit(0);
}

static void quick_exit_with_frees(void)
{
    begin_to_exit();
    at_quick_exit(free_kept);
    quick_exit(0);
}

static void leave_by_underscore_exit(void)
{
    begin_to_exit();
    _exit(0);
}

/* R81: a library that was loaded late ends after the program's own handlers. */
static void a_late_library_frees_as_it_ends(void)
{
    char address[32];
    void (*run)(void) = free_kept;
    start();
    kept = get(MIB);
    snprintf(address, sizeof(address), "%p", *(void **)&run);
    setenv("TEST_IN_DESTRUCTOR", address, 1);
    CHECK(dlopen(getenv("TEST_CONSTRUCTED"), RTLD_NOW) != NULL);
    exit(0);
}

static void abort_is_abort(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        begin_to_exit();
        abort();
    }
    EQUAL(end_of_child(pid), 128 + SIGABRT);
}

static void *outlive_main(void *context)
{
    CU(cu.set_current(context));
    usleep(20000);
    CU(cu.release_memory(get(MIB)));
    exit(0);
}

static void main_thread_ends_first(void)
{
    pthread_t thread;
    xs_cu_context context = start();
    kept = get(MIB);
    EQUAL(pthread_create(&thread, NULL, outlive_main, context), 0);
    pthread_exit(NULL);
}

static void *alloc_and_end(void *context)
{
    CU(cu.set_current(context));
    CU(cu.release_memory(get(MIB)));
    return NULL;
}

static void threads_leave_nothing_behind(void)
{
    xs_cu_context context = start();
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        EQUAL(pthread_create(&thread, NULL, alloc_and_end, context), 0);
        pthread_join(thread, NULL);
    }
    EQUAL(stats().reserved_bytes.peak, 2 * MIB);
    no_violations();
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(reset_gives_everything_back),
        X(runtime_reset_gives_everything_back),
        X(the_last_release_gives_everything_back),
        X(a_destroyed_context_gives_everything_back),
        X(forked_children_end),
        X(a_child_leaves_the_parents_memory),
        X(exit_with_frees),
        X(quick_exit_with_frees),
        X(leave_by_underscore_exit),
        X(a_late_library_frees_as_it_ends),
        X(abort_is_abort),
        X(main_thread_ends_first),
        X(threads_leave_nothing_behind),
#undef X
    };
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
