#!/bin/sh
# PyTorch on xseg, on a GPU: behaviours, then training beside PyTorch's own allocator. No network; random weights and data.
#   pytorch.sh [--soak MINUTES] [--limits] [--steps N]
# PYTHON (python3) is one that has torch; B the build folder (build/release). --limits also looks for the smallest limit at
# which each workload completes, of xseg and of expandable_segments; that takes long. Exit status 77 where there is no GPU.
cd "$(dirname "$0")/../.." || exit 2
: "${PYTHON:=python3}" "${B:=build/release}"
soak='' limits='' steps=12
while [ $# -gt 0 ]; do
  case $1 in
  --soak) soak=$2 && shift ;;
  --steps) steps=$2 && shift ;;
  --limits) limits=1 ;;
  *) echo "pytorch.sh: $1: not understood" >&2 && exit 2 ;;
  esac
  shift
done
make -s B="$B" "$B/libxseg.so" || exit 1
XSEG_LIBRARY=$(pwd)/$B/libxseg.so
PYTHONPATH=$(pwd)/src/api${PYTHONPATH:+:$PYTHONPATH}
PYTHONDONTWRITEBYTECODE=1
export XSEG_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
"$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
  { echo 'skipped: no GPU, or no torch' && exit 77; }
"$PYTHON" -c 'import torch; print("PyTorch", torch.__version__, "on", torch.cuda.get_device_name(0))'
out=$B/tests/gpu
mkdir -p "$out" || exit 2
rc=0

for conf in '' 'expandable_segments:False'; do
  echo "---- behaviours, ${conf:-default policy}"
  "$PYTHON" tests/gpu/pytorch_behaviour.py "$conf" || rc=1
done

echo "---- workloads, $steps steps each"
for allocator in native expandable xseg; do
  "$PYTHON" tests/gpu/pytorch_workload.py $allocator --steps "$steps" >"$out/$allocator.json" 2>"$out/$allocator.log" ||
    { echo "FAILED: $allocator" && tail -n 20 "$out/$allocator.log" && rc=1; }
done
[ -z "$soak" ] || "$PYTHON" tests/gpu/pytorch_workload.py xseg --soak "$soak" >"$out/soak.json" || rc=1
"$PYTHON" tests/gpu/pytorch_compare.py "$out/native.json" "$out/expandable.json" "$out/xseg.json" \
  ${soak:+"$out/soak.json"} || rc=1

# The smallest of these shares of the peak that was requested at which the workload completes.
smallest() { # ALLOCATOR WORKLOAD PEAK_MIB
  for share in 100 101 102 103 105 108 112 120 130 150; do
    mib=$(($3 * share / 100))
    if "$PYTHON" tests/gpu/pytorch_workload.py "$1" --only "$2" --steps 6 --limit $mib 2>/dev/null | grep -q '"losses"'; then
      echo "$share"
      return
    fi
  done
  echo 999
}
if [ -n "$limits" ]; then
  echo '---- smallest limit, % of peak requested'
  for name in llama_varlen llama_bucketed llama_checkpoint lora accumulation experts generate; do
    peak=$("$PYTHON" tests/gpu/pytorch_workload.py xseg --only $name --steps 6 2>/dev/null |
      sed -n 's/.*"requested": \([0-9]*\).*/\1/p')
    ours=$(smallest xseg $name $((peak / 1048576 + 1)))
    theirs=$(smallest expandable $name $((peak / 1048576 + 1)))
    verdict=ok
    [ "$ours" -le "$theirs" ] || { verdict=FAIL && rc=1; }
    printf '%-18s xseg %3d  expandable %3d  %s\n' $name "$ours" "$theirs" $verdict
  done
fi
exit $rc
