// As much of PyTorch's libc10.so as a thrower needs: the same names, signatures and hierarchy.
#include "fake_c10.h"

#include <cstdlib>

namespace c10 {

Error::Error(SourceLocation location, std::string msg)
    : msg_(std::move(msg)), backtrace_(location.function), what_(msg_ + " (from " + backtrace_ + ")")
{
}

namespace detail {

void torchCheckFail(const char *function, const char *file, uint32_t line, const char *msg)
{
    (void)file;
    throw Error({function, file, line}, msg);
}

} // namespace detail

struct HostAllocator : Allocator {
    DataPtr allocate(std::size_t n) override
    {
        void *p = std::malloc(n);
        return {p, {p, std::free}, {0, -1}};
    }
    DeleterFnPtr raw_deleter() const override { return std::free; }
};

Allocator *GetDefaultCPUAllocator()
{
    static HostAllocator allocator;
    return &allocator;
}

} // namespace c10
