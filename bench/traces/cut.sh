#!/bin/sh
# Cuts a trace to its first N events: cut.sh N <whole.trace >cut.trace
#
# The header's counts are made anew. The refs are left out: they were measured on the whole run.
set -eu
case "${1:-}" in
'' | *[!0-9]*)
    echo "usage: cut.sh EVENTS <whole.trace >cut.trace" >&2
    exit 1
    ;;
esac

# Numbers stay below 2^53, which awk holds exactly; %.0f, since some awks print %d in 32 bits.
awk -v most="$1" '
    $1 == "#" && $2 == "events" { whole = $3; streams = $5; next }
    $1 == "#" && $2 == "ref"    { next }
    $1 == "#" && n == 0         { head[++heads] = $0; next }
    /^#/ || n == most           { next }
    $1 == "a" { size[$2] = $3; live += $3; if (live > peak) peak = live }
    $1 == "f" { live -= size[$2]; delete size[$2] }
    { event[++n] = $0 }
    END {
        for (i = 1; i <= heads; i++) print head[i]
        printf "# cut to the first %.0f of %s events\n", n, whole
        printf "# events %.0f streams %s peak_requested %.0f\n", n, streams, peak
        for (i = 1; i <= n; i++) print event[i]
    }'
