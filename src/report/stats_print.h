/* A reading of the statistics as text for a person, JSON for a program, Prometheus text for a server. */
#ifndef XS_REPORT_STATS_PRINT_H
#define XS_REPORT_STATS_PRINT_H

#include "base/json.h"

/* In the layout of torch.cuda.memory_summary(), and below it what that does not have. */
void xs_stats_print_text(struct xs_out *out, const struct xseg_stats *s);

/* The names of torch.cuda.memory_stats() flat, then those of xseg under "xseg". max_split_size: the policy's. */
void xs_stats_print_json(struct xs_json *j, const char *key, const struct xseg_stats *s,
                         size_t max_split_size);

/* Labels that say whose readings these are, but for the device: `pid="12",command="train"`, or "". */
struct xs_stats_sample {
    const char *labels;
    const struct xseg_stats *stats;
};
/* Each statistic once, with a line for each sample. */
void xs_stats_print_prometheus(struct xs_out *out, const struct xs_stats_sample *samples, size_t n);

/* Bytes of `part` in `whole` as a percentage; 0 of nothing. */
double xs_stats_percent(uint64_t part, uint64_t whole);

#endif
