#!/bin/sh
# The GPU tests: xseg under real kernels. Builds, runs and adds up; nothing is installed or downloaded.
#   run.sh [SECONDS]        SECONDS: of the long stress, 20 if not given
# CC, CFLAGS and B (the build folder, build/release) as for make. Exit status 77 where there is no GPU.
cd "$(dirname "$0")/../.." || exit 2
seconds=${1:-20}
: "${CC:=cc}" "${B:=build/release}"
passed=0
failed=0
skipped=0

# run NAME COMMAND...: its output goes to a log, and is shown
run() {
  name=$1
  shift
  echo "---- $name: $*"
  "$@" >"$B/tests/gpu/log" 2>&1
  status=$?
  sed 's/^/  /' "$B/tests/gpu/log" | tail -n 40
  case $status in
  0) passed=$((passed + 1)) ;;
  77) skipped=$((skipped + 1)) ;;
  *) failed=$((failed + 1)) && echo "FAILED: $name: exit status $status" ;;
  esac
}

mkdir -p "$B/tests/gpu" || exit 2
make -s B="$B" "$B/libxseg.a" || exit 1
stress=$B/tests/gpu/stress
# shellcheck disable=SC2086 # flags are words
$CC -std=c11 -D_GNU_SOURCE -O2 -g ${CFLAGS:-} -Wall -Wextra -Iinclude -o "$stress" tests/gpu/stress.c "$B/libxseg.a" \
  -pthread -ldl -lm || exit 1

run 'one second' "$stress" --seconds 1
[ $skipped -eq 0 ] || { echo 'skipped: no GPU' && exit 77; }
run 'stress' "$stress" --seconds "$seconds"
run 'stress, tight' "$stress" --seconds $((seconds / 2 + 1)) --limit 200 --seed 2
run 'stress, many threads' "$stress" --seconds $((seconds / 2 + 1)) --threads 16 --streams 2 --limit 2048 --seed 3
run 'stress, GPU does not wait' env ALLOC_CONF=cross_stream_wait:False "$stress" --seconds $((seconds / 2 + 1)) --seed 4
run 'stress, classic' env ALLOC_CONF=expandable_segments:False,cache:True "$stress" --seconds $((seconds / 2 + 1)) --limit 2048
if python3 -c 'import torch' 2>/dev/null; then
  make -s B="$B" "$B/xseg" || exit 1
  # shellcheck disable=SC2086
  $CC -std=c11 -D_GNU_SOURCE -O2 -g ${CFLAGS:-} -Wall -Wextra -Iinclude -Isrc -I. -o "$B/tests/gpu/snapshot_script" \
    tests/snapshot/snapshot_script.c "$B/libxseg.a" -pthread -ldl -lm || exit 1
  run 'memory_viz' python3 tests/gpu/memory_viz.py "$B/xseg" "$B/tests/gpu/snapshot_script" libcuda.so.1 "$B/tests/gpu/snapshots"
fi
run 'uses that are not declared are found' "$stress" --seconds "$seconds" --undeclared
if command -v compute-sanitizer >/dev/null; then
  # auto asks the driver for fabric handles, and its refusal would count as an error
  run 'memcheck' env ALLOC_CONF=handle_type:posix_fd compute-sanitizer --tool memcheck --error-exitcode 9 "$stress" --seconds 5 --threads 2 --streams 2
else
  echo 'skipped: no compute-sanitizer on PATH'
  skipped=$((skipped + 1))
fi
# shellcheck disable=SC2086
$CC -std=c11 -D_GNU_SOURCE -O2 -g ${CFLAGS:-} -Wall -Wextra -Iinclude -o "$B/tests/gpu/graphs" tests/gpu/graphs.c "$B/libxseg.a" \
  -pthread -ldl -lm || exit 1
run 'graphs and pools' "$B/tests/gpu/graphs"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
