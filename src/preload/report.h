/*
 * What is done once in a process that uses CUDA: the handler for its exit, the record, and, where XSEG_REPORT
 * is set, the report that is written to standard error at exit.
 */
#ifndef XS_PRELOAD_REPORT_H
#define XS_PRELOAD_REPORT_H

#include "base/base.h"

/* A device is in use. */
void xs_report_begin(void);

/* The process is ending: nothing need be given back any more. */
bool xs_report_is_exiting(void);

/* A request that was left to the driver. */
void xs_report_note_native(size_t bytes);
/* The cache was given back for somebody else's request. */
void xs_report_note_given_back(void);

#endif
