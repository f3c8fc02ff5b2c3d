#include "report/stack_read.h"

#include <string.h>

#define FRAMES_MAX 32
#define KNOWN      8192 /* places for frames that are known; a newer one takes an older one's */

struct known {
    const struct xs_items *from;
    int device;
    struct xs_snap_frame frame;
};

uint32_t xs_stack_read_name(struct xs_snapshot *s, const struct xs_value *text)
{
    if (!text || text->kind != XS_VALUE_TEXT)
        return 0;
    uint32_t name = xs_names_number(&s->names, text->text, text->length);
    return name == UINT32_MAX ? 0 : name;
}

static struct xs_snap_frame look_at(struct xs_snapshot *s, const struct xs_value *frame)
{
    return (struct xs_snap_frame){
        xs_stack_read_name(s, xs_value_get(frame, "name")),
        xs_stack_read_name(s, xs_value_get(frame, "filename")),
        (uint32_t)xs_value_number(xs_value_get(frame, "line"), 0),
    };
}

static struct xs_snap_frame frame_of(struct xs_stack_reader *r, struct xs_snapshot *s,
                                     const struct xs_value *frame)
{
    if (frame->kind != XS_VALUE_DICT || !xs_array_reserve(&r->known, KNOWN * sizeof(struct known)))
        return look_at(s, frame);
    struct known *k = (struct known *)r->known.base + (uintptr_t)frame->items / 16 % KNOWN;
    if (k->from != frame->items || k->device != s->device)
        *k = (struct known){frame->items, s->device, look_at(s, frame)};
    return k->frame;
}

/* Six bits a letter, none of which ends the text. */
static char *write_number(char *to, uint32_t number)
{
    for (unsigned i = 0; i < 6; i++, number >>= 6)
        *to++ = (char)('0' + (number & 63));
    return to;
}

/* What tells one stack from another: the numbers of its frames' names. */
static size_t write_key(char *out, int device, const struct xs_snap_frame *frames, size_t n)
{
    char *to = write_number(out, (uint32_t)device);
    for (size_t i = 0; i < n; i++) {
        to = write_number(to, frames[i].function);
        to = write_number(to, frames[i].file);
        to = write_number(to, frames[i].line);
    }
    return (size_t)(to - out);
}

/* Other devices' stacks have their numbers here too. */
static bool add_stack(struct xs_snapshot *s, uint32_t number, const struct xs_snap_frame *frames,
                      size_t n)
{
    while (s->n_stacks <= number)
        if (!xs_snapshot_add_stack(s))
            return false;
    for (size_t i = 0; i < n; i++) {
        struct xs_snap_frame *to = xs_snapshot_add_frame(s);
        if (to)
            *to = frames[i];
    }
    return true;
}

uint32_t xs_stack_read(struct xs_stack_reader *r, struct xs_snapshot *s,
                       const struct xs_value *frames)
{
    struct xs_snap_frame frame[FRAMES_MAX];
    char key[(FRAMES_MAX * 3 + 1) * 6];
    size_t n = xs_min(xs_value_count(frames), (size_t)FRAMES_MAX);
    if (!n)
        return 0;
    for (size_t i = 0; i < n; i++)
        frame[i] = frame_of(r, s, xs_value_at(frames, i));
    size_t length = write_key(key, s->device, frame, n);
    if (!r->stacks.count)
        xs_names_number(&r->stacks, "", 0); /* number 0 is no stack */
    uint32_t before = r->stacks.count;
    uint32_t number = xs_names_number(&r->stacks, key, length);
    bool is_new = r->stacks.count != before;
    return number == UINT32_MAX || (is_new && !add_stack(s, number, frame, n)) ? 0 : number;
}

void xs_stack_reader_drop(struct xs_stack_reader *reader)
{
    xs_names_drop(&reader->stacks);
    xs_array_drop(&reader->known);
}
