/* A library whose constructor calls a function of the program that loads it. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void call_the_program(void)
{
    const char *text = getenv("TEST_IN_CONSTRUCTOR");
    void *address;
    if (!text || sscanf(text, "%p", &address) != 1)
        return;
    void (*run)(void);
    *(void **)&run = address;
    run();
}
