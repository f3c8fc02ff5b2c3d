/*
 * A C++ exception is memory from __cxa_allocate_exception(), an object in it, the type to be caught, and a destructor.
 * The object is a c10::Error, made by its own constructor, whatever its size in this version; c10::OutOfMemoryError
 * adds nothing to it but its name. Types are the same to the C++ library where their names are, so one of that
 * name, derived from c10::Error's, is caught as it.
 */
#include "api/torch_throw.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "xseg/torch.h"

/* Far more than any c10::Error has had. */
#define OBJECT_BYTES 1024

/* std::string of libstdc++ since GCC 5. */
struct cxx_string {
    char *text;
    size_t length;
    size_t capacity;
    size_t unused;
};

/* c10::SourceLocation */
struct source {
    const char *function;
    const char *file;
    uint32_t line;
};

/* std::type_info of a class with one base. */
struct type_info {
    const void *const *functions;
    const char *name;
    const void *base;
};

static struct {
    void *(*allocate_exception)(size_t bytes);
    void (*throw_exception)(void *object, void *type, void (*destroy)(void *));
    void *(*operator_new)(size_t bytes);
    void (*construct)(void *object, struct source source, struct cxx_string *text);
    void (*fail)(const char *function, const char *file, uint32_t line, const char *text);
    struct type_info out_of_memory;
} cxx;
static pthread_once_t looked_up = PTHREAD_ONCE_INIT;

/* In a library that is loaded already. */
static void *symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (!handle)
        return NULL;
    void *found = dlsym(handle, name);
    dlclose(handle);
    return found;
}

static void look_up(void)
{
    const char *const cxx_library = "libstdc++.so.6", *const c10 = "libc10.so";
    *(void **)&cxx.allocate_exception = symbol(cxx_library, "__cxa_allocate_exception");
    *(void **)&cxx.throw_exception = symbol(cxx_library, "__cxa_throw");
    *(void **)&cxx.operator_new = symbol(cxx_library, "_Znwm");
    *(void **)&cxx.construct =
        symbol(c10, "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_"
                    "traitsIcESaIcEEE");
    *(void **)&cxx.fail = symbol(c10, "_ZN3c106detail14torchCheckFailEPKcS2_jS2_");
    const void *const *functions = symbol(cxx_library, "_ZTVN10__cxxabiv120__si_class_type_infoE");
    cxx.out_of_memory.functions = functions ? functions + 2 : NULL; /* behind offset and type */
    cxx.out_of_memory.name = "N3c1016OutOfMemoryErrorE";
    cxx.out_of_memory.base = symbol(c10, "_ZTIN3c105ErrorE");
}

static bool has_out_of_memory(void)
{
    return cxx.allocate_exception && cxx.throw_exception && cxx.operator_new && cxx.construct &&
           cxx.out_of_memory.functions && cxx.out_of_memory.base;
}

int xs_torch_can_throw(void)
{
    pthread_once(&looked_up, look_up);
    return !cxx.fail ? 0 : has_out_of_memory() ? 2 : 1;
}

/* The constructor takes the text over, and the exception gives it back. */
static void throw_out_of_memory(const char *text)
{
    size_t length = strlen(text);
    struct cxx_string string = {
        .text = cxx.operator_new(length + 1), .length = length, .capacity = length};
    struct source source = {"xseg_malloc", "xseg", 0};
    memcpy(string.text, text, length + 1);
    void *object = cxx.allocate_exception(OBJECT_BYTES);
    memset(object, 0, OBJECT_BYTES);
    cxx.construct(object, source, &string);
    /* The destructor is the first of its virtual functions. */
    void (*destroy)(void *) = **(void (***)(void *))object;
    cxx.throw_exception(object, &cxx.out_of_memory, destroy);
}

void xs_torch_throw(bool out_of_memory, const char *text)
{
    int can = xs_torch_can_throw();
    if (can == 2 && out_of_memory)
        throw_out_of_memory(text);
    if (can)
        cxx.fail("xseg_malloc", "xseg", 0, text);
}

int xseg_torch_can_throw(void)
{
    return xs_torch_can_throw();
}
