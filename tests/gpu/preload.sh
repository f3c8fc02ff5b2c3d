#!/bin/sh
# The preload on a GPU: unchanged programs with it and without it. One table, then "N passed, N failed, N skipped", and the
# same as JSON in build/release/tests/gpu/preload/summary.json.
#   preload.sh [--only AREA,...] [--seconds N]
#     AREA: routes contract devices tools order speed libraries frameworks start; all if none is named
#     N: after so long no further row is begun, 280 if not given; those count as skipped
# CC, B (the build folder, build/release), ARCH (nvcc's -arch, native) and PYTHON (python3) may be set. It needs nvcc, and
# whichever of PyTorch, CuPy, JAX, compute-sanitizer, nsys and cuda-gdb are there. Nothing is installed or downloaded. Exit
# status 77 where there is no GPU or nvcc; 1, at once, where not even the first program runs under the preload.
cd "$(dirname "$0")/../.." || exit 2
: "${CC:=cc}" "${B:=build/release}" "${ARCH:=native}" "${PYTHON:=python3}"
PATH=$PATH:/usr/local/cuda/bin
. tests/gpu/parts.sh
choose 'routes contract devices tools order speed libraries frameworks start' "$@"
[ -e /dev/nvidiactl ] || nvidia-smi >/dev/null 2>&1 || { echo 'skipped: no GPU' && exit 77; }
command -v nvcc >/dev/null || { echo 'skipped: no nvcc' && exit 77; }
make -s -j"$(nproc)" B="$B" all || exit 1
preload=$PWD/$B/libxseg_preload.so
work=$PWD/$B/tests/gpu/preload
here=$PWD/tests/gpu
mkdir -p "$work" || exit 2
rm -f "$work"/*.out "$work"/*.err
: >"$work/rows"
unset ALLOC_CONF PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF XSEG_PRELOAD XSEG_RECORD
export CUBLAS_WORKSPACE_CONFIG=:4096:8 XLA_PYTHON_CLIENT_PREALLOCATE=false TF_CPP_MIN_LOG_LEVEL=3

# row NAME PLAIN UNDER VERDICT
row() {
  printf '%-44s %22s %22s  %s\n' "$1" "$2" "$3" "$4"
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" | tr '"\\' "''" >>"$work/rows"
  case $4 in
  ok*) passed=$((passed + 1)) ;;
  skip*) skipped=$((skipped + 1)) ;;
  note*) ;;
  *) failed=$((failed + 1)) ;;
  esac
}

# pair NAME COMMAND...: runs it plainly and under the preload, with a report; leaves NAME.{plain,under}.{out,err}
pair() {
  base=$work/$1
  shift
  : >"$base.plain.out" && cp "$base.plain.out" "$base.under.out" && cp "$base.plain.out" "$base.plain.err" && cp "$base.plain.out" "$base.under.err"
  plain_status=late under_status=late
  [ "$(left)" -gt 0 ] || return
  timeout 100 "$@" >"$base.plain.out" 2>"$base.plain.err"
  plain_status=$?
  XSEG_REPORT=1 LD_PRELOAD=$preload timeout 100 "$@" >"$base.under.out" 2>"$base.under.err"
  under_status=$?
}
figure() { sed -n "s/^$1 //p" "$2" | tail -n 1; }
served() { sed -n 's/^xseg: device 0: \([0-9]*\) allocations.*/\1/p' "$1.under.err" | tail -n 1; }

# same NAME: outputs and status agree; prints a verdict
same() {
  if [ "$plain_status" = late ]; then
    echo 'skipped: no time left'
  elif [ "$plain_status" = 77 ]; then
    echo 'skipped: not on this machine'
  elif [ "$plain_status" -ne "$under_status" ]; then
    echo "FAILED: status $plain_status and $under_status"
  elif ! cmp -s "$work/$1.plain.out" "$work/$1.under.out"; then
    echo "FAILED: outputs differ ($work/$1.*.out)"
  elif [ "$plain_status" -ne 0 ]; then
    echo "FAILED: status $plain_status"
  else
    echo ok
  fi
}

# at_most NUMBER LIMIT: verdict
at_most() { awk -v n="$1" -v m="$2" 'BEGIN { print n != "" && n + 0 <= m + 0 ? "ok" : "FAILED: above " m }'; }
# both VERDICT VERDICT
both() { if [ "$1" = ok ]; then echo "$2"; else echo "$1"; fi; }

# compare WHAT ARGUMENT...: rows of preload_times.py
compare() {
  what=$1
  shift
  "$PYTHON" -B "$here/preload_times.py" "$what" "$preload" "$@" >"$work/times.out" 2>"$work/times.err" ||
    echo "times of $what|||FAILED: see $work/times.err" >>"$work/times.out"
  while IFS='|' read -r name plain under verdict; do row "$name" "$plain" "$under" "$verdict"; done <"$work/times.out"
}

# start_up NAME ROUNDS COMMAND...: what the preload adds to a run, at most 2 ms
start_up() {
  name=$1
  shift
  [ "$(left)" -gt 0 ] || { row "$name" '' '' 'skipped: no time left' && return; }
  compare start "$name" 2 "$@"
}

