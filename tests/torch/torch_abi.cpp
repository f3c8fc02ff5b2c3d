// Calls the hooks as PyTorch does: by address, each cast to the C++ type that PyTorch casts it to.
//   torch_abi SIMULATOR [another_layout]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "fake_c10.h"
#include "xseg/pools.h"
#include "xseg/torch.h"

using Stream = xseg_stream;
using PoolId = std::pair<unsigned long long, unsigned long long>;
using Filter = std::function<bool(Stream)>;

static_assert(sizeof(Filter) == 32, "the layout that xseg expects");

static const Stream cudaStreamPerThread_ = reinterpret_cast<Stream>(2);

static int passed;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,                \
                         xseg_last_error());                                                       \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// What torch/csrc/cuda/Module.cpp does with an integer.
template <typename Type> static std::function<Type> hook(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    return reinterpret_cast<Type *>(address);
}

static std::function<void *(size_t, int, Stream)> torch_alloc, torch_alloc_or_throw;
static std::function<void(void *, size_t, int, Stream)> torch_free;
static std::function<void(int, PoolId, Filter)> begin_pool;
static std::function<void(int, PoolId)> end_pool, release_pool;

static xseg_pool pool_of(void *p)
{
    xseg_pool pool;
    CHECK(!xseg_pool_of(p, &pool));
    return pool;
}

static xseg_stats stats(int device)
{
    xseg_stats s;
    s.size = sizeof(s);
    CHECK(!xseg_get_stats(device, &s));
    return s;
}

template <typename Type> static Type *symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle);
    auto found = reinterpret_cast<Type *>(dlsym(handle, name));
    CHECK(found);
    return found;
}

static const char *simulator;

template <typename Type> static Type *sim(const char *name)
{
    return symbol<Type>(simulator, name);
}

static bool has_context(int device)
{
    unsigned flags;
    int active = 0;
    CHECK(!sim<int(int, unsigned *, int *)>("cuDevicePrimaryCtxGetState")(device, &flags, &active));
    return active;
}

static void basics()
{
    hook<void(int)>("xseg_torch_init")(0);
    hook<void(int)>("xseg_torch_init")(2);
    CHECK(!torch_alloc(0, 0, nullptr));
    torch_free(nullptr, 0, 0, nullptr);
    // Reports R101 and R104: what is asked of one device concerns no other, and makes no context there.
    void *kept = torch_alloc(1000, 1, nullptr);
    std::thread([&] { torch_free(kept, 1000, 1, nullptr); }).join();
    std::thread(hook<void()>("xseg_torch_reset")).join();
    CHECK(has_context(1) && !has_context(0));
    void *p = torch_alloc(1000, 1, nullptr);
    CHECK(p && stats(1).requested_bytes.current == 1000 && !stats(0).requested_bytes.current);
    size_t bytes = 0;
    auto base = hook<void *(void *, size_t *)>("xseg_torch_base_allocation");
    CHECK(base(p, &bytes) == p && bytes == 1024);
    CHECK(base(static_cast<char *>(p) + 8, &bytes) == static_cast<char *>(p) + 8 && !bytes);
    hook<void(void *, Stream)>("xseg_torch_record_stream")(p, nullptr);
    torch_free(p, 1000, 1, nullptr);
    CHECK(!stats(1).allocations.current);
    hook<void()>("xseg_torch_reset")();
    CHECK(!stats(1).reserved_bytes.current);
    hook<void(double, int)>("xseg_torch_memory_fraction")(0.5, 1);
    CHECK(stats(1).limit_bytes < UINT64_MAX && stats(0).limit_bytes == UINT64_MAX);
    hook<void(double, int)>("xseg_torch_memory_fraction")(1.0, 1);
    CHECK(stats(1).limit_bytes == UINT64_MAX);
    passed++;
}

// Runs it with standard error in a file; returns what was written there.
static std::string logged(const std::function<void()> &run)
{
    char text[4096] = "", name[] = "/tmp/torch_abi.XXXXXX";
    int file = mkstemp(name), before = dup(2);
    CHECK(file >= 0 && before >= 0 && dup2(file, 2) == 2);
    setenv("XSEG_LOG", "1", 1);
    run();
    setenv("XSEG_LOG", "0", 1);
    dup2(before, 2);
    CHECK(pread(file, text, sizeof(text) - 1, 0) >= 0);
    close(before);
    close(file);
    unlink(name);
    return text;
}

