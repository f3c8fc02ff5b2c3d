xseg run sh -c 'kill -TERM $$'
