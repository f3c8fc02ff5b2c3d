#include "base/fmt.h"
#include "report/diagnosis.h"

static const char *const verdicts[] = {
    [XS_VERDICT_NONE] = "none",
    [XS_VERDICT_FULL] = "full",
    [XS_VERDICT_LIMIT] = "limit",
    [XS_VERDICT_OTHERS] = "others",
    [XS_VERDICT_FRAGMENTATION] = "fragmentation",
    [XS_VERDICT_POOLS] = "pools",
    [XS_VERDICT_WAITING] = "waiting",
    [XS_VERDICT_DRIVER] = "driver",
};

static const char *const advices[XS_ADVICE_COUNT] = {
    [XS_ADVICE_PERSISTENT] = "less_persistent",
    [XS_ADVICE_TRANSIENT] = "less_transient",
    [XS_ADVICE_LIMIT] = "raise_limit",
    [XS_ADVICE_OTHERS] = "other_processes",
    [XS_ADVICE_EXPANDABLE] = "expandable_segments",
    [XS_ADVICE_SMALL_EXTENTS] = "small_extents",
    [XS_ADVICE_BUCKETS] = "buckets",
    [XS_ADVICE_POOLS] = "release_pools",
    [XS_ADVICE_SYNCHRONISE] = "synchronise",
    [XS_ADVICE_DRIVER] = "driver",
};

struct bytes_text {
    char text[XS_FMT_BYTES];
};

static struct bytes_text fmt(uint64_t bytes)
{
    struct bytes_text t = {"unknown"};
    if (bytes != UINT64_MAX)
        xs_fmt_bytes(t.text, bytes);
    return t;
}

const char *xs_verdict_name(enum xs_verdict verdict)
{
    return verdicts[verdict];
}

/* ---- one line each ---------------------------------------------------------------------------- */

static void driver_text(const struct xs_diagnosis *d, char out[400])
{
    const struct xs_refusal *r = &d->refusal;
    const struct xseg_stats *s = &d->snapshot->stats;
    if (r->call)
        snprintf(out, 400,
                 "The driver refused: %s(%.120s) returned %.60s, with %s free on the device. This "
                 "is not fragmentation.",
                 r->call, r->arguments, r->code_name, fmt(s->device_free_bytes).text);
    else
        snprintf(out, 400, "The memory is there, but could not be had.");
}

static size_t events_since(const struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    return s->n_events - 1 - (size_t)(d->earlier - s->events);
}

const char *xs_verdict_text(const struct xs_diagnosis *d, char out[400])
{
    const struct xs_refusal *r = &d->refusal;
    const struct xseg_stats *s = &d->snapshot->stats;
    switch (d->verdict) {
    case XS_VERDICT_NONE:
        if (r->bytes)
            snprintf(out, 400, "A request of %s would be served.", fmt(r->bytes).text);
        else if (d->earlier)
            snprintf(out, 400,
                     "A request of %s was refused, but more has happened since (%zu events): this "
                     "is no longer the state that it met.",
                     fmt(d->earlier->bytes).text, events_since(d));
        else
            snprintf(out, 400, "No request was refused.");
        break;
    case XS_VERDICT_FULL:
        snprintf(out, 400,
                 "The memory is in use: %s live and %s wanted are more than the %s there is. This "
                 "is not fragmentation.",
                 fmt(d->live).text, fmt(r->bytes).text, fmt(d->capacity).text);
        break;
    case XS_VERDICT_LIMIT:
        snprintf(out, 400,
                 "The memory is in use up to the limit: %s live and %s wanted are more than %s. "
                 "This is not fragmentation.",
                 fmt(d->live).text, fmt(r->bytes).text, fmt(s->limit_bytes).text);
        break;
    case XS_VERDICT_OTHERS:
        snprintf(out, 400,
                 "Others hold %s of the device's %s: %s live here and %s wanted would fit "
                 "otherwise. This is not fragmentation.",
                 fmt(s->other_bytes).text, fmt(s->device_total_bytes).text, fmt(d->live).text,
                 fmt(r->bytes).text);
        break;
    case XS_VERDICT_FRAGMENTATION:
        snprintf(out, 400,
                 "Cached memory is pinned by live blocks: this is fragmentation. %s are not live, "
                 "but the largest request that fits is %s; %zu extents hold %s free.",
                 fmt(d->cached + d->waiting).text, fmt(d->largest).text, d->all_pins,
                 fmt(d->recoverable).text);
        break;
    case XS_VERDICT_POOLS:
        snprintf(
            out, 400,
            "%s are free in %zu private pool%s that %s held, as for captured graphs, and serve "
            "nobody else; %s are left beside them. This is not fragmentation.",
            fmt(d->held_free).text, d->held_pools, d->held_pools == 1 ? "" : "s",
            d->held_pools == 1 ? "is" : "are", fmt(d->largest).text);
        break;
    case XS_VERDICT_WAITING:
        snprintf(out, 400,
                 "%s are freed, but the GPU is not known to be done with them, and could not be "
                 "waited for. This is not fragmentation.",
                 fmt(d->waiting).text);
        break;
    case XS_VERDICT_DRIVER:
        driver_text(d, out);
    }
    return out;
}