// Report R45: a plug-in of another signature gets another size or device with the free. It is told, once.
static void wrong_arguments()
{
    Stream stream = cudaStreamPerThread_;
    void *p = torch_alloc(4096, 1, stream), *q = torch_alloc(4096, 1, stream);
    std::string text = logged([&] {
        torch_free(p, 7, 0, stream);
        torch_free(q, 7, 0, stream);
    });
    const char *expected = "with 7 bytes on device 0, and was 4096 on device 1";
    size_t at = text.find(expected);
    CHECK(at != std::string::npos && text.find(expected, at + 1) == std::string::npos);
    CHECK(!stats(1).allocations.current);
    text = logged([&] { // the same for a pointer that is freed twice
        torch_free(p, 4096, 1, stream);
        torch_free(p, 4096, 1, stream);
    });
    at = text.find("UNKNOWN_POINTER");
    CHECK(at != std::string::npos && text.find("UNKNOWN_POINTER", at + 1) == std::string::npos);
    hook<void()>("xseg_torch_reset")();
    passed++;
}

// Where the filter says so, and it is called with what PyTorch passes.
static void graphs()
{
    const Stream captured = nullptr;
    auto alive = std::make_shared<int>(0);
    const PoolId id(0, 7);
    {
        Filter filter = [alive, captured](Stream stream) {
            ++*alive;
            return stream == captured;
        };
        begin_pool(0, id, filter);
    }
    CHECK(alive.use_count() == 2); // ours is a copy
    void *p = torch_alloc(4096, 0, captured), *other = torch_alloc(4096, 1, captured);
    CHECK(pool_of(p) && !pool_of(other));
    CHECK(*alive == 1);
    void *q;
    std::thread([&] { q = torch_alloc(4096, 0, captured); }).join(); // autograd's thread
    CHECK(pool_of(q) == pool_of(p));
    begin_pool(0, PoolId(9, 0), [](Stream) { return false; });
    void *r = torch_alloc(4096, 0, captured);
    CHECK(pool_of(r) == pool_of(p));
    end_pool(0, PoolId(9, 0));
    release_pool(0, PoolId(9, 0));
    end_pool(0, id);
    CHECK(alive.use_count() == 1);
    void *after = torch_alloc(4096, 0, captured);
    CHECK(!pool_of(after));
    // A second graph shares the pool; it goes with the second release.
    begin_pool(0, id, [](Stream) { return true; });
    void *second = torch_alloc(4096, 0, captured);
    CHECK(pool_of(second) == pool_of(p));
    end_pool(0, id);
    release_pool(0, id);
    CHECK(pool_of(second));
    release_pool(0, id);
    CHECK(!pool_of(second));
    release_pool(0, id);
    for (void *each : {p, q, r, after, second})
        torch_free(each, 4096, 0, captured);
    torch_free(other, 4096, 1, captured);
    hook<void()>("xseg_torch_reset")();
    CHECK(!stats(0).reserved_bytes.current);
    passed++;
}

// A capture fails: PyTorch neither ends nor releases.
static void failed_capture()
{
    begin_pool(0, PoolId(11, 0), [](Stream) { return true; });
    void *p = torch_alloc(1 << 20, 0, nullptr);
    CHECK(pool_of(p));
    bool elsewhere = true;
    std::thread([&] { elsewhere = xseg_torch_capture_failed(); }).join();
    CHECK(!elsewhere);
    CHECK(xseg_torch_capture_failed());
    CHECK(!xseg_torch_capture_failed());
    void *q = torch_alloc(1 << 20, 0, nullptr);
    CHECK(!pool_of(q) && !pool_of(p));
    torch_free(p, 1 << 20, 0, nullptr);
    torch_free(q, 1 << 20, 0, nullptr);
    hook<void()>("xseg_torch_reset")();
    CHECK(!stats(0).reserved_bytes.current);
    passed++;
}

