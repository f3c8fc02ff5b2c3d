#include "cli/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool xs_color_parse(const char *text, enum xs_color *color)
{
    static const char *const names[] = {
        [XS_COLOR_AUTO] = "auto", [XS_COLOR_ALWAYS] = "always", [XS_COLOR_NEVER] = "never"};
    for (size_t i = 0; i < XS_COUNT_OF(names); i++) {
        if (text == NULL || strcmp(text, names[i]) == 0) {
            *color = (enum xs_color)i;
            return true;
        }
    }
    return false;
}

bool xs_terminal_is_live(FILE *out)
{
    const char *term = getenv("TERM");
    bool is_dumb = term == NULL || strcmp(term, "dumb") == 0;
    return isatty(fileno(out)) && !is_dumb;
}

bool xs_terminal_has_color(FILE *out, enum xs_color color)
{
    const char *no_color = getenv("NO_COLOR");
    bool is_refused = no_color != NULL && no_color[0] != '\0';
    if (color == XS_COLOR_AUTO)
        return !is_refused && xs_terminal_is_live(out);
    return color == XS_COLOR_ALWAYS;
}

bool xs_terminal_has_boxes(FILE *out)
{
    return isatty(fileno(out)) && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
