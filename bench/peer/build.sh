#!/bin/sh
# Builds the outside programs of `xseg bench --peers FOLDER` for what is installed: PyTorch's allocator where
# python3 finds a torch with CUDA, RMM's pool and arena where it finds librmm (26.06 or later). Says what
# it leaves out, and fails only where something that is installed cannot be built.
#
#   bench/peer/build.sh [FOLDER]     FOLDER is build/peers by default
#
# CC, CXX, PYTHON and CUDA_HOME are respected.
set -eu
cd "$(dirname "$0")/../.."
out=${1:-build/peers}
: "${CC:=cc}" "${CXX:=g++}" "${PYTHON:=python3}"
objects=$out/.objects
flags="-O2 -g -pthread -D_GNU_SOURCE -I. -Iinclude"
mkdir -p "$objects/bench"

# The workloads and the timing are the same for all; the contestant is each program's own.
for source in bench/*.c bench/peer/peer_main.c; do
    case $source in
    bench/contestant_xseg.c | bench/contestant_driver.c) continue ;;
    esac
    # shellcheck disable=SC2086
    $CC -std=c11 $flags -c -o "$objects/bench/$(basename "$source" .c).o" "$source"
done

# Flags that lead to CUDA's headers and run-time library, a line each: of the toolkit, else of the wheels that
# came with a framework.
cuda=$($PYTHON - <<'END' || true
import glob, os, sys
homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"] + [w for p in sys.path for w in glob.glob(p + "/nvidia/*")]
include = [h for h in homes if os.path.exists(h + "/include/cuda_runtime_api.h")]
library = [f for h in homes for f in glob.glob(h + "/lib*/libcudart.so.[0-9]*")]
print("-I" + include[0] + "/include" if include else "")
print(library[0] + " -Wl,-rpath," + os.path.dirname(library[0]) if library else "")
END
)
cuda_include=$(echo "$cuda" | sed -n 1p)
cuda_library=$(echo "$cuda" | sed -n 2p)

# build NAME SOURCE COMPILER_FLAGS LINKER_FLAGS
build() {
    # shellcheck disable=SC2086
    $CXX -std=c++20 $flags $3 $cuda_include -c -o "$objects/$1.o" "$2"
    # shellcheck disable=SC2086
    $CXX -pthread -o "$out/$1" "$objects/$1.o" "$objects"/bench/*.o -Wl,--no-as-needed $4 $cuda_library \
        -Wl,--unresolved-symbols=ignore-in-shared-libs -ldl -lm
    echo "built $out/$1"
}

torch=$($PYTHON - <<'END' 2>/dev/null || true
import os, torch
from torch.utils import cpp_extension
assert torch.version.cuda
root = os.path.dirname(torch.__file__) + "/lib"
abi = "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI
print(abi, *("-I" + p for p in cpp_extension.include_paths()))
print("-L" + root, "-lc10 -lc10_cuda", "-Wl,-rpath," + root)
END
)
if [ -n "$torch" ] && [ -n "$cuda_include" ]; then
    build torch bench/peer/torch.cpp "$(echo "$torch" | sed -n 1p)" "$(echo "$torch" | sed -n 2p)"
else
    echo "left out: torch (no PyTorch with CUDA, or no CUDA headers)"
fi

rmm=$($PYTHON - <<'END' 2>/dev/null || true
import importlib.util, os
rmm, log = (importlib.util.find_spec(n).submodule_search_locations[0] for n in ("librmm", "rapids_logger"))
libs = [d for r in (rmm, log) for d in (r + "/lib64", r + "/lib") if os.path.isdir(d)]
print(*("-I" + d for d in (rmm + "/include/rapids", rmm + "/include", log + "/include")))
print(*("-L%s -Wl,-rpath,%s" % (d, d) for d in libs), "-lrmm -lrapids_logger")
END
)
if [ -n "$rmm" ] && [ -n "$cuda_include" ]; then
    for kind in pool arena; do
        define=-DXS_RMM_$(echo $kind | tr '[:lower:]' '[:upper:]')
        build rmm_$kind bench/peer/rmm.cpp "$define $(echo "$rmm" | sed -n 1p)" "$(echo "$rmm" | sed -n 2p)"
    done
else
    echo "left out: rmm_pool, rmm_arena (no librmm, or no CUDA headers)"
fi
