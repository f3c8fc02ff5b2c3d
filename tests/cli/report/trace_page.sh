command -v chromium >/dev/null && command -v python3 >/dev/null || exit 77
xseg report "$DATA/small.trace" -o page.html && python3 "$DATA/browse.py" page.html timeline 0.4 0.9
