/*
 * The kernels of stress.c, written by hand so that no compiler for them is needed. n counts words of eight
 * bytes; `tally` is two counters in device memory: words that were wrong, words that were looked at.
 */
#ifndef XS_TEST_STRESS_KERNELS_H
#define XS_TEST_STRESS_KERNELS_H

/* clang-format off */
#define EACH_WORD                                                                                  \
    "    .reg .pred %done, %same;\n"                                                               \
    "    .reg .b32 %lane, %cta, %width, %ctas;\n"                                                  \
    "    .reg .b64 %p, %n, %value, %i, %step, %at, %found, %tally, %one, %mine;\n"                 \
    "    ld.param.u64 %p, [p];\n"                                                                  \
    "    ld.param.u64 %n, [n];\n"                                                                  \
    "    ld.param.u64 %value, [value];\n"                                                          \
    "    cvta.to.global.u64 %p, %p;\n"                                                             \
    "    mov.u32 %lane, %tid.x;\n"                                                                 \
    "    mov.u32 %cta, %ctaid.x;\n"                                                                \
    "    mov.u32 %width, %ntid.x;\n"                                                               \
    "    mov.u32 %ctas, %nctaid.x;\n"                                                              \
    "    mul.wide.u32 %i, %cta, %width;\n"                                                         \
    "    cvt.u64.u32 %at, %lane;\n"                                                                \
    "    add.u64 %i, %i, %at;\n"                                                                   \
    "    mul.wide.u32 %step, %ctas, %width;\n"                                                     \
    "    mov.u64 %one, 1;\n"                                                                       \
    "    mov.u64 %mine, 0;\n"

static const char stress_kernels[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"

    ".visible .entry fill(.param .u64 p, .param .u64 n, .param .u64 value)\n"
    "{\n"
    EACH_WORD
    "next:\n"
    "    setp.ge.u64 %done, %i, %n;\n"
    "    @%done ret;\n"
    "    shl.b64 %at, %i, 3;\n"
    "    add.u64 %at, %p, %at;\n"
    "    st.global.u64 [%at], %value;\n"
    "    add.u64 %i, %i, %step;\n"
    "    bra next;\n"
    "}\n"

    ".visible .entry verify(.param .u64 p, .param .u64 n, .param .u64 value, .param .u64 tally)\n"
    "{\n"
    EACH_WORD
    "    ld.param.u64 %tally, [tally];\n"
    "    cvta.to.global.u64 %tally, %tally;\n"
    "next:\n"
    "    setp.ge.u64 %done, %i, %n;\n"
    "    @%done bra report;\n"
    "    shl.b64 %at, %i, 3;\n"
    "    add.u64 %at, %p, %at;\n"
    "    ld.volatile.global.u64 %found, [%at];\n"
    "    setp.eq.u64 %same, %found, %value;\n"
    "    @!%same red.global.add.u64 [%tally], %one;\n"
    "    add.u64 %mine, %mine, 1;\n"
    "    add.u64 %i, %i, %step;\n"
    "    bra next;\n"
    "report:\n"
    "    red.global.add.u64 [%tally+8], %mine;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry spin(.param .u64 ns)\n"
    "{\n"
    "    .reg .pred %more;\n"
    "    .reg .b64 %ns, %start, %now;\n"
    "    ld.param.u64 %ns, [ns];\n"
    "    mov.u64 %start, %globaltimer;\n"
    "again:\n"
    "    mov.u64 %now, %globaltimer;\n"
    "    sub.u64 %now, %now, %start;\n"
    "    setp.lt.u64 %more, %now, %ns;\n"
    "    @%more bra again;\n"
    "    ret;\n"
    "}\n";
/* clang-format on */

#undef EACH_WORD

#endif
