/* Text that comes from elsewhere may be anything; what is written must be UTF-8. */
#ifndef XS_BASE_UTF8_H
#define XS_BASE_UTF8_H

#include "base/base.h"

/* The length of the sequence at `text`, which ends in NUL; 0 where it is none. Overlong forms and surrogates are
 * none. */
static inline size_t xs_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool is_beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return is_overlong || is_beyond ? 0 : n;
}

#endif
