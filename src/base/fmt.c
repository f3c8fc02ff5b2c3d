#include "base/fmt.h"

#include <inttypes.h>
#include <stdio.h>

__extension__ typedef unsigned __int128 u128;

static const char kUnits[] = "BKMGTPE"; /* of 2^0, 2^10, 2^20, ... */

/* In integers, so that a locale cannot turn the point into a comma. */
const char *xs_fmt_bytes(char out[XS_FMT_BYTES], uint64_t bytes)
{
    if (bytes < 1024) {
        snprintf(out, XS_FMT_BYTES, "%" PRIu64 " B", bytes);
        return out;
    }
    unsigned unit = xs_log2(bytes) / 10;
    uint64_t hundredths =
        (uint64_t)((((u128)bytes * 100) + ((u128)1 << (10 * unit - 1))) >> (10 * unit));
    if (hundredths >= 1024 * 100 && unit < 6) { /* 1048575 is 1.00 MiB, not 1024.00 KiB */
        hundredths = 100;
        unit++;
    }
    snprintf(out, XS_FMT_BYTES, "%u.%02u %ciB", (unsigned)hundredths / 100,
             (unsigned)hundredths % 100, kUnits[unit]);
    return out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char to_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

/* "", "K", "KiB", "m", "tib", ...: the power of two, or -1. */
static int unit_shift(const char *text, size_t len)
{
    if (len == 0)
        return 0;
    if (len != 1 && !(len == 3 && to_upper(text[1]) == 'I' && to_upper(text[2]) == 'B'))
        return -1;
    for (int unit = 1; unit <= 4; unit++)
        if (to_upper(text[0]) == kUnits[unit])
            return 10 * unit;
    return -1;
}

/* Reads digits up to a number that surely is too large; returns how many characters it took. */
static size_t read_whole(const char *text, size_t len, u128 *n)
{
    size_t i = 0;
    for (*n = 0; i < len && is_digit(text[i]); i++)
        if (*n <= UINT64_MAX)
            *n = *n * 10 + (unsigned)(text[i] - '0');
    return i;
}

/* The digits behind the point; those beyond the 18th are less than a byte of a terabyte. */
static size_t read_fraction(const char *text, size_t len, u128 *n, u128 *divisor)
{
    size_t i = 0;
    *n = 0;
    *divisor = 1;
    for (; i < len && is_digit(text[i]); i++) {
        if (i >= 18)
            continue;
        *n = *n * 10 + (unsigned)(text[i] - '0');
        *divisor *= 10;
    }
    return i;
}

bool xs_parse_bytes(const char *text, size_t len, size_t *bytes)
{
    u128 whole, fraction = 0, divisor = 1;
    size_t used = read_whole(text, len, &whole);
    if (used == 0)
        return false;
    bool has_point = used < len && text[used] == '.';
    if (has_point) {
        size_t digits = read_fraction(text + used + 1, len - used - 1, &fraction, &divisor);
        if (digits == 0)
            return false;
        used += 1 + digits;
    }
    int shift = unit_shift(text + used, len - used);
    if (shift < 0 || (has_point && shift == 0) || whole > INT64_MAX)
        return false;
    u128 sum = (whole << shift) + (fraction << shift) / divisor;
    if (sum > INT64_MAX)
        return false;
    *bytes = (size_t)sum;
    return true;
}
