#!/bin/sh
# Installs into an empty folder, builds and runs a program from there, replays a trace with the installed
# program, uninstalls, and fails if a file is left. Arguments: variables for make.
cd "$(dirname "$0")/../.." || exit 2
mkdir -p build && root=$(mktemp -d "$PWD/build/install.XXXXXX") || exit 2 # what lies there is run
trap 'rm -rf "$root"' EXIT
unset XSEG_SIM_LIBRARY MAKEFLAGS MFLAGS
run() {
    "$@" >"$root/log" 2>&1 || { echo "failed: $*" && cat "$root/log" && exit 1; }
}
make=${MAKE:-make}
run "$make" install "$@" PREFIX=/opt/xs DESTDIR="$root/dest"
prefix=$root/dest/opt/xs
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$root/dest
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
flags=$(pkg-config --cflags --libs xseg) || exit 1
# shellcheck disable=SC2086
run ${CC:-cc} -std=c11 -o "$root/minimal" docs/examples/minimal.c $flags "-Wl,-rpath,$prefix/lib"
run "$root/minimal" "$prefix/lib/xseg/sim/libcuda.so.1"
run "$prefix/bin/xseg" replay --driver sim tests/cli/data/small.trace
run "$prefix/bin/xseg" run --report -- "$root/minimal" "$prefix/lib/xseg/sim/libcuda.so.1"
run "$make" uninstall "$@" PREFIX=/opt/xs DESTDIR="$root/dest"
left=$(find "$root/dest" ! -type d)
[ -z "$left" ] || { echo "left behind:" && echo "$left" && exit 1; }
