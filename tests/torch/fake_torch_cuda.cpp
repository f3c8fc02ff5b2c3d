// As much of PyTorch's libtorch_cuda.so and libc10_cuda.so as xseg_torch_adopt() needs: names, a class, a current allocator.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_c10.h"

struct CUstream_st;

extern "C" int cudaMemcpyPeerAsync(void *, int, const void *, int, std::size_t, CUstream_st *)
{
    return 1000; // says which was called
}

extern "C" int cudaMemcpyAsync(void *, const void *, std::size_t, int kind, CUstream_st *)
{
    return 2000 + kind;
}

extern "C" int cudaGetDevice(int *device)
{
    *device = 0;
    return 0;
}

// What is current, and whether asking for it fails.
static int8_t current_device;
static CUstream_st *current_stream;
static bool device_fails;

namespace c10::cuda {

int GetDevice(int8_t *device)
{
    *device = current_device;
    return device_fails ? 100 : 0;
}

class CUDAStream {
    Device device_;
    int64_t id_;

  public:
    explicit CUDAStream(int8_t device) : device_{1, device}, id_(7) {}
    CUstream_st *stream() const;
};

CUstream_st *CUDAStream::stream() const
{
    return device_.type == 1 && device_.index == current_device && id_ == 7 ? current_stream : nullptr;
}

CUDAStream getCurrentCUDAStream(int8_t device)
{
    return CUDAStream(device);
}

} // namespace c10::cuda

namespace c10::cuda::CUDACachingAllocator {

struct ShareableHandle {
    std::ptrdiff_t offset;
    std::string handle;
};

struct CUDAAllocator : Allocator {
    virtual int first() = 0;
    virtual void *raw_alloc(std::size_t bytes) = 0;
    virtual void *raw_alloc_with_stream(std::size_t bytes, CUstream_st *stream) = 0;
    virtual void raw_delete(void *p) = 0;
    virtual void cacheInfo(int8_t device, std::size_t *largest) = 0;
    virtual int memcpyAsync(void *to, int to_device, const void *from, int from_device,
                            std::size_t bytes, CUstream_st *stream, bool access) = 0;
    virtual void enablePeerAccess(int8_t device, int8_t owner) = 0;
    virtual std::shared_ptr<void> getIpcDevPtr(std::string handle) = 0;
    virtual ShareableHandle shareIpcHandle(void *ptr) = 0;
    virtual int last() { return 2; }
};

extern std::atomic<CUDAAllocator *> allocator;
std::atomic<CUDAAllocator *> allocator;

} // namespace c10::cuda::CUDACachingAllocator

namespace torch::cuda::CUDAPluggableAllocator {

using c10::cuda::CUDACachingAllocator::ShareableHandle;

struct CUDAPluggableAllocator : c10::cuda::CUDACachingAllocator::CUDAAllocator {
    c10::DataPtr allocate(std::size_t bytes) override;
    c10::DeleterFnPtr raw_deleter() const override;
    int first() override;
    void *raw_alloc(std::size_t bytes) override;
    void *raw_alloc_with_stream(std::size_t bytes, CUstream_st *stream) override;
    void raw_delete(void *p) override;
    void cacheInfo(int8_t device, std::size_t *largest) override;
    int memcpyAsync(void *to, int to_device, const void *from, int from_device, std::size_t bytes,
                    CUstream_st *stream, bool access) override;
    void enablePeerAccess(int8_t device, int8_t owner) override;
    std::shared_ptr<void> getIpcDevPtr(std::string handle) override;
    ShareableHandle shareIpcHandle(void *ptr) override;
};

int CUDAPluggableAllocator::first() { return 1; }

// With records of its own, or for want of a device.
c10::DataPtr CUDAPluggableAllocator::allocate(std::size_t)
{
    throw std::runtime_error("theirs");
}

c10::DeleterFnPtr CUDAPluggableAllocator::raw_deleter() const
{
    return nullptr;
}

void *CUDAPluggableAllocator::raw_alloc(std::size_t)
{
    throw std::runtime_error("theirs");
}

void *CUDAPluggableAllocator::raw_alloc_with_stream(std::size_t, CUstream_st *)
{
    throw std::runtime_error("theirs");
}

void CUDAPluggableAllocator::raw_delete(void *)
{
    throw std::runtime_error("theirs");
}

void CUDAPluggableAllocator::cacheInfo(int8_t, std::size_t *)
{
    throw std::runtime_error("does not yet support cacheInfo");
}

int CUDAPluggableAllocator::memcpyAsync(void *, int, const void *, int, std::size_t, CUstream_st *,
                                        bool)
{
    return 1;
}

void CUDAPluggableAllocator::enablePeerAccess(int8_t device, int8_t owner)
{
    if (device == owner)
        throw std::runtime_error("the runtime's own error");
}

std::shared_ptr<void> CUDAPluggableAllocator::getIpcDevPtr(std::string)
{
    throw std::runtime_error("does not yet support getIpcDevPtr");
}

ShareableHandle CUDAPluggableAllocator::shareIpcHandle(void *)
{
    throw std::runtime_error("does not yet support shareIpcHandle");
}

} // namespace torch::cuda::CUDAPluggableAllocator

