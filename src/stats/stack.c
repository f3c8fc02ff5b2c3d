#include "stats/stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "base/meta.h"

#define BUCKETS 16384

struct stack {
    uint32_t next; /* in its bucket */
    uint32_t hash;
    uint64_t count;
    void *frame[XS_STACK_FRAMES];
};

static struct {
    struct xs_lock lock;
    _Atomic uint32_t count;
    struct stack *stack; /* never moves; pages come when touched */
    uint32_t bucket[BUCKETS];
} stacks = {.lock = XS_LOCK_INITIALIZER(XS_RANK_TAGS)};

static uint32_t hash_of(void *const *frame, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (uintptr_t)frame[i]) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32);
}

/* Under the lock. */
static uint32_t number_of(void *const *frame, size_t count)
{
    uint32_t hash = hash_of(frame, count), *bucket = &stacks.bucket[hash % BUCKETS];
    for (uint32_t i = *bucket; i; i = stacks.stack[i].next)
        if (stacks.stack[i].hash == hash && stacks.stack[i].count == count &&
            memcmp(stacks.stack[i].frame, frame, count * sizeof(*frame)) == 0)
            return i;
    uint32_t number = atomic_load(&stacks.count);
    if (number == XS_STACK_LIMIT)
        return 0;
    struct stack *stack = &stacks.stack[number];
    xs_meta_use(stack, sizeof(*stack));
    *stack = (struct stack){.next = *bucket, .hash = hash, .count = count};
    memcpy(stack->frame, frame, count * sizeof(*frame));
    *bucket = number;
    atomic_store(&stacks.count, number + 1);
    return number;
}

/* Frames of this file, and of a sanitizer that stands in for backtrace(). */
#define OWN_FRAMES 4

uint32_t xs_stack_take(void)
{
    void *all[XS_STACK_FRAMES + OWN_FRAMES];
    const void *caller = __builtin_return_address(0);
    size_t taken = (size_t)backtrace(all, (int)XS_COUNT_OF(all)), skipped = 0;
    while (skipped < taken && all[skipped] != caller)
        skipped++;
    if (++skipped >= taken)
        return 0;
    void **frame = all + skipped;
    size_t count = xs_min(taken - skipped, XS_STACK_FRAMES);
    xs_lock_acquire(&stacks.lock);
    if (!stacks.stack) {
        stacks.stack = xs_meta_map_sparse(XS_STACK_LIMIT * sizeof(struct stack));
        atomic_store(&stacks.count, 1);
    }
    uint32_t number = stacks.stack ? number_of(frame, count) : 0;
    xs_lock_release(&stacks.lock);
    return number;
}

size_t xs_stack_frames(uint32_t number, const void *frames[XS_STACK_FRAMES])
{
    if (!number || number >= atomic_load(&stacks.count))
        return 0;
    const struct stack *stack = &stacks.stack[number];
    for (size_t i = 0; i < stack->count; i++)
        frames[i] = stack->frame[i];
    return stack->count;
}

struct xs_frame_name xs_stack_name(const void *address)
{
    Dl_info info;
    struct xs_frame_name name = {"??", "??", (uintptr_t)address};
    /* A return address is one past the call. */
    if (!dladdr((const void *)((uintptr_t)address - 1), &info))
        return name;
    if (info.dli_sname)
        name.function = info.dli_sname;
    if (info.dli_fname) {
        name.file = info.dli_fname;
        name.offset = (uintptr_t)address - (uintptr_t)info.dli_fbase;
    }
    return name;
}
