/* Tags nest, belong to a thread, and keep their numbers; stacks are kept once. */
#include "unit.h"

#include <gnu/libc-version.h>
#include <pthread.h>

#include "stats/stack.h"
#include "stats/tag.h"

static char path[XS_TAG_PATH_BYTES];

static void push(const char *name)
{
    assert_int_equal(xs_tag_push(name), XSEG_OK);
}

static void pop(void)
{
    assert_int_equal(xs_tag_pop(), XSEG_OK);
}

static void tags_nest(void **state)
{
    (void)state;
    push("layer3");
    uint32_t outer = xs_tag_current();
    push("attention");
    assert_string_equal(xs_tag_path(xs_tag_current(), path), "layer3.attention");
    pop();
    assert_int_equal(xs_tag_current(), outer);
    pop();
    assert_int_equal(xs_tag_current(), 0);
    assert_string_equal(xs_tag_path(0, path), "");
    assert_int_equal(xs_tag_pop(), XSEG_ERROR_INVALID_VALUE);
}

static void one_path_has_one_number(void **state)
{
    (void)state;
    push("a");
    push("b");
    uint32_t first = xs_tag_current();
    pop();
    push("c");
    assert_int_not_equal(xs_tag_current(), first);
    pop();
    push("b");
    assert_int_equal(xs_tag_current(), first);
    pop();
    pop();
    push("b");
    assert_int_not_equal(xs_tag_current(), first);
    pop();
}

static void *tagged_thread(void *unused)
{
    (void)unused;
    uint32_t before = xs_tag_current();
    push("there");
    return (void *)(uintptr_t)before;
}

static void a_tag_is_its_threads(void **state)
{
    (void)state;
    pthread_t thread;
    void *before;
    push("here");
    assert_int_equal(pthread_create(&thread, NULL, tagged_thread, NULL), 0);
    pthread_join(thread, &before);
    assert_null(before);
    assert_string_equal(xs_tag_path(xs_tag_current(), path), "here");
    pop();
}

static void long_names_and_paths_are_cut(void **state)
{
    (void)state;
    char name[200];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    push(name);
    assert_int_equal(strlen(xs_tag_path(xs_tag_current(), path)), XS_TAG_NAME_BYTES - 1);
    for (unsigned i = 0; i < 10; i++)
        push(name);
    push("last");
    xs_tag_path(xs_tag_current(), path);
    assert_true(strlen(path) < sizeof(path));
    assert_string_equal(path + strlen(path) - 5, ".last");
    for (unsigned i = 0; i < 12; i++)
        pop();
}

static void too_deep_is_the_parents(void **state)
{
    (void)state;
    for (unsigned i = 0; i < XS_TAG_DEPTH; i++)
        push("d");
    uint32_t deepest = xs_tag_current();
    push("deeper");
    assert_int_equal(xs_tag_current(), deepest);
    pop();
    assert_int_equal(xs_tag_current(), deepest);
    for (unsigned i = 0; i < XS_TAG_DEPTH; i++)
        pop();
    assert_int_equal(xs_tag_current(), 0);
}

/* ---- stacks ----------------------------------------------------------------------------------- */

__attribute__((noinline)) static uint32_t allocator(void)
{
    uint32_t stack = xs_stack_take();
    __asm__ volatile(""); /* no tail call */
    return stack;
}

static void a_stack_is_kept_once_and_begins_with_the_caller(void **state)
{
    (void)state;
    uint32_t a[2], other;
    for (volatile unsigned i = 0; i < 2; i++) /* one call in the code */
        a[i] = allocator();
    other = allocator();
    assert_int_not_equal(a[0], 0);
    assert_int_equal(a[0], a[1]);
    assert_int_not_equal(a[0], other);
    const void *frames[XS_STACK_FRAMES], *others[XS_STACK_FRAMES];
    size_t n = xs_stack_frames(a[0], frames);
    assert_true(n >= 2 && n == xs_stack_frames(other, others));
    assert_ptr_not_equal(frames[0], others[0]);
    assert_ptr_equal(frames[1], others[1]);
    assert_int_equal(xs_stack_frames(0, frames), 0);
    assert_int_equal(xs_stack_frames(60000, frames), 0);
}

static void a_name_is_looked_up_when_it_is_wanted(void **state)
{
    (void)state;
    struct xs_frame_name name = xs_stack_name((const char *)(uintptr_t)gnu_get_libc_version + 1);
    assert_non_null(strstr(name.function, "gnu_get_libc_version"));
    assert_non_null(strstr(name.file, "libc"));
    name = xs_stack_name(NULL);
    assert_string_equal(name.function, "??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_nest),
        cmocka_unit_test(one_path_has_one_number),
        cmocka_unit_test(a_tag_is_its_threads),
        cmocka_unit_test(long_names_and_paths_are_cut),
        cmocka_unit_test(too_deep_is_the_parents),
        cmocka_unit_test(a_stack_is_kept_once_and_begins_with_the_caller),
        cmocka_unit_test(a_name_is_looked_up_when_it_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
