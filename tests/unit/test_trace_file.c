/* The trace reader: what a whole trace becomes, and that every malformed one is refused with the line
 * and the text that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "report/trace_file.h"

#define HEAD "# xseg-trace 1\n"
/* A trace of n events that says it has n. */
#define TRACE(n, peak, body) HEAD "# events " #n " streams 2 peak_requested " #peak "\n" body

static enum xseg_result load_text(struct xs_trace *trace, const char *text, size_t bytes)
{
    struct xs_trace_file *file;
    enum xseg_result result = xs_trace_open_memory(&file, "t", text, bytes);
    if (result != XSEG_OK)
        return result;
    result = xs_trace_load(trace, file);
    xs_trace_close(file);
    return result;
}

static enum xseg_result load_path(struct xs_trace *trace, const char *path)
{
    struct xs_trace_file *file;
    enum xseg_result result = xs_trace_open(&file, path);
    if (result != XSEG_OK)
        return result;
    result = xs_trace_load(trace, file);
    xs_trace_close(file);
    return result;
}

static void assert_loads(struct xs_trace *trace, const char *text)
{
    if (load_text(trace, text, strlen(text)) != XSEG_OK)
        fail_msg("refused: %s", xs_error_text());
}

static void assert_refused_bytes(const char *text, size_t bytes, const char *message)
{
    struct xs_trace trace;
    assert_int_equal(load_text(&trace, text, bytes), XSEG_ERROR_IO);
    assert_string_equal(xs_error_text(), message);
}

static void assert_refused(const char *text, const char *message)
{
    assert_refused_bytes(text, strlen(text), message);
}

/* ---- whole traces ---------------------------------------------------------------------------- */

static void events_come_in_order_with_dense_slots(void **state)
{
    (void)state;
    struct xs_trace t;
    assert_loads(&t, TRACE(5, 30,
                           "a 9000000000000000000 10 0\na 7 20 1\nf 7\n"
                           "f 9000000000000000000\na 3 0 1\n"));
    assert_int_equal(t.header.events, 5);
    assert_int_equal(t.header.streams, 2);
    assert_int_equal(t.n_slots, 2);
    const struct xs_trace_event expected[] = {{10, 0, 0, XS_TRACE_ALLOC},
                                              {20, 1, 1, XS_TRACE_ALLOC},
                                              {20, 1, 1, XS_TRACE_FREE},
                                              {10, 0, 0, XS_TRACE_FREE},
                                              {0, 0, 1, XS_TRACE_ALLOC}};
    assert_memory_equal(t.events, expected, sizeof(expected));
    xs_trace_unload(&t);
}

static void freed_id_may_be_allocated_again(void **state)
{
    (void)state;
    struct xs_trace t;
    assert_loads(&t, TRACE(4, 8, "a 1 4 0\nf 1\na 1 8 0\nf 1\n"));
    assert_int_equal(t.n_slots, 1);
    xs_trace_unload(&t);
}

static void header_is_read_and_comments_are_skipped(void **state)
{
    (void)state;
    struct xs_trace t;
    assert_loads(&t, HEAD "# source a run\n# cut to 1 event\n#\n# \n"
                          "# events 1 streams 1 peak_requested 5\n# ref p peak_reserved 7\n"
                          "#!/odd\na 0 5 0\n# the end\n");
    assert_string_equal(t.header.source, "a run");
    assert_int_equal(t.header.peak_requested, 5);
    assert_int_equal(t.header.n_refs, 1);
    assert_string_equal(t.header.refs[0].name, "p");
    assert_int_equal(t.header.refs[0].peak_reserved, 7);
    xs_trace_unload(&t);
}

static void no_events_and_no_last_newline_are_fine(void **state)
{
    (void)state;
    struct xs_trace t;
    assert_loads(&t, HEAD "# events 0 streams 0 peak_requested 0");
    assert_int_equal(t.n_slots, 0);
    xs_trace_unload(&t);
    assert_loads(&t, TRACE(1, 1, "a 0 1 1"));
    xs_trace_unload(&t);
}

static void largest_values_are_accepted(void **state)
{
    (void)state;
    struct xs_trace t;
    assert_loads(&t,
                 TRACE(1, 1152921504606846975, "a 9223372036854775807 1152921504606846975 1\n"));
    assert_true(t.events[0].size == XS_TRACE_SIZE_MAX);
    xs_trace_unload(&t);
}

