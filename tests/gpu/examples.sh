#!/bin/sh
# The examples that need a GPU: Thrust (nvcc) and CuPy (PYTHON, python3). What is not there is skipped, and said so.
cd "$(dirname "$0")/../.." || exit 2
: "${PYTHON:=python3}" "${B:=build/release}"
PATH=$PATH:/usr/local/cuda/bin
make -s -j"$(nproc)" B="$B" "$B/libxseg.so" "$B/docs/examples/training_loop" || exit 1
mkdir -p "$B/tests/gpu" || exit 2
passed=0 failed=0 skipped=0
run() { # NAME COMMAND...
  name=$1
  shift
  echo "---- $name"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $name"; fi
}
run 'a framework loop' "$B/docs/examples/training_loop"
if command -v nvcc >/dev/null; then
  rm -f "$B/tests/gpu/thrust"
  run 'Thrust, compiled' nvcc -std=c++17 -Iinclude -o "$B/tests/gpu/thrust" docs/examples/thrust.cu "$B/libxseg.so" -Xlinker -rpath,"$(pwd)/$B"
  run Thrust "$B/tests/gpu/thrust"
else
  echo 'skipped: no nvcc' && skipped=$((skipped + 1))
fi
if "$PYTHON" -c 'import cupy' 2>/dev/null; then
  run CuPy env LD_LIBRARY_PATH="$(pwd)/$B${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$PYTHON" docs/examples/cupy_allocator.py
else
  echo 'skipped: no CuPy' && skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
