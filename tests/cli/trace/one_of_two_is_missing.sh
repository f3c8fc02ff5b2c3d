# The other traces are replayed all the same.
xseg replay --driver sim missing.trace "$DATA/small.trace" >table
code=$?
grep -c "^small  " table
exit $code
