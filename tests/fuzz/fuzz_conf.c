/*
 * Fuzz target of the policy grammar. Any bytes are either refused with a text and leave the policy
 * as it was, or give a policy that, written and read again, is the same. With libFuzzer: clang
 * -fsanitize=fuzzer,address. With -DXS_FUZZ_MAIN it is a plain program, `fuzz_conf [ROUNDS
 * [SEED]]`, that mutates valid strings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/conf.h"
#include "policy/size_class.h"

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_conf: broken promise: %s\n", what);
        abort();
    }
}

static void check_report(const struct xs_conf_report *report, enum xseg_result result)
{
    char line[XS_CONF_LINE_BYTES];
    size_t lines = 0;
    for (; xs_conf_report_line(report, lines, line); lines++)
        for (const char *c = line; *c; c++)
            require(*c >= ' ' && *c <= '~', "a message can be printed");
    require(lines <= XS_CONF_KEPT_MAX + 1, "the report is bounded");
    require((result == XSEG_OK) == (report->count[XS_CONF_ERROR] == 0), "an error is reported");
    require(report->caret <= strlen(report->excerpt), "the caret stands in the excerpt");
}

static void check_policy(const struct xs_policy *p)
{
    require(p->max_split_size >= p->large_segment_size, "max_split_size");
    require(p->max_non_split_rounding >= p->large_segment_size, "max_non_split_rounding");
    require(p->extent_max >= p->extent_min, "extent_max");
    require(p->slack >= 0 && p->slack <= 1, "slack");
    for (size_t bytes = 1; bytes < kRequestMax; bytes = bytes * 3 + 1) {
        size_t rounded = xs_policy_round(p, bytes);
        require(rounded >= bytes && rounded >= kMinBlock && rounded % kMinBlock == 0, "rounding");
    }
}

static void check_round_trip(const struct xs_policy *policy)
{
    static struct xs_policy again;
    struct xs_conf_report report = {.kept = 0};
    char text[XS_POLICY_TEXT_BYTES];
    size_t len = xs_policy_format(policy, text);
    require(len == strlen(text) && len < sizeof(text) - 1, "the text fits");
    xs_policy_defaults(&again);
    require(xs_conf_apply(text, len, "again", &again, &report) == XSEG_OK,
            "what is written can be read");
    require(memcmp(policy, &again, offsetof(struct xs_policy, origins)) == 0, "round trip");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The first byte says which grammar. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct xs_policy policy, before;
    struct xs_conf_report report = {.kept = 0};
    if (bytes == 0)
        return 0;
    const char *text = (const char *)data + 1;
    xs_policy_defaults(&policy);
    memcpy(&before, &policy, sizeof(policy));
    xs_error_clear();
    enum xseg_result result = data[0] & 1
                                  ? xs_conf_apply_lines(text, bytes - 1, "file", &policy, &report)
                                  : xs_conf_apply(text, bytes - 1, "fuzz", &policy, &report);
    check_report(&report, result);
    if (result != XSEG_OK) {
        require(result == XSEG_ERROR_CONFIG, "the result");
        require(memcmp(&policy, &before, sizeof(policy)) == 0, "an error changes nothing");
        require(xs_error_text()[0] != '\0', "an error has a text");
        return 0;
    }
    check_policy(&policy);
    check_round_trip(&policy);
    return 0;
}

#ifdef XS_FUZZ_MAIN

static const char *const seeds[] = {
    "0expandable_segments:True,max_split_size_mb:64,garbage_collection_threshold:0.8,slack:1e-3",
    "0roundup_power2_divisions:[256:1,512:2,1024:4,>:8],large_segment_size_mb:25,strict:True",
    "0expandable_segments_reserve:0.5,expandable_segments_reserve:40G,memory_limit:1.5GiB,foo:[1:"
    "2]",
    "0backend:cudaMalloc,handle_type:posix_fd,gpu_direct_rdma:auto,pinned_free_catch_all:True,",
    "1# comment\nslack = 0.5\nextent_min: 4M\nextent_max = 64MiB # end\nva_reserve=1T\nfuture = "
    "[1,2]\n",
};
static const char kPieces[] = "[]:,=#\n @>.-+eEgGKMT0123456789TrueFalseoffauto\\'\"\xff";

static uint64_t random_state;

static size_t random_below(size_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % n;
}

enum { kInputMax = 512 };

/* Overwrites, inserts, removes or doubles a piece. */
static size_t mutate(uint8_t *data, size_t bytes)
{
    size_t at = random_below(bytes), n = 1 + random_below(8);
    n = xs_min(n, bytes - at);
    switch (random_below(4)) {
    case 0:
        data[at] = (uint8_t)kPieces[random_below(sizeof(kPieces) - 1)];
        return bytes;
    case 1:
        if (bytes - n < 2)
            return bytes;
        memmove(data + at, data + at + n, bytes - at - n);
        return bytes - n;
    case 2:
        if (bytes + n > kInputMax)
            return bytes;
        memmove(data + at + n, data + at, bytes - at);
        return bytes + n;
    default:
        if (bytes + 1 > kInputMax)
            return bytes;
        memmove(data + at + 1, data + at, bytes - at);
        data[at] = (uint8_t)random_below(256);
        return bytes + 1;
    }
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    uint8_t data[kInputMax];
    random_state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    for (unsigned long i = 0; i < rounds; i++) {
        const char *seed = seeds[i % XS_COUNT_OF(seeds)];
        size_t bytes = strlen(seed);
        memcpy(data, seed, bytes);
        for (size_t m = random_below(6); m > 0; m--)
            bytes = mutate(data, bytes);
        uint8_t *exact = malloc(bytes); /* so that a read past the end is seen */
        require(exact != NULL, "memory");
        memcpy(exact, data, bytes);
        LLVMFuzzerTestOneInput(exact, bytes);
        free(exact);
    }
    printf("fuzz_conf: %lu inputs\n", rounds);
    return 0;
}

#endif
