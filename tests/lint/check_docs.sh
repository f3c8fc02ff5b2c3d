#!/bin/sh
# Fails if a generated document differs from what its table gives, or a document links to a file that is not there.
cd "$(dirname "$0")/../.." || exit 2
xseg=${1:-build/release}/xseg
new=$(mktemp) || exit 2
trap 'rm -f "$new"' EXIT
rc=0
check_generated() {
    "$xseg" conf "$1" >"$new" && diff -u "$2" "$new" || { echo "$2: run make docs" && rc=1; }
}
check_generated --options docs/options.md
check_generated --statistics docs/statistics.md
check_generated --preload docs/preload_entries.md
check_generated --example alloc.conf.example
for page in *.md */*.md */*/*.md; do
    [ -f "$page" ] || continue
    links=$(grep -oE '\]\([^)#: ]+[^): ]*\)' "$page" | sed 's/^](//; s/)$//; s/#.*//' | sort -u)
    for link in $links; do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page: links to $link, which is not there" && rc=1; }
    done
done
# The example of the README is the one that is compiled.
if ! awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md | diff -u docs/examples/minimal.c -; then
    echo "README.md: its C example is not docs/examples/minimal.c"
    rc=1
fi
exit $rc
