/*
 * A libcuda that does nothing, for the loader's tests: it exports every entry of driver_list.h but those
 * that the file which includes this leaves out, by
 *     #define FAKE_WITHOUT_mem_free ~, "absent_"
 * cuInit answers FAKE_INIT_RESULT, every other entry success.
 */
#ifndef XS_TESTS_FAKE_DRIVER_H
#define XS_TESTS_FAKE_DRIVER_H

#include "driver/cuda_abi.h"
#include "driver/driver_list.h"

#include <stddef.h>

#ifndef FAKE_INIT_RESULT
#define FAKE_INIT_RESULT XS_CUDA_SUCCESS
#endif

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The second argument: "absent_" where the name expands to two, else "". */
#define FAKE_SECOND(a, b, ...) b
#define FAKE_PREFIX(...)       FAKE_SECOND(__VA_ARGS__, "", )
#define FAKE_EXPORT            __attribute__((visibility("default")))

static xs_cu_result fake_result_init = FAKE_INIT_RESULT;

#define X(need, name, symbol, params, ...)                                                         \
    FAKE_EXPORT xs_cu_result fake_##name params __asm__(FAKE_PREFIX(FAKE_WITHOUT_##name) symbol);  \
    xs_cu_result fake_##name params                                                                \
    {                                                                                              \
        return sizeof(symbol) == sizeof("cuInit") && symbol[2] == 'I' ? fake_result_init           \
                                                                      : XS_CUDA_SUCCESS;           \
    }
XS_DRIVER_LIST(X)
#undef X

#endif
