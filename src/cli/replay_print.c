#include "cli/replay_print.h"

#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"
#include "cli/table.h"

/* The other allocators that any of the traces was recorded with: a column each. */
struct peers {
    size_t n;
    const char *names[XS_TRACE_REFS_MAX];
};

struct mean {
    double log_sum;
    size_t n;
};

/* NaN where there is nothing to compare with. */
static double ratio_of(uint64_t reserved, const struct xs_replay_row *row)
{
    uint64_t requested = row->header.peak_requested;
    return requested == 0 ? NAN : (double)reserved / (double)requested;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void print_pass_fields(struct xs_json *j, const struct xs_replay_pass *pass,
                              const struct xs_replay_row *row)
{
    xs_json_count(j, "peak_allocated", pass->peak_allocated);
    xs_json_count(j, "peak_reserved", pass->peak_reserved);
    xs_json_real(j, "reserved_over_requested", ratio_of(pass->peak_reserved, row), 6);
    xs_json_open(j, "driver_calls", '{');
    xs_json_count(j, "create", pass->calls.create);
    xs_json_count(j, "map", pass->calls.map);
    xs_json_count(j, "set_access", pass->calls.set_access);
    xs_json_count(j, "unmap", pass->calls.unmap);
    xs_json_count(j, "release", pass->calls.release);
    xs_json_close(j, '}');
    xs_json_real(j, "driver_ms", pass->driver_ms, 3);
    xs_json_count(j, "waits", pass->waits);
    xs_json_real(j, "ns_per_event", pass->ns_per_event, 2);
}

static void print_count_or_null(struct xs_json *j, const char *key, bool has_value, uint64_t value)
{
    if (has_value)
        xs_json_count(j, key, value);
    else
        xs_json_null(j, key);
}

static void print_setting(struct xs_json *j, const struct xs_replay_row *row,
                          const struct xs_cuda *cuda, const struct xs_replay_options *options)
{
    uint64_t limit = row->replay.limit_bytes;
    xs_json_text(j, "trace", row->name);
    xs_json_text(j, "driver", cuda->is_simulator ? "sim" : "cuda");
    xs_json_text(j, "device", cuda->device_name);
    xs_json_text(j, "conf", options->conf);
    print_count_or_null(j, "limit", limit != SIZE_MAX, limit);
    xs_json_bool(j, "verify", options->verify);
    print_count_or_null(j, "behind", options->behind != 0, options->behind);
    xs_json_count(j, "events", row->header.events);
    xs_json_count(j, "streams", row->header.streams);
    xs_json_count(j, "peak_requested", row->header.peak_requested);
}

static void print_peers(struct xs_json *j, const struct xs_trace_header *header)
{
    xs_json_open(j, "peers", '{');
    for (size_t i = 0; i < header->n_refs; i++)
        xs_json_count(j, header->refs[i].name, header->refs[i].peak_reserved);
    xs_json_close(j, '}');
}

void xs_replay_print_json(const struct xs_replay_row *row, const struct xs_cuda *cuda,
                          const struct xs_replay_options *options)
{
    const struct xs_replay *replay = &row->replay;
    struct xs_out out;
    struct xs_json j = {.out = &out};
    xs_out_begin(&out, xs_out_to_file, stdout);
    xs_json_open(&j, NULL, '{');
    print_setting(&j, row, cuda, options);
    print_pass_fields(&j, &replay->passes[0], row);
    print_peers(&j, &row->header);
    print_count_or_null(&j, "oom_event", replay->oom_event != 0, replay->oom_event);
    print_count_or_null(&j, "mismatches", options->verify, replay->mismatches);
    xs_json_count(&j, "reserved_end", replay->reserved_end);
    xs_json_count(&j, "driver_used_end", replay->driver_used_end);
    xs_json_count(&j, "leaked_bytes", replay->leaked_bytes);
    xs_json_open(&j, "passes", '[');
    for (unsigned i = 0; i < replay->n_passes; i++) {
        xs_json_open(&j, NULL, '{');
        xs_json_count(&j, "pass", i + 1);
        xs_json_count(&j, "events", replay->passes[i].events);
        print_pass_fields(&j, &replay->passes[i], row);
        xs_json_close(&j, '}');
    }
    xs_json_close(&j, ']');
    xs_json_close(&j, '}');
    xs_out_text(&out, "\n");
    xs_out_end(&out);
    fflush(stdout);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void collect_peers(struct peers *peers, const struct xs_trace_header *header)
{
    for (size_t i = 0; i < header->n_refs; i++) {
        bool is_known = false;
        for (size_t k = 0; k < peers->n; k++)
            is_known = is_known || strcmp(peers->names[k], header->refs[i].name) == 0;
        if (!is_known && peers->n < XS_TRACE_REFS_MAX)
            peers->names[peers->n++] = header->refs[i].name;
    }
}

static double peer_ratio(const struct xs_replay_row *row, const char *name)
{
    for (size_t i = 0; i < row->header.n_refs; i++)
        if (strcmp(row->header.refs[i].name, name) == 0)
            return ratio_of(row->header.refs[i].peak_reserved, row);
    return NAN;
}

static void add_real(struct xs_table *t, double value, int decimals)
{
    if (isnan(value))
        xs_table_cell(t, "-");
    else
        xs_table_cell(t, "%.*f", decimals, value);
}

/* A ratio as a cell, and into the mean of its column. */
static void add_ratio(struct xs_table *t, double ratio, struct mean *mean)
{
    add_real(t, ratio, 4);
    if (!isnan(ratio) && ratio > 0) {
        mean->log_sum += log(ratio);
        mean->n++;
    }
}

static void add_mean(struct xs_table *t, const struct mean *mean)
{
    add_real(t, mean->n == 0 ? NAN : exp(mean->log_sum / (double)mean->n), 4);
}

static void add_bytes(struct xs_table *t, uint64_t bytes)
{
    char text[XS_FMT_BYTES];
    xs_table_cell(t, "%s", xs_fmt_bytes(text, bytes));
}

/* A long name gets two lines: "pytorch-expandable" is cut behind its last dash. */
static void add_peer_column(struct xs_table *t, const char *name)
{
    char title[64];
    const char *dash = strrchr(name, '-');
    int head = dash != NULL ? (int)(dash - name) + 1 : 0;
    snprintf(title, sizeof(title), "%.*s%s%s", head, name, head > 0 ? "\n" : "", name + head);
    xs_table_column(t, false, title);
}

static void add_cost_columns(struct xs_table *t)
{
    xs_table_column(t, false, "driver\ncalls");
    xs_table_column(t, false, "driver\nms");
    xs_table_column(t, false, "ns per\nevent");
}

static void add_cost_cells(struct xs_table *t, const struct xs_replay_pass *pass)
{
    xs_table_cell(t, "%llu", (unsigned long long)xs_replay_calls_total(&pass->calls));
    add_real(t, pass->driver_ms, 1);
    add_real(t, pass->ns_per_event, 1);
}

/* The ratio of a replay that ran out of memory says nothing. */
static double own_ratio(const struct xs_replay_row *row, unsigned pass)
{
    bool ran_out = row->replay.oom_event != 0 && pass + 1 == row->replay.n_passes;
    return ran_out ? NAN : ratio_of(row->replay.passes[pass].peak_reserved, row);
}

static void print_first_passes(const struct xs_replay_row *rows, size_t n, enum xs_color color)
{
    struct xs_table t = {0};
    struct peers peers = {0};
    struct mean own_mean = {0};
    struct mean peer_means[XS_TRACE_REFS_MAX] = {0};
    static const char *const titles[] = {"events", "peak\nrequested", "peak\nreserved", "ratio"};
    for (size_t i = 0; i < n; i++)
        collect_peers(&peers, &rows[i].header);
    xs_table_column(&t, true, "trace");
    for (size_t i = 0; i < XS_COUNT_OF(titles); i++)
        xs_table_column(&t, false, titles[i]);
    for (size_t k = 0; k < peers.n; k++)
        add_peer_column(&t, peers.names[k]);
    add_cost_columns(&t);

    for (size_t i = 0; i < n; i++) {
        const struct xs_replay_pass *pass = &rows[i].replay.passes[0];
        xs_table_cell(&t, "%s", rows[i].name);
        xs_table_cell(&t, "%llu", (unsigned long long)pass->events);
        add_bytes(&t, rows[i].header.peak_requested);
        add_bytes(&t, pass->peak_reserved);
        add_ratio(&t, own_ratio(&rows[i], 0), &own_mean);
        for (size_t k = 0; k < peers.n; k++)
            add_ratio(&t, peer_ratio(&rows[i], peers.names[k]), &peer_means[k]);
        add_cost_cells(&t, pass);
    }
    xs_table_rule(&t);
    xs_table_cell(&t, "geometric mean");
    for (size_t i = 0; i + 1 < XS_COUNT_OF(titles); i++)
        xs_table_cell(&t, "%s", "");
    add_mean(&t, &own_mean);
    for (size_t k = 0; k < peers.n; k++)
        add_mean(&t, &peer_means[k]);
    for (size_t i = 0; i < 3; i++)
        xs_table_cell(&t, "%s", "");
    xs_table_print(&t, stdout, color);
    xs_table_clear(&t);
}

static void print_later_passes(const struct xs_replay_row *rows, size_t n, enum xs_color color)
{
    struct xs_table t = {0};
    struct mean unused = {0};
    xs_table_column(&t, true, "trace");
    xs_table_column(&t, false, "pass");
    xs_table_column(&t, false, "events");
    xs_table_column(&t, false, "peak\nreserved");
    xs_table_column(&t, false, "ratio");
    add_cost_columns(&t);
    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 1; k < rows[i].replay.n_passes; k++) {
            const struct xs_replay_pass *pass = &rows[i].replay.passes[k];
            xs_table_cell(&t, "%s", rows[i].name);
            xs_table_cell(&t, "%u", k + 1);
            xs_table_cell(&t, "%llu", (unsigned long long)pass->events);
            add_bytes(&t, pass->peak_reserved);
            add_ratio(&t, own_ratio(&rows[i], k), &unused);
            add_cost_cells(&t, pass);
        }
    }
    if (t.n_cells > 0) {
        printf("\nlater passes\n");
        xs_table_print(&t, stdout, color);
    }
    xs_table_clear(&t);
}