const char *xs_advice_text(const struct xs_diagnosis *d, enum xs_advice advice, char out[400])
{
    const struct xs_lifetimes *l = &d->lifetimes;
    switch (advice) {
    case XS_ADVICE_PERSISTENT:
        snprintf(out, 400,
                 "%s have lived for %.1f s and more, as parameters, gradients and optimizer state "
                 "do: fewer trainable parameters (LoRA), an 8-bit or factored optimizer, sharding "
                 "(ZeRO 1 to 3), tensor parallelism, offload.",
                 fmt(l->persistent).text, (double)l->border_ms / 1000);
        break;
    case XS_ADVICE_TRANSIENT:
        snprintf(out, 400,
                 "%s are younger than %.1f s, as activations are: activation checkpointing, fused "
                 "attention, packing or shorter sequences, sequence parallelism, a smaller "
                 "micro-batch with accumulation.",
                 fmt(l->transient).text, (double)l->border_ms / 1000);
        break;
    case XS_ADVICE_LIMIT:
        snprintf(out, 400,
                 "Raise the limit (memory_limit, per_process_memory_fraction, xseg_set_limit) by "
                 "%s: the device has it free.",
                 fmt(d->live + d->refusal.bytes - d->snapshot->stats.limit_bytes).text);
        break;
    case XS_ADVICE_OTHERS:
        snprintf(out, 400,
                 "See who else uses the device (nvidia-smi): %s are neither in this allocator nor "
                 "free.",
                 fmt(d->snapshot->stats.other_bytes).text);
        break;
    case XS_ADVICE_EXPANDABLE:
        snprintf(out, 400,
                 "expandable_segments:True would make up to %s usable that lie between live "
                 "blocks.",
                 fmt(d->recoverable_by_granules).text);
        break;
    case XS_ADVICE_SMALL_EXTENTS:
        snprintf(out, 400,
                 "extent_max:2M would make up to %s usable that live blocks pin in larger extents; "
                 "growing takes more driver calls then.",
                 fmt(d->recoverable_by_granules).text);
        break;
    case XS_ADVICE_BUCKETS:
        snprintf(out, 400,
                 "There are blocks of %zu different sizes: roundup_power2_divisions:8 makes them "
                 "fewer, for at most an eighth more each; or round lengths up in the program.",
                 d->n_sizes);
        break;
    case XS_ADVICE_POOLS:
        snprintf(out, 400,
                 "Up to %s come back when private pools go: destroy the graphs that are not needed "
                 "any more (xseg_pool_release), capture the others into one pool, or make pools "
                 "with use_on_oom.",
                 fmt(d->held_free).text);
        break;
    case XS_ADVICE_SYNCHRONISE:
        snprintf(out, 400,
                 "Let the streams that use the memory finish first, or free it before a capture "
                 "begins.");
        break;
    default:
        snprintf(out, 400, "Look into the driver's error first.");
    }
    return out;
}

/* ---- text ------------------------------------------------------------------------------------- */

static void print_request(struct xs_out *out, const struct xs_diagnosis *d)
{
    const struct xs_refusal *r = &d->refusal;
    if (!r->bytes)
        return;
    xs_out_printf(out, "  wanted       %s", fmt(r->requested).text);
    if (r->bytes != r->requested)
        xs_out_printf(out, " (a block of %s)", fmt(r->bytes).text);
    if (r->tag && r->tag[0])
        xs_out_printf(out, " for %s", r->tag);
    if (r->pool)
        xs_out_printf(out, ", in private pool %llu", (unsigned long long)r->pool);
    xs_out_text(out, "\n");
    if (r->by)
        xs_out_printf(out, "  by           %s\n", r->by);
    if (r->call)
        xs_out_printf(out, "  driver       %s(%s) returned %s (%d)\n", r->call, r->arguments,
                      r->code_name, r->code);
}

