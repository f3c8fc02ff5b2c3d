/*
 * Graphs: what a capture recorded, in the order it was recorded. Branches of a capture are
 * flattened: a launch runs the items one after the other on its stream.
 */
#ifndef XS_SIM_SIM_GRAPH_H
#define XS_SIM_SIM_GRAPH_H

#include "sim/sim_slots.h"
#include "sim/sim_work.h"

struct xs_sim_graph {
    struct xs_sim_slot slot;
    bool executable;
    struct xs_list items;
};

struct xs_sim_graph *xs_sim_graph_new(bool executable); /* NULL: no memory */
void xs_sim_graph_add(struct xs_sim_graph *graph, struct xs_sim_item *item);
void xs_sim_graph_free(struct xs_sim_graph *graph);

#endif
