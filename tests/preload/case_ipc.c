/* Memory shared between two processes by CUDA IPC. The other process is forked before CUDA is used, and is told by a
 * pipe what to open. */
#include "program.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct handle {
    char bytes[64];
};

static struct {
    xs_cu_result (*get)(struct handle *handle, xs_cu_ptr va);
    xs_cu_result (*open)(xs_cu_ptr *va, struct handle handle, unsigned flags);
    xs_cu_result (*close)(xs_cu_ptr va);
} ipc;

#define SKIPPED 77 /* the status that says so */

static int to_other[2], to_first[2];
static pid_t other;

static void start_ipc(void)
{
    start();
    *(void **)&ipc.get = dlsym(driver_library(), "cuIpcGetMemHandle");
    *(void **)&ipc.open = dlsym(driver_library(), "cuIpcOpenMemHandle_v2");
    *(void **)&ipc.close = dlsym(driver_library(), "cuIpcCloseMemHandle");
    CHECK(ipc.get && ipc.open && ipc.close);
}

static void fork_other(void (*run)(void))
{
    CHECK(!pipe(to_other) && !pipe(to_first));
    other = fork();
    if (other == 0) {
        close(to_other[1]);
        close(to_first[0]);
        run();
        exit(0);
    }
    close(to_other[0]);
    close(to_first[1]);
    start_ipc();
}

static void tell(const void *what, size_t n)
{
    EQUAL(write(other ? to_other[1] : to_first[1], what, n), n);
}

static void hear(void *what, size_t n)
{
    EQUAL(read(other ? to_first[0] : to_other[0], what, n), n);
}

static void join_other(void)
{
    int status;
    EQUAL(waitpid(other, &status, 0), other);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        exit(SKIPPED);
    EQUAL(WEXITSTATUS(status), 0);
}

static xs_cu_ptr get(size_t bytes)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, bytes));
    return va;
}

static unsigned char byte_at(xs_cu_ptr va)
{
    unsigned char got;
    CU(cu.to_host(&got, va, 1));
    return got;
}

static struct handle export_of(xs_cu_ptr va)
{
    struct handle handle;
    memset(&handle, 0, sizeof(handle));
    CU(ipc.get(&handle, va));
    return handle;
}

/* ---- both ways -------------------------------------------------------------------------------- */

/* R55: it imports before it has allocated anything itself. R56: the second of two blocks in one page. */
static void reads_and_writes(void)
{
    struct handle handle;
    xs_cu_ptr p, q, base;
    size_t bytes;
    char done = 1;
    start_ipc();
    hear(&handle, sizeof(handle));
    CU(ipc.open(&p, handle, 1));
    EQUAL(byte_at(p), 22);
    EQUAL(byte_at(p + 512 * 1024 - 1), 22);
    CU(ipc.open(&q, handle, 1));
    EQUAL(p, q); /* once more is the same */
    CU(cu.range(&base, &bytes, p + 4096));
    EQUAL(base, p);
    EQUAL(bytes, 512 * 1024);
    struct xs_sim_live live;
    sim.live(&live);
    EQUAL(live.reserved_bytes, 2 * MIB); /* R54: not more than what is shared */
    CU(cu.set_bytes(p, 33, 512 * 1024, NULL));
    CU(cu.synchronize());
    CU(ipc.close(p));
    EQUAL(byte_at(p), 33);
    CU(ipc.close(p));
    sim.live(&live);
    EQUAL(live.mappings + live.reservations + live.handles, 0);
    CHECK(ipc.close(p) != 0);
    sim.clear_violations();
    tell(&done, 1);
}

static void both_ways(void)
{
    char done;
    fork_other(reads_and_writes);
    xs_cu_ptr first = get(512 * 1024), second = get(512 * 1024);
    CU(cu.set_bytes(first, 11, 512 * 1024, NULL));
    CU(cu.set_bytes(second, 22, 512 * 1024, NULL));
    struct handle handle = export_of(second), again = export_of(second);
    EQUAL(memcmp(&handle, &again, sizeof(handle)), 0);
    tell(&handle, sizeof(handle));
    hear(&done, 1);
    EQUAL(byte_at(first), 11);
    EQUAL(byte_at(second), 33);
    join_other();
    no_violations();
}

/* ---- many pieces of memory, in several messages ------------------------------------------------- */

static void reads_all(void)
{
    struct handle handle;
    xs_cu_ptr p;
    start_ipc();
    hear(&handle, sizeof(handle));
    CU(ipc.open(&p, handle, 1));
    for (size_t i = 0; i < 200; i++)
        EQUAL(byte_at(p + i * MIB), i);
    CU(ipc.close(p));
    no_violations();
}

