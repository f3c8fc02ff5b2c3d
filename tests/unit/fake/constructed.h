/* What constructed.so is for: a function of the program that runs while a library is loaded, and one that two threads run at
 * once, of which one loads that library and so holds the loader's lock. */
#ifndef XS_TEST_CONSTRUCTED_H
#define XS_TEST_CONSTRUCTED_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
    _Atomic bool is_loading, has_begun;
    void (*act)(void);
} constructed;

/* The library calls the function as it is loaded. False: dlerror() says why it was not. */
static inline bool load_calling(const char *path, void (*run)(void))
{
    char address[32];
    snprintf(address, sizeof(address), "%p", *(void **)&run);
    setenv("TEST_IN_CONSTRUCTOR", address, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library && !dlclose(library);
}

static inline void nap(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static inline void *act_elsewhere(void *unused)
{
    while (!atomic_load(&constructed.is_loading))
        nap(1);
    atomic_store(&constructed.has_begun, true);
    constructed.act();
    return unused;
}

/* By now the other thread waits for the loader, if it has to. */
static inline void act_in_loader(void)
{
    atomic_store(&constructed.is_loading, true);
    while (!atomic_load(&constructed.has_begun))
        nap(1);
    nap(100);
    constructed.act();
}

/* Both threads act. False as above, or there is no thread. Once in a process. */
static inline bool act_twice_at_once(const char *path, void (*act)(void))
{
    pthread_t thread;
    constructed.act = act;
    return !pthread_create(&thread, NULL, act_elsewhere, NULL) &&
           load_calling(path, act_in_loader) && !pthread_join(thread, NULL);
}

#endif
