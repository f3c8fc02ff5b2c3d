#!/bin/sh
# Programs that know nothing of xseg, under the preload and without it, over the simulator.
#
#   run.sh BUILD [PATTERN]     BUILD: build/release; PATTERN: only tests whose name contains it
#
# The last line is "N passed, N failed[, N skipped]".
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$PWD/${1:-build/release}
pattern=${2:-}
here=$build/tests/preload
preload=$build/libxseg_preload.so
xseg=$build/xseg
scratch=$(mktemp -d "$here/scratch.XXXXXX") || exit 2 # what lies there is preloaded and run
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C LD_LIBRARY_PATH="$build/sim" TEST_PLUGIN="$here/plugin.so" TEST_CONSTRUCTED="$build/tests/unit/fake/constructed.so" XSEG_LOG=0 XSEG_SIM_CAPACITY=1G
unset XSEG_PRELOAD XSEG_REPORT XSEG_RECORD DEBUGINFOD_URLS ALLOC_CONF PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF
# The sanitizers' run-time has to come first.
runtime=
case $build in
*address*) runtime=$(${CC:-cc} -print-file-name=libasan.so): ;;
*thread*) runtime=$(${CC:-cc} -print-file-name=libtsan.so): ;;
esac
passed=0 failed=0 skipped=0

# test_case NAME COMMAND...: passes if the command does.
test_case() {
  label=$1
  shift
  case $label in *"$pattern"*) ;; *) return ;; esac
  ("$@") >"$scratch/out" 2>&1
  status=$?
  case $status in
  0) passed=$((passed + 1)) ;;
  77) skipped=$((skipped + 1)) && echo "skip $label" ;;
  *) failed=$((failed + 1)) && echo "FAIL $label: status $status" && tail -n 20 "$scratch/out" ;;
  esac
}

# For programs that are not built with the sanitizer, or that it refuses.
plain_case() {
  [ -z "$runtime" ] || set -- "$1" sh -c 'exit 77'
  test_case "$@"
}

under() { LD_PRELOAD="$runtime$preload" "$@"; }
same() { cmp "$1" "$2" || { diff "$1" "$2"; return 1; }; }

# The output and the exit status are the same with and without.
same_output() {
  "$@" >"$scratch/plain" 2>&1
  echo "status $?" >>"$scratch/plain"
  under "$@" >"$scratch/under" 2>&1
  echo "status $?" >>"$scratch/under"
  same "$scratch/plain" "$scratch/under"
}

# ---- routes -----------------------------------------------------------------------------------------
for program in "$here"/route_*; do
  case $program in *.d) continue ;; esac
  name=$(basename "$program")
  test_case "$name" under "$program"
  test_case "$name-plain" "$program"
  test_case "$name-switched_off" env XSEG_PRELOAD=0 TEST_EXPECT_NATIVE=1 LD_PRELOAD="$runtime$preload" "$program"
done
plain_case route_plugin-deepbind env TEST_DEEPBIND=1 TEST_EXPECT_NATIVE=1 LD_PRELOAD="$runtime$preload" "$here/route_plugin"

# ---- where the file lies, and who else is there ------------------------------------------------------
copied_and_renamed() {
  cp "$preload" "$scratch/other name.so" && cp "$preload" "$scratch/x.so" || return
  for program in route_shared route_static route_dlsym; do
    LD_PRELOAD="$runtime$scratch/x.so" "$here/$program" || return
    (cd "$scratch" && LD_PRELOAD="$runtime./x.so" "$here/$program") || return
    LD_PRELOAD="$runtime$preload:$scratch/x.so" "$here/$program" || return
    LD_PRELOAD="$runtime$scratch/x.so:$preload" "$here/$program" || return
    LD_PRELOAD="$runtime$preload:$preload" "$here/$program" || return
  done
}
beside_another_interposer() {
  LD_PRELOAD="$runtime$preload:$here/counter.so" "$here/route_shared" &&
    TEST_COUNTER=1 LD_PRELOAD="$runtime$here/counter.so:$preload" "$here/route_shared" 2>"$scratch/err" &&
    grep -qx 'counted 3' "$scratch/err"
}
# A program that links libxseg.so too has one allocator with the preload (R83).
linked_with_xseg() {
  ${CC:-cc} -Iinclude -o "$scratch/linked" docs/examples/minimal.c "$build/libxseg.so" "-Wl,-rpath,$build" || return
  under "$scratch/linked" "$build/sim/libcuda.so.1" &&
    under env LD_DEBUG=bindings "$scratch/linked" "$build/sim/libcuda.so.1" 2>&1 |
    grep -q 'linked .* to .*libxseg_preload.so .*xseg_malloc'
}
plain_case linked_with_xseg linked_with_xseg
# A driver whose functions look for themselves in another file.
on_stub() { env LD_LIBRARY_PATH="$here/stub" TEST_REAL_DRIVER="$build/sim/libcuda.so.1" LD_PRELOAD="$runtime$preload" "$@"; }
over_a_stub() {
  for program in route_dlsym route_static route_shared route_linked route_proc; do
    on_stub "$here/$program" || return
  done
}
plain_case over_a_stub over_a_stub
test_case copied_and_renamed copied_and_renamed
test_case beside_another_interposer beside_another_interposer