// Reports R15 and R33.
static void refuses()
{
    void *const held = torch_alloc(1 << 20, 0, nullptr);
    CHECK(!xseg_set_limit(0, 8 << 20));
    CHECK(!torch_alloc(64 << 20, 0, nullptr)); // as a MemPool's allocator: NULL
    CHECK(xseg_torch_can_throw() == 2);
    bool caught = false;
    try {
        torch_alloc_or_throw(64 << 20, 0, nullptr);
    } catch (const c10::OutOfMemoryError &e) {
        caught = std::strstr(e.msg().c_str(), "CUDA out of memory. ") == e.msg().c_str() &&
                 std::strstr(e.msg().c_str(), "64.00 MiB wanted") &&
                 std::strstr(e.what(), "(from xseg_malloc)");
    }
    CHECK(caught);
    for (int kind = 0; kind < 2; kind++) { // also by its bases, and what is no lack of memory
        caught = false;
        try {
            torch_alloc_or_throw(kind ? size_t(1) << 61 : 64 << 20, 0, nullptr);
        } catch (const c10::OutOfMemoryError &) {
            caught = !kind;
        } catch (const c10::Error &) {
            caught = kind;
        }
        CHECK(caught);
    }
    void *p = torch_alloc_or_throw(1 << 20, 0, nullptr); // and on it goes
    CHECK(p);
    torch_free(p, 1 << 20, 0, nullptr);
    torch_free(held, 1 << 20, 0, nullptr);
    CHECK(!xseg_set_limit(0, SIZE_MAX));
    passed++;
}

template <typename Type> static Type *torch(const char *name)
{
    return symbol<Type>("libtorch_cuda.so", name);
}

static bool throws(const std::function<void()> &call, const char *text)
{
    try {
        call();
    } catch (const std::exception &e) {
        if (std::strstr(e.what(), text))
            return true;
        std::fprintf(stderr, "another text: %s\n", e.what());
    }
    return false;
}

// The virtual functions without a hook, of the current allocator alone, and no others.
static void virtual_functions()
{
    CHECK(!xseg_torch_adopt()); // nothing of PyTorch is loaded
    auto cache_info = torch<size_t(int8_t)>("fake_cache_info");
    auto copy = torch<int(int, int)>("fake_copy");
    CHECK(!xseg_torch_adopt()); // there is no allocator yet
    torch<void()>("fake_install")();
    CHECK(!cache_info(0) && copy(0, 1) == 1);
    CHECK(xseg_torch_adopt() == XSEG_TORCH_FUNCTIONS);
    CHECK(xseg_torch_adopt() == 0); // it is adopted already
    size_t free_bytes;
    CHECK(!xseg_memory_info(1, &free_bytes, nullptr) && cache_info(1) == free_bytes);
    CHECK(copy(0, 1) == 1000 && copy(1, 1) == 2003);
    CHECK(torch<int()>("fake_others")() == 12);
    passed++;
}

// Calls of the driver's own that concern a device.
static void begin_device(int device)
{
    void *context;
    CHECK(!sim<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, device));
    CHECK(!sim<int(void *)>("cuCtxPushCurrent_v2")(context));
}

static void end_device(int device)
{
    void *popped;
    CHECK(!sim<int(void **)>("cuCtxPopCurrent_v2")(&popped));
    CHECK(!sim<int(int)>("cuDevicePrimaryCtxRelease_v2")(device));
}

static int launch(Stream stream, void *p, size_t bytes)
{
    return sim<int(Stream, unsigned long long, size_t)>("xs_sim_launch")(
        stream, reinterpret_cast<unsigned long long>(p), bytes);
}

