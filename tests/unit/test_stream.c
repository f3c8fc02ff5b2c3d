/* Who a stream is: by the driver's id, since handles come back. */
#include "sim_fixture.h"

#include <pthread.h>

#include "base/meta.h"
#include "child.h"
#include "vmm/stream.h"

static struct xs_streams streams;

static int make(void **state)
{
    (void)state;
    xs_streams_init(&streams);
    return 0;
}

static int end(void **state)
{
    xs_streams_destroy(&streams);
    return driver_is_clean(state);
}

static struct xs_stream *get_stream(const struct xs_stream_key *key)
{
    struct xs_stream *stream;
    return xs_streams_get(&streams, key, &stream) == XSEG_OK ? stream : NULL;
}

static struct xs_stream *stream_of(xs_cu_stream handle)
{
    struct xs_stream_key key;
    ok(xs_stream_identify(handle, &key));
    return get_stream(&key);
}

static xs_cu_stream new_stream(void)
{
    xs_cu_stream stream;
    ok(cu.cuStreamCreate(&stream, XS_CU_STREAM_NON_BLOCKING));
    return stream;
}

static void stream_is_found_again_and_others_are_others(void **state)
{
    (void)state;
    xs_cu_stream a = new_stream(), b = new_stream();
    struct xs_stream *first = stream_of(a);
    assert_non_null(first);
    assert_ptr_equal(stream_of(a), first);
    assert_ptr_not_equal(stream_of(b), first);
    assert_int_equal(stream_of(a)->index, 1);
    assert_int_equal(stream_of(b)->index, 2);
    assert_int_equal(streams.count, 2);
    ok(cu.cuStreamDestroy_v2(a));
    ok(cu.cuStreamDestroy_v2(b));
}

static void recycled_handle_is_another_stream(void **state)
{
    (void)state;
    xs_cu_stream first = new_stream(), second;
    struct xs_stream *before = stream_of(first);
    before->refs++; /* it still holds memory */
    for (int i = 0; i < 100; i++) {
        ok(cu.cuStreamDestroy_v2(first));
        second = new_stream();
        if (second == first)
            break;
        first = second;
    }
    assert_ptr_equal(second, first); /* the value came back */
    assert_ptr_not_equal(stream_of(second), before);
    ok(cu.cuStreamDestroy_v2(second));
}

static void both_names_of_the_legacy_stream_are_one(void **state)
{
    (void)state;
    uint64_t calls = xs_driver_calls(XS_CALL_stream_get_id);
    assert_ptr_equal(stream_of(NULL), stream_of(XS_CU_STREAM_LEGACY));
    assert_ptr_not_equal(stream_of(NULL), stream_of(XS_CU_STREAM_PER_THREAD));
    assert_int_equal(xs_driver_calls(XS_CALL_stream_get_id), calls); /* known by value */
}

static void *identify_per_thread(void *arg)
{
    xs_stream_identify(XS_CU_STREAM_PER_THREAD, arg);
    return NULL;
}

static void per_thread_stream_is_each_threads_own(void **state)
{
    (void)state;
    struct xs_stream_key keys[2];
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, identify_per_thread, &keys[i]);
        pthread_join(thread, NULL);
    }
    struct xs_stream *mine = stream_of(XS_CU_STREAM_PER_THREAD);
    assert_ptr_equal(stream_of(XS_CU_STREAM_PER_THREAD), mine);
    assert_ptr_not_equal(get_stream(&keys[0]), mine);
    assert_ptr_not_equal(get_stream(&keys[1]), mine);
    assert_ptr_not_equal(get_stream(&keys[0]), get_stream(&keys[1]));
}

static void created_stream_is_not_a_thread_of_the_same_number(void **state)
{
    (void)state;
    struct xs_stream_key thread = {XS_CU_STREAM_PER_THREAD, 5}, created = {(xs_cu_stream)0x1000, 5};
    struct xs_stream_key legacy = {NULL, 0}, created_0 = {(xs_cu_stream)0x1000, 0};
    assert_ptr_not_equal(get_stream(&thread), get_stream(&created));
    assert_ptr_not_equal(get_stream(&legacy), get_stream(&created_0));
}

static void streams_with_open_epochs_are_listed_if_their_handles_must_be_alive(void **state)
{
    (void)state;
    xs_cu_stream a = new_stream(), b = new_stream();
    struct xs_stream *untrusted = stream_of(a), *trusted = stream_of(b), *listed[4];
    assert_false(xs_stream_is_trusted(untrusted));
    assert_true(xs_stream_is_trusted(stream_of(NULL)));
    assert_true(xs_stream_is_trusted(stream_of(XS_CU_STREAM_PER_THREAD)));
    trusted->trusted = true;
    assert_true(xs_stream_is_trusted(trusted));
    assert_int_equal(xs_streams_alive_and_open(&streams, listed, 4), 0); /* nothing was freed */
    untrusted->last_stamp = trusted->last_stamp = stream_of(NULL)->last_stamp = 7;
    assert_int_equal(xs_streams_alive_and_open(&streams, listed, 4), 2);
    assert_ptr_not_equal(listed[0], untrusted);
    assert_ptr_not_equal(listed[1], untrusted);
    assert_int_equal(xs_streams_alive_and_open(&streams, listed, 1), 1);
    atomic_store(&trusted->passed, 7);
    assert_int_equal(xs_streams_alive_and_open(&streams, listed, 4), 1);
    assert_ptr_equal(listed[0], stream_of(NULL));
    ok(cu.cuStreamDestroy_v2(a));
    ok(cu.cuStreamDestroy_v2(b));
}

