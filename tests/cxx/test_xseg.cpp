// include/xseg/xseg.hpp over the simulator, with the memory-resource concepts and Thrust where CUDA is installed.
//   test_xseg SIMULATOR
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "xseg/xseg.hpp"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

#if defined(XSEG_WITH_CCCL)
static_assert(cuda::mr::resource_with<xseg::resource, cuda::mr::device_accessible>);
static_assert(cuda::mr::async_resource_with<xseg::resource, cuda::mr::device_accessible>);
#endif

static_assert(!std::is_copy_constructible_v<xseg::buffer>);
static_assert(std::is_nothrow_move_constructible_v<xseg::buffer>);

static xseg_stats stats()
{
    xseg_stats s;
    s.size = sizeof(s);
    xseg::check(xseg_get_stats(0, &s));
    return s;
}

static void buffers()
{
    xseg::buffer a(1000, nullptr, 0), b;
    CHECK(a && !b && a.size() == 1000 && a.as<int>() == a.data());
    std::memset(a.data(), 1, a.size()); // the simulator's memory is the host's
    b = std::move(a);
    CHECK(!a && b && stats().allocations.current == 1);
    b = xseg::buffer(2000, nullptr, 0);
    CHECK(stats().requested_bytes.current == 2000);
    b.record(nullptr);
    void *p = b.release();
    CHECK(!b && !b.size() && stats().allocations.current == 1);
    xseg_free(p);
    b.reset();
    CHECK(stats().allocations.current == 0);
}

static void resources()
{
    xseg_pool pool, from;
    xseg::check(xseg_pool_create(0, 0, &pool));
    xseg::resource plain(nullptr, 0), pooled(nullptr, 0, pool);
    void *p = plain.allocate(100), *q = pooled.allocate(100, 256);
    void *r = plain.allocate(xseg_stream(nullptr), 100, 16);
    void *s = plain.allocate_async(100, 16, xseg_stream(nullptr)), *t = plain.allocate_sync(100);
    CHECK(!xseg_pool_of(p, &from) && !from);
    CHECK(!xseg_pool_of(q, &from) && from == pool);
    CHECK(plain == pooled && plain.is_equal(pooled));
    plain.deallocate(p, 100);
    plain.deallocate(q, 100, 256);
    plain.deallocate(xseg_stream(nullptr), r, 100, 16);
    plain.deallocate_async(s, 100, 16, xseg_stream(nullptr));
    plain.deallocate_sync(t, 100);
    xseg::check(xseg_pool_destroy(pool));
    CHECK(stats().allocations.current == 0);
}

static void failures()
{
    bool caught = false;
    xseg::check(xseg_set_limit(0, 4 << 20));
    try {
        xseg::buffer(64 << 20, nullptr, 0);
    } catch (const std::bad_alloc &e) {
        caught = std::strstr(e.what(), "64.00 MiB wanted") != nullptr;
    }
    CHECK(caught);
    xseg::check(xseg_set_limit(0, SIZE_MAX));
    for (int kind = 0; kind < 2; kind++) {
        caught = false;
        try {
            kind ? xseg::resource(nullptr, 0).allocate(8, 4096) : xseg::resource(nullptr, 99).allocate(8);
        } catch (const xseg::error &e) {
            caught = e.code() == (kind ? XSEG_ERROR_INVALID_VALUE : XSEG_ERROR_NO_DEVICE);
        }
        CHECK(caught);
    }
}

static void allocators()
{
    xseg::allocator<double> doubles{xseg::resource(nullptr, 0)};
    std::allocator_traits<xseg::allocator<double>>::rebind_alloc<char> chars(doubles);
    double *p = doubles.allocate(1000);
    CHECK(stats().requested_bytes.current == 8000 && chars == doubles);
    doubles.deallocate(p, 1000);
    char *q = chars.allocate(77);
    chars.deallocate(q, 77);
    std::vector<int, xseg::allocator<int>> v(100, 7, xseg::allocator<int>(xseg::resource(nullptr, 0)));
    v.resize(5000);
    CHECK(v[99] == 7 && stats().allocations.current == 1);
    bool caught = false;
    try {
        doubles.allocate(SIZE_MAX / 4);
    } catch (const std::bad_array_new_length &) {
        caught = true;
    }
    CHECK(caught);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    xseg::check(xseg_use_driver_library(argv[1]));
    buffers();
    resources();
    failures();
    allocators();
    CHECK(stats().allocations.current == 0);
    xseg::check(xseg_shutdown());
    std::printf("4 passed, 0 failed\n");
    return 0;
}
