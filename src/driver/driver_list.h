/*
 * Every entry of libcuda that xseg calls, once. From this list come the table of function pointers,
 * the loader, the wrappers xs_cu_<name>() with fault injection, counting and error records, and the
 * names in messages.
 *
 *   X(need, name, symbol, (parameters), (arguments), "format", format arguments...)
 *
 * need: CORE  without it the driver is refused, and the message names it
 *       VMM   without any one of these the device is treated as one without virtual memory calls
 *       EXTRA used where present
 * The format prints the arguments in error records. Symbols are the versioned ABI names.
 */
/* clang-format off */
#define XS_DRIVER_LIST(X)                                                                          \
    X(CORE, init, "cuInit", (unsigned flags), (flags), "%u", flags)                                \
    X(CORE, driver_version, "cuDriverGetVersion", (int *version), (version), "%p",                 \
      (void *)version)                                                                             \
    X(CORE, device_count, "cuDeviceGetCount", (int *count), (count), "%p", (void *)count)          \
    X(CORE, device_get, "cuDeviceGet", (xs_cu_device *dev, int ordinal), (dev, ordinal),           \
      "%p, %d", (void *)dev, ordinal)                                                              \
    X(CORE, device_attribute, "cuDeviceGetAttribute",                                              \
      (int *value, xs_cu_attribute attr, xs_cu_device dev), (value, attr, dev), "%p, %d, %d",      \
      (void *)value, attr, dev)                                                                    \
    X(CORE, device_name, "cuDeviceGetName", (char *name, int len, xs_cu_device dev),               \
      (name, len, dev), "%p, %d, %d", (void *)name, len, dev)                                      \
    X(CORE, device_total_mem, "cuDeviceTotalMem_v2", (size_t *bytes, xs_cu_device dev),            \
      (bytes, dev), "%p, %d", (void *)bytes, dev)                                                  \
    X(CORE, primary_ctx_retain, "cuDevicePrimaryCtxRetain",                                        \
      (xs_cu_context *ctx, xs_cu_device dev), (ctx, dev), "%p, %d", (void *)ctx, dev)              \
    X(CORE, primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", (xs_cu_device dev), (dev), "%d",  \
      dev)                                                                                         \
    X(CORE, ctx_get_current, "cuCtxGetCurrent", (xs_cu_context *ctx), (ctx), "%p", (void *)ctx)    \
    X(CORE, ctx_push, "cuCtxPushCurrent_v2", (xs_cu_context ctx), (ctx), "%p", (void *)ctx)        \
    X(CORE, ctx_pop, "cuCtxPopCurrent_v2", (xs_cu_context *ctx), (ctx), "%p", (void *)ctx)         \
    X(CORE, ctx_get_device, "cuCtxGetDevice", (xs_cu_device *dev), (dev), "%p", (void *)dev)       \
    X(CORE, ctx_synchronize, "cuCtxSynchronize", (void), (), "%s", "")                             \
    X(CORE, mem_get_info, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total_bytes),            \
      (free_bytes, total_bytes), "%p, %p", (void *)free_bytes, (void *)total_bytes)                \
    X(CORE, mem_alloc, "cuMemAlloc_v2", (xs_cu_ptr *va, size_t bytes), (va, bytes), "%p, %zu",     \
      (void *)va, bytes)                                                                           \
    X(CORE, mem_free, "cuMemFree_v2", (xs_cu_ptr va), (va), "0x%llx", va)                          \
    X(CORE, event_create, "cuEventCreate", (xs_cu_event *event, unsigned flags), (event, flags),   \
      "%p, %u", (void *)event, flags)                                                              \
    X(CORE, event_destroy, "cuEventDestroy_v2", (xs_cu_event event), (event), "%p", (void *)event) \
    X(CORE, event_record, "cuEventRecord", (xs_cu_event event, xs_cu_stream stream),               \
      (event, stream), "%p, %p", (void *)event, (void *)stream)                                    \
    X(CORE, event_query, "cuEventQuery", (xs_cu_event event), (event), "%p", (void *)event)        \
    X(CORE, event_synchronize, "cuEventSynchronize", (xs_cu_event event), (event), "%p",           \
      (void *)event)                                                                               \
    X(CORE, stream_wait_event, "cuStreamWaitEvent",                                                \
      (xs_cu_stream stream, xs_cu_event event, unsigned flags), (stream, event, flags),            \
      "%p, %p, %u", (void *)stream, (void *)event, flags)                                          \
    X(CORE, stream_is_capturing, "cuStreamIsCapturing",                                            \
      (xs_cu_stream stream, xs_cu_capture_status *status), (stream, status), "%p, %p",             \
      (void *)stream, (void *)status)                                                              \
    X(EXTRA, can_access_peer, "cuDeviceCanAccessPeer",                                             \
      (int *can, xs_cu_device dev, xs_cu_device peer), (can, dev, peer), "%p, %d, %d",             \
      (void *)can, dev, peer)                                                                      \
    X(EXTRA, stream_get_id, "cuStreamGetId", (xs_cu_stream stream, unsigned long long *id),        \
      (stream, id), "%p, %p", (void *)stream, (void *)id)                                          \
    X(EXTRA, stream_synchronize, "cuStreamSynchronize", (xs_cu_stream stream), (stream), "%p",     \
      (void *)stream)                                                                              \
    X(EXTRA, mem_export, "cuMemExportToShareableHandle",                                           \
      (void *out, xs_cu_mem mem, xs_cu_handle_type type, unsigned long long flags),                \
      (out, mem, type, flags),                                                                     \
      "%p, 0x%llx, %d, %llu", out, mem, type, flags)                                               \
    X(EXTRA, mem_import, "cuMemImportFromShareableHandle",                                         \
      (xs_cu_mem *mem, void *os_handle, xs_cu_handle_type type), (mem, os_handle, type),           \
      "%p, %p, %d",                                                                                \
      (void *)mem, os_handle, type)                                                                \
    X(EXTRA, ctx_record_event, "cuCtxRecordEvent", (xs_cu_context ctx, xs_cu_event event),         \
      (ctx, event), "%p, %p", (void *)ctx, (void *)event)                                          \
    X(EXTRA, exchange_capture_mode, "cuThreadExchangeStreamCaptureMode",                           \
      (xs_cu_capture_mode *mode), (mode), "%p", (void *)mode)                                      \
    X(EXTRA, memset_d8_async, "cuMemsetD8Async",                                                   \
      (xs_cu_ptr va, unsigned char value, size_t bytes, xs_cu_stream stream),                      \
      (va, value, bytes, stream), "0x%llx, %u, %zu, %p", va, value, bytes, (void *)stream)         \
    X(VMM, mem_granularity, "cuMemGetAllocationGranularity",                                       \
      (size_t *bytes, const struct xs_cu_alloc_prop *prop, xs_cu_granularity option),              \
      (bytes, prop, option), "%p, %p, %d", (void *)bytes, (const void *)prop, option)              \
    X(VMM, mem_reserve, "cuMemAddressReserve",                                                     \
      (xs_cu_ptr *va, size_t bytes, size_t alignment, xs_cu_ptr hint, unsigned long long flags),   \
      (va, bytes, alignment, hint, flags), "%p, %zu, %zu, 0x%llx, %llu", (void *)va, bytes,        \
      alignment, hint, flags)                                                                      \
    X(VMM, mem_unreserve, "cuMemAddressFree", (xs_cu_ptr va, size_t bytes), (va, bytes),           \
      "0x%llx, %zu", va, bytes)                                                                    \
    X(VMM, mem_create, "cuMemCreate",                                                              \
      (xs_cu_mem *mem, size_t bytes, const struct xs_cu_alloc_prop *prop,                          \
       unsigned long long flags),                                                                  \
      (mem, bytes, prop, flags), "%p, %zu, %p, %llu", (void *)mem, bytes, (const void *)prop,      \
      flags)                                                                                       \
    X(VMM, mem_release, "cuMemRelease", (xs_cu_mem mem), (mem), "0x%llx", mem)                     \
    X(VMM, mem_map, "cuMemMap",                                                                    \
      (xs_cu_ptr va, size_t bytes, size_t offset, xs_cu_mem mem, unsigned long long flags),        \
      (va, bytes, offset, mem, flags), "0x%llx, %zu, %zu, 0x%llx, %llu", va, bytes, offset, mem,   \
      flags)                                                                                       \
    X(VMM, mem_unmap, "cuMemUnmap", (xs_cu_ptr va, size_t bytes), (va, bytes), "0x%llx, %zu", va,  \
      bytes)                                                                                       \
    X(VMM, mem_set_access, "cuMemSetAccess",                                                       \
      (xs_cu_ptr va, size_t bytes, const struct xs_cu_access_desc *desc, size_t count),            \
      (va, bytes, desc, count), "0x%llx, %zu, %p, %zu", va, bytes, (const void *)desc, count)
/* clang-format on */
