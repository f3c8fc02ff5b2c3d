/* Another interposer: counts the calls of cudaMalloc that come by, and hands them on. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void **ptr, size_t bytes);

static unsigned calls;

int cudaMalloc(void **ptr, size_t bytes)
{
    static int (*next)(void **ptr, size_t bytes);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
    calls++;
    return next(ptr, bytes);
}

__attribute__((destructor)) static void tell(void)
{
    if (getenv("TEST_COUNTER"))
        fprintf(stderr, "counted %u\n", calls);
}
