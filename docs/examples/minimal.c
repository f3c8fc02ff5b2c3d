/* Allocates and frees on the default stream; prints what the allocator holds. */
#include <stdio.h>
#include <xseg/xseg.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, xseg_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    /* A path names another driver library: the simulator, where there is no GPU. */
    if (argc > 1 && xseg_use_driver_library(argv[1]))
        return fail("driver");

    void *ptr;
    if (xseg_malloc(&ptr, 100 << 20, 0, NULL)) /* device 0, legacy default stream */
        return fail("xseg_malloc");

    struct xseg_stats stats = {.size = sizeof(stats)};
    if (xseg_get_stats(0, &stats))
        return fail("xseg_get_stats");
    printf("requested %llu, reserved %llu bytes\n",
           (unsigned long long)stats.requested_bytes.current,
           (unsigned long long)stats.reserved_bytes.current);

    if (xseg_free(ptr)) /* never waits: in stream order */
        return fail("xseg_free");
    return xseg_shutdown() ? fail("xseg_shutdown") : 0;
}