static void print_memory(struct xs_out *out, const struct xs_diagnosis *d)
{
    const struct xseg_stats *s = &d->snapshot->stats;
    xs_out_printf(out, "  live         %s\n", fmt(d->live).text);
    xs_out_printf(out, "  cached       %s\n", fmt(d->cached).text);
    xs_out_printf(out, "  waiting      %s\n", fmt(d->waiting).text);
    xs_out_printf(out, "  reserved     %s\n", fmt(d->reserved).text);
    if (d->held_pools)
        xs_out_printf(out, "  pools        %zu held, %s free in them\n", d->held_pools,
                      fmt(d->held_free).text);
    xs_out_printf(out, "  limit        %s\n",
                  s->limit_bytes == UINT64_MAX || !s->limit_bytes ? "none"
                                                                  : fmt(s->limit_bytes).text);
    if (s->device_total_bytes)
        xs_out_printf(out, "  device       %s, free %s, not ours %s\n",
                      fmt(s->device_total_bytes).text, fmt(s->device_free_bytes).text,
                      fmt(s->other_bytes).text);
    xs_out_printf(out, "  largest      %s\n", fmt(d->largest).text);
}

static void print_lifetimes(struct xs_out *out, const struct xs_diagnosis *d, double batch)
{
    const struct xs_lifetimes *l = &d->lifetimes;
    uint64_t one;
    if (!l->known) {
        xs_out_text(out, "  lifetimes    persistent and transient memory cannot be told apart\n");
        return;
    }
    xs_out_printf(out, "  persistent   %s, %.1f s and older\n", fmt(l->persistent).text,
                  (double)l->border_ms / 1000);
    xs_out_printf(out, "  transient    %s\n", fmt(l->transient).text);
    if (xs_diagnosis_batch_one(d, batch, &one))
        xs_out_printf(out, "  batch 1      would take %s of %s: it %s\n", fmt(one).text,
                      fmt(d->capacity).text, one <= d->capacity ? "fits" : "does not fit");
}

static void print_pins(struct xs_out *out, const struct xs_diagnosis *d)
{
    if (!d->n_pins)
        return;
    xs_out_printf(out, "  pinned       %zu extents hold %s free", d->all_pins,
                  fmt(d->recoverable).text);
    xs_out_text(out, d->all_pins > d->n_pins ? "; those that hold most:\n" : ":\n");
    for (size_t i = 0; i < d->n_pins; i++) {
        const struct xs_pin *p = &d->pins[i];
        const char *tag = xs_snapshot_name(d->snapshot, p->block.tag);
        xs_out_printf(out, "    0x%llx  %s, %s free, pinned by 0x%llx (%s%s%s)%s\n",
                      (unsigned long long)p->extent.va, fmt(p->extent.bytes).text,
                      fmt(p->free_bytes).text, (unsigned long long)p->block.va,
                      fmt(p->block.bytes).text, tag[0] ? ", " : "", tag,
                      p->n_blocks > 1 ? " and others" : "");
    }
}

