command -v chromium >/dev/null && command -v python3 >/dev/null || exit 77
awk "BEGIN { print \"# xseg-trace 1\"; print \"# events 1000000 streams 1 peak_requested 1401398\"
    for (i = 0; i < 500000; i++) { print \"a\", i, 400 + i % 1000 * 2, 0; if (i >= 1000) print \"f\", i - 1000 }
    for (i = 499000; i < 500000; i++) print \"f\", i }" >million.trace
xseg report million.trace -o page.html && python3 "$DATA/browse.py" page.html timeline 0.5 0.99
