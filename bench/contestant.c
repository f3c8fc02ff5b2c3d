#include "bench/contestant.h"

#include "bench/failure.h"

bool xs_contestant_failed(const struct xs_contestant *who, const char *what, size_t bytes, int code)
{
    if (who->explain != NULL)
        return xs_bench_fail("%s: %s of %zu bytes: %s", who->name, what, bytes, who->explain(code));
    return xs_bench_fail("%s: %s of %zu bytes: error %d", who->name, what, bytes, code);
}
