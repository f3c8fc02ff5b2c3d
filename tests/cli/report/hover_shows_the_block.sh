command -v chromium >/dev/null && command -v python3 >/dev/null || exit 77
xseg report "$DATA/pytorch.pickle" -o page.html &&
    python3 "$DATA/browse.py" page.html map 0.001 0.02 map 0.999 0.97 timeline 0.999 0.99 timeline 0.5 0.999
