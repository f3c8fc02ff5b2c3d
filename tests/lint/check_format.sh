#!/bin/sh
# Fails on C files that clang-format 14 would change. Other versions disagree in details, so they are not asked.
cd "$(dirname "$0")/../.." || exit 2
tool=${CLANG_FORMAT:-clang-format}
case $("$tool" --version 2>/dev/null) in
*'version 14.'*) ;;
*) echo "skipped: no clang-format 14" && exit 77 ;;
esac
rc=0
for file in include/xseg/*.h src/*/*.[ch] bench/*.[ch] bench/peer/*.[ch] tests/*/*.[ch] tests/*/fake/*.[ch] docs/examples/*.c; do
    [ -f "$file" ] || continue
    "$tool" --style=file "$file" | cmp -s - "$file" || { echo "$file: make format would change it" && rc=1; }
done
exit $rc
