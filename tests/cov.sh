#!/bin/sh
# Line coverage of the files under src/, from the .gcda files of a PROFILE=cov build: cov.sh build/cov
build=${1:-build/cov}
find "$build" -name '*.gcda' -exec gcov -n {} + 2>/dev/null | awk '
    /^File / { name = $2; gsub(/\047/, "", name); next }
    /^Lines executed:/ && name ~ /^src\// {
        split($0, part, /[:%]/); n = $NF; hit = part[2] * n / 100
        if (hit > best[name]) best[name] = hit          # a header is seen from many files
        lines[name] = n > lines[name] ? n : lines[name]; name = "" }
    END { for (name in lines) { printf "%5.1f %% of %4d  %s\n", lines[name] ? 100 * best[name] / lines[name] : 100, lines[name], name
                                all += lines[name]; done += best[name] }
          printf "%5.1f %% of %4d  in all\n", all ? 100 * done / all : 0, all }' | sort -n