# compile OUT SOURCE FLAG...
compile() {
  out=$1 source=$2
  shift 2
  rm -f "$work/$out"
  nvcc -O2 -arch="$ARCH" -o "$work/$out" "$here/$source" "$@" >"$work/$out.log" 2>&1 || { cat "$work/$out.log" && return 1; }
}
compile program_static preload_program.cu -cudart static -lcuda & first=$!
compile program_shared preload_program.cu -cudart shared -lcuda & second=$!
compile devices preload_devices.cu & third=$!
compile sanitizer preload_sanitizer.cu & fourth=$!
{ ! wants libraries || compile libraries preload_libraries.cu -cudart shared -lcublas; } & libraries=$!
for job in $first $second; do wait "$job" || exit 1; done
wait $third $fourth # without them their rows fail
if ! XSEG_REPORT=1 LD_PRELOAD=$preload timeout 60 "$work/program_static" runtime >"$work/first.out" 2>"$work/first.err" ||
  ! grep -q '^xseg: device 0: [1-9]' "$work/first.err"; then
  echo 'FAILED: the first program does not run under the preload' && tail -n 20 "$work/first.out" "$work/first.err" && exit 1
fi
printf '%-44s %22s %22s\n' 'program' 'without' 'under xseg'

if wants routes; then
  for kind in static shared; do
    for route in runtime linked dlsym proc entry; do
      name=route_${kind}_$route
      pair "$name" "$work/program_$kind" $route
      verdict=$(same "$name")
      # Four blocks, each counted once.
      [ "$verdict" != ok ] || [ "$(served "$work/$name")" = 4 ] || verdict="FAILED: counted $(served "$work/$name"), not 4"
      row "$name" "$(cat "$work/$name.plain.out")" "$(cat "$work/$name.under.out")" "$verdict"
    done
  done
fi

if wants contract; then
  for kind in static shared; do
    pair "contract_$kind" "$work/program_$kind" contract
    verdict=$(same "contract_$kind")
    row "contract_$kind: codes of odd calls" "$(wc -l <"$work/contract_$kind.plain.out") calls" '' "$verdict"
    [ "$verdict" = ok ] || diff "$work/contract_$kind.plain.out" "$work/contract_$kind.under.out" | sed 's/^/    /'
  done
  for mode in others capture ipc; do
    pair $mode "$work/program_static" $mode
    row "$mode" "$(tail -n 1 "$work/$mode.plain.out")" "$(tail -n 1 "$work/$mode.under.out")" "$(same $mode)"
  done
fi

if wants devices; then
  for mode in peers ipc; do
    pair devices_$mode "$work/devices" $mode
    verdict=$(same devices_$mode)
    row "two devices: $mode" "$(tail -n 1 "$work/devices_$mode.plain.out")" "$(tail -n 1 "$work/devices_$mode.under.out")" "$verdict"
    case $verdict in FAILED*) diff "$work/devices_$mode.plain.out" "$work/devices_$mode.under.out" | sed 's/^/    /' ;; esac
  done
fi

# tool NAME COMMAND...: the program's own line, with the tool and without it; R76
tool() {
  name=$1
  shift
  command -v "$1" >/dev/null || { row "$name" '' '' "skipped: no $1" && return; }
  [ "$(left)" -gt 0 ] || { row "$name" '' '' 'skipped: no time left' && return; }
  (cd "$work" && LD_PRELOAD=$preload timeout 60 "$@" >"$work/tool.out" 2>&1)
  status=$?
  verdict="FAILED: status $status ($work/$name.out)"
  cp "$work/tool.out" "$work/$name.out"
  [ $status = 124 ] || ! grep -qF "$(cat "$work/first.out")" "$work/tool.out" || verdict=ok
  row "$name" "$(cat "$work/first.out")" "$(grep -aF sum "$work/tool.out" | tail -n 1)" "$verdict"
}
# sees NAME STATUS CONF MODE TEXT: the exit status of memcheck, 9 where it complains of TEXT; R91. Two statuses: the second is a
# note. Its output is left as sees-NAME.out.
sees() {
  command -v compute-sanitizer >/dev/null || { row "memcheck: $1" '' '' 'skipped: no compute-sanitizer' && return; }
  [ "$(left)" -gt 0 ] || { row "memcheck: $1" '' '' 'skipped: no time left' && return; }
  out=$work/sees-$(echo "$1" | tr -cs 'A-Za-z0-9_\n' -).out
  ALLOC_CONF=handle_type:posix_fd,$3 LD_PRELOAD=$preload timeout 60 compute-sanitizer --tool memcheck --error-exitcode 9 "$work/sanitizer" "$4" >"$out" 2>&1
  status=$?
  complaints=$(grep -acF "$5" "$out")
  verdict="FAILED: status $status, not $2 ($out)"
  case $status in
  9) [ "$complaints" -gt 0 ] || status='9 for another reason' ;;
  0) grep -aq "^$4 " "$out" || status='0 without a result' ;;
  esac
  [ "$status" != "${2#* }" ] || verdict='note: does not complain'
  [ "$status" != "${2% *}" ] || verdict=ok
  row "memcheck: $1" '' "$complaints complaints" "$verdict"
}
if wants tools; then
  tool nsys nsys profile --force-overwrite true -o "$work/nsys" "$work/program_static" runtime
  tool cuda-gdb cuda-gdb -batch -nx -ex run "$work/program_static" runtime
  tool compute-sanitizer compute-sanitizer "$work/program_static" runtime
  for conf in backend:cudaMalloc expandable_segments:True; do
    case $conf in backend*) expected=9 ;; *) expected=0 ;; esac # the cache hides it
    sees "overrun, $conf" $expected $conf overrun 'Invalid __global__ write of size 1 '
  done
  # Bulk copies across borders are right, and the tool complains of them where the border is one of two extents.
  pair border env ALLOC_CONF=handle_type:posix_fd,extent_max:2M "$work/sanitizer" border
  row 'copies across borders, extent_max:2M' "$(cat "$work/border.plain.out")" "$(cat "$work/border.under.out")" "$(same border)"
  for conf in extent_max:2M expandable_segments:True; do
    sees "borders, $conf" '9 0' $conf border 'Invalid __global__ read of size 256 '
  done
  for conf in expandable_segments:False backend:cudaMalloc; do
    sees "borders, $conf" 0 $conf border 'Invalid __global__ read of size 256 '
  done
