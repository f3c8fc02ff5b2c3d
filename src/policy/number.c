#include "policy/number.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum xs_number xs_read_count(struct xs_slice text, uint64_t *n)
{
    uint64_t sum = 0;
    bool too_large = false;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.at[i]))
            return XS_NUMBER_BAD;
        too_large |= __builtin_mul_overflow(sum, 10, &sum);
        too_large |= __builtin_add_overflow(sum, (uint64_t)(text.at[i] - '0'), &sum);
    }
    if (text.len == 0)
        return XS_NUMBER_BAD;
    *n = sum;
    return too_large ? XS_NUMBER_TOO_LARGE : XS_NUMBER_OK;
}

/* A decimal number as digits * 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
};

enum { kExponentLimit = 100000 }; /* beyond it everything is zero or too large anyway */

/* Digits that no longer fit are dropped; those before the point then count in the exponent. */
static void add_digit(struct decimal *d, char c, bool after_point)
{
    bool fits = d->digits < UINT64_MAX / 10 - 1;
    if (fits)
        d->digits = d->digits * 10 + (uint64_t)(c - '0');
    d->exponent += (fits ? 0 : 1) - (after_point ? 1 : 0);
}

/* "12.5": returns how many characters it took; 0 without any digit. */
static size_t read_mantissa(struct xs_slice text, struct decimal *d)
{
    size_t i = 0, digits = 0;
    bool after_point = false;
    for (; i < text.len; i++) {
        if (is_digit(text.at[i])) {
            add_digit(d, text.at[i], after_point);
            digits++;
        } else if (text.at[i] == '.' && !after_point) {
            after_point = true;
        } else {
            break;
        }
    }
    return digits ? i : 0;
}

/* What follows the 'e': "-3". */
static bool read_exponent(struct xs_slice text, int *exponent)
{
    bool negative = text.len > 0 && text.at[0] == '-';
    if (negative || (text.len > 0 && text.at[0] == '+'))
        text.at++, text.len--;
    uint64_t n = 0;
    enum xs_number e = xs_read_count(text, &n);
    if (e == XS_NUMBER_TOO_LARGE || n > kExponentLimit)
        n = kExponentLimit;
    *exponent += negative ? -(int)n : (int)n;
    return e != XS_NUMBER_BAD;
}

static enum xs_number scale(struct decimal d, uint64_t *units)
{
    uint64_t n = d.digits;
    for (; d.exponent < 0 && n > 0; d.exponent++)
        n /= 10;
    for (; d.exponent > 0 && n > 0; d.exponent--)
        if (__builtin_mul_overflow(n, 10, &n))
            return XS_NUMBER_TOO_LARGE;
    *units = n;
    return XS_NUMBER_OK;
}

enum xs_number xs_read_share(struct xs_slice text, uint64_t *units)
{
    struct decimal d = {0, 15};
    size_t used = read_mantissa(text, &d);
    if (used == 0)
        return XS_NUMBER_BAD;
    if (used < text.len) {
        if (xs_to_lower(text.at[used]) != 'e')
            return XS_NUMBER_BAD;
        if (!read_exponent((struct xs_slice){text.at + used + 1, text.len - used - 1}, &d.exponent))
            return XS_NUMBER_BAD;
    }
    return scale(d, units);
}

const char *xs_write_size(char out[XS_NUMBER_BYTES], uint64_t bytes)
{
    unsigned unit = 0;
    while (unit < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, XS_NUMBER_BYTES, "%" PRIu64 "%.*s", bytes, unit ? 1 : 0, &"BKMGT"[unit]);
    return out;
}

const char *xs_write_share(char out[XS_NUMBER_BYTES], uint64_t units)
{
    int len = snprintf(out, XS_NUMBER_BYTES, "%" PRIu64 ".%015" PRIu64, units / XS_SHARE_ONE,
                       units % XS_SHARE_ONE);
    while (out[len - 1] == '0')
        len--;
    if (out[len - 1] == '.')
        len--;
    out[len] = '\0';
    return out;
}
