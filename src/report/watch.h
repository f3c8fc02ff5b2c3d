/* What a running process does for those who watch it: its page, and snapshots on a signal. */
#ifndef XS_REPORT_WATCH_H
#define XS_REPORT_WATCH_H

#include "core/device.h"

/* A device has been opened: the page is made and the signal is waited for, where the policy says so. */
void xs_watch_begin(struct xs_device *dev);
/* The device's part of the page is brought up to date, by one thread at a time. No lock is held, no driver call made. */
void xs_watch_tick(struct xs_device *dev);
/* The page goes: at shutdown, and when the process ends. */
void xs_watch_end(void);

#endif
