#include "ipc/ipc_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 10 /* a peer that says nothing is given up */
#define BACKLOG    64

static socklen_t set_name(struct sockaddr_un *name, pid_t pid, uint64_t nonce)
{
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    int n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "xseg-ipc-%d-%016llx",
                     (int)pid, (unsigned long long)nonce);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void set_patience(int socket)
{
    const struct timeval limit = {.tv_sec = PATIENCE_S};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int close_and_fail(int file)
{
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

int xs_ipc_listen(pid_t pid, uint64_t nonce)
{
    struct sockaddr_un name;
    socklen_t length = set_name(&name, pid, nonce);
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    if (bind(file, (struct sockaddr *)&name, length) || listen(file, BACKLOG))
        return close_and_fail(file);
    return file;
}

int xs_ipc_connect(pid_t pid, uint64_t nonce)
{
    struct sockaddr_un name;
    socklen_t length = set_name(&name, pid, nonce);
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    set_patience(file);
    if (connect(file, (struct sockaddr *)&name, length))
        return close_and_fail(file);
    return file;
}

bool xs_ipc_is_same_user(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    set_patience(socket);
    return !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.uid == geteuid();
}

bool xs_ipc_send_token(int socket, uint64_t token)
{
    return send(socket, &token, sizeof(token), MSG_NOSIGNAL) == (ssize_t)sizeof(token);
}

bool xs_ipc_receive_token(int socket, uint64_t *token)
{
    return recv(socket, token, sizeof(*token), 0) == (ssize_t)sizeof(*token);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(XS_IPC_BATCH * sizeof(int))];
};

bool xs_ipc_send_pieces(int socket, const struct xs_ipc_pieces *pieces, const int *files)
{
    struct iovec part = {(void *)(uintptr_t)pieces, sizeof(*pieces)};
    union control control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t bytes = pieces->count * sizeof(int);
    memset(&control, 0, sizeof(control));
    if (bytes) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(bytes);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(&control.header), files, bytes);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*pieces);
}

static size_t take_files(struct msghdr *message, int files[XS_IPC_BATCH])
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t bytes = header->cmsg_len - CMSG_LEN(0);
    memcpy(files, CMSG_DATA(header), bytes); /* not more than there is room for in the control */
    return bytes / sizeof(int);
}

bool xs_ipc_receive_pieces(int socket, struct xs_ipc_pieces *pieces, int files[XS_IPC_BATCH])
{
    struct iovec part = {pieces, sizeof(*pieces)};
    union control control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    size_t got = n > 0 ? take_files(&message, files) : 0;
    if (n == (ssize_t)sizeof(*pieces) && pieces->count == got && got)
        return true;
    while (got)
        close(files[--got]);
    return false;
}
