#!/bin/sh
# The plug-in for PyTorch without PyTorch: its hooks called from C++ as PyTorch calls them, and from Python by ctypes.
#   run.sh BUILD
cd "$(dirname "$0")/../.." || exit 2
build=$(pwd)/$1
sim=$build/sim/libcuda.so.1
case $build in
*address* | *thread* | *undefined*) echo "skipped: only of a build without sanitizers" && exit 77 ;;
esac
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
export XSEG_LOG=0 XSEG_SIM_DEVICES=2 LD_LIBRARY_PATH="$scratch"
rc=0 ran=0
part() { "$@" >"$scratch/out" || rc=1; cat "$scratch/out" && tail -n 1 "$scratch/out" >>"$scratch/counts"; }
# Libraries of the names of PyTorch's.
fakes() {
    mkdir -p "$1" &&
        c++ -std=c++17 -Wall -Wextra $2 -shared -fPIC -o "$1/libc10.so" tests/torch/fake_c10.cpp &&
        c++ -std=c++17 -Wall -Wextra $2 -shared -fPIC -o "$1/libc10_cuda.so" -Wl,-soname,libc10_cuda.so \
            tests/torch/fake_torch_cuda.cpp &&
        c++ -shared -o "$1/libtorch_cuda.so" -Wl,--no-as-needed -L"$1" -lc10_cuda
}
if command -v c++ >/dev/null; then
    fakes "$scratch" && fakes "$scratch/grown" -DFAKE_GROWN &&
        c++ -std=c++17 -Wall -Wextra -rdynamic -Iinclude -o "$scratch/torch_abi" tests/torch/torch_abi.cpp \
            "$build/libxseg.so" "-Wl,-rpath,$build" -L"$scratch" -lc10 -ldl -pthread || exit 1
    part "$scratch/torch_abi" "$sim"
    part env LD_LIBRARY_PATH="$scratch/grown" "$scratch/torch_abi" "$sim" another_layout
    ran=1
else
    echo "no C++ compiler: the hooks were not called from C++"
fi
if command -v python3 >/dev/null; then
    part python3 tests/torch/test_torch.py "$build/libxseg.so" "$sim"
    part python3 -W ignore tests/torch/test_module.py "$build/libxseg.so" "$sim"
    part python3 tests/torch/test_gpu_scripts.py
    ran=1
else
    echo "no Python: the hooks were not called by ctypes"
fi
[ $ran = 1 ] || { echo "skipped: neither a C++ compiler nor Python" && exit 77; }
awk '{ passed += $1; failed += $3 } END { print passed " passed, " failed " failed" }' "$scratch/counts"
exit $rc
