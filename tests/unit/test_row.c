/* A row as a line of JSON, and back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/row.h"

static void a_row_comes_back(void **state)
{
    struct xs_row row = {.bench = "pair",
                         .contestant = "x",
                         .driver = "cuda",
                         .trace = "a \"b\" \\c",
                         .threads = 8,
                         .cores = 16,
                         .size = (uint64_t)1 << 40,
                         .ns_per_pair = 12.25,
                         .p50_ns = NAN,
                         .p999_ns = 1e9,
                         .control_ns = 10};
    struct xs_row back;
    char line[1024] = "";
    (void)state;
    xs_row_extra(&row, "rate_ratio", 7.5);
    xs_row_extra(&row, "nothing", NAN);
    FILE *out = fmemopen(line, sizeof(line), "w");
    xs_row_write(&row, out);
    fclose(out);
    assert_non_null(strstr(line, "\"ratio_to_control\": 1.2250"));
    assert_true(xs_row_read(&back, line));
    assert_string_equal(back.bench, row.bench);
    assert_string_equal(back.contestant, row.contestant);
    assert_string_equal(back.driver, row.driver);
    assert_string_equal(back.trace, row.trace);
    assert_string_equal(back.error, "");
    assert_true(back.threads == 8 && back.cores == 16 && back.size == row.size);
    assert_true(back.ns_per_pair == 12.25 && isnan(back.p50_ns) && back.p999_ns == 1e9);
    assert_true(back.n_extras == 2 && xs_row_find_extra(&back, "rate_ratio") == 7.5);
    assert_true(isnan(xs_row_find_extra(&back, "absent")));
}

static void what_is_no_row_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "\n",
        "torch: warning",
        "{",
        "{}",
        "{\"bench\"",
        "{\"bench\": \"pair\"",
        "{\"bench\": \"pair\"}",
        "{\"bench\": \"pair\", \"contestant\": \"x}",
        "{\"bench\": \"pair\", \"contestant\": \"x\\",
        "{\"bench\": \"pair\", \"contestant\": \"x\", \"size\": }",
        "{\"bench\": \"pair\", \"contestant\": \"x\", \"size\": [1]}",
    };
    struct xs_row row;
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_false(xs_row_read(&row, lines[i]));
}

static void unknown_numbers_are_extras_up_to_a_bound(void **state)
{
    struct xs_row row;
    char line[1024];
    int len = snprintf(line, sizeof(line), "{\"bench\": \"b\", \"contestant\": \"c\"");
    (void)state;
    for (unsigned i = 0; i < 2 * XS_ROW_EXTRAS_MAX; i++)
        len += snprintf(line + len, sizeof(line) - (size_t)len, ", \"extra_%u\": %u", i, i);
    snprintf(line + len, sizeof(line) - (size_t)len, "}\n");
    assert_true(xs_row_read(&row, line));
    assert_int_equal(row.n_extras, XS_ROW_EXTRAS_MAX);
    assert_true(xs_row_find_extra(&row, "extra_3") == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_comes_back),
        cmocka_unit_test(what_is_no_row_is_refused),
        cmocka_unit_test(unknown_numbers_are_extras_up_to_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
