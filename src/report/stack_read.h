/*
 * The call stacks of a snapshot that is read: each different one once, with a number. Snapshots have the same frames
 * over and over, so a frame is looked at once and then known by its place in the pickle. Not thread-safe.
 */
#ifndef XS_REPORT_STACK_READ_H
#define XS_REPORT_STACK_READ_H

#include "report/snapshot.h"
#include "report/unpickle.h"

/* All zero at first. */
struct xs_stack_reader {
    struct xs_names stacks; /* texts of all stacks so far: number n is stack n */
    struct xs_array known;  /* frames */
};

/* The number of a list of frames, among the snapshot's stacks; 0: none, or no memory. */
uint32_t xs_stack_read(struct xs_stack_reader *reader, struct xs_snapshot *s,
                       const struct xs_value *frames);
/* The number of a text, among the snapshot's names; 0: it is none, or no memory. */
uint32_t xs_stack_read_name(struct xs_snapshot *s, const struct xs_value *text);
void xs_stack_reader_drop(struct xs_stack_reader *reader);

#endif
