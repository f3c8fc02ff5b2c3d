#include "cli/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static void read_command(struct xs_process *p)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/comm", p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, p->command, sizeof(p->command) - 1);
    if (fd >= 0)
        close(fd);
    p->command[n > 0 ? n : 0] = '\0';
    p->command[strcspn(p->command, "\n")] = '\0';
    for (char *c = p->command; *c; c++) /* it may be anything, and goes to a terminal */
        if (!isprint((unsigned char)*c) || *c == '"' || *c == '\\')
            *c = '?';
}

bool xs_process_open(struct xs_process *out, int pid, const char **why)
{
    *out = (struct xs_process){.pid = pid, .page = xs_page_map(pid, why)};
    if (out->page)
        read_command(out);
    return out->page != NULL;
}

void xs_process_close(struct xs_process *process)
{
    if (process->page)
        xs_page_unmap(process->page);
    process->page = NULL;
}

static int by_pid(const void *a, const void *b)
{
    return ((const struct xs_process *)a)->pid - ((const struct xs_process *)b)->pid;
}

size_t xs_processes_find(struct xs_process *out)
{
    size_t n = 0;
    DIR *folder = opendir(XS_PAGE_FOLDER);
    const struct dirent *entry;
    while (folder && n < XS_PROCESSES_MAX && (entry = readdir(folder))) {
        const char *why;
        int pid = xs_page_pid(entry->d_name);
        if (!pid)
            continue;
        if (xs_process_open(&out[n], pid, &why))
            n++;
        else
            xs_page_remove_dead(pid);
    }
    if (folder)
        closedir(folder);
    qsort(out, n, sizeof(*out), by_pid);
    return n;
}

double xs_process_growth(const struct xs_page_device *d)
{
    if (d->samples < 2)
        return 0;
    const struct xs_page_sample *last = &d->sample[(d->samples - 1) % XS_PAGE_SAMPLES];
    uint64_t oldest = d->samples > XS_PAGE_SAMPLES ? d->samples - XS_PAGE_SAMPLES : 0;
    const struct xs_page_sample *first = last;
    for (uint64_t i = d->samples - 1; i-- > oldest;) {
        const struct xs_page_sample *s = &d->sample[i % XS_PAGE_SAMPLES];
        if (last->time_ns - s->time_ns > 10000000000u)
            break;
        first = s;
    }
    double seconds = (double)(last->time_ns - first->time_ns) / 1e9;
    return seconds > 0 ? ((double)last->reserved - (double)first->reserved) / seconds : 0;
}

double xs_process_age_seconds(const struct xs_page_device *d)
{
    uint64_t now = xs_clock_ns();
    return now > d->time_ns ? (double)(now - d->time_ns) / 1e9 : 0;
}