static void refusal_by_the_driver_is_an_error(void **state)
{
    (void)state;
    struct xs_stream_key key;
    xs_cu_stream stream = new_stream();
    fail_call(XS_CALL_stream_get_id, 1, XS_CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(xs_stream_identify(stream, &key), XSEG_ERROR_DRIVER);
    ok(cu.cuStreamDestroy_v2(stream));
}

/* ---- the indexes run out ------------------------------------------------------------------------ */

static struct xs_stream *numbered(uint64_t id)
{
    struct xs_stream_key key = {(xs_cu_stream)0x1000, id};
    return get_stream(&key);
}

static void unused_index_is_taken_again_and_a_used_one_never(void **state)
{
    (void)state;
    enum { MOST = XS_STREAM_INDEX_LIMIT - 1 };
    for (uint64_t id = 1; id <= MOST; id++) {
        struct xs_stream *s = numbered(id);
        assert_int_equal(s->index, id);
        s->refs = 1;
    }
    assert_null(numbered(MOST + 1));
    assert_non_null(strstr(xs_error_text(), "more than 4095 streams"));
    struct xs_stream *unused = numbered(77);
    unused->refs = 0;
    unused->last_stamp = 9;
    atomic_store(&unused->passed, 8);
    struct xs_stream *s = numbered(MOST + 1);
    assert_ptr_equal(s, unused);
    assert_int_equal(s->index, 77);
    assert_int_equal(s->last_stamp, 0); /* nothing was freed on it yet */
    assert_int_equal(s->passed, 8);
    assert_int_equal(streams.gathered, 1);
    s->refs = 1;
    assert_null(numbered(77)); /* the old one is forgotten */
    assert_ptr_equal(numbered(MOST + 1), s);
    for (uint64_t id = 1; id <= MOST; id++)
        if (id != 77)
            assert_int_equal(numbered(id)->index, id);
}

/* A stream for each task, and few at a time: a few hundred records do. What is vouched for is not taken away. */
static void streams_that_come_and_go_need_few_records(void **state)
{
    (void)state;
    struct xs_stream *kept = numbered(1), *vouched = numbered(2);
    kept->refs = 1;
    vouched->trusted = true;
    for (uint64_t id = 3; id < 20000; id++)
        numbered(id);
    assert_in_range(streams.count, 2, 256);
    assert_in_range(streams.gathered, 1, 20000 / 128); /* each time is felt by all threads */
    assert_ptr_equal(numbered(1), kept);
    assert_ptr_equal(numbered(2), vouched);
}

/* Streams that live are not gathered again and again. */
static void many_streams_in_use_are_rarely_gathered(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 3000; id++)
        numbered(id)->refs = 1;
    assert_int_equal(streams.count, 3000);
    assert_int_equal(streams.gather_at, XS_STREAM_INDEX_LIMIT);
    assert_int_equal(streams.gathered, 0);
}

/* ---- drivers before 12.0 -------------------------------------------------------------------------- */

static int identify_without_ids(void)
{
    char path[512];
    struct xs_stream_key a, b;
    snprintf(path, sizeof(path), "%s/without_extra.so", getenv("XSEG_TEST_FAKES"));
    CHILD_CHECK(xs_driver_load(path) == XSEG_OK);
    CHILD_CHECK(xs_stream_identify((xs_cu_stream)0x1000, &a) == XSEG_OK);
    CHILD_CHECK(xs_stream_identify((xs_cu_stream)0x2000, &b) == XSEG_OK);
    xs_streams_init(&streams);
    CHILD_CHECK(get_stream(&a) != get_stream(&b));
    CHILD_CHECK(get_stream(&a) == get_stream(&a));
    return 0;
}

static void without_ids_the_handle_has_to_do(void **state)
{
    (void)state;
    assert_child_passes(identify_without_ids);
}

int main(void)
{
#define STREAM_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest in_children[] = {cmocka_unit_test(without_ids_the_handle_has_to_do)};
    const struct CMUnitTest tests[] = {
        STREAM_TEST(stream_is_found_again_and_others_are_others),
        STREAM_TEST(recycled_handle_is_another_stream),
        STREAM_TEST(both_names_of_the_legacy_stream_are_one),
        STREAM_TEST(per_thread_stream_is_each_threads_own),
        STREAM_TEST(created_stream_is_not_a_thread_of_the_same_number),
        STREAM_TEST(streams_with_open_epochs_are_listed_if_their_handles_must_be_alive),
        STREAM_TEST(refusal_by_the_driver_is_an_error),
        STREAM_TEST(unused_index_is_taken_again_and_a_used_one_never),
        STREAM_TEST(streams_that_come_and_go_need_few_records),
        STREAM_TEST(many_streams_in_use_are_rarely_gathered),
    };
    int failed = cmocka_run_group_tests(in_children, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, start_simulator, NULL);
}
