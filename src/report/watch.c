#include "report/watch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "core/reading.h"
#include "core/runtime.h"
#include "report/page.h"
#include "report/snapshot_file.h"

static struct {
    struct xs_lock lock;
    struct xs_page *page; /* under lock */
    bool waiting;         /* for the signal */
    int signal;
    sem_t wanted;
} watch = {.lock = XS_LOCK_INITIALIZER(XS_RANK_WATCH)};

/* ---- a snapshot on a signal ------------------------------------------------------------------- */

static void on_signal(int number)
{
    int code = errno;
    (void)number;
    sem_post(&watch.wanted);
    errno = code;
}

/* The path as the policy has it now, of any device: it is the same for all. */
static bool current_path(char path[XS_PATH_BYTES])
{
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        if (!dev)
            continue;
        xs_lock_acquire(&dev->lock);
        memcpy(path, dev->policy.snapshot_path, XS_PATH_BYTES);
        xs_lock_release(&dev->lock);
        return path[0] != '\0';
    }
    return false;
}

static void *wait_for_signal(void *unused)
{
    char path[XS_PATH_BYTES];
    (void)unused;
    for (;;) {
        if (sem_wait(&watch.wanted))
            continue;
        if (current_path(path) && xs_snapshot_save(path))
            xs_log("%s", xs_error_text());
    }
    return NULL;
}

/* The thread takes no signals of the program's. */
static bool start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    sem_init(&watch.wanted, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int code = pthread_create(&thread, &attr, wait_for_signal, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return !code;
}

static void listen_to(int number)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (!start_thread() || sigaction(number, &action, NULL)) {
        xs_log("snapshot_signal:%d: cannot be waited for", number);
        return;
    }
    watch.signal = number;
}

/* ---- the page --------------------------------------------------------------------------------- */

void xs_watch_begin(struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    bool wants_page = dev->policy.page;
    int number = dev->policy.snapshot_path[0] ? (int)dev->policy.snapshot_signal : 0;
    char path[XS_PATH_BYTES];
    memcpy(path, dev->policy.snapshot_path, sizeof(path));
    xs_lock_release(&dev->lock);
    if (getauxval(AT_SECURE))
        return;
    xs_lock_acquire(&watch.lock);
    bool is_first = wants_page && !watch.page;
    if (is_first)
        watch.page = xs_page_make();
    if (number && !watch.waiting) {
        watch.waiting = true;
        listen_to(number);
    }
    if (watch.page) {
        memcpy(watch.page->snapshot_path, path, sizeof(path));
        watch.page->snapshot_signal = (uint32_t)watch.signal;
    }
    xs_lock_release(&watch.lock);
    if (is_first)
        xs_page_sweep(); /* whoever leaves one more takes away what others have left */
    xs_watch_tick(dev);
}

void xs_watch_tick(struct xs_device *dev)
{
    struct xseg_stats stats;
    xs_lock_acquire(&watch.lock);
    if (watch.page && watch.page->head.pid == getpid()) {
        xs_reading_take_brief(dev, &stats);
        xs_page_write(watch.page, &stats);
    }
    xs_lock_release(&watch.lock);
}

void xs_watch_end(void)
{
    xs_lock_acquire(&watch.lock);
    if (watch.page)
        xs_page_remove(watch.page);
    watch.page = NULL;
    xs_lock_release(&watch.lock);
}
