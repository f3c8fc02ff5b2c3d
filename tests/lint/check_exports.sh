#!/bin/sh
# Fails unless libxseg.so exports exactly what src/api/xseg.map and the headers of include/xseg name.
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build/release}
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$build/libxseg.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$scratch/exported"
sed -n 's/^ *\([a-z_0-9]*\);$/\1/p' src/api/xseg.map | sort >"$scratch/map"
grep -ho '^XSEG_API [^(]*(' include/xseg/*.h | sed 's/($//; s/.*[ *]//' | sort >"$scratch/header"
diff -u "$scratch/map" "$scratch/exported" && diff -u "$scratch/map" "$scratch/header"
