case $(command -v xseg) in *address*) exit 77 ;; esac # the runtime of the sanitizer must come first
xseg run --conf memory_limit:1G -- sh -c 'echo "$ALLOC_CONF $1"; exit 7' sh --report
