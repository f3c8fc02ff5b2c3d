xseg run --conf memory_limit:1G -- sh -c 'echo "$ALLOC_CONF $1"; exit 7' sh --report
