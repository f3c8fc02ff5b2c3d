/*
 * The policy: what ALLOC_CONF and xseg_configure() have set, as plain data. Read it without a lock
 * while nobody writes it; who shares it between threads replaces it as a whole. Never allocates.
 */
#ifndef XS_POLICY_POLICY_H
#define XS_POLICY_POLICY_H

#include "policy/conf_report.h"
#include "policy/option.h"
#include "policy/roundup.h"

/* The words of CHOICE options, in the order of their range in option_list.h. */
enum xs_backend { XS_BACKEND_NATIVE, XS_BACKEND_CUDA_MALLOC };
enum xs_handle_type { XS_HANDLE_NONE, XS_HANDLE_POSIX_FD, XS_HANDLE_FABRIC, XS_HANDLE_AUTO };
enum xs_gpu_direct_rdma { XS_RDMA_AUTO, XS_RDMA_ON, XS_RDMA_OFF };
enum xs_cache_choice { XS_CACHE_AUTO, XS_CACHE_ON, XS_CACHE_OFF };
enum xs_order { XS_ORDER_AUTO, XS_ORDER_CONTEXT };
enum xs_memory_info { XS_INFO_CACHED, XS_INFO_NATIVE };

/* Address space of one segment: bytes, or else a share of the device's memory, or else (both 0)
 * automatic. */
struct xs_reserve {
    size_t bytes;
    double share;
};

/* The C type of a field, by the type of its option. */
#define XS_FIELD_BOOL(name)    bool name;
#define XS_FIELD_CHOICE(name)  unsigned name;
#define XS_FIELD_COUNT(name)   unsigned name;
#define XS_FIELD_MB(name)      size_t name;
#define XS_FIELD_SIZE(name)    size_t name;
#define XS_FIELD_SHARE(name)   double name;
#define XS_FIELD_ROUNDUP(name) size_t name[XS_ROUNDUP_SLOTS];
#define XS_FIELD_RESERVE(name) struct xs_reserve name;
#define XS_FIELD_PATH(name)    char name[XS_PATH_BYTES];

/* Of a file's name in a policy. */
#define XS_PATH_BYTES 192

enum { XS_ORIGIN_MAX = 4 };

/* Where values come from: few sources, each named once. */
struct xs_origins {
    char source[XS_ORIGIN_MAX][XS_CONF_SOURCE_BYTES]; /* [0] is "default" */
    uint8_t count;
    uint8_t of[XS_OPTION_COUNT];
    uint16_t line[XS_OPTION_COUNT]; /* 0: the source has no lines */
};

struct xs_policy {
#define XS_OPTION_FIELD(field, key, type, ...) XS_FIELD_##type(field)
    XS_OPTION_LIST(XS_OPTION_FIELD)
#undef XS_OPTION_FIELD
    struct xs_origins origins;
    uint64_t environment; /* a digest of the variables as they were read; 0: not read */
};

/* Sizes are bytes. max_non_split_rounding is never "auto" here, but the size that it stands for. */
void xs_policy_defaults(struct xs_policy *policy);

/*
 * Applies `text`: the grammar of ALLOC_CONF, or "@path" for a file that says the same line by line.
 * `source` names it in messages and in the dump. Errors: CONFIG; then *policy is unchanged and
 * report->first_error and xs_error_text() say why.
 */
enum xseg_result xs_policy_apply(struct xs_policy *policy, const char *text, const char *source,
                                 struct xs_conf_report *report);

/* The names of the environment variable, the first that is set (even to nothing) being the one
 * that counts. */
extern const char *const xs_policy_variables[];
extern const size_t xs_policy_variable_count;

/*
 * The defaults, with what the environment says over them. Errors: CONFIG; then *policy holds the
 * defaults, and the caller refuses to start only if report->strict.
 */
enum xseg_result xs_policy_from_environment(struct xs_policy *policy,
                                            struct xs_conf_report *report);

/* Whether the variables have changed since xs_policy_from_environment(), which is then the last
 * to know. */
bool xs_policy_environment_changed(const struct xs_policy *policy);

/* Adds a note for each option that `after` changes too late to count. Before a device is used,
 * do not call it. */
void xs_policy_note_late(const struct xs_policy *before, const struct xs_policy *after,
                         struct xs_conf_report *report);

/* All options as one string that xs_policy_apply() turns into the same values. Returns its
 * length. */
#define XS_POLICY_TEXT_BYTES 2048
size_t xs_policy_format(const struct xs_policy *policy, char out[XS_POLICY_TEXT_BYTES]);

/* "default", "ALLOC_CONF", "file /etc/alloc.conf:3". Returns `out`. */
#define XS_ORIGIN_BYTES (XS_CONF_SOURCE_BYTES + 8)
const char *xs_policy_origin(const struct xs_policy *policy, enum xs_option_id id,
                             char out[XS_ORIGIN_BYTES]);

/* The limit of reserved bytes on a device with so much memory; SIZE_MAX: none. */
size_t xs_policy_limit(const struct xs_policy *policy, size_t device_bytes);

/* Address space of one segment on a device with so much memory; 0: automatic. */
size_t xs_policy_va_reserve(const struct xs_policy *policy, size_t device_bytes);

/* The index of a source in `origins`, added if it is new. */
uint8_t xs_origins_add(struct xs_origins *origins, const char *source);

/* Puts one option back to its default. */
void xs_policy_reset(struct xs_policy *policy, enum xs_option_id id);

#endif
