/* The page of a report, src/cli/report_page.html, in two parts: the data goes between them. */
#ifndef XS_CLI_REPORT_PAGE_H
#define XS_CLI_REPORT_PAGE_H

#include "base/out.h"

void report_page_begin(struct xs_out *out, const char *title);
void report_page_end(struct xs_out *out);

#endif
