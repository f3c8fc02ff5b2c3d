/* base/bit_set.h against an array of bools. */
#include "base/bit_set.h"
#include "unit.h"

static struct xs_bit_set set;
static bool naive[XS_BIT_SET_SIZE];

static unsigned naive_next(unsigned i)
{
    while (i < XS_BIT_SET_SIZE && !naive[i])
        i++;
    return i;
}

static unsigned naive_last(unsigned i)
{
    for (unsigned k = i + 1; k-- > 0;)
        if (naive[k])
            return k;
    return XS_BIT_SET_SIZE;
}

static void check_around(unsigned i)
{
    const unsigned from = i > 66 ? i - 66 : 0,
                   to = i + 66 < XS_BIT_SET_SIZE ? i + 66 : XS_BIT_SET_SIZE - 1;
    for (unsigned k = from; k <= to; k++) {
        assert_int_equal(xs_bit_set_next(&set, k), naive_next(k));
        assert_int_equal(xs_bit_set_last(&set, k), naive_last(k));
    }
    assert_int_equal(xs_bit_set_next(&set, XS_BIT_SET_SIZE), XS_BIT_SET_SIZE);
}

static void an_empty_one_has_none(void **state)
{
    (void)state;
    for (unsigned i = 0; i < XS_BIT_SET_SIZE; i++) {
        assert_int_equal(xs_bit_set_next(&set, i), XS_BIT_SET_SIZE);
        assert_int_equal(xs_bit_set_last(&set, i), XS_BIT_SET_SIZE);
    }
}

/* Few at first, then many, then few again. */
static void random_steps_agree_with_an_array(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (unsigned step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        const unsigned i = random >> 20;
        const bool in = (random >> 8) % 100 < (step / 5000 % 2 ? 80 : 20);
        naive[i] = in;
        in ? xs_bit_set_add(&set, i) : xs_bit_set_remove(&set, i);
        if (step % 8 == 0)
            check_around(i);
    }
    unsigned walked = 0, present = 0;
    XS_BIT_SET_FOR_EACH(i, &set)
    {
        assert_true(naive[i]);
        walked++;
    }
    for (unsigned i = 0; i < XS_BIT_SET_SIZE; i++)
        present += naive[i];
    assert_int_equal(walked, present);
    assert_true(present > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_has_none),
        cmocka_unit_test(random_steps_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
