#!/bin/sh
# Installs the package, with what its tests call, and prints a line a step. All that R and the compiler say is kept.
#
#   tools/install.sh LIBRARY CORES [--preclean]
set -eu
cd "$(dirname "$0")/.."
library=$1 cores=$2
shift 2
log=$library/install.log
say() { printf 'install: %s\n' "$*"; }

mkdir -p "$library"
say "compiling on $cores cores, which takes some minutes; the words of R and the compiler go to $log"
KERNWEAVE_TEST_WINDOWS=yes MAKEFLAGS="-j$cores --no-print-directory" \
  R CMD INSTALL --no-html "$@" --library="$library" . 2>&1 | tee "$log" | {
  begun=0
  while IFS= read -r line; do
    case $line in
      *" -c "*" -o "*)
        begun=$((begun + 1))
        [ $((begun % 10)) -ne 0 ] || say "$begun files compiled or begun" ;;
      "** R") say "all compiled; now the code and the data in R" ;;
      "*** installing help"*) say "help pages" ;;
      "** checking absolute"*) say "the library is loaded once" ;;
    esac
  done
}
if grep -q '^[*] DONE' "$log"; then
  say "done"
else
  say "failed. The first errors in $log, and its end:" >&2
  grep -n -m 5 'error:\|ERROR' "$log" >&2 || :
  tail -n 20 "$log" >&2
  exit 1
fi
