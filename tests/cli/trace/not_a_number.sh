printf '# xseg-trace 1\n# events 1 streams 1 peak_requested 8\na 0 8k 0\n' >bad.trace
xseg replay --driver sim bad.trace
