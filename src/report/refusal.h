/*
 * What happens when a request is refused for want of memory: the error's text gets the verdict, and a report is made:
 * logged, handed to the program, or written beside a snapshot, each where that is asked for.
 */
#ifndef XS_REPORT_REFUSAL_H
#define XS_REPORT_REFUSAL_H

#include "core/ladder.h"

/* For xs_ladder_on_refusal(). */
extern const struct xs_refusal_hooks xs_refusal_hooks;

/* The program's function for each refusal; NULL: none. Thread-safe. */
void xs_refusal_callback(xseg_out_of_memory_fn fn, void *ctx);

#endif
