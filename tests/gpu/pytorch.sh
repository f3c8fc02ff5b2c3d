#!/bin/sh
# PyTorch on xseg, on a GPU: behaviours, then training in lockstep with PyTorch's own allocator. No network; random weights and data.
#   pytorch.sh [--no-behaviours] [OPTIONS OF pytorch_run.py: --minutes N --workloads A,B --repeat R --limits --soak MINUTES]
# PYTHON (python3) is one that has torch; B the build folder (build/release). Results are lines of JSON in B/tests/gpu, or in
# the folder RESULTS; a second run goes on where the first has ended. Exit status 77 where there is no GPU.
cd "$(dirname "$0")/../.." || exit 2
: "${PYTHON:=python3}" "${B:=build/release}"
: "${RESULTS:=$B/tests/gpu}"
behaviours=1
[ "$1" = --no-behaviours ] && behaviours='' && shift
make -s -j"$(nproc)" B="$B" "$B/libxseg.so" || exit 1
XSEG_LIBRARY=$(pwd)/$B/libxseg.so
PYTHONPATH=$(pwd)/src/api${PYTHONPATH:+:$PYTHONPATH}
PYTHONDONTWRITEBYTECODE=1
export XSEG_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
"$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
  { echo 'skipped: no GPU, or no torch' && exit 77; }
mkdir -p "$RESULTS" || exit 2
rc=0
[ -z "$behaviours" ] || for conf in '' 'expandable_segments:False'; do
  echo "---- behaviours, ${conf:-default policy}"
  timeout 400 "$PYTHON" tests/gpu/pytorch_behaviour.py "$conf" || rc=1
done
echo '---- workloads'
"$PYTHON" tests/gpu/pytorch_run.py "$RESULTS/pytorch.jsonl" --worker "$PYTHON tests/gpu/pytorch_workload.py" "$@" || exit 1
"$PYTHON" tests/gpu/pytorch_compare.py "$RESULTS/pytorch.jsonl" || rc=1
exit $rc
