# shellcheck shell=sh
# For the scripts of this folder that come in parts; sourced in the project's root. Which parts are wanted, for how long
# any is begun, and the summary.
#
#   choose ALL ARGUMENT...      ALL: their names. Reads --only PART,... and --seconds N (280); other options are offered to
#                               option NAME VALUE, which the script may define anew; what nobody knows ends it with 2

seconds=280
passed=0 failed=0 skipped=0
begin=$(date +%s)

option() { false; }

choose() {
  all=$1 wanted=$1
  shift
  while [ $# -gt 1 ]; do
    case $1 in
    --only) wanted=$2 ;;
    --seconds) seconds=$2 ;;
    *) option "$1" "$2" || break ;;
    esac
    shift 2
  done
  [ $# -eq 0 ] || { echo "${0##*/}: $1: not understood" >&2 && exit 2; }
  wanted=" $(echo "$wanted" | tr , ' ') "
  for name in $wanted; do
    case " $all " in *" $name "*) ;; *) echo "${0##*/}: no part $name; there are: $all" >&2 && exit 2 ;; esac
  done
}

wants() { case $wanted in *" $1 "*) ;; *) return 1 ;; esac; }

# Seconds in which a part may still be begun.
left() { echo $((begin + seconds - $(date +%s))); }

# summary ROWS LIST COLUMN...: the counts in a line; and with the file's rows, whose columns are parted by tabs, as summary.json
# beside it
summary() {
  file=$1 list=$2
  shift 2
  awk -F '\t' -v p="$passed" -v f="$failed" -v s="$skipped" -v list="$list" -v columns="$*" '
    BEGIN { printf "{\"passed\": %d, \"failed\": %d, \"skipped\": %d, \"%s\": [", p, f, s, list; n = split(columns, name, " ") }
    {
      printf "%s\n  {", (NR > 1 ? "," : "")
      for (i = 1; i <= n; i++)
        printf (name[i] == "seconds" ? "%s\"%s\": %d" : "%s\"%s\": \"%s\""), (i > 1 ? ", " : ""), name[i], $i
      printf "}"
    }
    END { print "\n]}" }' "$file" >"${file%/*}/summary.json"
  echo "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - begin)) s"
}
