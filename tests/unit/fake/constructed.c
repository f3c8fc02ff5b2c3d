/* A library that calls functions of the program: one while it is loaded, one while it ends. */
#include <stdio.h>
#include <stdlib.h>

static void call(const char *name)
{
    const char *text = getenv(name);
    void *address;
    if (!text || sscanf(text, "%p", &address) != 1)
        return;
    void (*run)(void);
    *(void **)&run = address;
    run();
}

__attribute__((constructor)) static void begin(void)
{
    call("TEST_IN_CONSTRUCTOR");
}

__attribute__((destructor)) static void end(void)
{
    call("TEST_IN_DESTRUCTOR");
}
