/* Writes JSON. `key` is NULL in an array and at the top. What a text holds that is not UTF-8 becomes
 * U+FFFD, so that the output always parses. */
#ifndef XS_BASE_JSON_H
#define XS_BASE_JSON_H

#include "base/out.h"

struct xs_json {
    struct xs_out *out;
    bool needs_comma;
};

void xs_json_open(struct xs_json *j, const char *key, char bracket); /* '{' or '[' */
void xs_json_close(struct xs_json *j, char bracket);                 /* '}' or ']' */
/* NULL text is null. */
void xs_json_text(struct xs_json *j, const char *key, const char *text);
void xs_json_count(struct xs_json *j, const char *key, uint64_t value);
/* A number that is not finite is null. */
void xs_json_real(struct xs_json *j, const char *key, double value, int decimals);
/* Signed, for what counts down below nothing. */
void xs_json_signed(struct xs_json *j, const char *key, int64_t value);
void xs_json_bool(struct xs_json *j, const char *key, bool value);
void xs_json_null(struct xs_json *j, const char *key);

#endif
