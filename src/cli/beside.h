/* Files that come with the program: looked for from the folder that it lies in. */
#ifndef XS_CLI_BESIDE_H
#define XS_CLI_BESIDE_H

#include "base/base.h"

/* The first of the places, relative to the program's folder, that can be read. False: none; path is then that folder. */
bool xs_beside_find(const char *const *places, size_t n, char *path, size_t bytes);

#endif
