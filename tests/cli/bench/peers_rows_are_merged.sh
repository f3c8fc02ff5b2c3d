mkdir peers
cat >peers/other <<'END'
#!/bin/sh
echo "$@" >&2
echo '{"bench": "pair", "contestant": "other", "driver": "cuda", "threads": 1, "size": 512, "ns_per_pair": 700.5, "p999_ns": null, "control_ns": 10, "color": 3}'
echo 'a warning'
END
cat >peers/broken <<'END'
#!/bin/sh
exit 3
END
chmod +x peers/other
echo text >peers/not_a_program
xseg bench --quick --rounds 2 --driver sim --json --only pair,replay --contestants other --peers peers "$DATA/small.trace" || exit
chmod +x peers/broken
xseg bench --quick --driver sim --json --only pair --contestants broken --peers peers
