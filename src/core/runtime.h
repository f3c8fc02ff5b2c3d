/*
 * The one global: the devices in use and the policy.
 *
 * Starts at first use: the driver is loaded and the policy read then, a device is opened when memory is
 * first asked of it. Thread-safe.
 */
#ifndef XS_CORE_RUNTIME_H
#define XS_CORE_RUNTIME_H

#include "base/thread.h"
#include "core/device.h"

/* Starts the runtime if need be and opens the device if need be; ordinal XSEG_CURRENT_DEVICE is the
 * current context's. Errors: NO_DRIVER, NO_DEVICE, CONFIG (strict), HOST_MEMORY, DRIVER. */
enum xseg_result xs_runtime_device(int ordinal, struct xs_device **dev);

/* Starts the runtime if need be, and no more. Errors as above. */
enum xseg_result xs_runtime_start(void);

/* The device if it is open, else NULL. Starts nothing. */
struct xs_device *xs_runtime_open_device(int ordinal);

/* The live block that begins at the address, or NULL. Takes no lock where there is one. Not for NULL. */
struct xs_block *xs_runtime_find(const void *ptr);

/* Reads a policy string over the present one and hands the result to all devices. */
enum xseg_result xs_runtime_configure(const char *conf);

/* Loads another file as the driver; before the first device is opened. */
enum xseg_result xs_runtime_use_driver(const char *path);

enum xseg_result xs_runtime_shutdown(void);
/* The process ends: says what went unnoticed. Touches no driver. */
void xs_runtime_leave(void);
/* The same for one device, whose context is about to go; nothing where it is not open. What the driver refuses
 * then goes with the context. */
void xs_runtime_close_device(int ordinal);

/* Those above follow devices: opened() is called for each with no lock held, tick() now and then by a thread on a slow
 * path, with no lock held and no driver call allowed, closed() before shutdown. Registered once, at load. */
struct xs_watch_hooks {
    void (*opened)(struct xs_device *dev);
    void (*tick)(struct xs_device *dev);
    void (*closed)(void);
};
void xs_runtime_watch(const struct xs_watch_hooks *hooks);
#define XS_TICK_MS 250
/* The time in a thread's hand. */
void xs_runtime_tick(struct xs_device *dev, uint32_t now_ms);

/* Whether this process is a forked child of one that had started: CUDA does not work in it, and the memory
 * is the parent's. Allocating fails, freeing does nothing, statistics are those of the fork. */
bool xs_runtime_is_over(void);
/* In such a child: the device as it was. */
const struct xs_device *xs_runtime_dead_device(int ordinal);

#endif
