/* What may be written to a stream: escape codes, boxes, a progress bar. */
#ifndef XS_CLI_TERMINAL_H
#define XS_CLI_TERMINAL_H

#include <stdio.h>

#include "base/base.h"

enum xs_color { XS_COLOR_AUTO, XS_COLOR_ALWAYS, XS_COLOR_NEVER };

/* "auto", "always", "never"; NULL is auto. False: none of them. */
bool xs_color_parse(const char *text, enum xs_color *color);
/* Auto: a terminal, where NO_COLOR is not set and TERM is not "dumb". */
bool xs_terminal_has_color(FILE *out, enum xs_color color);
/* Whether box-drawing characters will be seen as such. */
bool xs_terminal_has_boxes(FILE *out);
/* A terminal that can move its cursor. */
bool xs_terminal_is_live(FILE *out);

#endif
