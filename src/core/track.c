#include "core/track.h"

void xs_track_tag(void)
{
    const struct xs_thread *t = xs_thread_current;
    for (int i = 0; t && i < XS_DEVICE_LIMIT; i++)
        if (t->cache[i])
            t->cache[i]->origin.tag = t->tag;
}
