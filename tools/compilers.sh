#!/bin/sh
# Reads all of src/ with each C++ compiler, with all warnings, and makes no object: in C++17 each file alone, as who
# edits it sees it, in C++20 what is compiled. Fails where one has something to say. Some ten minutes of a processor
# for each.
#
#   tools/compilers.sh               every g++ and clang++ of this machine
#   tools/compilers.sh COMPILER...   these; R's headers are this machine's, whatever they compile for
# shellcheck disable=SC2046,SC2086  # lists are split on purpose
set -eu
cd "$(dirname "$0")/.."

# Lists each compiler once, however many names it has.
compilers_here() {
  printf '%s\n' "$PATH" | tr ':' '\n' | while IFS= read -r folder; do
    for file in "$folder"/g++ "$folder"/g++-[0-9]* "$folder"/clang++ "$folder"/clang++-[0-9]*; do
      [ ! -x "$file" ] || printf '%s %s\n' "$file" "$(readlink -f "$file")"
    done
  done | awk '!seen[$2]++ { print $1 }'
}

# Headers of others may say what they like; and RcppExports.cpp in the room border, which casts functions as R asks for.
headers=$(Rscript -e 'linked <- sub(" .*", "", strsplit(read.dcf("DESCRIPTION", "LinkingTo"), ", *")[[1]])
  folders <- c(R.home("include"), sapply(linked, function(p) system.file("include", package = p)))
  cat(paste("-isystem", folders))')
flags="-fsyntax-only -Wall -Wextra -Wpedantic -Werror -pthread -DNDEBUG -I../inst/include -I. $headers"

# Lists the sources: in C++20 without those that rooms include, which are read with them.
sources() {
  case $1 in
    c++17) find . -name '*.cpp' ! -path './rooms/*' ! -name RcppExports.cpp ;;
    c++20) included=$(sed -n 's/^#include "\(.*[.]cpp\)"$/.\/\1/p' rooms/*.cpp)
      find . -name '*.cpp' ! -name RcppExports.cpp | grep -vxF "$included" ;;
  esac | sort
}

[ $# -gt 0 ] || set -- $(compilers_here)
status=0
cd src
for compiler in "$@"; do
  # clang counts what the library's own headers use of deprecated functions; g++ tells of ours.
  case $compiler in *clang*) quiet=-Wno-deprecated-declarations ;; *) quiet= ;; esac
  for standard in c++17 c++20; do
    echo "== $compiler -std=$standard"
    for file in $(sources $standard); do
      case $file in ./rooms/border.cpp) casts=-Wno-cast-function-type ;; *) casts= ;; esac
      "$compiler" -std=$standard $flags $quiet $casts "$file" || status=1
    done
  done
done
exit "$status"
