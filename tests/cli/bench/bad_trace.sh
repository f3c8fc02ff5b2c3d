echo nothing >bad.trace
xseg bench --driver sim bad.trace
