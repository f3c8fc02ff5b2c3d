#include "report/names.h"

#include <string.h>

static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash * 2654435769u;
}

const char *xs_names_text(const struct xs_names *names, uint32_t number)
{
    const uint32_t *at = names->at.base;
    return number < names->count ? (const char *)names->text.base + at[number] : "";
}

/* The place of the text, or the empty one where it would go. */
static uint32_t *place_of(struct xs_names *names, const char *text, size_t length)
{
    uint32_t *table = names->table.base, mask = (1u << names->bits) - 1;
    uint32_t i = hash_of(text, length) >> (32 - names->bits);
    for (;; i = (i + 1) & mask) {
        if (!table[i])
            return &table[i];
        const char *other = xs_names_text(names, table[i] - 1);
        if (strncmp(other, text, length) == 0 && !other[length])
            return &table[i];
    }
}

static bool grow_table(struct xs_names *names)
{
    struct xs_array old = names->table, table = {0};
    unsigned bits = names->bits ? names->bits + 1 : 10;
    if (!xs_array_reserve(&table, sizeof(uint32_t) << bits))
        return false;
    names->table = table;
    names->bits = bits;
    for (uint32_t n = 0; n < names->count; n++) {
        const char *text = xs_names_text(names, n);
        *place_of(names, text, strlen(text)) = n + 1;
    }
    xs_array_drop(&old);
    return true;
}

static uint32_t add(struct xs_names *names, const char *text, size_t length)
{
    if (names->text_bytes + length >= UINT32_MAX ||
        !xs_array_reserve(&names->text, names->text_bytes + length + 1) ||
        !xs_array_reserve(&names->at, (names->count + 1) * sizeof(uint32_t)))
        return UINT32_MAX;
    char *to = (char *)names->text.base + names->text_bytes;
    memcpy(to, text, length);
    to[length] = '\0';
    ((uint32_t *)names->at.base)[names->count] = (uint32_t)names->text_bytes;
    names->text_bytes += length + 1;
    return names->count++;
}

uint32_t xs_names_number(struct xs_names *names, const char *text, size_t length)
{
    length = strnlen(text, length);
    if (!names->count &&
        (!grow_table(names) || add(names, "", 0) || !(*place_of(names, "", 0) = 1)))
        return UINT32_MAX;
    if (names->count >= (1u << names->bits) / 2 && !grow_table(names))
        return UINT32_MAX;
    uint32_t *place = place_of(names, text, length);
    if (!*place) {
        uint32_t number = add(names, text, length);
        if (number == UINT32_MAX)
            return UINT32_MAX;
        *place = number + 1;
    }
    return *place - 1;
}

void xs_names_drop(struct xs_names *names)
{
    xs_array_drop(&names->text);
    xs_array_drop(&names->at);
    xs_array_drop(&names->table);
    *names = (struct xs_names){0};
}
