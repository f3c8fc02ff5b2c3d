#include "api/torch_cxx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct {
    void *(*operator_new)(size_t bytes);
    void (*operator_delete)(void *memory);
} cxx;
static pthread_once_t cxx_looked_up = PTHREAD_ONCE_INIT;

void *xs_cxx_symbol(const char *library, const char *name)
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
    *(void **)&cxx.operator_new = xs_cxx_symbol(XS_CXX_LIBRARY, "_Znwm");
    *(void **)&cxx.operator_delete = xs_cxx_symbol(XS_CXX_LIBRARY, "_ZdlPv");
}

bool xs_cxx_is_loaded(void)
{
    pthread_once(&cxx_looked_up, look_up);
    return cxx.operator_new && cxx.operator_delete;
}

void *xs_cxx_new(size_t bytes)
{
    return cxx.operator_new(bytes);
}

void xs_cxx_delete(void *memory)
{
    cxx.operator_delete(memory);
}

struct xs_cxx_string xs_cxx_string_of(const void *text, size_t length)
{
    size_t capacity =
        xs_max(length, sizeof(size_t[2])); /* as any that does not lie in the object */
    struct xs_cxx_string string = {
        .text = xs_cxx_new(capacity + 1), .length = length, .capacity = capacity};
    memcpy(string.text, text, length);
    string.text[length] = '\0';
    return string;
}
