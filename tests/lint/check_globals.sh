#!/bin/sh
# Fails if libxseg.a or the preload holds a variable that tests/lint/globals does not list, or lists one that is gone.
# Constant tables that only the loader writes to (.data.rel.ro) do not count.
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build/release}
[ -f "$build/libxseg.a" ] || { echo "no $build/libxseg.a" && exit 2; }
case $build in
*release*) ;;
*) echo "skipped: only of the release build" && exit 77 ;;
esac
preload=$(ls src/preload/*.c | grep -v _abi_check | sed "s|^|$build/|; s|c\$|o|")
# shellcheck disable=SC2086
nm --format=sysv --defined-only "$build/libxseg.a" $preload | awk -F'|' '
    FNR == NR { if ($0 !~ /^#/ && $0 !~ /^[ \t]*$/) { split($0, word, /[ \t]+/); known[word[1]] = 1 }
                next }
    { section = $7; gsub(/ /, "", section); name = $1; gsub(/ /, "", name); sub(/\.[0-9]+$/, "", name) }
    /^[^|]+\.o:$/ || /^Symbols from/ { file = $0; sub(/^Symbols from [^[]*\[/, "", file); sub(/\]:.*/, "", file) }
    section ~ /^\.(bss|data|tbss|tdata)/ && section !~ /^\.data\.rel\.ro/ || section == "*COM*" {
        if (name ~ /^\.|^$/) next
        seen[name] = 1
        if (!(name in known)) { print file ": " name " (" section ") is not in tests/lint/globals"; bad = 1 } }
    END { for (name in known) if (!(name in seen)) { print name ": in tests/lint/globals, but not in the library"; bad = 1 }
          exit bad }' tests/lint/globals -
