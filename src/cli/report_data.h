/* The data of a report's page: one device's snapshot as JSON, with its long columns as arrays of numbers in base64. */
#ifndef XS_CLI_REPORT_DATA_H
#define XS_CLI_REPORT_DATA_H

#include "base/json.h"
#include "report/snapshot.h"

/* False: no memory. */
bool report_data_print(struct xs_json *j, const struct xs_snapshot *s);

#endif
