xseg run --report cat <<'E'
no CUDA, no report
E
