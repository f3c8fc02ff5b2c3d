printf '# xseg-trace 2\n' >bad.trace
xseg replay --driver sim bad.trace
