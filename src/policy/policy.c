#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>

#include "policy/conf.h"

const char *const xs_policy_variables[] = {"ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                           "PYTORCH_CUDA_ALLOC_CONF"};
const size_t xs_policy_variable_count = XS_COUNT_OF(xs_policy_variables);

/* ---- where values come from ---- */

uint8_t xs_origins_add(struct xs_origins *origins, const char *source)
{
    for (uint8_t i = 0; i < origins->count; i++)
        if (strncmp(origins->source[i], source, XS_CONF_SOURCE_BYTES - 1) == 0)
            return i;
    /* The last place is shared by all that come later: a program that names many is not worth
     * more. */
    uint8_t i = origins->count < XS_ORIGIN_MAX ? origins->count++ : XS_ORIGIN_MAX - 1;
    memset(origins->source[i], 0, XS_CONF_SOURCE_BYTES);
    snprintf(origins->source[i], XS_CONF_SOURCE_BYTES, "%s", source);
    return i;
}

const char *xs_policy_origin(const struct xs_policy *policy, enum xs_option_id id,
                             char out[XS_ORIGIN_BYTES])
{
    const struct xs_origins *o = &policy->origins;
    char line[8] = "";
    if (o->line[id] > 0)
        snprintf(line, sizeof(line), ":%u", (unsigned)o->line[id]);
    snprintf(out, XS_ORIGIN_BYTES, "%s%s", o->source[o->of[id]], line);
    return out;
}

/* ---- the defaults ---- */

void xs_policy_reset(struct xs_policy *policy, enum xs_option_id id)
{
    struct xs_value_error error;
    (void)xs_option_read(&xs_options[id], xs_slice_of(xs_options[id].preset), policy, &error);
    policy->origins.of[id] = 0;
    policy->origins.line[id] = 0;
}

void xs_policy_defaults(struct xs_policy *policy)
{
    struct xs_conf_report report = {.kept = 0};
    memset(policy, 0, sizeof(*policy));
    xs_origins_add(&policy->origins, "default");
    for (size_t i = 0; i < XS_OPTION_COUNT; i++)
        xs_policy_reset(policy, (enum xs_option_id)i);
    (void)xs_conf_apply("", 0, "default", policy,
                        &report); /* settles what follows from other options */
}

/* ---- text and environment ---- */

enum xseg_result xs_policy_apply(struct xs_policy *policy, const char *text, const char *source,
                                 struct xs_conf_report *report)
{
    struct xs_slice all = xs_slice_trim(xs_slice_of(text));
    if (all.len > 0 && all.at[0] == '@')
        return xs_conf_apply_file((struct xs_slice){all.at + 1, all.len - 1}, source, policy,
                                  report);
    return xs_conf_apply(text, strlen(text), source, policy, report);
}

/* FNV-1a over the values, told apart by which are set; never 0. */
static uint64_t environment_digest(void)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < xs_policy_variable_count; i++) {
        const char *value = getenv(xs_policy_variables[i]);
        digest = (digest ^ (value ? '=' : '-')) * UINT64_C(0x100000001b3);
        for (; value && *value; value++)
            digest = (digest ^ (unsigned char)*value) * UINT64_C(0x100000001b3);
    }
    return digest | 1;
}

static const char *first_variable(void)
{
    for (size_t i = 0; i < xs_policy_variable_count; i++)
        if (getenv(xs_policy_variables[i]))
            return xs_policy_variables[i];
    return NULL;
}

static void warn_of_others(const char *winner, struct xs_conf_report *report)
{
    snprintf(report->source, sizeof(report->source), "%s", winner);
    for (size_t i = 0; i < xs_policy_variable_count; i++) {
        const char *other = xs_policy_variables[i], *value = getenv(other);
        if (other == winner || !value || strcmp(value, getenv(winner)) == 0)
            continue;
        xs_conf_report_add(report, XS_CONF_WARNING, 0, 0, "%s is set too and differs; %s counts",
                           other, winner);
        return;
    }
}

enum xseg_result xs_policy_from_environment(struct xs_policy *policy, struct xs_conf_report *report)
{
    enum xseg_result result = XSEG_OK;
    const char *name = first_variable();
    xs_policy_defaults(policy);
    if (name) {
        warn_of_others(name, report);
        result = xs_policy_apply(policy, getenv(name), name, report);
    }
    policy->environment = environment_digest();
    return result;
}

bool xs_policy_environment_changed(const struct xs_policy *policy)
{
    return policy->environment != 0 && policy->environment != environment_digest();
}

void xs_policy_note_late(const struct xs_policy *before, const struct xs_policy *after,
                         struct xs_conf_report *report)
{
    char was[XS_OPTION_TEXT_BYTES], is[XS_OPTION_TEXT_BYTES];
    for (size_t i = 0; i < XS_OPTION_COUNT; i++) {
        const struct xs_conf_option *o = &xs_options[i];
        if (o->when != XS_WHEN_START)
            continue;
        if (strcmp(xs_option_write(o, before, was), xs_option_write(o, after, is)) != 0)
            xs_conf_report_add(report, XS_CONF_NOTE, 0, 0,
                               "%s:%.40s has no effect on devices in use", o->key, is);
    }
}

size_t xs_policy_format(const struct xs_policy *policy, char out[XS_POLICY_TEXT_BYTES])
{
    char value[XS_OPTION_TEXT_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < XS_OPTION_COUNT; i++) {
        xs_option_write(&xs_options[i], policy, value);
        n += (size_t)snprintf(out + n, XS_POLICY_TEXT_BYTES - n, "%s%s:%s", i ? "," : "",
                              xs_options[i].key, value);
        n = xs_min(n, XS_POLICY_TEXT_BYTES - 1);
    }
    return n;
}

/* ---- what it means on a device ---- */

size_t xs_policy_limit(const struct xs_policy *policy, size_t device_bytes)
{
    double fraction = policy->per_process_memory_fraction;
    size_t share = fraction >= 1 ? SIZE_MAX : (size_t)(fraction * (double)device_bytes);
    return xs_min(share, policy->memory_limit);
}

size_t xs_policy_va_reserve(const struct xs_policy *policy, size_t device_bytes)
{
    const struct xs_reserve *reserve = &policy->expandable_segments_reserve;
    if (policy->va_reserve > 0)
        return policy->va_reserve;
    return reserve->bytes > 0 ? reserve->bytes : (size_t)(reserve->share * (double)device_bytes);
}
