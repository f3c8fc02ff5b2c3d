#!/bin/sh
# Fails on a call of the CUDA driver, cu*(...), outside the folders that may make one. Comments and strings do not count.
cd "$(dirname "$0")/../.." || exit 2
find src bench -name '*.[ch]' 2>/dev/null | grep -vE '^src/(sim|driver|preload)/' | sort | xargs awk '
    FNR == 1 { inside = 0 }
    { line = $0
      if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
      gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
      while (match(line, /\/\*/)) {
          head = substr(line, 1, RSTART - 1); rest = substr(line, RSTART + 2)
          at = index(rest, "*/")
          if (!at) { line = head; inside = 1; break }
          line = head " " substr(rest, at + 2)
      }
      sub(/\/\/.*/, "", line)
      if (line ~ /(^|[^A-Za-z0-9_])cu[A-Z][A-Za-z0-9_]*[ \t]*\(/) {
          print FILENAME ":" FNR ": calls the driver: " $0; bad = 1 } }
    END { exit bad }'
