#!/bin/sh
# Compiles every header by itself: the public ones as strict C11 and as C++, without any CUDA header; the others as C11.
cd "$(dirname "$0")/../.." || exit 2
rc=0
compile() {
    header=$1
    shift
    printf '#include "%s"\nextern int not_empty;\n' "$header" |
        "$@" -fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc -I. -D_GNU_SOURCE - ||
        { echo "$header: not by itself with $*" && rc=1; }
}
for header in include/xseg/*.h; do
    compile "$header" ${CC:-cc} -x c -std=c11 -Wpedantic
    if command -v c++ >/dev/null; then
        compile "$header" c++ -x c++ -std=c++11 -Wpedantic
    fi
done
if command -v c++ >/dev/null; then
    for header in include/xseg/*.hpp; do
        compile "$header" c++ -x c++ -std=c++17 -Wpedantic
    done
fi
for header in src/*/*.h bench/*.h; do
    [ -f "$header" ] || continue
    compile "$header" ${CC:-cc} -x c -std=c11
done
exit $rc
