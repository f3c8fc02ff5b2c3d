#!/bin/sh
# Compiles src/driver/abi_check.c, which holds our copy of the driver's ABI against cuda.h. Skipped where there is none.
cd "$(dirname "$0")/../.." || exit 2
for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda/include /usr/include /usr/local/include; do
    [ -f "$folder/cuda.h" ] || continue
    version=$(sed -n 's/^#define CUDA_VERSION *//p' "$folder/cuda.h")
    echo "$folder/cuda.h, CUDA_VERSION $version"
    # shellcheck disable=SC2093
    exec ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Iinclude -Isrc -isystem "$folder" -fsyntax-only src/driver/abi_check.c
done
echo "skipped: no cuda.h (set CUDA_HOME)"
exit 77
