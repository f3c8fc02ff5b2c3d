/* docs/options.md and alloc.conf.example, written from the table of options. */
#ifndef XS_CLI_CONF_DOCS_H
#define XS_CLI_CONF_DOCS_H

void conf_docs_options(void);
void conf_docs_example(void);

#endif
