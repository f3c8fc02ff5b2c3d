/* The circular list. */
#include "unit.h"

#include "base/list.h"

struct item {
    int value;
    struct xs_list link;
};

static struct xs_list head;
static struct item items[5];

static int make(void **state)
{
    (void)state;
    xs_list_init(&head);
    for (int i = 0; i < 5; i++) {
        items[i].value = i;
        xs_list_init(&items[i].link);
    }
    return 0;
}

/* The list reads `values`, a digit an item, forwards and backwards. */
static void expect(const char *values)
{
    const char *at = values;
    XS_LIST_FOR_EACH(link, &head)
        assert_int_equal(XS_CONTAINER_OF(link, struct item, link)->value, *at++ - '0');
    assert_int_equal(*at, '\0');
    for (struct xs_list *link = head.prev; link != &head; link = link->prev)
        assert_int_equal(XS_CONTAINER_OF(link, struct item, link)->value, *--at - '0');
    assert_ptr_equal(at, values);
}

static void new_head_is_empty(void **state)
{
    (void)state;
    assert_true(xs_list_is_empty(&head));
    expect("");
}

static void items_go_where_they_are_put(void **state)
{
    (void)state;
    xs_list_push_back(&head, &items[1].link);
    xs_list_push_back(&head, &items[2].link);
    xs_list_push_front(&head, &items[0].link);
    expect("012");
    xs_list_insert_before(&items[1].link, &items[3].link);
    expect("0312");
    xs_list_insert_before(&items[0].link, &items[4].link);
    expect("40312");
    assert_false(xs_list_is_empty(&head));
}

static void removed_item_points_to_itself_and_can_be_removed_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        xs_list_push_back(&head, &items[i].link);
    xs_list_remove(&items[1].link);
    expect("02");
    assert_true(xs_list_is_empty(&items[1].link));
    xs_list_remove(&items[1].link);
    expect("02");
    xs_list_remove(&items[0].link);
    xs_list_remove(&items[2].link);
    assert_true(xs_list_is_empty(&head));
}

static void safe_walk_may_remove_what_it_visits(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        xs_list_push_back(&head, &items[i].link);
    int visited = 0;
    XS_LIST_FOR_EACH_SAFE(link, &head) {
        visited++;
        if (XS_CONTAINER_OF(link, struct item, link)->value % 2 == 0)
            xs_list_remove(link);
    }
    assert_int_equal(visited, 5);
    expect("13");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(new_head_is_empty, make),
        cmocka_unit_test_setup(items_go_where_they_are_put, make),
        cmocka_unit_test_setup(removed_item_points_to_itself_and_can_be_removed_again, make),
        cmocka_unit_test_setup(safe_walk_may_remove_what_it_visits, make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
