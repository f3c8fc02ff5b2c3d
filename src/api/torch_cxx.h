/*
 * What C has to know of GNU's C++ library, which PyTorch is built with on Linux: parts of the stable ABI of
 * libstdc++.so.6 since GCC 5, the same on x86-64 and aarch64. Functions are looked up in libraries that are loaded
 * already. Thread-safe.
 */
#ifndef XS_API_TORCH_CXX_H
#define XS_API_TORCH_CXX_H

#include "base/base.h"

#define XS_CXX_LIBRARY "libstdc++.so.6"

/* std::string. A short one may lie in the object itself, so that it must not be copied as bytes. */
struct xs_cxx_string {
    char *text;
    size_t length;
    size_t capacity;
    size_t unused;
};

/* std::shared_ptr<void>, and what it counts in. The functions, each with the count as its argument: two destructors,
 * give the pointer up, give the count itself up, and find a deleter by its type. */
struct xs_cxx_count {
    void (*const *functions)(void);
    int uses;
    int weak_uses;
};

struct xs_cxx_shared {
    void *pointer;
    struct xs_cxx_count *count;
};

/* A symbol of a library that is loaded; NULL: not loaded, or it has none of that name. */
void *xs_cxx_symbol(const char *library, const char *name);

/* Whether the library is there; what follows needs it. */
bool xs_cxx_is_loaded(void);
/* operator new, which throws where there is no memory, and operator delete. */
void *xs_cxx_new(size_t bytes);
void xs_cxx_delete(void *memory);
/* A string of its own memory, whatever its length, so that this one may be copied as bytes. */
struct xs_cxx_string xs_cxx_string_of(const void *text, size_t length);

#endif