static void many_pieces(void)
{
    fork_other(reads_all);
    xs_cu_ptr p = get(200 * MIB);
    CHECK(stats().extents.current > 64);
    for (size_t i = 0; i < 200; i++)
        CU(cu.set_bytes(p + i * MIB, (unsigned char)i, MIB, NULL));
    struct handle handle = export_of(p);
    tell(&handle, sizeof(handle));
    join_other();
    no_violations();
}

/* ---- each call fails in turn ------------------------------------------------------------------- */

static void opens_in_the_end(void)
{
    static const char *const symbols[] = {"cuMemImportFromShareableHandle", "cuMemMap",
                                          "cuMemSetAccess", "cuMemAddressReserve"};
    struct handle handle;
    struct xs_sim_live live;
    xs_cu_ptr p;
    start_ipc();
    hear(&handle, sizeof(handle));
    for (int i = 0; i < 4; i++) {
        for (uint64_t nth = 1; nth <= (i < 2 ? 3 : 1); nth++) {
            sim.fail(symbols[i], nth, XS_CUDA_ERROR_UNKNOWN);
            EQUAL(ipc.open(&p, handle, 1), XS_CUDA_ERROR_UNKNOWN);
            sim.live(&live);
            EQUAL(live.mappings + live.reservations + live.handles, 0);
            CU(ipc.open(&p, handle, 1));
            EQUAL(byte_at(p + 99 * MIB), 5);
            CU(ipc.close(p));
        }
    }
    no_violations();
}

static void a_failure_leaves_nothing(void)
{
    fork_other(opens_in_the_end);
    xs_cu_ptr p = get(100 * MIB);
    CU(cu.set_bytes(p + 99 * MIB, 5, 4096, NULL));
    struct handle handle = export_of(p);
    tell(&handle, sizeof(handle));
    join_other();
    no_violations();
}

/* The process that has the memory cannot export it: the other one gets an error, and next time the memory. */
static void opens_the_second_time(void)
{
    struct handle handle;
    xs_cu_ptr p;
    char go;
    start_ipc();
    hear(&handle, sizeof(handle));
    EQUAL(ipc.open(&p, handle, 1), XS_CUDA_ERROR_MAP_FAILED);
    tell("x", 1);
    hear(&go, 1);
    CU(ipc.open(&p, handle, 1));
    CU(ipc.close(p));
    no_violations();
}

static void an_export_that_fails(void)
{
    char done;
    fork_other(opens_the_second_time);
    struct handle handle = export_of(get(100 * MIB));
    sim.fail("cuMemExportToShareableHandle", 3, XS_CUDA_ERROR_UNKNOWN);
    tell(&handle, sizeof(handle));
    hear(&done, 1);
    tell("x", 1);
    join_other();
}

/* ---- what cannot be opened ---------------------------------------------------------------------- */

static void is_refused(void)
{
    struct handle handle;
    xs_cu_ptr p;
    start_ipc();
    hear(&handle, sizeof(handle));
    EQUAL(ipc.open(&p, handle, 1), XS_CUDA_ERROR_MAP_FAILED);
    struct xs_sim_live live;
    sim.live(&live);
    EQUAL(live.mappings + live.reservations + live.handles, 0);
}

static void freed_memory_cannot_be_opened(void)
{
    fork_other(is_refused);
    xs_cu_ptr p = get(MIB);
    struct handle handle = export_of(p);
    CU(cu.release_memory(p));
    EQUAL(get(MIB), p); /* the same address, and not the same memory */
    struct handle next = export_of(p);
    CHECK(memcmp(&handle, &next, sizeof(handle)) != 0);
    tell(&handle, sizeof(handle));
    join_other();
}

static void memory_of_a_reset_device_cannot_be_opened(void)
{
    fork_other(is_refused);
    struct handle handle = export_of(get(MIB));
    CU(cu.reset(0));
    tell(&handle, sizeof(handle));
    join_other();
}

static void a_process_that_is_gone_shares_nothing(void)
{
    int ends[2];
    struct handle handle;
    xs_cu_ptr p;
    CHECK(!pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        start_ipc();
        handle = export_of(get(MIB));
        _exit(write(ends[1], &handle, sizeof(handle)) != sizeof(handle));
    }
    close(ends[1]);
    EQUAL(read(ends[0], &handle, sizeof(handle)), sizeof(handle));
    waitpid(pid, NULL, 0);
    start_ipc();
    EQUAL(ipc.open(&p, handle, 1), XS_CUDA_ERROR_MAP_FAILED);
}