// Tensors' memory: on the current device and stream, and back by PyTorch's deleter, past PyTorch's own records.
static void tensors()
{
    auto set_current = torch<void(int, Stream, bool)>("fake_set_current");
    auto make = torch<void *(size_t)>("fake_make");
    auto drop = torch<void()>("fake_drop");
    Stream own;
    begin_device(1);
    CHECK(!sim<int(Stream *, unsigned)>("cuStreamCreate")(&own, 1));
    CHECK(!sim<int(Stream, bool)>("xs_sim_stream_manual")(own, true));
    set_current(1, own, false);
    void *p = make(1000);
    CHECK(p && stats(1).requested_bytes.current == 1000);
    CHECK(!launch(own, p, 1000));
    drop();
    CHECK(!stats(1).requested_bytes.current);
    CHECK(make(1000) == p);
    drop();
    set_current(1, nullptr, false);
    CHECK(make(1000) != p); // which the other stream may be using
    CHECK(!make(0));
    drop();
    drop();
    set_current(1, nullptr, true);
    CHECK(throws([&] { make(1000); }, "theirs"));
    set_current(1, nullptr, false);
    CHECK(!xseg_set_limit(1, 8 << 20));
    CHECK(throws([&] { make(64 << 20); }, "CUDA out of memory. "));
    CHECK(!xseg_set_limit(1, SIZE_MAX));
    CHECK(!sim<int(Stream)>("cuStreamSynchronize")(own));
    CHECK(!sim<int(Stream)>("cuStreamDestroy_v2")(own));
    end_device(1);
    set_current(0, nullptr, false);
    passed++;
}

// The same without tensors, as libraries ask for it that PyTorch knows.
static void raw_memory()
{
    auto set_current = torch<void(int, Stream, bool)>("fake_set_current");
    auto raw = torch<void *(size_t)>("fake_raw");
    auto raw_on = torch<void *(size_t, Stream)>("fake_raw_on");
    auto raw_delete = torch<void(void *)>("fake_raw_delete");
    set_current(1, nullptr, false);
    void *p = raw(1000), *q = raw_on(2000, cudaStreamPerThread_);
    CHECK(p && q && stats(1).requested_bytes.current == 3000);
    CHECK(!raw(0) && !raw_on(0, nullptr));
    raw_delete(p);
    raw_delete(q);
    raw_delete(nullptr);
    CHECK(!stats(1).allocations.current);
    set_current(1, nullptr, true);
    CHECK(throws([&] { raw(1000); }, "theirs") && throws([&] { raw_on(1000, nullptr); }, "theirs"));
    set_current(0, nullptr, false);
    passed++;
}

// A PyTorch whose tensors' memory is described by more than this one's keeps its records.
static void another_layout()
{
    torch<void()>("fake_install")();
    CHECK(xseg_torch_adopt() == XSEG_TORCH_FUNCTIONS - 5);
    CHECK(throws([] { torch<void *(size_t)>("fake_make")(1000); }, "theirs"));
    passed++;
}

// ---- two devices ----------------------------------------------------------------------------

// A kernel of a device that uses the memory: whether the driver lets it.
static bool reaches(int device, void *p, size_t bytes)
{
    begin_device(device);
    int code = launch(nullptr, p, bytes);
    end_device(device);
    bool good = !code && !sim<size_t()>("xs_sim_violations")();
    sim<void()>("xs_sim_clear_violations")();
    return good;
}

// at::cuda::get_p2p_access(): device 1 may use the memory of device 0, what there is and what will be.
static void peer_access()
{
    auto enable = torch<void(int, int)>("fake_enable_peer");
    void *before = torch_alloc(40 << 20, 0, nullptr);
    CHECK(!reaches(1, before, 40 << 20));
    for (const char *call : {"cuMemSetAccess", "cuDeviceCanAccessPeer"}) {
        sim<void(const char *, uint64_t, int)>("xs_sim_fail")(call, 1, 999);
        CHECK(throws([&] { enable(1, 0); }, call));
        CHECK(!reaches(1, before, 40 << 20));
    }
    CHECK(throws([&] { enable(0, 0); }, "the runtime's own error"));
    enable(1, 0);
    enable(1, 0);
    void *after = torch_alloc(200 << 20, 0, nullptr), *other = torch_alloc(1 << 20, 1, nullptr);
    CHECK(reaches(1, before, 40 << 20) && reaches(1, after, 200 << 20));
    CHECK(!reaches(0, other, 1 << 20)); // the one way is not the other
    torch_free(before, 40 << 20, 0, nullptr);
    torch_free(after, 200 << 20, 0, nullptr);
    torch_free(other, 1 << 20, 1, nullptr);
    CHECK(!xseg_peer_access(0, 1, 0));
    hook<void()>("xseg_torch_reset")();
    passed++;
}

