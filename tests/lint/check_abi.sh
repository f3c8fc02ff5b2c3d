#!/bin/sh
# Compiles the files that hold our copy of the driver's ABI against cuda.h. Skipped where there is none.
cd "$(dirname "$0")/../.." || exit 2
for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda/include /usr/include /usr/local/include; do
    [ -f "$folder/cuda.h" ] || continue
    version=$(sed -n 's/^#define CUDA_VERSION *//p' "$folder/cuda.h")
    echo "$folder/cuda.h, CUDA_VERSION $version"
    files=src/driver/abi_check.c
    [ "$version" -lt 13000 ] || files="$files src/preload/entry_abi_check.c" # it declares all that the preload knows
    for file in $files; do
        ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Iinclude -Isrc -isystem "$folder" -fsyntax-only $file || exit
    done
    exit 0
done
echo "skipped: no cuda.h (set CUDA_HOME)"
exit 77
