/*
 * Stream capture: which streams take part, what is recorded, and which calls are unsafe meanwhile.
 * A call that a capture forbids fails AND invalidates the capture, as the real driver has it; every
 * such call is a violation.
 */
#ifndef XS_SIM_SIM_CAPTURE_H
#define XS_SIM_SIM_CAPTURE_H

#include "sim/sim_queue.h"

struct xs_sim_graph;

struct xs_sim_capture {
    struct xs_list link; /* xs_sim.captures */
    unsigned long long id;
    int mode;
    unsigned long long thread; /* that began it */
    bool invalid;
    const struct xs_sim_queue *origin;
    struct xs_sim_graph *graph; /* what has been recorded so far */
};

/*
 * For "potentially unsafe" calls. A capture forbids one if it was begun in global mode, by any
 * thread, or in thread-local mode by this thread; a thread whose own interaction mode is thread-
 * local heeds only its own captures, one in relaxed mode none.
 */
xs_cu_result xs_sim_capture_forbids(void);

/* For calls that no stream of the context may be capturing under, in any mode. */
xs_cu_result xs_sim_capture_forbids_in(const struct xs_sim_context *ctx);

/* For anything on the legacy stream, which must not be used while a blocking stream captures. */
xs_cu_result xs_sim_capture_forbids_legacy(const struct xs_sim_queue *queue, bool invalidate);

/* Invalidates the capture, counts a violation, returns `result`. */
xs_cu_result xs_sim_capture_break(struct xs_sim_capture *capture, xs_cu_result result,
                                  const char *why);

/* Takes the item over, into the graph. */
xs_cu_result xs_sim_capture_record(struct xs_sim_capture *capture, struct xs_sim_item *item);

struct xs_sim_capture *xs_sim_capture_by_id(unsigned long long id);

/* A capturing stream is destroyed: that breaks its capture, and ends it if it began there. */
void xs_sim_capture_leave(struct xs_sim_queue *queue);

void xs_sim_capture_drop_all(const struct xs_sim_context *ctx);

#endif
