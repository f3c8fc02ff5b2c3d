#include "sim/sim_config.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum knob_kind { NUMBER, SIZE, POWER_OF_TWO };

/*
 * One row a variable: name, where it goes, value when unset, bounds. The capacity when unset, 1
 * TiB, is meant as "no limit": the largest recorded workload to be replayed needs half of it.
 */
static const struct knob {
    const char *name;
    size_t offset;
    size_t initial;
    size_t min;
    size_t max;
    enum knob_kind kind;
} knobs[] = {
#define FIELD(name) offsetof(struct xs_sim_config, name)
    {"XSEG_SIM_DEVICES", FIELD(devices), 1, 0, XS_SIM_MAX_DEVICES, NUMBER},
    {"XSEG_SIM_CAPACITY", FIELD(capacity), 1024 * XS_GIB, 4 * XS_KIB, SIZE_MAX >> 16, SIZE},
    {"XSEG_SIM_GRANULARITY", FIELD(granule), 2 * XS_MIB, 4 * XS_KIB, XS_GIB, POWER_OF_TWO},
    {"XSEG_SIM_VMM", FIELD(vmm), 1, 0, 1, NUMBER},
    {"XSEG_SIM_DATA", FIELD(data), 1, 0, 1, NUMBER},
    {"XSEG_SIM_REPORT", FIELD(report), 0, 0, 1, NUMBER},
    {"XSEG_SIM_STRICT", FIELD(strict), 0, 0, 1, NUMBER},
#undef FIELD
};

/*
 * The unit that a suffix stands for: "", "B", "K", "KB", "KiB", and so on, all binary; 0 if none.
 */
static size_t unit_of(const char *suffix)
{
    static const char letters[] = "KMGT";
    size_t unit = 1;
    const char *letter = *suffix ? strchr(letters, toupper((unsigned char)*suffix)) : NULL;
    if (letter) {
        unit = (size_t)1 << (10 * (letter - letters + 1));
        suffix++;
    }
    const bool fits =
        !strcmp(suffix, "") || !strcmp(suffix, "B") || (letter && !strcmp(suffix, "iB"));
    return fits ? unit : 0;
}

static bool parse(const struct knob *knob, const char *text, size_t *out)
{
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno)
        return false;
    const size_t unit = knob->kind == NUMBER ? (size_t)(*end == '\0') : unit_of(end);
    if (unit == 0 || n > SIZE_MAX / unit)
        return false;
    *out = (size_t)n * unit;
    if (knob->kind == POWER_OF_TWO && !xs_is_pow2(*out))
        return false;
    return *out >= knob->min && *out <= knob->max;
}

static bool read_knob(const struct knob *knob, struct xs_sim_config *config)
{
    size_t *field = (size_t *)((char *)config + knob->offset);
    const char *text = getenv(knob->name);
    *field = knob->initial;
    if (!text || parse(knob, text, field))
        return true;
    fprintf(stderr, "xseg-sim: %s=\"%s\": not a %s from %zu to %zu\n", knob->name, text,
            knob->kind == NUMBER ? "number"
            : knob->kind == SIZE ? "size"
                                 : "power of two",
            knob->min, knob->max);
    return false;
}

bool xs_sim_config_read(struct xs_sim_config *out)
{
    for (size_t i = 0; i < XS_COUNT_OF(knobs); i++)
        if (!read_knob(&knobs[i], out))
            return false;
    return true;
}
