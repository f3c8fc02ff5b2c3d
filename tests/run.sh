#!/bin/sh
# Runs test jobs side by side, all of them whatever fails, and adds up what they say.
#
#   run.sh [-j JOBS] [-l LABEL] [-o FOLDER] 'NAME|COMMAND'...
#
# What a job counts for: cmocka's closing lines in its output, or a last line like "3 passed, 0 failed,
# 1 skipped"; otherwise it is one test. It fails if its exit status is not 0; 77 skips it. Its
# output is kept in FOLDER and shown where it fails. The last line is "[LABEL: ]N passed, N failed[, N skipped]".
set -u
jobs=${TEST_JOBS:-$(nproc 2>/dev/null || echo 2)}
limit=${TEST_TIMEOUT:-900}
label=
folder=
while getopts j:l:o: option; do
  case $option in
  j) jobs=$OPTARG ;;
  l) label="$OPTARG: " ;;
  o) folder=$OPTARG ;;
  *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))

# count_results STATUS LOG: prints "passed failed skipped"
count_results() {
  awk -v status="$1" '
    # The number before the word, wherever it stands in the line.
    function before(word,   n, part) { n = split($0, part, /[ ,:]+/)
      for (; n > 1; n--) if (part[n] == word) return part[n - 1] + 0
      return 0 }
    /^\[  PASSED  \] [0-9]+ test/ { passed += $4; counted = 1 }
    /^\[  FAILED  \] [0-9]+ test/ { failed += $4; counted = 1 }
    /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4; counted = 1 }
    /^([a-z]+: )?[0-9]+ passed, / { line = $0 }
    END {
      if (!counted && line != "") { $0 = line; counted = 1
        passed = before("passed"); failed = before("failed"); skipped = before("skipped") }
      if (status == 77 && !failed) { print 0, 0, 1; exit }
      if (status == 0 && !counted) passed = 1
      if (status != 0 && !failed) failed = 1
      print passed + 0, failed + 0, skipped + 0
    }' "$2"
}

# run_one NAME|COMMAND: one job, its log and its counts
run_one() {
  name=${1%%|*}
  base=$RUN_FOLDER/$(printf %s "$name" | tr / -)
  began=$(date +%s)
  # shellcheck disable=SC2086 # the command is words
  timeout -k 10 "$RUN_LIMIT" ${1#*|} >"$base.log" 2>&1 </dev/null
  status=$?
  [ $status -ne 124 ] || echo "stopped after $RUN_LIMIT seconds" >>"$base.log"
  count_results $status "$base.log" >"$base.count"
  read -r passed failed _ <"$base.count"
  word=ok
  [ "$passed" -gt 0 ] || word=skip
  [ "$failed" -eq 0 ] || word=FAIL
  printf '  %-5s %-36s %5d passed %3d s\n' $word "$name" "$passed" $(($(date +%s) - began))
  if [ $word = skip ]; then sed 's/^/        /;q' "$base.log"; fi
}

if [ -n "${RUN_FOLDER:-}" ] && [ -n "${RUN_LIMIT:-}" ]; then
  run_one "$1"
  exit 0
fi

scratch=
if [ -z "$folder" ]; then
  folder=$(mktemp -d) || exit 2
  scratch=$folder
fi
mkdir -p "$folder" || exit 2
rm -f "$folder"/*.log "$folder"/*.count
if [ $# -gt 0 ]; then
  printf '%s\0' "$@" | RUN_FOLDER=$folder RUN_LIMIT=$limit xargs -0 -n 1 -P "$jobs" sh "$0"
fi

for count in "$folder"/*.count; do
  [ -f "$count" ] || continue
  read -r passed failed _ <"$count"
  [ "$failed" -eq 0 ] || { echo "---- ${count%.count}.log" && tail -n 60 "${count%.count}.log"; }
done
# shellcheck disable=SC2016
total=$(cat "$folder"/*.count 2>/dev/null | awk '{ p += $1; f += $2; s += $3 }
  END { printf "%d passed, %d failed%s", p, f, s ? ", " s " skipped" : ""; exit f > 0 || p == 0 }')
status=$?
echo "$label$total"
[ -z "$scratch" ] || rm -rf "$scratch"
exit $status
