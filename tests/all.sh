#!/bin/bash
# Installs what the tests need and runs the whole suite: README.md, "Tests". For Debian and Ubuntu, as root or with
# sudo; where everything is there already, nothing is installed. The last line adds up all runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

# command or header, and the package that has it
needs=(
  gcc gcc g++ g++ make make pkg-config pkg-config gzip gzip python3 python3 ctags universal-ctags
  clang-format clang-format clang clang valgrind valgrind nm binutils diff diffutils cmp diffutils
  find findutils xargs findutils script bsdutils nproc coreutils awk mawk
  /usr/include/cmocka.h libcmocka-dev /usr/include/stdlib.h libc6-dev
)
missing=()
for ((i = 0; i < ${#needs[@]}; i += 2)); do
  case ${needs[i]} in
  /*) [ -e "${needs[i]}" ] ;;
  *) command -v "${needs[i]}" >/dev/null ;;
  esac || missing+=("${needs[i + 1]}")
done
if [ ${#missing[@]} -gt 0 ]; then
  root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  echo "installing: ${missing[*]}"
  "${root[@]}" apt-get update -q >/dev/null
  "${root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null || exit 2
fi

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
failed=0
# Each run's own closing line is its last one of that form; what failed may have shown others before it.
suite() {
  printf '\n== make %s\n' "$*"
  make -j"$(nproc)" --no-print-directory "$@" 2>&1 | tee "$scratch/log" | grep -vE '^  (CC|LD|AR) ' || failed=1
  grep -E '^([a-z]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$scratch/log" | tail -n 1 >>"$scratch/totals"
}
suite check
suite check-programs PROFILE=debug SAN=address,undefined LABEL=asan STEPS=20000 FUZZ_ROUNDS=4000
suite tsan
suite valgrind
echo
awk '
    { sub(/^[a-z]+: /, ""); passed += $1; failed += $3; skipped += $5 }
    END {
        if (NR != 4) { print "only " NR + 0 " of 4 runs have ended"; failed++ }
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed > 0 || passed == 0 }' "$scratch/totals" || failed=1
exit $failed
