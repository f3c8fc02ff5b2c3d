: >bad.trace
xseg replay --driver sim bad.trace
