/*
 * The page: what a running process shows of its memory to other programs of the same user, in shared memory.
 *
 * /dev/shm/xseg-UID-NAMESPACE-PID, mode 0600: a process's number means something in its namespace alone, and containers
 * may share /dev/shm. It is written by its process alone, now and then, on a path that is slow anyway. Readers
 * (`xseg stat`, `xseg top`, `xseg metrics`) believe it only where it belongs to them, and the process still runs
 * that made it: so a page that a crash has left behind, a number that has come to be another process's, and a process
 * that has become another program (exec), are told. A device's part is guarded by a counter that is odd while it is written.
 */
#ifndef XS_REPORT_PAGE_H
#define XS_REPORT_PAGE_H

#include <stdatomic.h>

#include "base/thread.h"

#define XS_PAGE_MAGIC      0x32656761703a7378u /* "xs:page2" */
#define XS_PAGE_SAMPLES    120
#define XS_PAGE_EVERY_MS   250
#define XS_PAGE_NAME_BYTES 64

struct xs_page_sample {
    uint64_t time_ns; /* as xs_clock_ns(), which is one clock for all processes */
    uint64_t allocated;
    uint64_t reserved;
};

struct xs_page_device {
    _Atomic uint32_t sequence; /* odd while it is written */
    uint32_t used;             /* 0: not a device of this process */
    uint64_t time_ns;          /* of the reading */
    struct xseg_stats stats;
    uint64_t samples; /* so far; the latest are in the ring */
    struct xs_page_sample sample[XS_PAGE_SAMPLES];
};

/* Which process a number stands for, as the kernel has it. */
struct xs_page_process {
    uint64_t started; /* in ticks since the machine did; 0: there is no such process */
    uint64_t
        image; /* where its code and its stack lie, other than after an exec; 0: not to be seen */
};

struct xs_page_head {
    uint64_t magic;
    uint32_t bytes; /* of the page: another one is another version's */
    int32_t pid;
    struct xs_page_process process;
};

struct xs_page {
    struct xs_page_head head;
    uint32_t snapshot_signal; /* makes it write a snapshot; 0: none does */
    char snapshot_path[256];  /* ... to this file, "%p" still in it */
    struct xs_page_device device[XS_DEVICE_LIMIT];
};

#define XS_PAGE_FOLDER "/dev/shm"

/* The file's name for a process of the calling user and namespace. */
void xs_page_name(char out[XS_PAGE_NAME_BYTES], int pid);
/* The number of the process whose page has that name in its folder; 0: it is no page, or none of the calling user's and
 * namespace's. */
int xs_page_pid(const char *name);
struct xs_page_process xs_page_process(int pid);

/* Makes the calling process's page; NULL: it cannot be had. What a dead process of that number left is replaced. */
struct xs_page *xs_page_make(void);
/* Takes it away again. */
void xs_page_remove(struct xs_page *page);

/* Removes the page of a process that has ended, or become another; leaves any other file. */
void xs_page_remove_dead(int pid);
/* The same for all pages that there are: what crashes have left. A few system calls for each that lives. */
void xs_page_sweep(void);

/* Writes a device's part. One thread at a time. */
void xs_page_write(struct xs_page *page, const struct xseg_stats *stats);

/* ---- for readers ---- */

/* Maps a process's page; NULL, with *why: not there, not to be believed, of another version. The caller unmaps it
 * with xs_page_unmap(). */
const struct xs_page *xs_page_map(int pid, const char **why);
void xs_page_unmap(const struct xs_page *page);
/* One device's part as it was at one moment; false: not in use, or never whole. */
bool xs_page_read(const struct xs_page *page, int device, struct xs_page_device *out);

#endif
