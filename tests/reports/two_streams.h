/* Two created streams of device 0, for cases of one stream beside another. */
#ifndef XS_TEST_TWO_STREAMS_H
#define XS_TEST_TWO_STREAMS_H

#include "report_fixture.h"

static xs_cu_stream s1, s2;

static inline void two_streams(void)
{
    xt_make_context(0);
    s1 = xt_new_stream();
    s2 = xt_new_stream();
}

/* s2 may be gone already: NULL. */
static inline void destroy_streams(void)
{
    XT_CU(cu.cuStreamDestroy_v2(s1));
    if (s2)
        XT_CU(cu.cuStreamDestroy_v2(s2));
}

#endif
