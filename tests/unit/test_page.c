/* Whose page is believed, and whose is not. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/page.h"

static struct xs_page *page;
static const char *why;
static struct xs_page_device device;

static int begin(void **state)
{
    (void)state;
    page = xs_page_make();
    return page == NULL;
}

static int end(void **state)
{
    (void)state;
    if (page)
        xs_page_remove(page);
    page = NULL;
    return 0;
}

static void write_once(uint64_t reserved)
{
    struct xseg_stats stats = {.device = 2};
    stats.reserved_bytes.current = reserved;
    xs_page_write(page, &stats);
}

static const struct xs_page *must_map(int pid)
{
    const struct xs_page *mapped = xs_page_map(pid, &why);
    if (!mapped)
        fail_msg("%s", why);
    return mapped;
}

static void must_not_map(int pid, const char *reason)
{
    assert_null(xs_page_map(pid, &why));
    if (!strstr(why, reason))
        fail_msg("\"%s\" is not in: %s", reason, why);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    write_once(1000);
    write_once(3000);
    const struct xs_page *mapped = must_map(getpid());
    assert_true(xs_page_read(mapped, 2, &device));
    assert_int_equal(device.stats.reserved_bytes.current, 3000);
    assert_int_equal(device.samples, 2);
    assert_int_equal(device.sample[0].reserved, 1000);
    assert_false(xs_page_read(mapped, 1, &device));
    xs_page_unmap(mapped);
}

static void the_file_is_its_owners_alone(void **state)
{
    (void)state;
    char name[XS_PAGE_NAME_BYTES];
    struct stat st;
    xs_page_name(name, getpid());
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(chmod(name, 0644), 0);
    must_not_map(getpid(), "no process of yours");
    end(state);
    assert_int_not_equal(stat(name, &st), 0);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    char name[XS_PAGE_NAME_BYTES];
    xs_page_name(name, getpid());
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink("/etc/passwd", name), 0);
    must_not_map(getpid(), "no process of yours");
    struct xs_page *again = xs_page_make(); /* replaces the link, and writes to no other file */
    assert_non_null(again);
    struct stat st;
    assert_int_equal(lstat(name, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    xs_page_remove(again);
}

static void a_half_written_part_is_not_read(void **state)
{
    (void)state;
    write_once(1000);
    const struct xs_page *mapped = must_map(getpid());
    atomic_fetch_add(&page->device[2].sequence, 1);
    assert_false(xs_page_read(mapped, 2, &device));
    atomic_fetch_add(&page->device[2].sequence, 1);
    assert_true(xs_page_read(mapped, 2, &device));
    xs_page_unmap(mapped);
}

static void another_version_is_told(void **state)
{
    (void)state;
    page->head.bytes++;
    must_not_map(getpid(), "another version");
}

static void a_number_that_is_another_process_now_is_told(void **state)
{
    (void)state;
    page->head.process.started++;
    must_not_map(getpid(), "has ended");
}

/* ---- what crashes leave ---- */

static bool is_there(const char *name)
{
    struct stat st;
    return lstat(name, &st) == 0;
}

/* A process that makes a page and ends as if it had been killed; its page's name. Any process of the user that begins now may
 * sweep it. */
static pid_t leave_a_page(char name[XS_PAGE_NAME_BYTES])
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(xs_page_make() == NULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    xs_page_name(name, child);
    return child;
}

/* A process that makes a page and becomes another program, which lives on. */
static pid_t exec_with_a_page(void)
{
    int ends[2];
    char none;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (!child) {
        if (xs_page_make())
            execlp("sleep", "sleep", "300", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &none, 1), 0); /* closed by the exec */
    close(ends[0]);
    return child;
}

static void a_process_that_is_another_program_is_told(void **state)
{
    (void)state;
    int status;
    char name[XS_PAGE_NAME_BYTES];
    const pid_t child = exec_with_a_page();
    const struct xs_page *mapped = xs_page_map(child, &why);
    if (!mapped && !strstr(why, "another program"))
        assert_non_null(strstr(why, "no process of yours")); /* swept already */
    xs_page_sweep();
    xs_page_name(name, child);
    const bool there = is_there(name);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WTERMSIG(status), SIGKILL); /* it had not ended before */
    unlink(name);
    assert_null(mapped);
    assert_false(there);
}

#define TRIES 200