// ---- two processes --------------------------------------------------------------------------

struct Sent {
    char handle[65];
    ptrdiff_t offset;
};

static int to_receiver[2], to_sender[2];

static void say(int *pipe, const void *what, size_t bytes)
{
    CHECK(write(pipe[1], what, bytes) == static_cast<ssize_t>(bytes));
}

static void hear(int *pipe, void *what, size_t bytes)
{
    CHECK(read(pipe[0], what, bytes) == static_cast<ssize_t>(bytes));
}

static unsigned char byte_at(const char *p)
{
    void *context;
    unsigned char got;
    CHECK(!sim<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, 0));
    CHECK(!sim<int(void *)>("cuCtxSetCurrent")(context));
    CHECK(!sim<int(void *, unsigned long long, size_t)>("cuMemcpyDtoH_v2")(
        &got, reinterpret_cast<unsigned long long>(p), 1));
    return got;
}

static void set_bytes(char *p, unsigned char value, size_t bytes)
{
    byte_at(p); // for its context
    CHECK(!sim<int(unsigned long long, unsigned char, size_t)>("cuMemsetD8_v2")(
        reinterpret_cast<unsigned long long>(p), value, bytes));
}

// Has never used CUDA: the device's context is made for it.
static void receive()
{
    Sent sent, again;
    char done = 1, go;
    auto open = torch<void *(const char *, size_t)>("fake_open");
    auto close = torch<void()>("fake_close");
    hear(to_receiver, &sent, sizeof(sent));
    char *base = static_cast<char *>(open(sent.handle, sizeof(sent.handle)));
    char preload[66] = "\x02" "c"; // as PyTorch's own allocator sends what the preload has given it
    std::memcpy(preload + 2, sent.handle, 64);
    CHECK(open(preload, sizeof(preload)) == base);
    CHECK(byte_at(base + sent.offset) == 22 && byte_at(base) == 11);
    set_bytes(base + sent.offset, 33, 1);
    say(to_sender, &done, 1);
    hear(to_receiver, &go, 1); // the sender has freed it: it stays until it is closed here
    close();
    CHECK(byte_at(base) == 11);
    close();
    CHECK(throws([&] { open(sent.handle, sizeof(sent.handle)); }, "it has been freed"));
    CHECK(throws([&] { open(std::string(66, 'c').data(), 66); }, "its sender does not use xseg"));
    hear(to_receiver, &again, sizeof(again));
    for (const char *call : {"cuMemImportFromShareableHandle", "cuMemMap", "cuMemSetAccess"}) {
        sim<void(const char *, uint64_t, int)>("xs_sim_fail")(call, 1, 999);
        CHECK(throws([&] { open(again.handle, sizeof(again.handle)); }, call));
    }
    open(again.handle, sizeof(again.handle));
    close();
    say(to_sender, &done, 1);
    hear(to_receiver, &go, 1); // the sender is gone
    CHECK(throws([&] { open(again.handle, sizeof(again.handle)); }, "is gone"));
    CHECK(!sim<size_t()>("xs_sim_violations")());
}

