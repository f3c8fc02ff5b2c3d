#!/bin/sh
# Runs snapshot_script under several policies, and lets Python judge what it leaves; then the other way round.
set -u
command -v python3 >/dev/null || { echo "skipped: no python3" && exit 77; }
here=$(dirname "$0")
passed=0
failed=0
for conf in history:8192 history:8192,history_stacks:True history:512 history:8192,expandable_segments:False \
    history:4096,backend:cudaMalloc; do
    folder=$(mktemp -d) || exit 2
    if XSEG_SIM_DATA=0 "$1" "$folder" "$conf" && python3 "$here/check_snapshot.py" "$folder"; then
        passed=$((passed + 1))
    else
        echo "FAILED $conf"
        failed=$((failed + 1))
    fi
    rm -rf "$folder"
done
# What PyTorch would have left.
if python3 -B "$here/check_pytorch.py" "$(dirname "$1")/../../xseg"; then
    passed=$((passed + 7))
else
    echo "FAILED check_pytorch.py"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