static void many_ids_with_a_large_stride_are_told_apart(void **state)
{
    (void)state;
    enum { N = 20000 };
    char *text = malloc(N * 64);
    int at = sprintf(text, HEAD "# events %d streams 1 peak_requested %d\n", 2 * N, N);
    for (int i = 0; i < N; i++)
        at += sprintf(text + at, "a %llu 1 0\n", (unsigned long long)i << 40);
    for (int i = 0; i < N; i++)
        at += sprintf(text + at, "f %llu\n", (unsigned long long)i << 40);
    struct xs_trace t;
    assert_loads(&t, text);
    for (int i = 0; i < N; i++)
        assert_int_equal(t.events[N + i].slot, i);
    xs_trace_unload(&t);
    free(text);
}

/* ---- malformed headers ----------------------------------------------------------------------- */

static void wrong_header_is_refused(void **state)
{
    (void)state;
    assert_refused("", "t: empty: expected '# xseg-trace 1'");
    assert_refused("# xseg-trace 2\n",
                   "t:1: not a trace: expected '# xseg-trace 1': '# xseg-trace 2'");
    assert_refused("a 0 1 0\n", "t:1: not a trace: expected '# xseg-trace 1': 'a 0 1 0'");
    assert_refused(HEAD, "t:1: missing header line '# events N streams S peak_requested BYTES'");
    assert_refused(HEAD "a 0 1 0\n",
                   "t:2: missing header line '# events N streams S peak_requested BYTES'");
}

static void malformed_header_lines_are_refused(void **state)
{
    (void)state;
    assert_refused(HEAD "# events x streams 1 peak_requested 0\n",
                   "t:2: number of events is not a number: 'x'");
    assert_refused(HEAD "# events 1 stream 1 peak_requested 0\n",
                   "t:2: expected '# events N streams S peak_requested BYTES': "
                   "'# events 1 stream 1 peak_requested 0'");
    assert_refused(HEAD "# events 1 streams 1025 peak_requested 0\n",
                   "t:2: number of streams is above 1024: '1025'");
    assert_refused(HEAD "# events 1 streams 1 peak_requested\n",
                   "t:2: missing peak_requested: '# events 1 streams 1 peak_requested'");
    assert_refused(TRACE(0, 0, "# events 0 streams 1 peak_requested 0\n"),
                   "t:3: a second line of this kind: '# events 0 streams 1 peak_requested 0'");
    assert_refused(TRACE(0, 0, "# ref p reserved 1\n"),
                   "t:3: expected '# ref NAME peak_reserved BYTES': '# ref p reserved 1'");
    assert_refused(TRACE(0, 0, "# ref p peak_reserved 1 2\n"),
                   "t:3: unexpected text at the end: '# ref p peak_reserved 1 2'");
    assert_refused(TRACE(1, 1, "a 0 1 0\n# ref p peak_reserved 1\n"),
                   "t:4: header line after an event: '# ref p peak_reserved 1'");
}

static void header_that_disagrees_with_the_events_is_refused(void **state)
{
    (void)state;
    assert_refused(TRACE(2, 1, "a 0 1 0\n"), "t:3: cut trace: 1 events, the header says 2");
    assert_refused(TRACE(1, 2, "a 0 1 0\n"), "t: peak_requested is 1, the header says 2");
}

/* ---- malformed events ------------------------------------------------------------------------ */

