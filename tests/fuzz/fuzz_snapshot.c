/*
 * Fuzz target of the snapshot reader: any bytes are either refused with a text, or become snapshots whose blocks tile
 * their segments, and that can be diagnosed. With -DXS_FUZZ_MAIN it is a plain program, `fuzz_snapshot [ROUNDS
 * [SEED]]`, that mutates a small snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/diagnosis.h"
#include "report/snapshot_read.h"
#include "report/snapshot_write.h"
#ifdef XS_FUZZ_MAIN
#include "mutate.h"
#endif

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_snapshot: broken promise: %s\n", what);
        abort();
    }
}

static void check(const struct xs_snapshot *s)
{
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct xs_snap_segment *segment = &s->segments[i];
        require(segment->first_block + segment->n_blocks <= s->n_blocks, "blocks in range");
    }
    for (size_t i = 0; i < s->n_blocks; i++)
        require(s->blocks[i].stack < xs_max(s->n_stacks, 1) && s->blocks[i].state <= XS_SNAP_FREE,
                "block in range");
    for (size_t i = 0; i < s->n_events; i++)
        require(s->events[i].kind < XS_EVENT_KINDS && s->events[i].stack < xs_max(s->n_stacks, 1),
                "event in range");
    for (size_t i = 0; i < s->n_stacks; i++)
        require((size_t)s->stacks[i].first_frame + s->stacks[i].n_frames <= s->n_frames, "frames");
}

static bool count_bytes(void *ctx, const char *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)ctx += n;
    return true;
}

static void use(const struct xs_snapshot *s)
{
    size_t written = 0;
    struct xs_diagnosis d;
    struct xs_out out;
    xs_diagnose(&d, s, NULL);
    xs_out_begin(&out, count_bytes, &written);
    xs_diagnosis_print_text(&out, &d, 2);
    require(xs_out_end(&out) && written > 0, "a text");
    require(xs_snapshot_write(count_bytes, &written, true, s, 1), "written again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct xs_snapshots set;
    xs_error_clear();
    if (xs_snapshots_read(&set, "fuzz", data, bytes)) {
        require(xs_error_text()[0] != '\0', "an error has a text");
        return 0;
    }
    for (size_t i = 0; i < set.count; i++) {
        check(xs_snapshots_at(&set, i));
        use(xs_snapshots_at(&set, i));
    }
    xs_snapshots_drop(&set);
    return 0;
}

#ifdef XS_FUZZ_MAIN

static void fill(struct xs_snapshot *s)
{
    s->is_ours = true;
    s->time_us = 1700000000000000;
    s->time_ns = 5000000000;
    struct xs_snap_segment *segment = xs_snapshot_add_segment(s);
    *segment = (struct xs_snap_segment){
        .va = 1 << 20, .bytes = 4096, .n_blocks = 4, .is_expandable = true};
    for (unsigned i = 0; i < 4; i++)
        *xs_snapshot_add_block(s) = (struct xs_snap_block){.va = (1 << 20) + i * 1024,
                                                           .bytes = 1024,
                                                           .requested = 1000,
                                                           .age_ms = i * 50,
                                                           .state = (uint8_t)i};
    *xs_snapshot_add_extent(s) = (struct xs_snap_extent){1 << 20, 4096};
    for (unsigned i = 0; i < XS_EVENT_KINDS; i++)
        *xs_snapshot_add_event(s) = (struct xs_event){
            .time_ns = i * 1000000, .va = 1 << 20, .bytes = 1000, .kind = i, .stack = 1};
    xs_snapshot_add_stack(s);
    xs_snapshot_add_stack(s);
    *xs_snapshot_add_frame(s) = (struct xs_snap_frame){xs_names_number(&s->names, "main", 4), 0, 7};
}

struct buffer {
    char bytes[65536];
    size_t used;
};

static bool keep(void *ctx, const char *bytes, size_t n)
{
    struct buffer *b = ctx;
    memcpy(b->bytes + b->used, bytes, n);
    b->used += n;
    return true;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    static struct buffer whole, damaged;
    struct xs_snapshot s = {0};
    printf("fuzz_snapshot: %ld rounds, seed %llu\n", rounds, seed);
    random_state = seed * 2654435761u + 1;
    fill(&s);
    require(xs_snapshot_write(keep, &whole, true, &s, 1), "the seed is written");
    xs_snapshot_drop(&s);
    for (long i = 0; i < rounds; i++) {
        damaged = whole;
        for (size_t n = random_below(6); n > 0; n--)
            damaged.used = mutate(damaged.bytes, damaged.used, sizeof(damaged.bytes));
        char *exact = malloc(damaged.used); /* so that a read past the end is seen */
        memcpy(exact, damaged.bytes, damaged.used);
        LLVMFuzzerTestOneInput((const uint8_t *)exact, damaged.used);
        free(exact);
    }
    return 0;
}

#endif
