#!/bin/sh
# The C++ header: compiled as C++17 and C++20, with CCCL's concepts where CUDA is installed (CUDA_HOME), and run.
#   run.sh BUILD
cd "$(dirname "$0")/../.." || exit 2
build=$(pwd)/$1
case $build in
*address* | *thread* | *undefined*) echo "skipped: only of a build without sanitizers" && exit 77 ;;
esac
command -v c++ >/dev/null || { echo "skipped: no C++ compiler" && exit 77; }
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
export XSEG_LOG=0
rc=0
compile() { # standard, flags
    standard=$1
    shift
    c++ -std="$standard" -Wall -Wextra -Werror "$@" -Iinclude -o "$scratch/test" tests/cxx/test_xseg.cpp "$build/libxseg.so" \
        "-Wl,-rpath,$build" && "$scratch/test" "$build/sim/libcuda.so.1" || rc=1
}
compile c++17 -Wpedantic
compile c++20 -Wpedantic
cuda=${CUDA_HOME:-/usr/local/cuda}/include
if [ -f "$cuda/cccl/cuda/memory_resource" ]; then
    compile c++17 -DXSEG_WITH_CCCL -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE -isystem "$cuda" -isystem "$cuda/cccl"
else
    echo "no CCCL: its concepts were not checked"
fi
exit $rc