static void malformed_events_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *message;
    } cases[] = {
        {"f 5", "free of an id that was never allocated: 'f 5'"},
        {"a 0 9 0", "id is already live: '0' (line 3)"},
        {"a 1 -9 0", "size is negative: '-9'"},
        {"a 1 1152921504606846976 0", "size is above 1152921504606846975: '1152921504606846976'"},
        {"a 1 99999999999999999999999 0",
         "size is above 1152921504606846975: '99999999999999999999999'"},
        {"a 1 4k 0", "size is not a number: '4k'"},
        {"a 1 +4 0", "size is not a number: '+4'"},
        {"a 1 4 2", "stream is above 1: '2'"},
        {"a 1 4 -1", "stream is negative: '-1'"},
        {"a 1 4", "missing stream: 'a 1 4'"},
        {"a 1", "missing size: 'a 1'"},
        {"a", "missing id: 'a'"},
        {"f", "missing id: 'f'"},
        {"a  1 4 0", "missing id: 'a  1 4 0'"},
        {"a 1 4 0 0", "unexpected text at the end: 'a 1 4 0 0'"},
        {"a 1 4 0 ", "unexpected text at the end: 'a 1 4 0 '"},
        {"a 1 4 0\r", "stream is not a number: '0?'"},
        {"f 0 0", "unexpected text at the end: 'f 0 0'"},
        {"f 9223372036854775808", "id is above 9223372036854775807: '9223372036854775808'"},
        {"f -1", "id is negative: '-1'"},
        {"f one", "id is not a number: 'one'"},
        {"x 1", "neither 'a ID SIZE STREAM' nor 'f ID': 'x 1'"},
        {"alloc 1 4 0", "neither 'a ID SIZE STREAM' nor 'f ID': 'alloc 1 4 0'"},
        {" a 1 4 0", "neither 'a ID SIZE STREAM' nor 'f ID': ' a 1 4 0'"},
        {"", "neither 'a ID SIZE STREAM' nor 'f ID': ''"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        char message[256];
        snprintf(text, sizeof(text), TRACE(2, 1, "a 0 1 0\n%s\n"), cases[i].line);
        snprintf(message, sizeof(message), "t:4: %s", cases[i].message);
        assert_refused(text, message);
    }
}

static void double_free_names_the_line_of_the_first(void **state)
{
    (void)state;
    assert_refused(TRACE(3, 1, "a 8 1 0\nf 8\nf 8\n"), "t:5: double free of id: '8' (line 4)");
}

static void allocation_without_streams_is_refused(void **state)
{
    (void)state;
    assert_refused(HEAD "# events 1 streams 0 peak_requested 1\na 0 1 0\n",
                   "t:3: an allocation in a trace of 0 streams: 'a 0 1 0'");
}

static void live_bytes_beyond_counting_are_refused(void **state)
{
    (void)state;
    char text[1024];
    int at = sprintf(text, HEAD "# events 9 streams 1 peak_requested 1\n");
    for (int i = 0; i < 9; i++)
        at += sprintf(text + at, "a %d 1152921504606846975 0\n", i);
    assert_refused(text, "t:11: live bytes pass 2^63: 'a 8 1152921504606846975 0'");
}

static void nul_byte_is_refused(void **state)
{
    (void)state;
    static const char text[] = TRACE(1, 1, "a 0\0 1 0\n");
    assert_refused_bytes(text, sizeof(text) - 1, "t:3: NUL byte after 'a 0'");
    static const char comment[] = TRACE(1, 1, "# c\0\na 0 1 0\n");
    assert_refused_bytes(comment, sizeof(comment) - 1, "t:3: NUL byte after '# c'");
}

static void line_too_long_is_refused(void **state)
{
    (void)state;
    char text[XS_TRACE_LINE_MAX + 64] = HEAD "# ";
    size_t head = strlen(HEAD);
    memset(text + head + 2, 'x', sizeof(text) - head - 2);
    text[head + XS_TRACE_LINE_MAX] = '\n';
    assert_refused_bytes(text, head + XS_TRACE_LINE_MAX,
                         "t:2: missing header line '# events N streams S peak_requested BYTES'");
    text[head + XS_TRACE_LINE_MAX] = 'x';
    struct xs_trace trace;
    assert_int_equal(load_text(&trace, text, sizeof(text)), XSEG_ERROR_IO);
    assert_non_null(strstr(xs_error_text(), "t:2: line too long: more than 4096 bytes: '# xxx"));
}

/* ---- files ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/xseg-trace-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t len)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

/* A long trace, compressed, under a name that does not say so. */
static size_t write_gzip(char **bytes)
{
    FILE *gzip;
    char command[160];
    snprintf(command, sizeof(command), "gzip -c >%s", path_of("packed"));
    gzip = popen(command, "w");
    assert_non_null(gzip);
    fprintf(gzip, HEAD "# events 60002 streams 1 peak_requested 60000\na 0 60000 0\nf 0\n");
    for (int i = 0; i < 30000; i++)
        fprintf(gzip, "a %d %d 0\nf %d\n", i, (i * 7919) % 60000, i);
    assert_int_equal(pclose(gzip), 0);
    FILE *file = fopen(path_of("packed"), "rb");
    *bytes = malloc(1 << 20);
    size_t len = fread(*bytes, 1, 1 << 20, file);
    fclose(file);
    return len;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("packed"));
    unlink(path_of("cut"));
    unlink(path_of("plain"));
    return rmdir(folder);
}

