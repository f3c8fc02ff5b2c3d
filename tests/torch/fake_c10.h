// As much of PyTorch's libc10.so as a thrower needs, and a program that catches.
#ifndef FAKE_C10_H
#define FAKE_C10_H

#include <cstdint>
#include <exception>
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

} // namespace c10

#endif
