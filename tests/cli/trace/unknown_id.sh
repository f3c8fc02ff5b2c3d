printf '# xseg-trace 1\n# events 1 streams 1 peak_requested 0\nf 3\n' >bad.trace
xseg replay --driver sim bad.trace
