#include "cli/trace_input.h"

#include <stdio.h>
#include <string.h>

enum xseg_result xs_trace_input_load(struct xs_trace *trace, const char *path)
{
    struct xs_trace_file *file;
    enum xseg_result result = xs_trace_open(&file, path);
    if (result != XSEG_OK)
        return result;
    result = xs_trace_load(trace, file);
    xs_trace_close(file);
    return result;
}

void xs_trace_input_name(char *name, size_t bytes, const char *path)
{
    static const char *const endings[] = {".gz", ".trace"};
    const char *slash = strrchr(path, '/');
    snprintf(name, bytes, "%s", strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path);
    for (size_t i = 0; i < XS_COUNT_OF(endings); i++) {
        size_t len = strlen(name);
        size_t n = strlen(endings[i]);
        if (len > n && strcmp(name + len - n, endings[i]) == 0)
            name[len - n] = '\0';
    }
}