fi

if wants order; then
  for mode in inner streams; do
    pair $mode "$work/program_shared" $mode 400
    plain=$(figure time "$work/$mode.plain.err") under=$(figure time "$work/$mode.under.err")
    row "$mode: allocates while kernels run, s" "$plain" "$under" "$(same $mode)"
    row "$mode: speed-up" '' "$(awk -v a="$plain" -v b="$under" 'BEGIN { printf "%.2f", b ? a / b : 0 }')" note
    row "$mode: peak" '' "$(sed -n 's/.*requested, \(.*\) reserved (\(.*\))$/\1 (\2)/p' "$work/$mode.under.err" | head -n 1)" note
  done
fi

if wants speed; then
  for kind in shared static; do
    limit=100
    [ $kind = shared ] || limit=250
    pair "pairs_$kind" "$work/program_$kind" pairs 20000
    under=$(figure time "$work/pairs_$kind.under.err")
    row "cudaMalloc + cudaFree, $kind, ns (at most $limit)" "$(figure time "$work/pairs_$kind.plain.err")" "$under" \
      "$(both "$(same pairs_$kind)" "$(at_most "$under" $limit)")"
  done
  start_up 'allocates once' 15 "$work/program_static" once
fi

if wants libraries; then
  if wait $libraries; then
    for mode in cublas thrust; do
      pair $mode "$work/libraries" $mode
      row "$mode" "$(cat "$work/$mode.plain.out")" "$(cat "$work/$mode.under.out")" "$(same $mode)"
    done
  else
    row 'cublas, thrust' '' '' 'skipped: do not compile'
  fi
fi

# framework NAME MODULE MODE [VARIABLE=VALUE]: results are the same with and without
framework() {
  if [ "$(left)" -le 0 ]; then
    row "$1" '' '' 'skipped: no time left'
    return
  fi
  if ! "$PYTHON" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$2') is None)"; then
    row "$1" '' '' "skipped: no $2"
    return
  fi
  pair "$1" env "${4:-XSEG_TEST=1}" "$PYTHON" "$here/preload_frameworks.py" "$3"
  row "$1" "$(tail -n 1 "$work/$1.plain.out")" "$(tail -n 1 "$work/$1.under.out")" "$(same "$1")"
  [ -z "$(served "$work/$1")" ] || row "$1: allocations served" '' "$(served "$work/$1")" note
  cause=$(sed -n 's/^xseg: freed memory waited for all streams from here on: //p' "$work/$1.under.err" | head -n 1)
  row "$1: several streams since" '' "${cause:-never}" note
}
if wants frameworks; then
  framework cupy_pool_off cupy cupy
  framework jax_platform jax jax XLA_PYTHON_CLIENT_ALLOCATOR=platform
  framework torch_graph torch torch_graph
  if [ "$(left)" -le 0 ]; then
    row torch '' '' 'skipped: no time left'
  elif "$PYTHON" -c 'import torch' 2>/dev/null; then
    compare torch "$work" 1.03
  else
    row torch '' '' 'skipped: no torch'
  fi
fi

if wants start; then
  start_up 'start of bash -c true' 200 bash -c true
  if "$PYTHON" -c 'import numpy' 2>/dev/null; then
    start_up 'start of python, numpy' 25 "$PYTHON" -c 'import numpy; numpy.ones((300, 300)) @ numpy.ones((300, 300))'
  fi
  if "$PYTHON" -c 'import torch' 2>/dev/null; then
    start_up 'start of import torch' 6 "$PYTHON" -c 'import torch'
  fi
  pair bash bash -c 'echo $((6 * 7)) | tr 0-9 a-j'
  row 'bash, output' "$(cat "$work/bash.plain.out")" "$(cat "$work/bash.under.out")" "$(same bash)"
fi

summary "$work/rows" rows name without under verdict
[ $failed -eq 0 ]