# ---- other tools (R76) and other C libraries (R77) ------------------------------------------------------
# One that the driver loads, which works the same with the preload off.
beside_a_tool() {
  for program in route_dlsym route_linked route_proc; do
    on_stub CUDA_INJECTION64_PATH="$here/injection.so" "$@" "$here/$program" 2>"$scratch/err" &&
      grep -q '^the tool saw version [1-9]' "$scratch/err" || return
  done
}
# Stopped at calls into the preload.
under_a_debugger() {
  gdb -q -batch -nx -ex run "$(command -v true)" 2>&1 | grep -q 'exited normally' || return 77 # it may trace nobody here
  gdb -q -batch -nx -ex 'set confirm off' -ex 'set breakpoint pending on' -ex "set environment LD_PRELOAD $preload" \
    -ex 'break cuMemAlloc_v2' -ex run -ex continue -ex continue -ex 'delete' -ex continue "$here/route_dlsym" >"$scratch/gdb" 2>&1
  grep -q 'exited normally' "$scratch/gdb" && grep -q 'Breakpoint 1.*cuMemAlloc_v2' "$scratch/gdb" || { cat "$scratch/gdb" && return 1; }
}
under_memcheck() {
  for program in route_dlsym route_static; do
    LD_PRELOAD="$preload" valgrind -q --error-exitcode=9 "$here/$program" || return
  done
}
only_public_symbols() {
  ! nm -D --undefined-only "$preload" | grep GLIBC_PRIVATE && ldd -r "$preload" >"$scratch/ldd" && ! grep -E 'undefined symbol|not found' "$scratch/ldd"
}
plain_case beside_a_tool beside_a_tool
plain_case beside_a_tool-switched_off beside_a_tool XSEG_PRELOAD=0 TEST_EXPECT_NATIVE=1
if command -v gdb >/dev/null; then plain_case under_a_debugger under_a_debugger; fi
if command -v valgrind >/dev/null; then plain_case under_memcheck under_memcheck; fi
plain_case only_public_symbols only_public_symbols

# ---- programs without CUDA ----------------------------------------------------------------------------
quiet() { under "$@" >"$scratch/out1" 2>"$scratch/err1" && [ ! -s "$scratch/err1" ]; }
plain_case constructor same_output "$here/constructor"
plain_case bash_true quiet bash -c true
plain_case bash_pipeline same_output bash -c 'echo a b c | tr a-z A-Z; exit 3'
plain_case python same_output python3 -c 'import json, threading; print(json.dumps([1, 2]))'
plain_case python_missing_name same_output python3 -c 'import ctypes
for n in "cudaMalloc", "cuMemAlloc_v2", "cuMemFree_v2", "cudnnCreate", "nothing":
    try: print(getattr(ctypes.CDLL(None), n))
    except AttributeError as e: print("missing", n)'
# Bash may ask a name service by itself, so what counts is what the preload adds.
telling_calls() {
  strace -f -e trace=openat,clone,socket "$@" bash -c true 2>"$scratch/trace" || return
  grep -E 'libcuda|socket\(|clone\(.*CLONE_THREAD|ALLOC_CONF' "$scratch/trace" | sed -E 's/^\[pid +[0-9]+\] //; s/ = [0-9]+$//'
}
loads_nothing() {
  strace -o /dev/null true || return 77 # it may trace nobody here
  telling_calls -E LD_PRELOAD= >"$scratch/calls1" && telling_calls -E LD_PRELOAD="$runtime$preload" >"$scratch/calls2" &&
    grep -q "openat(.*libxseg_preload" "$scratch/trace" && diff "$scratch/calls1" "$scratch/calls2"
}
if command -v strace >/dev/null; then plain_case loads_nothing loads_nothing; fi

# ---- cases of the programs ----------------------------------------------------------------------------
# Some need settings of their own.
settings_of() {
  case $1 in
  order_can_be_chosen) echo ALLOC_CONF=preload_order:context ;;
  free_memory_can_be_the_drivers) echo ALLOC_CONF=preload_memory_info:native ;;
  a_limit_is_what_there_is) echo ALLOC_CONF=memory_limit:100M ;;
  some_sizes_are_the_drivers) echo ALLOC_CONF=native_from:32M,native_to:64M ;;
  many_pieces) echo ALLOC_CONF=extent_max:2M ;;
  memory_that_cannot_be_shared) echo ALLOC_CONF=handle_type:none ;;
  *_without_a_cache*) echo ALLOC_CONF=backend:cudaMalloc ;;
  peers_*) echo XSEG_SIM_DEVICES=2 ;;
  *) echo TEST=1 ;;
  esac
}
for name in order memory lifetime loading ipc fault; do
  for case in $("$here/case_$name"); do
    test_case "$name-$case" env "$(settings_of "$case")" LD_PRELOAD="$runtime$preload" "$here/case_$name" "$case"
  done
