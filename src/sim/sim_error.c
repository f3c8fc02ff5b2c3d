/* cuGetErrorName and cuGetErrorString. */
#include "sim/sim_ledger.h"

#define ERROR_LIST(X)                                                                              \
    X(XS_CUDA_SUCCESS, "CUDA_SUCCESS", "no error")                                                 \
    X(XS_CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                 \
    X(XS_CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                    \
    X(XS_CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")         \
    X(XS_CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down")             \
    X(XS_CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")       \
    X(XS_CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")         \
    X(XS_CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")       \
    X(XS_CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")        \
    X(XS_CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",                                     \
      "the operation cannot be performed in the present state")                                    \
    X(XS_CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                   \
    X(XS_CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready")                         \
    X(XS_CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",                                 \
      "an illegal memory access was encountered")                                                  \
    X(XS_CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED",                       \
      "context is destroyed")                                                                      \
    X(XS_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",   \
      "part or all of the requested memory range is already mapped")                               \
    X(XS_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",           \
      "pointer does not correspond to a registered memory region")                                 \
    X(XS_CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted")          \
    X(XS_CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")          \
    X(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",           \
      "operation not permitted when stream is capturing")                                          \
    X(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",           \
      "operation failed due to a previous error during capture")                                   \
    X(XS_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",               \
      "the capture was not initiated in this stream")                                              \
    X(XS_CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",               \
      "dependency created on uncaptured work in another stream")                                   \
    X(XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",                 \
      "operation would make the legacy stream depend on a capturing blocking stream")              \
    X(XS_CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",                                   \
      "operation not permitted on an event last recorded in a capturing stream")                   \
    X(XS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",         \
      "attempt to terminate a thread-local capture sequence from another thread")                  \
    X(XS_CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error")

static const struct error {
    xs_cu_result code;
    const char *name;
    const char *text;
} errors[] = {
#define X(code, name, text) {code, name, text},
    ERROR_LIST(X)
#undef X
};

static const struct error *find(xs_cu_result code)
{
    for (size_t i = 0; i < XS_COUNT_OF(errors); i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

xs_cu_result xs_sim_do_cuGetErrorName(xs_cu_result error, const char **text)
{
    const struct error *row = find(error);
    if (!text)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    *text = row ? row->name : NULL;
    return row ? XS_CUDA_SUCCESS : XS_CUDA_ERROR_INVALID_VALUE;
}

xs_cu_result xs_sim_do_cuGetErrorString(xs_cu_result error, const char **text)
{
    const struct error *row = find(error);
    if (!text)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    *text = row ? row->text : NULL;
    return row ? XS_CUDA_SUCCESS : XS_CUDA_ERROR_INVALID_VALUE;
}
