#!/bin/sh
# The GPU tests: xseg under real kernels. Builds, runs and adds up; nothing is installed or downloaded. The summary is also
# written as JSON, to build/release/tests/gpu/summary.json.
#   run.sh [--only PART,...] [--stress SECONDS] [--seconds N]
#     PART: stress tight threads behind alone classic graphs memory_viz undeclared memcheck; all if none is named
#     SECONDS: of the long stress, 20 if not given
#     N: after so long no further part is begun, 280 if not given; those count as skipped
# CC, CFLAGS and B (the build folder, build/release) as for make; PYTHON (python3) may have torch. Exit status 77 where there is no GPU; 1, at once, where
# not even a second of stress passes.
cd "$(dirname "$0")/../.." || exit 2
: "${CC:=cc}" "${B:=build/release}" "${PYTHON:=python3}"
PATH=$PATH:/usr/local/cuda/bin
long=20
. tests/gpu/parts.sh
option() { [ "$1" = --stress ] && long=$2; }
choose 'stress tight threads behind alone classic graphs memory_viz undeclared memcheck' "$@"
mkdir -p "$B/tests/gpu" || exit 2
: >"$B/tests/gpu/rows"

# count NAME STATUS
count() {
  case $2 in
  0) passed=$((passed + 1)) verdict=ok ;;
  77) skipped=$((skipped + 1)) verdict=skipped ;;
  *) failed=$((failed + 1)) verdict="exit status $2" && echo "FAILED: $1: exit status $2" ;;
  esac
  printf '%s\t%s\t%d\n' "$1" "$verdict" "$(($(date +%s) - began))" >>"$B/tests/gpu/rows"
}

# run NAME COMMAND...: its output goes to a log, and the end of it is shown
run() {
  name=$1
  shift
  began=$(date +%s)
  echo "---- $name: $*"
  timeout $((long + 100)) "$@" >"$B/tests/gpu/$name.log" 2>&1
  status=$?
  sed 's/^/  /' "$B/tests/gpu/$name.log" | tail -n 40
  count "$name" $status
}

# part NAME COMMAND...: if it is wanted, and there is time
part() {
  wants "$1" || return 0
  if [ "$(left)" -le 0 ]; then
    echo "---- $1: skipped: no time left"
    began=$(date +%s)
    count "$1" 77
  else
    run "$@"
  fi
}

# compile NAME SOURCE FLAG...
compile() {
  out=$1 source=$2
  shift 2
  # shellcheck disable=SC2086 # flags are words
  $CC -std=c11 -D_GNU_SOURCE -O2 -g ${CFLAGS:-} -Wall -Wextra -Iinclude "$@" -o "$B/tests/gpu/$out" "$source" "$B/libxseg.a" -pthread -ldl -lm
}

# absent NAME WHAT: a part that cannot be run here
absent() { part "$1" sh -c "echo 'skipped: no $2'; exit 77"; }

make -s -j"$(nproc)" B="$B" "$B/libxseg.a" "$B/xseg" || exit 1
stress=$B/tests/gpu/stress
compile stress tests/gpu/stress.c || exit 1
compile graphs tests/gpu/graphs.c || exit 1
compile snapshot_script tests/snapshot/snapshot_script.c -Isrc -I. || exit 1

run first "$stress" --seconds 1
[ $skipped -eq 0 ] || { echo 'skipped: no GPU' && exit 77; }
[ $failed -eq 0 ] || exit 1
short=$((long / 2 + 1))
part stress "$stress" --seconds "$long"
part tight "$stress" --seconds $short --limit 200 --seed 2
part threads "$stress" --seconds $short --threads 16 --streams 2 --limit 2048 --seed 3
part behind "$stress" --seconds $short --threads 2 --streams 1 --limit 1024 --seed 5
part alone env ALLOC_CONF=cross_stream_wait:False "$stress" --seconds $short --seed 4
part classic env ALLOC_CONF=expandable_segments:False,cache:True "$stress" --seconds $short --limit 2048
part graphs "$B/tests/gpu/graphs"
if "$PYTHON" -c 'import torch' 2>/dev/null; then
  part memory_viz "$PYTHON" -B tests/gpu/memory_viz.py "$B/xseg" "$B/tests/gpu/snapshot_script" libcuda.so.1 "$B/tests/gpu/snapshots"
else
  absent memory_viz PyTorch
fi
part undeclared "$stress" --seconds $short --undeclared
if command -v compute-sanitizer >/dev/null; then
  # auto asks the driver for fabric handles, and its refusal would count as an error
  part memcheck env ALLOC_CONF=handle_type:posix_fd compute-sanitizer --tool memcheck --error-exitcode 9 "$stress" --seconds 5 --threads 2 --streams 2
else
  absent memcheck compute-sanitizer
fi
summary "$B/tests/gpu/rows" parts name verdict seconds
[ $failed -eq 0 ]