done

explains_a_capture() {
  XSEG_LOG=1 ALLOC_CONF=backend:cudaMalloc under "$here/case_memory" a_capture_without_a_cache_is_as_natively 2>"$scratch/err"
  [ "$(grep -c 'refuses cudaMalloc while a stream captures' "$scratch/err")" = 1 ]
}
test_case explains_a_capture explains_a_capture

# The policy changes what is done, and never what a call comes to.
same_contract() {
  "$here/contract" >"$scratch/plain" && # what the simulator reports at exit is another matter
    ALLOC_CONF=$1 LD_PRELOAD=$runtime$preload "$here/contract" >"$scratch/under" && same "$scratch/plain" "$scratch/under"
}
for conf in '' expandable_segments:False backend:cudaMalloc preload_order:context 'nonsense,,:x' strict:True,nonsense:1 @/nowhere; do
  test_case "contract-$conf" same_contract "$conf"
done
export XSEG_SIM_DEVICES=2
test_case contract-two_devices same_contract ''
unset XSEG_SIM_DEVICES

# ---- xseg run -----------------------------------------------------------------------------------------
run() { "$xseg" run "$@"; }
run_serves() { run -- "$here/route_static"; }
run_off() { TEST_EXPECT_NATIVE=1 run --off -- "$here/route_static"; }
run_reports() {
  run --report -- "$here/route_shared" 2>"$scratch/err" &&
    grep -q 'device 0: 3 allocations; peak 128.00 MiB requested, 128.00 MiB reserved (1.0000)' "$scratch/err" &&
    grep -qE 'cudaMalloc and cudaFree, [0-9.]+ us a pair when tried at the start of this run, would have taken [0-9.]+ s: [0-9.]+ s saved' "$scratch/err" &&
    ! grep -q 'not covered' "$scratch/err" &&
    run --report --conf native_from:1 -- "$here/case_memory" some_sizes_are_the_drivers 2>"$scratch/err"
  grep -q 'not covered: 4 requests, 192.00 MiB' "$scratch/err"
}
run_reports_the_order() {
  run --report -- "$here/case_order" memory_waits_for_all_streams 2>"$scratch/err" &&
    grep -qx 'xseg: freed memory waited for all streams from here on: cuMemsetD8Async' "$scratch/err" &&
    run --report -- "$here/case_order" legacy_memory_comes_back_at_once 2>"$scratch/err" &&
    ! grep -q 'all streams' "$scratch/err"
}
run_names_who_was_refused() {
  run --conf memory_limit:100M,oom_report:True -- env XSEG_LOG=1 "$here/route_shared" 2>"$scratch/err"
  grep -qE '^xseg:   by +cudaMalloc \(libcudart.so.13\+0x[0-9a-f]+\) < .*\(route_shared\+0x' "$scratch/err" || { cat "$scratch/err" && return 1; }
}
# What was recorded is what was asked for, to the event, and the replay takes it.
run_records() {
  (cd "$scratch" && run --record out.trace -- "$here/$1" $2) || return
  grep -qx "# events $3 streams $4 peak_requested $5" "$scratch/out.trace" &&
    "$xseg" replay --driver sim --verify "$scratch/out.trace" >"$scratch/replay" && grep -q out "$scratch/replay"
}
run_records_children() {
  run --record "$scratch/c.trace" -- sh -c "'$here/route_static'; '$here/route_shared'" &&
    [ "$(ls "$scratch"/c.trace.* | wc -l)" = 2 ] && [ ! -e "$scratch/c.trace" ]
}
run_record_refused() {
  XSEG_LOG=1 run --record /nowhere/x -- "$here/route_static" 2>"$scratch/err" && grep -q '/nowhere/x: cannot be made: No such file' "$scratch/err"
}
plain_case run_serves run_serves
plain_case run_off run_off
plain_case run_reports run_reports
plain_case run_reports_the_order run_reports_the_order
plain_case run_names_who_was_refused run_names_who_was_refused
plain_case run_records run_records route_shared '' 6 1 134217728
plain_case run_records_streams run_records case_order stream_ordered_memory_stays_in_order 6 3 16777216
plain_case run_records_threads run_records case_order threads_on_the_legacy_stream 64000 1 '[0-9]*'
plain_case run_records_children run_records_children
plain_case run_record_refused run_record_refused

echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
[ $failed = 0 ]
