// PyTorch's native caching allocator, called as PyTorch calls it: no Python, no tensors.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <string>

#include "bench/peer/peer.h"

// Exported by libc10_cuda, in no header. ATen sets it when it is loaded.
namespace c10::cuda::_internal {
void setHasPrimaryContext(bool (*)(DeviceIndex));
}

namespace allocator = c10::cuda::CUDACachingAllocator;

namespace {

constexpr c10::DeviceIndex device = 0;
thread_local std::string why;

cudaStream_t native(xseg_stream stream)
{
    return reinterpret_cast<cudaStream_t>(stream);
}

bool open(const struct xs_gpu *, const char *)
{
    static bool is_open = [] {
        // Without it, a block that was used on a second stream cannot be freed.
        c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
        allocator::init(1);
        return true;
    }();
    return is_open;
}

void trim()
{
    allocator::emptyCache();
}

void close()
{
    allocator::setMemoryFraction(1.0, device);
    trim();
}

int alloc(void **ptr, size_t bytes, xseg_stream stream)
try {
    *ptr = allocator::raw_alloc_with_stream(bytes, native(stream));
    return 0;
} catch (const std::exception &e) {
    why = e.what();
    return 1;
}

int free_block(void *ptr, size_t, xseg_stream)
try {
    allocator::raw_delete(ptr);
    return 0;
} catch (const std::exception &e) {
    why = e.what();
    return 1;
}

const char *explain(int)
{
    why.resize(why.find('\n') == std::string::npos ? why.size() : why.find('\n'));
    return why.c_str();
}

bool limit(size_t bytes)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
        return xs_bench_fail("torch: cudaMemGetInfo failed");
    allocator::setMemoryFraction(static_cast<double>(bytes) / static_cast<double>(total_bytes),
                                 device);
    return true;
}

// The allocator wants the owner of the block, and must not get it: the pointer goes on living.
bool used_on(void *ptr, xseg_stream stream)
{
    c10::DataPtr owner(ptr, ptr, allocator::get()->raw_deleter(),
                       c10::Device(c10::DeviceType::CUDA, device));
    allocator::recordStream(owner, c10::cuda::getStreamFromExternal(native(stream), device));
    owner.release_context();
    return true;
}

} // namespace

extern "C" const struct xs_contestant xs_peer_contestant = {
    "torch", 0, open, close, alloc, free_block, explain, trim, limit, used_on};
