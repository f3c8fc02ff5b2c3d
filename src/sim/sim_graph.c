#include "sim/sim_graph.h"

#include "sim/sim_state.h"
#include "sim/sim_stream.h"

struct xs_sim_graph *xs_sim_graph_new(bool executable)
{
    struct xs_sim_graph *graph = xs_sim_slots_take(&xs_sim.graphs);
    if (!graph)
        return NULL;
    xs_list_init(&graph->items);
    graph->executable = executable;
    return graph;
}

void xs_sim_graph_add(struct xs_sim_graph *graph, struct xs_sim_item *item)
{
    xs_list_push_back(&graph->items, &item->link);
}

void xs_sim_graph_free(struct xs_sim_graph *graph)
{
    while (!xs_list_is_empty(&graph->items))
        xs_sim_item_free((struct xs_sim_item *)graph->items.next);
    xs_sim_slots_give(&xs_sim.graphs, graph);
}

static xs_cu_result graph_of(const void *handle, bool executable, struct xs_sim_graph **out)
{
    *out = xs_sim_slots_check(&xs_sim.graphs, handle);
    if (*out && (*out)->executable == executable)
        return XS_CUDA_SUCCESS;
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "%p is not a live graph", handle);
}

static xs_cu_result destroy(const void *handle, bool executable)
{
    struct xs_sim_graph *graph;
    const xs_cu_result result = graph_of(handle, executable, &graph);
    if (result == XS_CUDA_SUCCESS)
        xs_sim_graph_free(graph);
    return result;
}

xs_cu_result xs_sim_do_cuGraphDestroy(xs_cu_graph handle)
{
    return destroy(handle, false);
}

xs_cu_result xs_sim_do_cuGraphExecDestroy(xs_cu_graph_exec handle)
{
    return destroy(handle, true);
}

static void submit_copies(struct xs_sim_queue *queue, const struct xs_sim_graph *graph,
                          xs_cu_result *result)
{
    XS_LIST_FOR_EACH(node, &graph->items)
        if (*result == XS_CUDA_SUCCESS)
            *result = xs_sim_stream_submit(queue, xs_sim_item_clone((struct xs_sim_item *)node));
}

xs_cu_result xs_sim_do_cuGraphInstantiateWithFlags(xs_cu_graph_exec *exec, xs_cu_graph handle,
                                                   unsigned long long flags)
{
    struct xs_sim_graph *graph;
    (void)flags;
    if (!exec)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    const xs_cu_result result = graph_of(handle, false, &graph);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_graph *made = xs_sim_graph_new(true);
    if (!made)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    XS_LIST_FOR_EACH(node, &graph->items)
        xs_sim_graph_add(made, xs_sim_item_clone((struct xs_sim_item *)node));
    *exec = (xs_cu_graph_exec)made;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuGraphLaunch(xs_cu_graph_exec handle, xs_cu_stream stream)
{
    struct xs_sim_graph *graph;
    struct xs_sim_queue *queue;
    xs_cu_result result = graph_of(handle, true, &graph);
    if (result == XS_CUDA_SUCCESS)
        result = xs_sim_stream_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS)
        submit_copies(queue, graph, &result);
    return result;
}