static void send()
{
    Sent sent;
    char done, go = 1;
    auto share = torch<size_t(void *, char *, ptrdiff_t *)>("fake_share");
    char *p = static_cast<char *>(torch_alloc(8 << 20, 0, nullptr));
    set_bytes(p, 11, 8 << 20);
    set_bytes(p + 4096, 22, 1);
    CHECK(share(p + 4096, sent.handle, &sent.offset) == sizeof(sent.handle) && sent.offset == 4096);
    CHECK(sent.handle[0] > 3); // PyTorch's versions: it knows none of this number
    say(to_receiver, &sent, sizeof(sent));
    hear(to_sender, &done, 1);
    CHECK(byte_at(p + 4096) == 33);
    CHECK(throws([&] { torch<void *(const char *, size_t)>("fake_open")(sent.handle, 65); }, "this very process"));
    torch_free(p, 8 << 20, 0, nullptr);
    say(to_receiver, &go, 1);
    CHECK(throws([&] { share(p, sent.handle, &sent.offset); }, "in no live allocation"));
    p = static_cast<char *>(torch_alloc(8 << 20, 0, nullptr));
    CHECK(share(p, sent.handle, &sent.offset) && !sent.offset);
    say(to_receiver, &sent, sizeof(sent));
    hear(to_sender, &done, 1);
    Sent next;
    CHECK(!xseg_shutdown()); // the same address is not the same memory
    CHECK(torch_alloc(8 << 20, 0, nullptr) == p);
    CHECK(share(p, next.handle, &next.offset) && std::memcmp(next.handle, sent.handle, sizeof(sent.handle)));
}

static void adopt_in_child()
{
    CHECK(!xseg_use_driver_library(simulator));
    CHECK(dlopen("libc10.so", RTLD_NOW | RTLD_LOCAL));
    torch<void()>("fake_install")();
    CHECK(xseg_torch_adopt() == XSEG_TORCH_FUNCTIONS);
}

// Each keeps its own ends of the pipes alone, so that nobody waits for one that has failed.
static pid_t start(void (*run)(), int unused, int also_unused)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    close(unused);
    close(also_unused);
    adopt_in_child();
    run();
    std::exit(0);
}

static void wait_for(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void tensors_between_processes()
{
    char go = 1;
    CHECK(!pipe(to_receiver) && !pipe(to_sender));
    pid_t receiver = start(receive, to_receiver[1], to_sender[0]);
    pid_t sender = start(send, to_receiver[0], to_sender[1]);
    for (int end : {to_receiver[0], to_sender[0], to_sender[1]})
        close(end);
    wait_for(sender);
    say(to_receiver, &go, 1);
    wait_for(receiver);
    passed++;
}

static void pools()
{
    uint64_t name, same;
    CHECK(!xseg_torch_create_pool(0, {0, 21}, XSEG_POOL_NO_SPLIT, &name));
    CHECK(!xseg_torch_create_pool(0, {0, 21}, 0, &same) && same == name);
    begin_pool(0, PoolId(0, 21), nullptr);
    void *p = torch_alloc(4096, 0, nullptr);
    CHECK(pool_of(p) == name);
    end_pool(0, PoolId(0, 21));
    for (int i = 0; i < 3; i++) {
        xseg_pool_stats s;
        s.size = sizeof(s);
        CHECK(!xseg_pool_get_stats(name, &s));
        release_pool(0, PoolId(0, 21));
    }
    CHECK(!pool_of(p));
    torch_free(p, 4096, 0, nullptr);
    passed++;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 || argc == 3);
    simulator = argv[1];
    if (argc == 3) {
        CHECK(!std::strcmp(argv[2], "another_layout"));
        CHECK(!xseg_use_driver_library(simulator));
        another_layout();
        std::printf("%d passed, 0 failed\n", passed);
        return 0;
    }
    torch_alloc = hook<void *(size_t, int, Stream)>("xseg_torch_malloc");
    torch_free = hook<void(void *, size_t, int, Stream)>("xseg_torch_free");
    tensors_between_processes(); // before this one uses CUDA
    CHECK(!xseg_use_driver_library(simulator));
    CHECK(dlopen("libc10.so", RTLD_NOW | RTLD_LOCAL)); // as Python loads it
    torch_alloc_or_throw = hook<void *(size_t, int, Stream)>("xseg_torch_malloc_or_throw");
    begin_pool = hook<void(int, PoolId, Filter)>("xseg_torch_begin_allocate_to_pool");
    end_pool = hook<void(int, PoolId)>("xseg_torch_end_allocate_to_pool");
    release_pool = hook<void(int, PoolId)>("xseg_torch_release_pool");
    basics();
    wrong_arguments();
    graphs();
    failed_capture();
    pools();
    virtual_functions();
    tensors();
    raw_memory();
    peer_access();
    refuses();
    std::printf("%d passed, 0 failed\n", passed);
    return 0;
}
