#include "cli/report_page.h"

#include <string.h>

/* The assembler reads the file; it is looked for from the folder that the build runs in. */
__asm__(".section .rodata\n"
        "report_page_html:\n"
        ".incbin \"src/cli/report_page.html\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char report_page_html[] __attribute__((visibility("hidden")));

static const char kData[] = "/*DATA*/";
static const char kTitle[] = "<!--TITLE-->";

static void print_escaped(struct xs_out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            xs_out_text(out, "&lt;");
        else if (*text == '&')
            xs_out_text(out, "&amp;");
        else
            xs_out_bytes(out, text, 1);
    }
}

void report_page_begin(struct xs_out *out, const char *title)
{
    const char *at = strstr(report_page_html, kTitle), *data = strstr(report_page_html, kData);
    xs_out_bytes(out, report_page_html, (size_t)(at - report_page_html));
    print_escaped(out, title);
    at += sizeof(kTitle) - 1;
    xs_out_bytes(out, at, (size_t)(data - at));
}

void report_page_end(struct xs_out *out)
{
    xs_out_text(out, strstr(report_page_html, kData) + sizeof(kData) - 1);
}
