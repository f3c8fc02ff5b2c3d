#!/bin/sh
# Golden tests of the program xseg.
#
#   run.sh [--update] PROGRAM SIMULATOR [PATTERN]    PATTERN picks cases: 'trace/*'
#
# A case is AREA/NAME.sh. It runs in an empty folder of its own, with xseg in PATH, the simulator in
# XSEG_SIM_LIBRARY and tests/cli/data in DATA, and is compared with the files beside it:
#   NAME.exit          the exit status; 0 where there is no such file
#   NAME.stdout.exact  standard output; or NAME.stdout.glob, a shell pattern for all of it
#   NAME.stderr.glob   standard error; or NAME.stderr.exact
# A stream without a file must stay empty. Status 77 skips the case. --update writes what is missing
# and rewrites .exit and .exact; a .glob that no longer matches is only reported.
set -u

update=0
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
if [ $# -lt 2 ]; then
    echo "usage: run.sh [--update] PROGRAM SIMULATOR [PATTERN]" >&2
    exit 2
fi
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
XSEG_SIM_LIBRARY=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$(dirname "$0")" || exit 2
cases=$(pwd)
DATA=$cases/data
LC_ALL=C
export PATH XSEG_SIM_LIBRARY DATA LC_ALL
unset ALLOC_CONF PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF NO_COLOR XSEG_SIM_DATA
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
passed=0
skipped=0
failed=0

# matches_glob TEXT_FILE PATTERN_FILE
matches_glob() {
    text=$(cat "$1")
    pattern=$(cat "$2")
    # shellcheck disable=SC2254  # it is meant to be a pattern
    case "$text" in
    $pattern) return 0 ;;
    esac
    return 1
}

# check_stream CASE STREAM: prints what is wrong with standard output or error
check_stream() {
    got=$scratch/$2
    if [ -f "$1.$2.exact" ]; then
        cmp -s "$got" "$1.$2.exact" || diff -u "$1.$2.exact" "$got"
    elif [ -f "$1.$2.glob" ]; then
        matches_glob "$got" "$1.$2.glob" || {
            echo "$2 does not match $1.$2.glob:"
            cat "$got"
        }
    elif [ -s "$got" ]; then
        echo "$2 is not empty:"
        cat "$got"
    fi
}

update_case() {
    for stream in stdout stderr; do
        if [ -f "$1.$stream.exact" ] || { [ ! -f "$1.$stream.glob" ] && [ -s "$scratch/$stream" ]; }; then
            cp "$scratch/$stream" "$1.$stream.exact"
        fi
    done
    rm -f "$1.exit"
    [ "$2" -eq 0 ] || echo "$2" >"$1.exit"
}

run_case() {
    name=${1%.sh}
    mkdir "$scratch/cwd"
    (cd "$scratch/cwd" && timeout 300 sh -u "$cases/$1") >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
    status=$?
    rm -rf "$scratch/cwd"
    if [ $status -eq 77 ]; then
        skipped=$((skipped + 1))
        return
    fi
    [ $update -eq 0 ] || update_case "$name" $status
    expected=0
    [ ! -f "$name.exit" ] || expected=$(cat "$name.exit")
    {
        [ $status -eq "$expected" ] || echo "exit status $status, expected $expected"
        check_stream "$name" stdout
        check_stream "$name" stderr
    } >"$scratch/wrong"
    if [ -s "$scratch/wrong" ]; then
        echo "FAILED $name"
        sed 's/^/    /' "$scratch/wrong"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

for case in */*.sh; do
    # shellcheck disable=SC2254
    case "${case%.sh}" in
    ${3:-*}) run_case "$case" ;;
    esac
done
echo "cli: $passed passed, $skipped skipped, $failed failed"
[ $failed -eq 0 ]
