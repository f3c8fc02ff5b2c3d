# Weights, and two steps that free all they take, and one that does not end: the steady part is both steps.
printf '%s\n' '# xseg-trace 1' '# source made up' '# events 6 streams 2 peak_requested 175' '# ref other peak_reserved 200' \
    'a 7 100 0' 'a 8 50 1' 'f 8' 'a 9 75 0' 'f 9' 'a 10 5 0' >whole.trace
"$DATA/../../../bench/traces/loop.sh" 2 <whole.trace
# What is freed at the end leaves nothing to repeat.
printf '%s\n' '# xseg-trace 1' '# events 2 streams 1 peak_requested 1' 'a 0 1 0' 'f 0' | "$DATA/../../../bench/traces/loop.sh" 2
echo "status $?"
"$DATA/../../../bench/traces/loop.sh" x </dev/null 2>&1
echo "status $?"
