/*
 * The entries of the preload against the vendor's cuda.h: each row's arguments are passed to the function of that
 * name, so a row with too few of them, in another order, or of another width does not compile. Handles are
 * `void *` here, and enums int. Compiled by `make check-abi` where cuda.h is found, never linked.
 */
#define __CUDA_API_VERSION_INTERNAL /* declares all versions and twins, each by its exported name */
#include <cuda.h>
#include <stddef.h>

#include "driver/cuda_abi.h"

#define xs_cu_location CUmemLocation_st
#define xs_ipc_handle  CUipcMemHandle_st
#define XS_ENTRY_VENDOR_TYPES

#include "preload/entry_list.h"
#include "preload/work_list.h"

#pragma GCC diagnostic ignored "-Wincompatible-pointer-types"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic error "-Wconversion"
#pragma GCC diagnostic error "-Wint-conversion"

#define CHECK(symbol, since, params, args, ...)                                                    \
    static int check_##symbol params                                                               \
    {                                                                                              \
        return (int)symbol args;                                                                   \
    }
#define CHECK_TWO(symbol, since, params, args, stream)                                             \
    CHECK(symbol, since, params, args)                                                             \
    CHECK(symbol##_ptsz, since, params, args)

XS_ENTRY_BODY_LIST(CHECK)
XS_ENTRY_RETRY_LIST(CHECK)
XS_ENTRY_WORK_LIST(CHECK_TWO)
XS_ENTRY_THREAD_LIST(CHECK)

_Static_assert(offsetof(struct xs_launch_config, stream) == offsetof(CUlaunchConfig, hStream),
               "where a launch has its stream");
