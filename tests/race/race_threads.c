/* Blocks that are freed by another thread than the allocating one, threads that end while theirs are freed,
 * and threads that grow the same segment at once. */
#include "race.h"

/* ---- a mailbox --------------------------------------------------------------------------------- */

#define BOX 256

static struct {
    pthread_mutex_t lock;
    unsigned count;
    struct held held[BOX];
} box = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool post(const struct held *h)
{
    pthread_mutex_lock(&box.lock);
    const bool fits = box.count < BOX;
    if (fits)
        box.held[box.count++] = *h;
    pthread_mutex_unlock(&box.lock);
    return fits;
}

static bool fetch(struct held *h)
{
    pthread_mutex_lock(&box.lock);
    const bool any = box.count > 0;
    if (any)
        *h = box.held[--box.count];
    pthread_mutex_unlock(&box.lock);
    return any;
}

static void empty_box(void)
{
    struct held h;
    while (fetch(&h))
        race_give(&h);
}

/* ---- roles ------------------------------------------------------------------------------------- */

static void make_one(struct racer *r, size_t bytes)
{
    struct held h;
    if (race_take(r, &h, bytes, NULL) && !post(&h)) {
        race_give(&h);
        sched_yield();
    }
}

/* Few sizes, so that whole batches go through the depot. */
static void produce(struct racer *r)
{
    static const size_t sizes[] = {512, 2 * XS_KIB, 64 * XS_KIB};
    while (race_goes_on())
        make_one(r, sizes[race_below(r, XS_COUNT_OF(sizes))]);
}

static void consume(struct racer *r)
{
    struct held h;
    (void)r;
    while (race_goes_on()) {
        if (fetch(&h))
            race_give(&h);
        else
            sched_yield();
    }
}

static void flush(struct racer *r)
{
    while (race_goes_on()) {
        XT_OK(xseg_empty_cache(0));
        race_pause((long)race_below(r, 1000));
    }
}

/* A short life: a few blocks for the others, a few pairs, so that its cache holds something at its end. */
static void *live_shortly(void *arg)
{
    struct racer *r = arg;
    struct held h;
    for (unsigned i = 0; i < 8; i++)
        make_one(r, race_size(r));
    for (unsigned i = 0; i < 4; i++)
        if (race_take(r, &h, race_size(r), NULL))
            race_give(&h);
    if (fetch(&h))
        race_give(&h);
    return NULL;
}

static void beget(struct racer *r)
{
    while (race_goes_on()) {
        struct racer child = {.number = r->number + 100, .seed = race_random(r), .made = r->made};
        XT_EQUAL(pthread_create(&child.thread, NULL, live_shortly, &child), 0);
        if (race_below(r, 2))
            race_pause((long)race_below(r, 100));
        pthread_join(child.thread, NULL);
        r->made = child.made;
    }
}

static void grow_hard(struct racer *r)
{
    struct held held[12];
    while (race_goes_on()) {
        unsigned n = 0;
        while (n < XS_COUNT_OF(held) &&
               race_take(r, &held[n], (1 + race_below(r, 12)) * XS_MIB, NULL))
            n++;
        while (n)
            race_give(&held[--n]);
        if (!race_below(r, 3))
            XT_OK(xseg_empty_cache(0));
    }
}

static void read_stats(struct racer *r)
{
    (void)r;
    while (race_goes_on()) {
        struct xseg_stats s = xt_stats(0);
        xt_check_stats(&s);
    }
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"a producer and a consumer", NULL, NULL, {{produce, 1}, {consume, 1}}, empty_box},
        {"producers, consumers, a flush and readings",
         NULL,
         NULL,
         {{produce, 2}, {consume, 2}, {flush, 1}, {read_stats, 1}},
         empty_box},
        {"small batches through the depot",
         "cache_blocks:4",
         NULL,
         {{produce, 2}, {consume, 2}, {flush, 1}},
         empty_box},
        {"frees against the allocating thread's end",
         NULL,
         NULL,
         {{beget, 3}, {consume, 2}},
         empty_box},
        {"threads end while caches are flushed and read",
         NULL,
         NULL,
         {{beget, 2}, {consume, 1}, {flush, 1}, {read_stats, 1}},
         empty_box},
        {"threads grow one segment at once", NULL, NULL, {{grow_hard, 4}}, NULL},
        {"threads grow at once, classic",
         "expandable_segments:False",
         NULL,
         {{grow_hard, 4}},
         NULL},
    };
    return race_main(scenes, XS_COUNT_OF(scenes), argc, argv);
}
