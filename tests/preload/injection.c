/* A tool that the driver loads into the program, as profilers are: CUDA_INJECTION64_PATH names it, and cuInit calls
 * InitializeInjection(). It looks the driver's functions up, in a thread of its own too, as they do, and says so at the
 * end. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

static int (*driver_version)(int *version);

static void *look_up(void *driver)
{
    int (*find)(const char *, void **, int, unsigned long, int *);
    void *fn = NULL;
    *(void **)&find = dlsym(driver, "cuGetProcAddress_v2");
    *(void **)&driver_version = dlsym(driver, "cuDriverGetVersion");
    return find && !find("cuMemAlloc", &fn, 12000, 0, NULL) ? fn : NULL;
}

int InitializeInjection(void)
{
    pthread_t thread;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *fn;
    if (!driver || pthread_create(&thread, NULL, look_up, driver))
        return 0;
    pthread_join(thread, &fn);
    return fn && fn == look_up(driver);
}

__attribute__((destructor)) static void tell(void)
{
    int version = 0;
    if (driver_version && !driver_version(&version))
        fprintf(stderr, "the tool saw version %d\n", version);
}
