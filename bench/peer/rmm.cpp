// RMM's pool (XS_RMM_POOL) or arena (XS_RMM_ARENA) over cudaMalloc, as in release 26.06 and later. Neither
// gives memory back, so it is made anew where the others do. The arena takes half of the free memory when
// it is made.
#include <cuda/stream_ref>

#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include <exception>
#include <optional>
#include <string>

#include "bench/peer/peer.h"

namespace {

#ifdef XS_RMM_POOL
constexpr const char *name = "rmm_pool";
using resource = rmm::mr::pool_memory_resource;

resource make_resource()
{
    return resource{rmm::mr::cuda_memory_resource{}, 0};
}
#else
constexpr const char *name = "rmm_arena";
using resource = rmm::mr::arena_memory_resource;

resource make_resource()
{
    return resource{rmm::mr::cuda_memory_resource{}};
}
#endif

thread_local std::string why;
std::optional<resource> current;

constexpr size_t alignment = 256; // RMM's own

cuda::stream_ref native(xseg_stream stream)
{
    return cuda::stream_ref{reinterpret_cast<cudaStream_t>(stream)};
}

bool open(const struct xs_gpu *, const char *)
try {
    current.emplace(make_resource());
    return true;
} catch (const std::exception &e) {
    return xs_bench_fail("%s: %s", name, e.what());
}

void close()
{
    current.reset();
}

void trim()
{
    close();
    open(nullptr, nullptr);
}

int alloc(void **ptr, size_t bytes, xseg_stream stream)
try {
    *ptr = current->allocate(native(stream), bytes, alignment);
    return 0;
} catch (const std::exception &e) {
    why = e.what();
    return 1;
}

int free_block(void *ptr, size_t bytes, xseg_stream stream)
try {
    current->deallocate(native(stream), ptr, bytes, alignment);
    return 0;
} catch (const std::exception &e) {
    why = e.what();
    return 1;
}

const char *explain(int)
{
    return why.c_str();
}

} // namespace

extern "C" const struct xs_contestant xs_peer_contestant = {
    name, 0, open, close, alloc, free_block, explain, trim, nullptr, nullptr};
