/*
 * Who we are in this process: whether the preload is on, the C library's own dlsym, the driver's own functions,
 * and what the program would have found without us. Thread-safe. Nothing here happens at load: all is looked up
 * at first use.
 */
#ifndef XS_PRELOAD_DOOR_H
#define XS_PRELOAD_DOOR_H

#include "base/base.h"

typedef void *(*xs_dlsym_fn)(void *handle, const char *name);

/* False: XSEG_PRELOAD=0 was set, or another copy of the preload stands before this one; every entry passes
 * straight through then. Read once. */
bool xs_door_is_open(void);

/* The C library's; never ours, nor another preload's. NULL: this C library has none that can be found. */
xs_dlsym_fn xs_door_dlsym(void);
/* The next one behind us: another preload's, or the C library's. */
xs_dlsym_fn xs_door_next_dlsym(void);

/* The function of libcuda that is loaded, or NULL. Loads nothing. */
void *xs_door_driver_symbol(const char *symbol);
/* What a function of that name would have been for the code at `caller`, without us; NULL: there is none. */
void *xs_door_next(const char *symbol, const void *caller);

/* Whether the code at the address belongs to this library, or to the same file as `function`. */
bool xs_door_is_own(const void *code);
bool xs_door_is_same_file(const void *code, const void *function);

/* Has the library use the very driver that the program has loaded, whatever its path. */
enum xseg_result xs_door_use_driver(void);

#endif
