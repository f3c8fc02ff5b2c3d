alone() { unshare --user --map-root-user --pid --fork --mount-proc "$@"; } # among no other processes
alone true 2>/dev/null || exit 77
alone xseg stat
alone xseg stat --json
alone xseg top --once
