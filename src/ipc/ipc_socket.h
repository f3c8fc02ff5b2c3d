/*
 * The Unix socket by which memory goes from one process to another as file descriptors: its name, what is said
 * over it, and who may speak. The name is abstract, so there is no file and nothing to clean up; both sides
 * check that the other one runs as the same user. No right to trace the other process is needed.
 *
 * Not thread-safe for one socket.
 */
#ifndef XS_IPC_IPC_SOCKET_H
#define XS_IPC_IPC_SOCKET_H

#include <sys/types.h>

#include "base/base.h"

/* A handle of ours, as large as a CUipcMemHandle: who has the memory, and which. */
struct xs_ipc_blob {
    char magic[8];
    uint32_t version;
    int32_t pid;
    uint64_t nonce;  /* with pid the name of the socket */
    uint64_t token;  /* of the block: the same as long as it lives, and never again */
    uint64_t offset; /* of the block in the first piece of memory */
    uint64_t bytes;  /* of the block */
    int32_t device;
    uint32_t pieces;
    uint64_t reserved;
};

#define XS_IPC_HANDLE_BYTES 64

_Static_assert(sizeof(struct xs_ipc_blob) == XS_IPC_HANDLE_BYTES, "it takes its place");

#define XS_IPC_MAGIC   "xseg-ipc"
#define XS_IPC_VERSION 1

/* At most so many descriptors in one message. */
#define XS_IPC_BATCH 64

/* The answer to a token: the pieces of its memory, in order, in as many messages as it takes. */
struct xs_ipc_pieces {
    uint32_t count; /* in this message; 0: the token is not known, or the memory cannot be shared */
    uint32_t total;
    uint64_t bytes[XS_IPC_BATCH];
};

/* A listening socket, or one that is connected to the process of the blob; -1 with errno. */
int xs_ipc_listen(pid_t pid, uint64_t nonce);
int xs_ipc_connect(pid_t pid, uint64_t nonce);
/* Whether the other side runs as this user. */
bool xs_ipc_is_same_user(int socket);

bool xs_ipc_send_token(int socket, uint64_t token);
bool xs_ipc_receive_token(int socket, uint64_t *token);
/* files: one for each piece; they stay open here, and are the receiver's own there. */
bool xs_ipc_send_pieces(int socket, const struct xs_ipc_pieces *pieces, const int *files);
bool xs_ipc_receive_pieces(int socket, struct xs_ipc_pieces *pieces, int files[XS_IPC_BATCH]);

#endif
