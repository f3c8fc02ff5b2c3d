// As much of PyTorch's libc10.so as a thrower needs, and a program that catches; and what its allocators have in common.
#ifndef FAKE_C10_H
#define FAKE_C10_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace c10
{

struct SourceLocation {
    const char *function;
    const char *file;
    uint32_t line;
};

class __attribute__((visibility("default"))) Error : public std::exception
{
    std::string msg_;
    std::vector<std::string> context_;
    std::string backtrace_;
    std::string what_;

  public:
    Error(SourceLocation location, std::string msg);
    const std::string &msg() const { return msg_; }
    const char *what() const noexcept override { return what_.c_str(); }
};

class __attribute__((visibility("default"))) OutOfMemoryError : public Error
{
    using Error::Error;
};

using DeleterFnPtr = void (*)(void *);

struct Device {
    int8_t type;
    int8_t index;
};

struct DataPtr {
    void *data;
    std::unique_ptr<void, DeleterFnPtr> owned;
    Device device;
#ifdef FAKE_GROWN
    void *more = nullptr; // as some later PyTorch might have
#endif
};

struct __attribute__((visibility("default"))) Allocator {
    virtual ~Allocator() = default;
    virtual DataPtr allocate(std::size_t n) = 0;
    virtual bool is_simple_data_ptr(const DataPtr &) const { return true; }
    virtual DeleterFnPtr raw_deleter() const { return nullptr; }
};

Allocator *GetDefaultCPUAllocator();

} // namespace c10

#endif
