#!/bin/sh
# The model test under every policy that changes how memory is found; one line each.
#   run.sh PROGRAM      XSEG_TEST_SIM names the simulator, XSEG_MODEL_STEPS and XSEG_MODEL_SEED as there
program=$1
failed=0

model() { # name, ALLOC_CONF, simulator setting
    printf '%-14s ' "$1"
    env ALLOC_CONF="$2" ${3:+"$3"} "$program" || failed=1
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
exit $failed