// What a program does through the base class. Makes the allocator current.
using c10::cuda::CUDACachingAllocator::allocator;

extern "C" void fake_install()
{
    allocator = new torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator;
}

extern "C" std::size_t fake_cache_info(int8_t device)
{
    std::size_t largest = 0;
    try {
        allocator.load()->cacheInfo(device, &largest);
    } catch (const std::runtime_error &) {
        return 0;
    }
    return largest;
}

extern "C" int fake_copy(int to, int from)
{
    return allocator.load()->memcpyAsync(nullptr, to, nullptr, from, 8, nullptr, false);
}

extern "C" void fake_enable_peer(int device, int owner)
{
    allocator.load()->enablePeerAccess(static_cast<int8_t>(device), static_cast<int8_t>(owner));
}

extern "C" std::size_t fake_share(void *ptr, char *handle, std::ptrdiff_t *offset)
{
    auto shared = allocator.load()->shareIpcHandle(ptr);
    *offset = shared.offset;
    return shared.handle.copy(handle, 65);
}

// As PyTorch's storages: several may hold the same.
static std::vector<std::shared_ptr<void>> opened;

extern "C" void *fake_open(const char *handle, std::size_t bytes)
{
    opened.push_back(allocator.load()->getIpcDevPtr(std::string(handle, bytes)));
    return opened.back().get();
}

extern "C" void fake_close()
{
    opened.pop_back();
}

extern "C" void fake_set_current(int device, CUstream_st *stream, bool fails)
{
    current_device = static_cast<int8_t>(device);
    current_stream = stream;
    device_fails = fails;
}

// As PyTorch's tensors.
static std::vector<c10::DataPtr> tensors;

extern "C" void *fake_make(std::size_t bytes)
{
    tensors.push_back(allocator.load()->allocate(bytes));
    const c10::DataPtr &made = tensors.back();
    if (made.device.type != 1 || made.device.index != current_device ||
        made.owned.get_deleter() != allocator.load()->raw_deleter() || made.owned.get() != made.data)
        throw std::runtime_error("not as PyTorch's own");
    return made.data;
}

extern "C" void fake_drop()
{
    tensors.pop_back();
}

extern "C" void *fake_raw(std::size_t bytes)
{
    return allocator.load()->raw_alloc(bytes);
}

extern "C" void *fake_raw_on(std::size_t bytes, CUstream_st *stream)
{
    return allocator.load()->raw_alloc_with_stream(bytes, stream);
}

extern "C" void fake_raw_delete(void *p)
{
    allocator.load()->raw_delete(p);
}

extern "C" int fake_others()
{
    return allocator.load()->first() * 10 + allocator.load()->last();
}
