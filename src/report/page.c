#include "report/page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* All of the name but the number. */
static size_t write_prefix(char out[XS_PAGE_NAME_BYTES])
{
    struct stat st;
    unsigned long namespace = stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long)st.st_ino;
    return (size_t)snprintf(out, XS_PAGE_NAME_BYTES, "xseg-%u-%lu-", (unsigned)geteuid(),
                            namespace);
}

static void write_name(char out[XS_PAGE_NAME_BYTES], const char *prefix, int pid)
{
    snprintf(out, XS_PAGE_NAME_BYTES, XS_PAGE_FOLDER "/%.40s%d", prefix, pid);
}

void xs_page_name(char out[XS_PAGE_NAME_BYTES], int pid)
{
    char prefix[XS_PAGE_NAME_BYTES];
    write_prefix(prefix);
    write_name(out, prefix, pid);
}

static int pid_behind(const char *prefix, size_t length, const char *name)
{
    char *end;
    if (strncmp(name, prefix, length) != 0 || name[length] < '1' || name[length] > '9')
        return 0;
    long pid = strtol(name + length, &end, 10);
    return *end || pid > INT32_MAX ? 0 : (int)pid;
}

int xs_page_pid(const char *name)
{
    char prefix[XS_PAGE_NAME_BYTES];
    size_t length = write_prefix(prefix);
    return pid_behind(prefix, length, name);
}

/* Field `n` of /proc/PID/stat, from 3 on; the second is a name in brackets that may hold anything. */
static uint64_t stat_field(const char *text, unsigned n)
{
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at && field < n; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Who may not trace the process reads 0 for the stack, and 1 for the ends of the code. */
struct xs_page_process xs_page_process(int pid)
{
    char path[40], text[1024];
    struct xs_page_process p = {0, 0};
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return p;
    text[n] = '\0';
    uint64_t stack = stat_field(text, 28);
    p.started = stat_field(text, 22);
    p.image = stack ? stack + stat_field(text, 26) + stat_field(text, 27) : 0;
    return p;
}

static bool is_same(const struct xs_page_process *a, const struct xs_page_process *b)
{
    return a->started == b->started && (a->image == b->image || !a->image || !b->image);
}

/* ---- the writer ------------------------------------------------------------------------------- */

/* Exclusively: nobody else has it open, and no link is followed. */
static int create(void)
{
    char name[XS_PAGE_NAME_BYTES];
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    xs_page_name(name, getpid());
    int fd = open(name, flags, 0600);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    unlink(name); /* ours, or not to be had */
    return open(name, flags, 0600);
}

struct xs_page *xs_page_make(void)
{
    const struct xs_page_process own = xs_page_process(getpid());
    int fd = own.started ? create() : -1;
    if (fd < 0)
        return NULL;
    struct xs_page *page = MAP_FAILED;
    if (!ftruncate(fd, sizeof(*page)))
        page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return NULL;
    page->head.bytes = sizeof(*page);
    page->head.pid = getpid();
    page->head.process = own;
    atomic_thread_fence(memory_order_release);
    page->head.magic = XS_PAGE_MAGIC;
    return page;
}

void xs_page_remove(struct xs_page *page)
{
    char name[XS_PAGE_NAME_BYTES];
    xs_page_name(name, page->head.pid);
    if (page->head.pid == getpid()) /* not a child's business */
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

/* ---- what crashes leave ----------------------------------------------------------------------- */

static bool is_trusted(int fd)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & 077) && st.st_size >= (off_t)sizeof(struct xs_page_head);
}

/* The process that wrote the page; started 0: that is not to be seen. */
static struct xs_page_process read_process(const char *name, int pid)
{
    struct xs_page_head head;
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_whole = fd >= 0 && is_trusted(fd) &&
                    read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
                    head.magic == XS_PAGE_MAGIC && head.pid == pid;
    if (fd >= 0)
        close(fd);
    return is_whole ? head.process : (struct xs_page_process){0, 0};
}

static void remove_dead(const char *prefix, int pid)
{
    char name[XS_PAGE_NAME_BYTES];
    write_name(name, prefix, pid);
    const struct xs_page_process made = read_process(name, pid), now = xs_page_process(pid);
    if (made.started && !is_same(&made, &now))
        unlink(name);
}

void xs_page_remove_dead(int pid)
{
    char prefix[XS_PAGE_NAME_BYTES];
    write_prefix(prefix);
    remove_dead(prefix, pid);
}

#define SWEEP_MOST 4096 /* files of all kinds: the folder is everybody's */

void xs_page_sweep(void)
{
    char prefix[XS_PAGE_NAME_BYTES];
    size_t length = write_prefix(prefix);
    DIR *folder = opendir(XS_PAGE_FOLDER);
    const struct dirent *entry;
    for (unsigned i = 0; folder && i < SWEEP_MOST && (entry = readdir(folder)); i++) {
        int pid = pid_behind(prefix, length, entry->d_name);
        if (pid)
            remove_dead(prefix, pid);
    }
    if (folder)
        closedir(folder);
}

/* ---- readers ---------------------------------------------------------------------------------- */

static bool is_of(const struct xs_page *page, int pid, const char **why)
{
    const struct xs_page_process *made = &page->head.process, now = xs_page_process(pid);
    if (page->head.magic != XS_PAGE_MAGIC || page->head.bytes != sizeof(*page))
        *why = "its page is of another version of xseg";
    else if (page->head.pid != pid || made->started != now.started)
        *why = "the process has ended";
    else if (!is_same(made, &now))
        *why = "the process is another program now";
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