/* As another user, where this one is root and there is another; who may not see where the driver lies. */
static void is_refused_as_another_user(void)
{
    driver_library();
    if (setuid(65534))
        exit(SKIPPED);
    is_refused();
}

static void other_users_are_refused(void)
{
    if (geteuid() != 0)
        exit(SKIPPED);
    fork_other(is_refused_as_another_user);
    struct handle handle = export_of(get(MIB));
    tell(&handle, sizeof(handle));
    join_other();
}

static void odd_handles(void)
{
    struct handle handle;
    xs_cu_ptr p = 0;
    start_ipc();
    xs_cu_ptr va = get(MIB);
    handle = export_of(va);
    EQUAL(ipc.open(&p, handle, 1), XS_CUDA_ERROR_INVALID_CONTEXT); /* its own */
    EQUAL(ipc.open(&p, handle, 0), XS_CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 8; i < sizeof(handle); i++) {
        struct handle bad = handle;
        bad.bytes[i] ^= 0x55;
        CHECK(ipc.open(&p, bad, 1) != 0);
    }
    memset(&handle.bytes[8], 0xff, sizeof(handle) - 8);
    CHECK(ipc.open(&p, handle, 1) != 0);
    EQUAL(p, 0);
    CHECK(ipc.get(NULL, va) != 0);
    CHECK(ipc.get(&handle, 0x5000) != 0);
    CHECK(ipc.close(va) != 0);
    CHECK(ipc.close(0) != 0);
}

/* R53: what the usual filter of containers forbids, and Yama: nothing of it is needed. */
static void forbid_tracing(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 434 /* pidfd_open */, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 438 /* pidfd_getfd */, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof(rules) / sizeof(*rules), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        exit(SKIPPED);
    EQUAL(syscall(434, getpid(), 0), -1);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void no_right_to_trace_is_needed(void)
{
#if defined(__SANITIZE_ADDRESS__)
    exit(SKIPPED); /* its search for leaks traces */
#endif
    forbid_tracing(); /* the other process inherits it */
    both_ways();
}

/* ---- a process without xseg -------------------------------------------------------------------- */

/* What a process that is not under xseg sees: the driver's own word for a handle that it does not know. */
static int peer_without_xseg(int from)
{
    struct handle handle;
    xs_cu_ptr p = 0;
    start_ipc();
    CHECK(!is_preloaded());
    EQUAL(read(from, &handle, sizeof(handle)), sizeof(handle));
    CHECK(ipc.open(&p, handle, 1) != 0);
    EQUAL(p, 0);
    return 0;
}

static void becomes_one_without_xseg(void)
{
    char from[16];
    snprintf(from, sizeof(from), "%d", to_other[0]);
    unsetenv("LD_PRELOAD");
    setenv("TEST_PEER_READS", from, 1);
    execl("/proc/self/exe", "case_ipc", (char *)NULL);
    exit(1);
}

static void a_process_without_xseg_is_told(void)
{
    fork_other(becomes_one_without_xseg);
    struct handle handle = export_of(get(MIB));
    tell(&handle, sizeof(handle));
    join_other();
    no_violations();
}

/* R57: of memory that is not ours, the driver's own answer, untouched. */
static void foreign_memory_is_the_drivers(void)
{
    struct handle handle;
    xs_cu_ptr va;
    start_ipc();
    get(MIB);
    CU(cu.managed(&va, MIB, 1));
    uint64_t before = sim.calls("cuIpcGetMemHandle");
    EQUAL(ipc.get(&handle, va), XS_CUDA_ERROR_INVALID_VALUE);
    EQUAL(sim.calls("cuIpcGetMemHandle"), before + 1);
    CU(cu.release_memory(va));
}

/* handle_type:none: an error that is clear, and nothing that does not work later. */
static void memory_that_cannot_be_shared(void)
{
    struct handle handle;
    start_ipc();
    EQUAL(ipc.get(&handle, get(MIB)), XS_CUDA_ERROR_INVALID_VALUE);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(both_ways),
        X(many_pieces),
        X(a_failure_leaves_nothing),
        X(an_export_that_fails),
        X(freed_memory_cannot_be_opened),
        X(memory_of_a_reset_device_cannot_be_opened),
        X(a_process_that_is_gone_shares_nothing),
        X(other_users_are_refused),
        X(no_right_to_trace_is_needed),
        X(a_process_without_xseg_is_told),
        X(odd_handles),
        X(foreign_memory_is_the_drivers),
        X(memory_that_cannot_be_shared),
#undef X
    };
    const char *peer_reads = getenv("TEST_PEER_READS");
    if (peer_reads)
        return peer_without_xseg(atoi(peer_reads));
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
