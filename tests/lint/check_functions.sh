#!/bin/sh
# Fails on a function over $MAX lines, a source file over $FILE_MAX, or a header that is too long; prints the spread.
: "${MAX:=70}" "${FILE_MAX:=600}" "${HEADER_MAX:=200}" "${LIST_MAX:=300}" "${PUBLIC_MAX:=400}"
cd "$(dirname "$0")/../.." || exit 2
if ! ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
    echo "skipped: no universal-ctags"
    exit 77
fi
folders=$(ls -d src bench 2>/dev/null)
rc=0
# shellcheck disable=SC2086
find $folders include -name '*.[ch]' -exec wc -l {} + | awk \
    -v m="$FILE_MAX" -v h="$HEADER_MAX" -v l="$LIST_MAX" -v p="$PUBLIC_MAX" '
    $2 == "total" { next }
    { most = $2 ~ /\.c$/ ? m : $2 ~ /^include\// ? p : $2 ~ /_list\.h$/ ? l : h }
    $1 > most { print $2 ": " $1 " lines, at most " most; bad = 1 } END { exit bad }' || rc=1
# shellcheck disable=SC2086
find $folders -name '*.c' -exec ctags -x --c-kinds=f --_xformat='%{end} %n %F %N' {} + |
    awk '{ print $1 - $2 + 1, $3 ":" $2, $4 }' | sort -n | awk -v m="$MAX" '
    { len[NR] = $1; if ($1 > m) { print $2 ": " $3 " is " $1 " lines, at most " m; bad = 1 } }
    END { if (NR) printf "functions %d, median %d, p90 %d, max %d\n", NR, len[int((NR + 1) / 2)], len[int(NR * 0.9 + 0.5)], len[NR]
          exit bad }' || rc=1
exit $rc
