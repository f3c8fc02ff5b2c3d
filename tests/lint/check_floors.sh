#!/bin/sh
# Fails if a file under src/ or bench/ includes a header that tests/lint/floors does not allow it.
cd "$(dirname "$0")/../.." || exit 2
grep -rn '^#include "' --include='*.[ch]' src bench 2>/dev/null | awk '
    function bad(why) { print a[1] ":" a[2] ": " from " includes " to ": " why; failed = 1 }
    FNR == NR { if ($1 ~ /^#/ || NF < 2) next
                shut[$1] = sub(/!$/, "", $2); floor[$1] = $2
                for (i = 3; i <= NF; i++) { few[$1] = 1; may[$1, $i] = 1 }
                next }
    { split($0, a, ":"); n = split(a[1], p, "/"); from = (p[1] == "src" ? p[2] : p[1])
      match($0, /"[^"]+"/); to = substr($0, RSTART + 1, RLENGTH - 2); sub(/\/.*/, "", to)
      if (to == "xseg" || to == from) next                       # public headers are open to all
      if (!(from in floor) || !(to in floor)) bad("folder missing from tests/lint/floors")
      else if (shut[to]) bad("nobody may include " to)
      else if ((from, to) in may && floor[to] <= floor[from]) next
      else if (floor[to] >= floor[from]) bad("floor " floor[from] " may not include floor " floor[to])
      else if (few[from]) bad("not in the list for " from) }
    END { exit failed }' tests/lint/floors -
