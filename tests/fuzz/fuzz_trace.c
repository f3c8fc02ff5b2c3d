/*
 * Fuzz target of the trace reader. Any bytes are either refused with a text, or become a trace that
 * keeps its promises. With libFuzzer: clang -fsanitize=fuzzer,address. With -DXS_FUZZ_MAIN it is a
 * plain program, `fuzz_trace [ROUNDS [SEED]]`, that mutates a small valid trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/trace_file.h"
#ifdef XS_FUZZ_MAIN
#include "mutate.h"
#endif

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_trace: broken promise: %s\n", what);
        abort();
    }
}

/* An allocation finds its slot empty, a free finds it full, and the peak is the header's. */
static void check_events(const struct xs_trace *t)
{
    uint64_t live = 0;
    uint64_t peak = 0;
    unsigned char *full = calloc(t->n_slots + 1, 1);
    for (uint64_t i = 0; i < t->header.events; i++) {
        const struct xs_trace_event *e = &t->events[i];
        bool is_alloc = e->kind == XS_TRACE_ALLOC;
        require(is_alloc || e->kind == XS_TRACE_FREE, "kind");
        require(e->slot < t->n_slots, "slot in range");
        require(e->stream < t->header.streams, "stream in range");
        require(full[e->slot] == !is_alloc, "slot state");
        full[e->slot] = is_alloc;
        live += is_alloc ? e->size : 0 - e->size;
        peak = live > peak ? live : peak;
    }
    require(peak == t->header.peak_requested, "peak");
    free(full);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct xs_trace_file *file;
    struct xs_trace trace;
    xs_error_clear();
    enum xseg_result result = xs_trace_open_memory(&file, "fuzz", (const char *)data, bytes);
    if (result == XSEG_OK) {
        result = xs_trace_load(&trace, file);
        xs_trace_close(file);
    }
    if (result != XSEG_OK) {
        require(xs_error_text()[0] != '\0', "an error has a text");
        return 0;
    }
    check_events(&trace);
    xs_trace_unload(&trace);
    return 0;
}

#ifdef XS_FUZZ_MAIN

static const char seed_trace[] = "# xseg-trace 1\n"
                                 "# source fuzz\n"
                                 "# events 7 streams 3 peak_requested 1072\n"
                                 "# ref pytorch-plain peak_reserved 2097152\n"
                                 "a 0 512 0\n"
                                 "a 1 48 2\n"
                                 "f 0\n"
                                 "a 0 1024 1\n"
                                 "f 1\n"
                                 "a 9223372036854775807 0 0\n"
                                 "f 0\n";

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    printf("fuzz_trace: %ld rounds, seed %llu\n", rounds, seed);
    random_state = seed * 2654435761u + 1;
    for (long i = 0; i < rounds; i++) {
        char text[2 * sizeof(seed_trace)];
        size_t len = sizeof(seed_trace) - 1;
        memcpy(text, seed_trace, len);
        for (size_t n = random_below(6); n > 0; n--)
            len = mutate(text, len, sizeof(text));
        char *exact = malloc(len); /* so that a read past the end is seen */
        memcpy(exact, text, len);
        LLVMFuzzerTestOneInput((const uint8_t *)exact, len);
        free(exact);
    }
    return 0;
}

#endif