static void a_process_that_died_is_told(void **state)
{
    (void)state;
    char name[XS_PAGE_NAME_BYTES];
    bool told = false;
    for (int i = 0; i < TRIES && !told; i++) {
        const pid_t child = leave_a_page(name);
        assert_null(xs_page_map(child, &why));
        told = strstr(why, "has ended");
        if (!told)
            assert_non_null(strstr(why, "no process of yours")); /* swept already */
        unlink(name);
        must_not_map(child, "no process of yours");
    }
    assert_true(told);
}

/* A page of the dead that nobody sweeps: not private, as if somebody had written to it. */
static void leave_an_open_page(char name[XS_PAGE_NAME_BYTES])
{
    bool there = false;
    for (int i = 0; i < TRIES && !there; i++) {
        leave_a_page(name);
        there = !chmod(name, 0644);
    }
    assert_true(there);
}

static void pages_of_the_dead_are_swept(void **state)
{
    (void)state;
    char dead[XS_PAGE_NAME_BYTES], own[XS_PAGE_NAME_BYTES];
    leave_a_page(dead);
    xs_page_name(own, getpid());
    xs_page_sweep();
    assert_false(is_there(dead));
    assert_true(is_there(own));
}

/* The number is another process's by now: that one began later. */
static void a_page_of_a_number_that_has_come_back_is_swept(void **state)
{
    (void)state;
    char own[XS_PAGE_NAME_BYTES];
    xs_page_name(own, getpid());
    page->head.process.started--;
    xs_page_sweep();
    assert_false(is_there(own));
}

/* What does not look like a page of ours, whole and private, is not touched. */
static void other_files_are_not_swept(void **state)
{
    (void)state;
    char dead[XS_PAGE_NAME_BYTES], other[XS_PAGE_NAME_BYTES + 4];
    leave_an_open_page(dead);
    snprintf(other, sizeof(other), "%s.log", dead);
    assert_int_equal(symlink("/etc/passwd", other), 0);
    xs_page_sweep();
    assert_true(is_there(dead) && is_there(other));
    assert_int_equal(truncate(dead, 0), 0);
    assert_int_equal(chmod(dead, 0600), 0);
    xs_page_sweep();
    assert_true(is_there(dead));
    assert_int_equal(unlink(dead) | unlink(other), 0);
    assert_int_equal(symlink("/etc/passwd", dead), 0);
    xs_page_sweep();
    assert_true(is_there(dead));
    assert_int_equal(unlink(dead), 0);
}

static void names_are_told(void **state)
{
    (void)state;
    char name[XS_PAGE_NAME_BYTES], more[2 * XS_PAGE_NAME_BYTES];
    xs_page_name(name, 1234);
    const char *file = strrchr(name, '/') + 1;
    assert_int_equal(xs_page_pid(file), 1234);
    assert_int_equal(xs_page_pid("xseg-0-1-1234"), 0);
    assert_int_equal(xs_page_pid("sem.xseg"), 0);
    snprintf(more, sizeof(more), "%sx", file);
    assert_int_equal(xs_page_pid(more), 0);
    snprintf(more, sizeof(more), "%s99999999", file);
    assert_int_equal(xs_page_pid(more), 0);
    snprintf(more, sizeof(more), "%.*s-5", (int)strlen(file) - 4, file);
    assert_int_equal(xs_page_pid(more), 0);
}

static void start_times_tell_processes_apart(void **state)
{
    (void)state;
    const struct xs_page_process a = xs_page_process(getpid()), b = xs_page_process(getpid());
    assert_true(a.started > 0);
    assert_int_equal(a.started, b.started);
    assert_int_equal(a.image, b.image);
    assert_int_equal(xs_page_process(0x7ffffff0).started, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(the_file_is_its_owners_alone),
        TEST(a_link_is_not_followed),
        TEST(a_half_written_part_is_not_read),
        TEST(another_version_is_told),
        TEST(a_number_that_is_another_process_now_is_told),
        TEST(a_process_that_died_is_told),
        TEST(start_times_tell_processes_apart),
        TEST(pages_of_the_dead_are_swept),
        TEST(a_page_of_a_number_that_has_come_back_is_swept),
        TEST(other_files_are_not_swept),
        TEST(names_are_told),
        TEST(a_process_that_is_another_program_is_told),
    };
    if (access("/dev/shm", W_OK)) {
        puts("/dev/shm cannot be written");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