static void print_title(const struct xs_cuda *cuda, const struct xs_replay_options *options)
{
    printf("xseg %s replay on %s%s", xseg_version(),
           cuda->is_simulator ? "the simulator: " : "the GPU: ", cuda->device_name);
    if (options->conf != NULL)
        printf(", conf \"%s\"", options->conf);
    if (options->limit.bytes != 0) {
        char text[XS_FMT_BYTES];
        printf(", limit %s", xs_fmt_bytes(text, options->limit.bytes));
    }
    if (options->limit.times > 0)
        printf(", limit %g x peak requested", options->limit.times);
    if (options->behind != 0)
        printf(", the GPU %zu events behind", options->behind);
    printf("%s\n", options->verify ? ", every block verified" : "");
}

static void print_verdicts(const struct xs_replay_row *row, bool verify)
{
    char text[XS_FMT_BYTES];
    const struct xs_replay *replay = &row->replay;
    if (replay->oom_event != 0)
        printf("%s: out of memory at event %llu of %llu, pass %u, limit %s\n", row->name,
               (unsigned long long)replay->oom_event, (unsigned long long)row->header.events,
               replay->n_passes,
               replay->limit_bytes == SIZE_MAX ? "none" : xs_fmt_bytes(text, replay->limit_bytes));
    if (verify)
        printf("%s: %llu mismatches; reserved %llu bytes at the end, the driver says %llu\n",
               row->name, (unsigned long long)replay->mismatches,
               (unsigned long long)replay->reserved_end,
               (unsigned long long)replay->driver_used_end);
    if (replay->leaked_bytes != 0)
        printf("%s: %s not given back\n", row->name, xs_fmt_bytes(text, replay->leaked_bytes));
}

void xs_replay_print_tables(const struct xs_replay_row *rows, size_t n, const struct xs_cuda *cuda,
                            const struct xs_replay_options *options, enum xs_color color)
{
    if (n == 0)
        return;
    print_title(cuda, options);
    print_first_passes(rows, n, color);
    print_later_passes(rows, n, color);
    for (size_t i = 0; i < n; i++)
        print_verdicts(&rows[i], options->verify);
}
