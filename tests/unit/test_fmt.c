/* Sizes as text, and text as sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/fmt.h"

static void bytes_are_shown_with_two_decimals(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {1029, "1.00 KiB"},
        {1030, "1.01 KiB"},
        {20 * XS_MIB, "20.00 MiB"},
        {XS_MIB - 1, "1.00 MiB"},
        {XS_MIB - 6, "1023.99 KiB"},
        {XS_GIB * 139 + XS_GIB / 4, "139.25 GiB"},
        {(uint64_t)1 << 40, "1.00 TiB"},
        {((uint64_t)1 << 50) * 3 / 2, "1.50 PiB"},
        {UINT64_MAX, "16.00 EiB"},
    };
    char out[XS_FMT_BYTES];
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        assert_string_equal(xs_fmt_bytes(out, cases[i].bytes), cases[i].text);
        assert_ptr_equal(xs_fmt_bytes(out, cases[i].bytes), out);
    }
}

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        {"0", 0},
        {"1048576", XS_MIB},
        {"64K", 64 * XS_KIB},
        {"64k", 64 * XS_KIB},
        {"1.5GiB", XS_GIB * 3 / 2},
        {"1.5gib", XS_GIB * 3 / 2},
        {"2g", 2 * XS_GIB},
        {"3T", (size_t)3 << 40},
        {"0.5K", 512},
        {"0.0001K", 0}, /* rounded down */
        {"0.999999999999999999999K", 1023},
        {"00012M", 12 * XS_MIB},
        {"9223372036854775807", INT64_MAX},
        {"8388607T", (size_t)8388607 << 40},
    };
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        size_t bytes = 77;
        assert_true(xs_parse_bytes(cases[i].text, strlen(cases[i].text), &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
    size_t bytes = 0;
    assert_true(xs_parse_bytes("12Kxyz", 3, &bytes)); /* the length counts, not the terminator */
    assert_int_equal(bytes, 12 * XS_KIB);
}

static void other_text_is_refused_and_nothing_written(void **state)
{
    static const char *const cases[] = {
        "",
        "K",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1 K",
        "20MB",
        "1.5",
        "1.K",
        ".5K",
        "1..5K",
        "1.5.K",
        "1e3",
        "0x10",
        "1KB",
        "1Ki",
        "1KiBs",
        "1P",
        "nan",
        "inf",
        "1,5K",
        "8388608T",
        "9223372036854775808",
        "99999999999999999999",
        "99999999999999999999999999999999999999999999999999",
        "340282366920938463463374607431768211457T",
        "1\xc3\xa9",
    };
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        size_t bytes = 77;
        if (xs_parse_bytes(cases[i], strlen(cases[i]), &bytes))
            fail_msg("'%s' was read as %zu", cases[i], bytes);
        assert_int_equal(bytes, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_shown_with_two_decimals),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(other_text_is_refused_and_nothing_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