void xs_diagnosis_print_text(struct xs_out *out, const struct xs_diagnosis *d, double batch)
{
    char text[400];
    if (d->verdict != XS_VERDICT_NONE)
        xs_out_printf(out, "out of memory on device %d: ", d->snapshot->device);
    else
        xs_out_printf(out, "device %d: ", d->snapshot->device);
    xs_out_printf(out, "%s\n", xs_verdict_text(d, text));
    print_request(out, d);
    print_memory(out, d);
    print_lifetimes(out, d, batch);
    print_pins(out, d);
    for (unsigned i = 0; i < XS_ADVICE_COUNT; i++)
        if (d->advice[i])
            xs_out_printf(out, "  advice       %s\n", xs_advice_text(d, (enum xs_advice)i, text));
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void count(struct xs_json *j, const char *key, uint64_t value)
{
    if (value == UINT64_MAX)
        xs_json_null(j, key);
    else
        xs_json_count(j, key, value);
}

static void json_refusal(struct xs_json *j, const struct xs_diagnosis *d)
{
    const struct xs_refusal *r = &d->refusal;
    xs_json_open(j, "request", '{');
    xs_json_count(j, "requested", r->requested);
    xs_json_count(j, "rounded", r->bytes);
    xs_json_text(j, "tag", r->tag);
    xs_json_count(j, "pool", r->pool);
    xs_json_text(j, "by", r->by);
    xs_json_text(j, "driver_call", r->call);
    xs_json_text(j, "driver_arguments", r->call ? r->arguments : NULL);
    xs_json_text(j, "driver_error", r->call ? r->code_name : NULL);
    xs_json_signed(j, "driver_code", r->code);
    xs_json_close(j, '}');
}

static void json_memory(struct xs_json *j, const struct xs_diagnosis *d)
{
    const struct xseg_stats *s = &d->snapshot->stats;
    xs_json_count(j, "live", d->live);
    xs_json_count(j, "cached", d->cached);
    xs_json_count(j, "waiting", d->waiting);
    xs_json_count(j, "reserved", d->reserved);
    count(j, "limit", s->limit_bytes ? s->limit_bytes : UINT64_MAX);
    count(j, "device_total", s->device_total_bytes ? s->device_total_bytes : UINT64_MAX);
    count(j, "device_free", s->device_free_bytes);
    count(j, "others", s->other_bytes);
    count(j, "capacity", d->capacity);
    xs_json_count(j, "largest", d->largest);
    xs_json_count(j, "pinned_free", d->recoverable);
    xs_json_count(j, "pinned_free_by_granules", d->recoverable_by_granules);
    xs_json_count(j, "held_pools", d->held_pools);
    xs_json_count(j, "held_free", d->held_free);
}

static void json_pins(struct xs_json *j, const struct xs_diagnosis *d)
{
    xs_json_count(j, "pinned_extents", d->all_pins);
    xs_json_open(j, "pins", '[');
    for (size_t i = 0; i < d->n_pins; i++) {
        const struct xs_pin *p = &d->pins[i];
        xs_json_open(j, NULL, '{');
        xs_json_count(j, "extent", p->extent.va);
        xs_json_count(j, "extent_bytes", p->extent.bytes);
        xs_json_count(j, "free", p->free_bytes);
        xs_json_count(j, "block", p->block.va);
        xs_json_count(j, "block_bytes", p->block.bytes);
        xs_json_text(j, "tag", xs_snapshot_name(d->snapshot, p->block.tag));
        xs_json_count(j, "blocks", p->n_blocks);
        xs_json_close(j, '}');
    }
    xs_json_close(j, ']');
}

static void json_lifetimes(struct xs_json *j, const struct xs_diagnosis *d, double batch)
{
    const struct xs_lifetimes *l = &d->lifetimes;
    uint64_t one;
    count(j, "persistent", l->known ? l->persistent : UINT64_MAX);
    count(j, "transient", l->known ? l->transient : UINT64_MAX);
    count(j, "persistent_older_than_ms", l->known ? l->border_ms : UINT64_MAX);
    if (xs_diagnosis_batch_one(d, batch, &one)) {
        xs_json_count(j, "batch_one", one);
        xs_json_bool(j, "batch_one_fits", one <= d->capacity);
    }
}

void xs_diagnosis_print_json(struct xs_json *j, const struct xs_diagnosis *d, double batch)
{
    char text[400];
    xs_json_open(j, NULL, '{');
    xs_json_signed(j, "device", d->snapshot->device);
    xs_json_text(j, "verdict", xs_verdict_name(d->verdict));
    xs_json_text(j, "text", xs_verdict_text(d, text));
    json_refusal(j, d);
    json_memory(j, d);
    json_lifetimes(j, d, batch);
    json_pins(j, d);
    xs_json_open(j, "advice", '[');
    for (unsigned i = 0; i < XS_ADVICE_COUNT; i++) {
        if (!d->advice[i])
            continue;
        xs_json_open(j, NULL, '{');
        xs_json_text(j, "about", advices[i]);
        xs_json_text(j, "text", xs_advice_text(d, (enum xs_advice)i, text));
        xs_json_close(j, '}');
    }
    xs_json_close(j, ']');
    xs_json_close(j, '}');
}
