cp "$DATA/small.trace" "<b>&.trace"
xseg report "<b>&.trace" -o page.html
grep -c "<b>" page.html
grep -o "<title>.*</title>" page.html
