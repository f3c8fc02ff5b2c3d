#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/meta.h"

__thread struct xs_thread *xs_thread_current;
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t last_id;
static void (*_Atomic exit_hook)(struct xs_thread *t);

static void thread_exit(void *arg)
{
    struct xs_thread *t = arg;
    void (*hook)(struct xs_thread *) = atomic_load(&exit_hook);
    xs_thread_current = t;
    if (hook)
        hook(t);
    for (unsigned i = 0; i < XS_THREAD_SLOT_COUNT; i++)
        if (t->slot[i].data)
            xs_meta_unmap(t->slot[i].data, t->slot[i].bytes);
    /* A later destructor of this thread may call in again: it gets a new record. */
    xs_thread_current = NULL;
    xs_meta_unmap(t, sizeof(*t));
}

static void make_exit_key(void)
{
    pthread_key_create(&exit_key, thread_exit);
}

static struct xs_thread *make_self(void)
{
    struct xs_thread *t = xs_meta_map(sizeof(*t));
    if (!t)
        return NULL;
    t->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    pthread_once(&exit_key_once, make_exit_key);
    pthread_setspecific(exit_key, t);
    xs_thread_current = t;
    return t;
}

struct xs_thread *xs_thread_self(void)
{
    return xs_likely(xs_thread_current != NULL) ? xs_thread_current : make_self();
}

void *xs_thread_slot(struct xs_thread *t, enum xs_thread_slot slot, size_t bytes)
{
    if (!t->slot[slot].data) {
        t->slot[slot].data = xs_meta_map(bytes);
        t->slot[slot].bytes = t->slot[slot].data ? bytes : 0;
    }
    return t->slot[slot].data;
}

void xs_thread_on_exit(void (*hook)(struct xs_thread *t))
{
    atomic_store(&exit_hook, hook);
}
