#include "report/caller.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "stats/stack.h"

#define SHOWN 5

static const void *file_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

static size_t write_frame(char *to, size_t room, const void *address, bool is_first)
{
    const struct xs_frame_name name = xs_stack_name(address);
    const char *slash = strrchr(name.file, '/');
    int n = snprintf(to, room, "%s%s (%s+0x%zx)", is_first ? "" : " < ", name.function,
                     slash ? slash + 1 : name.file, name.offset);
    return n < 0 ? 0 : xs_min((size_t)n, room - 1);
}

const char *xs_caller(char out[XS_CALLER_BYTES])
{
    const void *frame[XS_STACK_FRAMES];
    const void *own = file_of((const void *)(uintptr_t)&xs_caller);
    const void *program = file_of((const void *)getauxval(AT_ENTRY));
    size_t n = own && own != program ? xs_stack_frames(xs_stack_take(), frame) : 0, i = 0, used = 0;
    while (i < n && file_of(frame[i]) == own)
        i++;
    for (size_t shown = 0; i < n && shown < SHOWN; i++, shown++)
        used += write_frame(out + used, XS_CALLER_BYTES - used, frame[i], shown == 0);
    return used ? out : NULL;
}
