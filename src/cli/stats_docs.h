/* docs/statistics.md, written from the table of statistics. */
#ifndef XS_CLI_STATS_DOCS_H
#define XS_CLI_STATS_DOCS_H

void stats_docs(void);

#endif
