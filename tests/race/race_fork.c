/*
 * Report R82: forks of a process whose threads allocate, grow and read. The child, which cannot use CUDA,
 * frees, reads and is refused memory, and ends in every way there is; it must not hang, whatever
 * lock another thread held at the fork, and must not touch what is the parent's.
 */
#include "race.h"

#include <sys/wait.h>

#define FORKS 200

static struct held kept[64]; /* the forking thread's, across all forks */

static void hit(struct racer *r)
{
    struct held held[16] = {{0}};
    while (race_goes_on()) {
        struct held *h = &held[race_below(r, XS_COUNT_OF(held))];
        if (h->p)
            race_give(h);
        else
            race_take(r, h, race_size(r), NULL);
    }
    for (unsigned i = 0; i < XS_COUNT_OF(held); i++)
        if (held[i].p)
            race_give(&held[i]);
}

static void grow(struct racer *r)
{
    struct held h;
    while (race_goes_on()) {
        if (race_take(r, &h, (4 + race_below(r, 30)) * XS_MIB, NULL))
            race_give(&h);
        XT_OK(xseg_empty_cache(0));
    }
}

static void read_stats(struct racer *r)
{
    (void)r;
    while (race_goes_on())
        xt_stats(0);
}

/* ---- the child --------------------------------------------------------------------------------- */

#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition);          \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

static void try_to_allocate(void)
{
    void *p = NULL;
    CHILD_CHECK(xseg_malloc(&p, 4096, 0, NULL) == XSEG_ERROR_SHUTDOWN);
    CHILD_CHECK(xseg_malloc(&p, 4096, XSEG_CURRENT_DEVICE, NULL) == XSEG_ERROR_SHUTDOWN);
    CHILD_CHECK(p == NULL);
    CHILD_CHECK(strstr(xseg_last_error(), "fork"));
}

static void be_child(unsigned way)
{
    struct xseg_stats s = {.size = sizeof(s)};
    alarm(300);
    for (unsigned i = 0; i < XS_COUNT_OF(kept); i++)
        CHILD_CHECK(!kept[i].p || xseg_free(kept[i].p) == XSEG_OK);
    CHILD_CHECK(xseg_get_stats(0, &s) == XSEG_OK);
    CHILD_CHECK(s.reserved_bytes.current == s.active_bytes.current + s.cached_bytes.current);
    try_to_allocate();
    size_t bytes = 0;
    CHILD_CHECK(xseg_pointer_sizes(kept[0].p, &bytes, NULL) != XSEG_OK || bytes != 0);
    CHILD_CHECK(xseg_empty_cache(XSEG_CURRENT_DEVICE) == XSEG_OK);
    CHILD_CHECK(xseg_empty_cache(0) == XSEG_OK);
    CHILD_CHECK(xseg_configure("cache:False") == XSEG_ERROR_SHUTDOWN);
    CHILD_CHECK(xseg_shutdown() == XSEG_OK);
    try_to_allocate();
    if (way == 0)
        execl("/bin/true", "true", (char *)NULL);
#ifndef __SANITIZE_ADDRESS__ /* its search for leaks misses the parent's threads */
    if (way == 1)
        exit(0);
#endif
    _exit(0);
}

/* ---- the parent -------------------------------------------------------------------------------- */

static void fork_once(struct racer *r, unsigned way)
{
    int status;
    const pid_t pid = fork();
    if (pid == 0)
        be_child(way);
    XT_CHECK(pid > 0);
    XT_EQUAL(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        XT_FAIL("a child ended with status %#x", (unsigned)status);
    struct held *h = &kept[race_below(r, XS_COUNT_OF(kept))];
    race_give(h);
    race_take(r, h, race_size(r), NULL);
}

static void fork_often(struct racer *r)
{
    for (unsigned i = 0; i < XS_COUNT_OF(kept); i++)
        race_take(r, &kept[i], race_size(r), NULL);
    for (unsigned i = 0; i < FORKS && (race_goes_on() || i < 6); i++)
        fork_once(r, i % 3);
    for (unsigned i = 0; i < XS_COUNT_OF(kept); i++)
        race_give(&kept[i]);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"forks beside hits", NULL, NULL, {{fork_often, 1}, {hit, 2}}, NULL},
        {"forks beside growth and readings",
         NULL,
         NULL,
         {{fork_often, 1}, {hit, 1}, {grow, 1}, {read_stats, 1}},
         NULL},
        {"forks beside growth, classic",
         "expandable_segments:False",
         NULL,
         {{fork_often, 1}, {hit, 1}, {grow, 1}},
         NULL},
    };
    return race_main(scenes, XS_COUNT_OF(scenes), argc, argv);
}