static void gzip_is_told_by_its_bytes(void **state)
{
    (void)state;
    char *bytes;
    struct xs_trace t;
    write_gzip(&bytes);
    free(bytes);
    assert_int_equal(load_path(&t, path_of("packed")), XSEG_OK);
    assert_int_equal(t.header.events, 60002);
    xs_trace_unload(&t);
}

static void cut_or_corrupt_gzip_is_refused(void **state)
{
    (void)state;
    char *bytes;
    struct xs_trace t;
    size_t len = write_gzip(&bytes);
    for (size_t keep = 2; keep < len; keep += 1 + len / 16) {
        write_file("cut", bytes, keep);
        assert_int_equal(load_path(&t, path_of("cut")), XSEG_ERROR_IO);
        assert_non_null(strstr(xs_error_text(), "/cut"));
        assert_non_null(strstr(xs_error_text(), "cut or corrupt"));
        assert_non_null(strstr(xs_error_text(), "gzip: "));
    }
    bytes[len - 6] ^= 1; /* the checksum */
    write_file("cut", bytes, len);
    assert_int_equal(load_path(&t, path_of("cut")), XSEG_ERROR_IO);
    assert_non_null(strstr(xs_error_text(), "crc error"));
    free(bytes);
}

static void plain_file_is_read_in_pieces(void **state)
{
    (void)state;
    char *text = malloc(4 << 20);
    int at = sprintf(text, TRACE(200000, 3, ""));
    for (int i = 0; i < 100000; i++)
        at += sprintf(text + at, "a %d 3 0\nf %d\n", i, i);
    write_file("plain", text, (size_t)at);
    struct xs_trace t;
    assert_int_equal(load_path(&t, path_of("plain")), XSEG_OK);
    assert_int_equal(t.n_slots, 1);
    xs_trace_unload(&t);
    write_file("plain", text, (size_t)at - 1);
    assert_int_equal(load_path(&t, path_of("plain")), XSEG_OK);
    xs_trace_unload(&t);
    free(text);
}

static void unreadable_files_are_named(void **state)
{
    (void)state;
    struct xs_trace t;
    assert_int_equal(load_path(&t, "/nonexistent/x"), XSEG_ERROR_IO);
    assert_string_equal(xs_error_text(), "/nonexistent/x: cannot open: No such file or directory");
    assert_int_equal(load_path(&t, "/"), XSEG_ERROR_IO);
    assert_string_equal(xs_error_text(), "/: cannot read: Is a directory");
}

static void reader_leaves_no_descriptor_and_no_child(void **state)
{
    (void)state;
    char *bytes;
    struct xs_trace t;
    size_t len = write_gzip(&bytes);
    write_file("cut", bytes, len / 2);
    free(bytes);
    int before = dup(0);
    close(before);
    load_path(&t, path_of("cut"));
    struct xs_trace_file *file;
    assert_int_equal(xs_trace_open(&file, path_of("packed")), XSEG_OK);
    xs_trace_close(file); /* while gzip is still writing */
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_with_dense_slots),
        cmocka_unit_test(freed_id_may_be_allocated_again),
        cmocka_unit_test(header_is_read_and_comments_are_skipped),
        cmocka_unit_test(no_events_and_no_last_newline_are_fine),
        cmocka_unit_test(largest_values_are_accepted),
        cmocka_unit_test(many_ids_with_a_large_stride_are_told_apart),
        cmocka_unit_test(wrong_header_is_refused),
        cmocka_unit_test(malformed_header_lines_are_refused),
        cmocka_unit_test(header_that_disagrees_with_the_events_is_refused),
        cmocka_unit_test(malformed_events_are_refused),
        cmocka_unit_test(double_free_names_the_line_of_the_first),
        cmocka_unit_test(allocation_without_streams_is_refused),
        cmocka_unit_test(live_bytes_beyond_counting_are_refused),
        cmocka_unit_test(nul_byte_is_refused),
        cmocka_unit_test(line_too_long_is_refused),
        cmocka_unit_test(gzip_is_told_by_its_bytes),
        cmocka_unit_test(cut_or_corrupt_gzip_is_refused),
        cmocka_unit_test(plain_file_is_read_in_pieces),
        cmocka_unit_test(unreadable_files_are_named),
        cmocka_unit_test(reader_leaves_no_descriptor_and_no_child),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
