#!/bin/sh
# The model test under every policy that changes how memory is found; one line each.
#   run.sh PROGRAM
# XSEG_TEST_SIM names the simulator; XSEG_TEST_WRAP may name a command to put before the program, such as
# valgrind. XSEG_MODEL_STEPS (default 40000 for each) and XSEG_MODEL_SEED are the program's.
program=$1
passed=0
failed=0
: "${XSEG_MODEL_STEPS:=40000}"
export XSEG_MODEL_STEPS

model() { # name, ALLOC_CONF, simulator setting
  printf '%-14s ' "$1"
  # shellcheck disable=SC2086 # the wrapper is words
  if env ALLOC_CONF="$2" ${3:+"$3"} ${XSEG_TEST_WRAP:-} "$program"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

model default ''
model classic 'expandable_segments:False'
model small-extents 'extent_max:2M'
model power2 'roundup_power2_divisions:4'
model limit 'memory_limit:600M'
model classic-gc \
  'expandable_segments:False,max_split_size_mb:64,garbage_collection_threshold:0.6,memory_limit:900M'
model uncached 'backend:cudaMalloc'
model granule-64K '' XSEG_SIM_GRANULARITY=64K
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
