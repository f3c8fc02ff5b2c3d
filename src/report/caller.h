/*
 * Who called: the native functions of the calling thread that stand above this library, by name. Takes the loader's
 * lock, so none of ours may be held. Thread-safe.
 */
#ifndef XS_REPORT_CALLER_H
#define XS_REPORT_CALLER_H

#include "base/base.h"

#define XS_CALLER_BYTES 512

/* "cudaMalloc (libcudart.so.13+0x1234) < ...", the innermost first, a few of them. NULL: they cannot be told from xseg's
 * own, as where that is linked into the program itself. Else `out`. */
const char *xs_caller(char out[XS_CALLER_BYTES]);

#endif
