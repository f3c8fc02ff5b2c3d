/*
 * How a framework would use xseg: tensors that come and go in each step, weights in a pool of their own, a batch that is
 * halved when memory runs out. Kernels are left out; where they would be queued, a comment says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <xseg/pools.h>
#include <xseg/xseg.h>

#define LAYERS 24
#define WIDTH  4096

struct tensor {
    void *data;
    size_t bytes;
};

struct model {
    xseg_pool weights; /* nothing short-lived comes to lie between them */
    struct tensor weight[LAYERS];
    struct tensor gradient[LAYERS];
};

static void must(enum xseg_result e, const char *what)
{
    if (!e)
        return;
    fprintf(stderr, "%s: %s\n", what, xseg_last_error());
    exit(1);
}

/* One stream for all: memory that is freed here is handed out again at once, in its order. */
static enum xseg_result make(struct tensor *t, size_t bytes)
{
    t->bytes = bytes;
    return xseg_malloc(&t->data, bytes, 0, NULL);
}

static void drop(struct tensor *t)
{
    must(xseg_free(t->data), "xseg_free");
    t->data = NULL;
}

static void load(struct model *m)
{
    must(xseg_pool_create(0, 0, &m->weights), "xseg_pool_create");
    must(xseg_pool_begin(m->weights), "xseg_pool_begin");
    for (int i = 0; i < LAYERS; i++) {
        must(make(&m->weight[i], (size_t)WIDTH * WIDTH * 2), "weights");
        must(make(&m->gradient[i], (size_t)WIDTH * WIDTH * 2), "gradients");
    }
    must(xseg_pool_end(m->weights), "xseg_pool_end");
}

static void unload(struct model *m)
{
    for (int i = 0; i < LAYERS; i++) {
        drop(&m->weight[i]);
        drop(&m->gradient[i]);
    }
    must(xseg_pool_destroy(m->weights), "xseg_pool_destroy");
}

/* Forward keeps one activation a layer for backward, and needs scratch besides. OUT_OF_MEMORY: nothing is left over. */
static enum xseg_result step(size_t batch, size_t length)
{
    struct tensor kept[LAYERS], scratch;
    enum xseg_result e = XSEG_OK;
    int done = 0;
    for (; done < LAYERS && !e; done++) {
        e = make(&kept[done], batch * length * WIDTH * 2);
        if (e)
            break;
        e = make(&scratch, batch * length * WIDTH * 4); /* ... the layer's kernels ... */
        if (!e)
            drop(&scratch);
    }
    while (
        done--) /* ... backward: kernels that read kept[done], then it is free for the next layer ... */
        drop(&kept[done]);
    return e;
}

int main(int argc, char **argv)
{
    struct model m;
    size_t batch = 64;
    if (argc > 1)
        must(xseg_use_driver_library(argv[1]), "driver");
    load(&m);
    must(xseg_set_limit(0, (size_t)12 << 30), "limit");
    for (int i = 0; i < 20; i++) {
        size_t length =
            512 + 64 * (size_t)(i * 7 % 9); /* variable: what makes other allocators fragment */
        enum xseg_result e = step(batch, length);
        if (e == XSEG_ERROR_OUT_OF_MEMORY && batch > 1) {
            printf("batch %zu does not fit: %s\n", batch, xseg_last_error());
            batch /= 2;
            i--;
            continue;
        }
        must(e, "step");
    }
    struct xseg_stats s = {.size = sizeof(s)};
    must(xseg_get_stats(0, &s), "xseg_get_stats");
    printf("batch %zu; at most %.2f GiB requested, %.2f GiB reserved\n", batch,
           (double)s.requested_bytes.peak / (1 << 30), (double)s.reserved_bytes.peak / (1 << 30));
    unload(&m);
    must(xseg_shutdown(), "xseg_shutdown");
    return s.reserved_bytes.peak > (uint64_t)12 << 30;
}
