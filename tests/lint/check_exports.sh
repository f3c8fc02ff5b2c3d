#!/bin/sh
# Fails unless libxseg.so exports exactly what src/api/xseg.map and the headers of include/xseg name, and
# libxseg_preload.so that, what the tables of its entries name, and two names of its own.
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build/release}
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }
exported "$build/libxseg.so" >"$scratch/exported"
exported "$build/libxseg_preload.so" >"$scratch/preload_exported"
"$build/xseg" conf --preload | awk -F'`' '
    /^## / { twins = $0 == "## Work" }
    /^\| `/ { print $2; if (twins && $2 !~ /_ptds$/) print $2 "_ptsz" }' >"$scratch/entries"
sed -n 's/^ *\([a-z_0-9]*\);$/\1/p' src/api/xseg.map | sort >"$scratch/map"
grep -ho '^XSEG_API [^(]*(' include/xseg/*.h | sed 's/($//; s/.*[ *]//' | sort >"$scratch/header"
{ cat "$scratch/map" "$scratch/entries" && printf 'dlsym\nxs_preload_copy\n'; } | sort >"$scratch/preload"
diff -u "$scratch/map" "$scratch/exported" && diff -u "$scratch/map" "$scratch/header" &&
    diff -u "$scratch/preload" "$scratch/preload_exported"
