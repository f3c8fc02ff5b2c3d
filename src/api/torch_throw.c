/*
 * A C++ exception is memory from __cxa_allocate_exception(), an object in it, the type to be caught, and a destructor.
 * The object is a c10::Error, made by its own constructor, whatever its size in this version; c10::OutOfMemoryError
 * adds nothing to it but its name. Types are the same to the C++ library where their names are, so one of that
 * name, derived from c10::Error's, is caught as it.
 */
#include "api/torch_throw.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "api/torch_cxx.h"
#include "xseg/torch.h"

/* Far more than any c10::Error has had. */
#define OBJECT_BYTES 1024

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
    void (*construct)(void *object, struct source source, struct xs_cxx_string *text);
    void (*fail)(const char *function, const char *file, uint32_t line, const char *text);
    struct type_info out_of_memory;
} thrower;
static pthread_once_t looked_up = PTHREAD_ONCE_INIT;

#define C10_LIBRARY "libc10.so"

static void look_up(void)
{
    *(void **)&thrower.allocate_exception =
        xs_cxx_symbol(XS_CXX_LIBRARY, "__cxa_allocate_exception");
    *(void **)&thrower.throw_exception = xs_cxx_symbol(XS_CXX_LIBRARY, "__cxa_throw");
    *(void **)&thrower.construct =
        xs_cxx_symbol(C10_LIBRARY, "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_"
                                   "stringIcSt11char_traitsIcESaIcEEE");
    *(void **)&thrower.fail =
        xs_cxx_symbol(C10_LIBRARY, "_ZN3c106detail14torchCheckFailEPKcS2_jS2_");
    const void *const *functions =
        xs_cxx_symbol(XS_CXX_LIBRARY, "_ZTVN10__cxxabiv120__si_class_type_infoE");
    thrower.out_of_memory.functions = functions ? functions + 2 : NULL; /* behind offset and type */
    thrower.out_of_memory.name = "N3c1016OutOfMemoryErrorE";
    thrower.out_of_memory.base = xs_cxx_symbol(C10_LIBRARY, "_ZTIN3c105ErrorE");
}

static bool has_out_of_memory(void)
{
    return xs_cxx_is_loaded() && thrower.allocate_exception && thrower.throw_exception &&
           thrower.construct && thrower.out_of_memory.functions && thrower.out_of_memory.base;
}

int xs_torch_can_throw(void)
{
    pthread_once(&looked_up, look_up);
    return !thrower.fail ? 0 : has_out_of_memory() ? 2 : 1;
}

/* The constructor takes the text over, and the exception gives it back. */
static void throw_out_of_memory(const char *text)
{
    struct xs_cxx_string string = xs_cxx_string_of(text, strlen(text));
    struct source source = {"xseg_malloc", "xseg", 0};
    void *object = thrower.allocate_exception(OBJECT_BYTES);
    memset(object, 0, OBJECT_BYTES);
    thrower.construct(object, source, &string);
    /* The destructor is the first of its virtual functions. */
    void (*destroy)(void *) = **(void (***)(void *))object;
    thrower.throw_exception(object, &thrower.out_of_memory, destroy);
}

void xs_torch_throw(bool out_of_memory, const char *text)
{
    int can = xs_torch_can_throw();
    if (can == 2 && out_of_memory)
        throw_out_of_memory(text);
    if (can)
        thrower.fail("xseg_malloc", "xseg", 0, text);
}

int xseg_torch_can_throw(void)
{
    return xs_torch_can_throw();
}
