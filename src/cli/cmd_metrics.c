/*
 * xseg metrics: Prometheus text of all processes of this user, over HTTP, on a loopback port or a Unix socket. One
 * request at a time; whatever is asked for, the answer is the same. A Unix socket is its owner's (mode 0600), and the
 * caller's user is asked of the kernel; who may connect to a loopback port, nobody says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/processes.h"
#include "report/stats_print.h"

static const char kHelp[] =
    "usage: xseg metrics --port N | --socket PATH\n"
    "\n"
    "Serves the memory of all your processes that run xseg as Prometheus text, over HTTP. A "
    "socket\n"
    "answers you alone; a port on 127.0.0.1 answers everybody on this machine.\n"
    "\n";

enum flag { PORT, SOCKET, HELP, FLAGS };

#define SAMPLES_MAX 1024

static struct xs_process processes[XS_PROCESSES_MAX];
static struct xs_page_device devices[SAMPLES_MAX];
static char labels[SAMPLES_MAX][96];
static struct xs_stats_sample samples[SAMPLES_MAX];

static size_t gather(size_t n_processes)
{
    size_t n = 0;
    for (size_t i = 0; i < n_processes; i++)
        for (int device = 0; device < XS_DEVICE_LIMIT && n < SAMPLES_MAX; device++) {
            if (!xs_page_read(processes[i].page, device, &devices[n]))
                continue;
            snprintf(labels[n], sizeof(labels[n]), "pid=\"%d\",command=\"%s\"", processes[i].pid,
                     processes[i].command);
            samples[n] = (struct xs_stats_sample){labels[n], &devices[n].stats};
            n++;
        }
    return n;
}

static bool send_all(void *fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send((int)(intptr_t)fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void answer(int fd)
{
    struct xs_out out;
    size_t n_processes = xs_processes_find(processes), n = gather(n_processes);
    xs_out_begin(&out, send_all, XS_OUT_FD(fd));
    xs_out_text(&out, "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                      "Connection: close\r\n\r\n");
    xs_stats_print_prometheus(&out, samples, n);
    xs_out_end(&out);
    for (size_t i = 0; i < n_processes; i++)
        xs_process_close(&processes[i]);
}

/* The request is read, up to its empty line, and not looked at; who sends none is not waited for long. */
static void read_request(int fd)
{
    char text[4096];
    size_t used = 0;
    struct timeval patience = {2, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    while (used < sizeof(text) - 1) {
        ssize_t n = recv(fd, text + used, sizeof(text) - 1 - used, 0);
        if (n <= 0)
            return;
        used += (size_t)n;
        text[used] = '\0';
        if (strstr(text, "\r\n\r\n") || strstr(text, "\n\n"))
            return;
    }
}

static bool is_welcome(int fd, bool is_unix)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return !is_unix ||
           (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid());
}

static int serve(int listener, bool is_unix)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return -1;
        if (is_welcome(fd, is_unix)) {
            read_request(fd);
            answer(fd);
        }
        close(fd);
    }
}

static int listen_on_port(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 16) ||
        getsockname(fd, (struct sockaddr *)&at, &size)) {
        close(fd);
        return -1;
    }
    fprintf(stderr, "xseg metrics: http://127.0.0.1:%u/metrics\n", ntohs(at.sin_port));
    return fd;
}

/* What is there already stays, unless it is a socket that nobody listens on. */
static bool is_left_behind(const struct sockaddr_un *at)
{
    struct stat st;
    int fd = lstat(at->sun_path, &st) || !S_ISSOCK(st.st_mode)
                 ? -1
                 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool dead = connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED;
    close(fd);
    return dead;
}

static int listen_on_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(at.sun_path, path);
    if (is_left_behind(&at))
        unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t before = umask(0177);
    bool ok = fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 16);
    umask(before);
    if (ok)
        return fd;
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return -1;
}

static bool read_port(const char *text, unsigned *port)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *port = (unsigned)value;
    return !*end && end != text && value <= 65535 && text[0] != '-';
}

int cmd_metrics(int argc, char **argv)
{
    struct xs_option options[FLAGS] = {
        [PORT] = {"port", "N", "on 127.0.0.1; 0: any that is free, which is told", NULL},
        [SOCKET] = {"socket", "PATH", "on a Unix socket, for you alone", NULL},
        [HELP] = {"help", NULL, "this text", NULL},
    };
    struct xs_args args = {.command = "xseg metrics", .options = options, .n_options = FLAGS};
    unsigned port = 0;
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (options[HELP].value) {
        fputs(kHelp, stdout);
        xs_args_print_options(&args, stdout);
        return XS_EXIT_OK;
    }
    const char *path = options[SOCKET].value, *number = options[PORT].value;
    if (args.n_operands || !path == !number)
        return xs_args_refuse(args.command, "either --port N or --socket PATH");
    if (number && !read_port(number, &port))
        return xs_args_refuse(args.command, "--port: '%s' is not a port", number);
    int fd = path ? listen_on_socket(path) : listen_on_port(port);
    if (fd < 0 || serve(fd, path != NULL))
        fprintf(stderr, "xseg metrics: %s: %s\n", path ? path : number, strerror(errno));
    return XS_EXIT_FAILED;
}
