#include "cli/progress.h"

#include "base/clock.h"
#include "cli/terminal.h"

#define BAR_WIDTH   32
#define INTERVAL_NS 100000000u

void xs_progress_begin(struct xs_progress *p, const char *label, uint64_t total)
{
    *p = (struct xs_progress){.is_shown = xs_terminal_is_live(stderr), .total = total};
    snprintf(p->label, sizeof(p->label), "%s", label);
}

void xs_progress_update(struct xs_progress *p, uint64_t done)
{
    if (!p->is_shown || p->total == 0)
        return;
    uint64_t now_ns = xs_clock_ns();
    if (now_ns - p->last_ns < INTERVAL_NS)
        return;
    p->last_ns = now_ns;
    char bar[BAR_WIDTH + 1] = {0};
    int full = (int)((double)done / (double)p->total * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    fprintf(stderr, "\r\033[K%-24s [%s] %3d%%", p->label, bar,
            (int)((double)done / (double)p->total * 100));
    fflush(stderr);
}

void xs_progress_end(struct xs_progress *p)
{
    if (p->is_shown && p->last_ns != 0)
        fputs("\r\033[K", stderr);
    p->is_shown = false;
}
