# Not compressible, so that a cut in the middle leaves whole lines behind.
awk 'BEGIN { srand(1); print "# xseg-trace 1\n# events 20000 streams 1 peak_requested 1"
    for (i = 0; i < 10000; i++) printf "a %d %d 0\nf %d\n", i, rand() * 1e9, i }' | gzip >whole.gz
head -c 40000 whole.gz >cut.trace
xseg replay --driver sim cut.trace
