#include "bench/crew.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "bench/failure.h"

#define SPINS 1000 /* before the first yield */

struct member {
    struct xs_crew *crew;
    unsigned thread;
    pthread_t handle;
};

unsigned xs_crew_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

void xs_crew_pause(unsigned *turns)
{
    if (++*turns > SPINS) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/*
 * The last to arrive opens the next phase, and says whether there is one: has_failed itself may be set
 * again before a slow thread has looked, is_over only when all have arrived again. So all see the same.
 */
bool xs_crew_meet(struct xs_crew *crew)
{
    unsigned phase = atomic_load(&crew->phase);
    unsigned turns = 0;
    if (atomic_fetch_add(&crew->arrived, 1) + 1 == crew->n_threads) {
        atomic_store(&crew->arrived, 0);
        atomic_store(&crew->is_over, atomic_load(&crew->has_failed));
        atomic_store(&crew->phase, phase + 1);
    }
    while (atomic_load(&crew->phase) == phase)
        xs_crew_pause(&turns);
    return !atomic_load(&crew->is_over);
}

static void *run_member(void *p)
{
    struct member *m = p;
    if (xs_crew_meet(m->crew)) /* or not all could be made */
        m->crew->work(m->crew->ctx, m->crew, m->thread);
    return NULL;
}

bool xs_crew_run(struct xs_crew *crew)
{
    struct member members[XS_CREW_MAX];
    unsigned n_made = 1;
    unsigned n_wanted = crew->n_threads;
    atomic_store(&crew->arrived, 0);
    atomic_store(&crew->has_failed, false);
    for (; n_made < n_wanted; n_made++) {
        members[n_made] = (struct member){.crew = crew, .thread = n_made};
        if (pthread_create(&members[n_made].handle, NULL, run_member, &members[n_made]) != 0) {
            atomic_store(&crew->has_failed, true);
            xs_bench_fail("no more than %u threads can be made", n_made);
            break;
        }
    }
    /* Those that were made wait for all; the ones that are missing arrive by proxy. */
    if (n_made < n_wanted)
        atomic_fetch_add(&crew->arrived, n_wanted - n_made);
    if (xs_crew_meet(crew))
        crew->work(crew->ctx, crew, 0);
    for (unsigned i = 1; i < n_made; i++)
        pthread_join(members[i].handle, NULL);
    return !atomic_load(&crew->has_failed);
}
