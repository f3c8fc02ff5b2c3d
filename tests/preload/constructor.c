/* Looks functions up before main(), some of which are not there; prints what it finds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void look_up(void *handle, const char *name)
{
    const char *found = dlsym(handle, name) ? "found" : "missing";
    const char *error = dlerror();
    printf("%s: %s, %s\n", name, found, error ? "an error" : "no error");
}

static void look_up_all(void)
{
    static const char *const names[] = {
        "malloc", "cudaMalloc", "cuMemAlloc_v2", "cudnnCreate", "curandGenerate", "custom_malloc",
        "cu",     "",           "no_such_name"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        look_up(RTLD_DEFAULT, names[i]);
        look_up(RTLD_NEXT, names[i]);
        look_up(dlopen(NULL, RTLD_LAZY), names[i]);
    }
}

__attribute__((constructor)) static void before_main(void)
{
    look_up_all();
}

int main(void)
{
    look_up_all();
    return 5;
}
