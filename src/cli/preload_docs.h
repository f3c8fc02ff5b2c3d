/* docs/preload_entries.md, written from the tables of the preload's entries. */
#ifndef XS_CLI_PRELOAD_DOCS_H
#define XS_CLI_PRELOAD_DOCS_H

void preload_docs(void);

#endif
