/*
 * "4", "off", or a list "[256:1,512:2,>:4]" of size in MB and divisions, as PyTorch reads it: the
 * first size also fills all smaller slots, each later one fills its own slot only, so a size that
 * the list skips stays 0; ">" fills every slot above the entry before it. A list that begins with
 * ">" therefore leaves slot 0 alone.
 */
#include "policy/roundup.h"

#include <stdio.h>

#include "policy/number.h"

static bool refuse(struct xs_value_error *error, struct xs_slice what, const char *text)
{
    error->what = what;
    snprintf(error->text, sizeof(error->text), "%s", text);
    return false;
}

static bool read_pow2(struct xs_slice text, bool zero_is_fine, uint64_t *n,
                      struct xs_value_error *error)
{
    const char *expected =
        zero_is_fine ? "expected 0 or a power of two" : "expected a power of two";
    if (xs_read_count(text, n) != XS_NUMBER_OK || (!xs_is_pow2(*n) && !(zero_is_fine && *n == 0)))
        return refuse(error, text, expected);
    return true;
}

static void fill(size_t slots[XS_ROUNDUP_SLOTS], size_t from, size_t to, size_t divisions)
{
    for (size_t i = from; i < to; i++)
        slots[i] = divisions;
}

struct list {
    size_t slots[XS_ROUNDUP_SLOTS];
    size_t last; /* the slot of the latest size */
    bool has_size;
};

static bool read_entry(struct list *list, struct xs_slice entry, struct xs_value_error *error)
{
    struct xs_slice size, divisions;
    uint64_t mb, n;
    if (!xs_slice_cut(entry, ":", &size, &divisions))
        return refuse(error, entry, "expected size:divisions");
    size = xs_slice_trim(size);
    if (!read_pow2(xs_slice_trim(divisions), true, &n, error))
        return false;
    if (xs_slice_is(size, ">")) {
        fill(list->slots, list->last + 1, XS_ROUNDUP_SLOTS, n);
        return true;
    }
    if (!read_pow2(size, false, &mb, error)) {
        strcpy(error->text, "expected a size in MB that is a power of two, or >");
        return false;
    }
    list->last = xs_min(xs_log2(mb), XS_ROUNDUP_SLOTS - 1);
    fill(list->slots, list->has_size ? list->last : 0, list->last + 1, n);
    list->has_size = true;
    return true;
}

static bool read_list(struct xs_slice inner, size_t slots[XS_ROUNDUP_SLOTS],
                      struct xs_value_error *error)
{
    struct list list = {.has_size = false};
    struct xs_slice entry;
    bool more = true;
    if (xs_slice_trim(inner).len == 0)
        return refuse(error, inner, "the list is empty; off turns the rounding off");
    while (more) {
        more = xs_slice_cut(inner, ",", &entry, &inner);
        entry = xs_slice_trim(entry);
        if (entry.len == 0 && !more) /* "[1:2,]" */
            break;
        if (!read_entry(&list, entry, error))
            return false;
    }
    memcpy(slots, list.slots, sizeof(list.slots));
    return true;
}

bool xs_roundup_read(struct xs_slice text, size_t slots[XS_ROUNDUP_SLOTS],
                     struct xs_value_error *error)
{
    uint64_t n = 0;
    if (text.len >= 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
        return read_list((struct xs_slice){text.at + 1, text.len - 2}, slots, error);
    if (!xs_slice_is(text, "off") && !read_pow2(text, false, &n, error)) {
        strcpy(error->text,
               "expected a power of two, a list [MB:divisions,...,>:divisions], or off");
        return false;
    }
    fill(slots, 0, XS_ROUNDUP_SLOTS, n);
    return true;
}

/* The shortest list: equal slots at the low end are one entry, those at the high end are ">". */
static void write_list(const size_t slots[XS_ROUNDUP_SLOTS], char *out, size_t size)
{
    size_t low = 0, high = XS_ROUNDUP_SLOTS - 1;
    while (slots[low + 1] == slots[0])
        low++;
    while (slots[high - 1] == slots[XS_ROUNDUP_SLOTS - 1])
        high--;
    size_t n = (size_t)snprintf(out, size, "[");
    for (size_t i = low; i < high; i++)
        n += (size_t)snprintf(out + n, size - n, "%zu:%zu,", (size_t)1 << i, slots[i]);
    snprintf(out + n, size - n, ">:%zu]", slots[XS_ROUNDUP_SLOTS - 1]);
}

void xs_roundup_write(const size_t slots[XS_ROUNDUP_SLOTS], char *out, size_t size)
{
    size_t same = 1;
    while (same < XS_ROUNDUP_SLOTS && slots[same] == slots[0])
        same++;
    if (same < XS_ROUNDUP_SLOTS)
        write_list(slots, out, size);
    else if (slots[0] == 0)
        snprintf(out, size, "off");
    else
        snprintf(out, size, "%zu", slots[0]);
}
