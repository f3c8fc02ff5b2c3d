#include "report/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

void xs_page_name(char out[XS_PAGE_NAME_BYTES], int pid)
{
    snprintf(out, XS_PAGE_NAME_BYTES, "/dev/shm/xseg-%u-%d", (unsigned)geteuid(), pid);
}

/* The 22nd field of /proc/PID/stat; the second is a name in brackets that may hold anything. */
uint64_t xs_page_process_start(int pid)
{
    char path[40], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* ---- the writer ------------------------------------------------------------------------------- */

/* Exclusively: nobody else has it open, and no link is followed. */
static int create(void)
{
    char name[XS_PAGE_NAME_BYTES];
    xs_page_name(name, getpid());
    unlink(name); /* ours, or not to be had */
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

struct xs_page *xs_page_make(void)
{
    uint64_t started = xs_page_process_start(getpid());
    int fd = started ? create() : -1;
    if (fd < 0)
        return NULL;
    struct xs_page *page = MAP_FAILED;
    if (!ftruncate(fd, sizeof(*page)))
        page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return NULL;
    page->bytes = sizeof(*page);
    page->pid = getpid();
    page->started = started;
    atomic_thread_fence(memory_order_release);
    page->magic = XS_PAGE_MAGIC;
    return page;
}

void xs_page_remove(struct xs_page *page)
{
    char name[XS_PAGE_NAME_BYTES];
    xs_page_name(name, page->pid);
    if (page->pid == getpid()) /* not a child's business */
        unlink(name);
    munmap(page, sizeof(*page));
}

void xs_page_write(struct xs_page *page, const struct xseg_stats *stats)
{
    struct xs_page_device *d = &page->device[stats->device];
    uint32_t sequence = atomic_load_explicit(&d->sequence, memory_order_relaxed);
    atomic_store_explicit(&d->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    d->used = 1;
    d->time_ns = xs_clock_ns();
    d->stats = *stats;
    d->sample[d->samples++ % XS_PAGE_SAMPLES] = (struct xs_page_sample){
        d->time_ns, stats->allocated_bytes.current, stats->reserved_bytes.current};
    atomic_store_explicit(&d->sequence, sequence + 2, memory_order_release);
}

/* ---- readers ---------------------------------------------------------------------------------- */

static bool is_trusted(int fd)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & 077) && st.st_size >= 32;
}

static bool is_of(const struct xs_page *page, int pid, const char **why)
{
    if (page->magic != XS_PAGE_MAGIC || page->bytes != sizeof(*page))
        *why = "its page is of another version of xseg";
    else if (page->pid != pid || page->started != xs_page_process_start(pid))
        *why = "the process has ended";
    else
        return true;
    return false;
}

const struct xs_page *xs_page_map(int pid, const char **why)
{
    char name[XS_PAGE_NAME_BYTES];
    struct stat st;
    xs_page_name(name, pid);
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const struct xs_page *page = MAP_FAILED;
    *why = "no process of yours with that number runs xseg";
    if (fd >= 0 && is_trusted(fd)) {
        *why = "its page is of another version of xseg";
        if (!fstat(fd, &st) && (size_t)st.st_size == sizeof(*page))
            page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    if (page == MAP_FAILED)
        return NULL;
    if (is_of(page, pid, why))
        return page;
    xs_page_unmap(page);
    return NULL;
}

void xs_page_unmap(const struct xs_page *page)
{
    munmap((void *)(uintptr_t)page, sizeof(*page));
}

bool xs_page_read(const struct xs_page *page, int device, struct xs_page_device *out)
{
    const struct xs_page_device *d = &page->device[device];
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t before = atomic_load_explicit(&d->sequence, memory_order_acquire);
        memcpy(out, d, sizeof(*out));
        atomic_thread_fence(memory_order_acquire);
        if (!(before & 1) && before == atomic_load_explicit(&d->sequence, memory_order_relaxed))
            return out->used == 1 && out->stats.device == device;
    }
    return false;
}
