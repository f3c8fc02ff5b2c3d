/* Intrusive circular doubly linked list. A head is a node; an unlinked node points to itself. */
#ifndef XS_BASE_LIST_H
#define XS_BASE_LIST_H

#include "base/base.h"

struct xs_list {
    struct xs_list *prev;
    struct xs_list *next;
};

static inline void xs_list_init(struct xs_list *head)
{
    head->prev = head->next = head;
}

static inline bool xs_list_is_empty(const struct xs_list *head)
{
    return head->next == head;
}

static inline void xs_list_insert_before(struct xs_list *where, struct xs_list *node)
{
    node->prev = where->prev;
    node->next = where;
    where->prev->next = node;
    where->prev = node;
}

static inline void xs_list_push_back(struct xs_list *head, struct xs_list *node)
{
    xs_list_insert_before(head, node);
}

static inline void xs_list_push_front(struct xs_list *head, struct xs_list *node)
{
    xs_list_insert_before(head->next, node);
}

static inline void xs_list_remove(struct xs_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    xs_list_init(node);
}

#define XS_LIST_FOR_EACH(node, head)                                                               \
    for (struct xs_list *node = (head)->next; node != (head); node = node->next)

/* The body may remove `node`. */
#define XS_LIST_FOR_EACH_SAFE(node, head)                                                          \
    for (struct xs_list *node = (head)->next, *node##_next = node->next; node != (head);           \
         node = node##_next, node##_next = node->next)

#endif
