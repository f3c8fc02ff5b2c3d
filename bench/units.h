/* The few words that every file of bench/ uses: sizes and lengths of arrays. */
#ifndef XS_BENCH_UNITS_H
#define XS_BENCH_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XS_BENCH_KIB ((size_t)1 << 10)
#define XS_BENCH_MIB ((size_t)1 << 20)
#define XS_BENCH_GIB ((size_t)1 << 30)

#define XS_BENCH_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Makes the compiler believe that the pointer is looked at, so that no call can be optimised away. */
#define XS_BENCH_KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

#endif
