/* Snapshots of all devices in use, as a file. */
#ifndef XS_REPORT_SNAPSHOT_FILE_H
#define XS_REPORT_SNAPSHOT_FILE_H

#include "base/base.h"

/*
 * Takes a snapshot of every device in use and writes them: as JSON where the name ends in ".json", else as a pickle.
 * The file appears whole or not at all, readable by its owner alone; what had that name before is replaced, and a
 * link is replaced, not followed. "%p" in the name is the process's id. Errors: IO, HOST_MEMORY.
 */
enum xseg_result xs_snapshot_save(const char *path);

/* A name as that of a process: "%p" is its id. False: too long. */
bool xs_snapshot_name_of(const char *path, int pid, char *out, size_t size);

#endif
