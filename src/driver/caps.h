/* What one device can do, asked once. Read-only afterwards, but for `peers`. */
#ifndef XS_DRIVER_CAPS_H
#define XS_DRIVER_CAPS_H

#include "base/base.h"
#include "driver/cuda_abi.h"

#define XS_PEER_LIMIT 64

struct xs_caps {
    int ordinal;
    xs_cu_device device;
    size_t total_bytes;
    bool vmm;       /* virtual memory calls: the entries are there and the device supports them */
    size_t granule; /* bytes; 2 MiB where there is no VMM */
    bool posix_fd;  /* handles can be exported as file descriptors */
    bool fabric;    /* ... as fabric handles, says the device; creation may still refuse */
    bool rdma;      /* GPUDirect RDMA works on VMM memory */
    char name[128];
    uint64_t peers; /* devices that may access its memory, a set of ordinals; see core/peers.h */
};

/* The driver must be loaded. Creates no context. Errors: NO_DEVICE, DRIVER. */
enum xseg_result xs_caps_query(int ordinal, struct xs_caps *caps);

#endif
