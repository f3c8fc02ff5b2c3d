#include "cli/beside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void own_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
}

bool xs_beside_find(const char *const *places, size_t n, char *path, size_t bytes)
{
    char folder[PATH_MAX];
    own_folder(folder);
    for (size_t i = 0; i < n; i++) {
        int length = snprintf(path, bytes, "%s/%s", folder, places[i]);
        if (length > 0 && (size_t)length < bytes && access(path, R_OK) == 0)
            return true;
    }
    snprintf(path, bytes, "%s", folder);
    return false;
}
