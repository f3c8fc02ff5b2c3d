#!/bin/sh
# Makes a long run of a trace: loop.sh N <whole.trace >long.trace
#
# The longest part between two moments at which the very same blocks are live, as between two steps of training, follows N times
# more, with blocks of its own each time. What is live at those moments, as weights are, stays live throughout.
set -eu
case "${1:-}" in
'' | *[!0-9]*)
    echo "usage: loop.sh TIMES <whole.trace >long.trace" >&2
    exit 1
    ;;
esac

# The sum of a random number for each live block tells one set from another. Numbers stay below 2^53, which awk holds exactly,
# and writes exactly by these formats.
awk -v times="$1" '
    function put(event, field, id) {
        split(event, field, " ")
        id = field[2] in name ? name[field[2]] : field[2]
        if (field[1] == "a") {
            live += size[id] = field[3]
            if (live > peak) peak = live
        } else {
            live -= size[id]
            delete size[id]
        }
        total++
        if (writes) print field[1], id (field[1] == "a" ? " " field[3] " " field[4] : "")
    }
    function play(k, i, field) {
        live = total = 0
        split("", name); split("", size)
        for (i = 1; i <= to; i++) put(event[i])
        for (k = next_id; k < next_id + times * (to - from) && to > from; )
            for (i = from + 1; i <= to; i++) {
                split(event[i], field, " ")
                if (field[1] == "a") name[field[2]] = k
                k++
                put(event[i])
            }
    }
    BEGIN { CONVFMT = OFMT = "%.0f"; srand(1) }
    $1 == "#" && $2 == "events" { streams = $5; next }
    $1 == "#" && $2 == "ref"    { next }
    $1 == "#" && n == 0         { head[++heads] = $0; next }
    /^#/                        { next }
    $1 == "a" { sum += weight[$2] = int(rand() * 2 ^ 21) * 2 ^ 21 + int(rand() * 2 ^ 21); count++; if ($2 >= next_id) next_id = $2 + 1 }
    $1 == "f" { sum -= weight[$2]; count-- }
    {
        event[++n] = $0
        if (!(sum in first)) first[sum] = n
        else if (count && n - first[sum] > to - from) { from = first[sum]; to = n }
    }
    END {
        if (!to) { print "loop.sh: no two moments at which the same blocks are live" >"/dev/stderr"; exit 2 }
        play()
        for (i = 1; i <= heads; i++) print head[i]
        printf "# from its event %.0f to %.0f, %d times more\n", from + 1, to, times
        printf "# events %.0f streams %s peak_requested %.0f\n", total, streams, peak
        writes = 1
        play()
    }'
