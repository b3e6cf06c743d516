#!/bin/sh
# Reads all of src/ with a compiler for machines that are not here, as tools/compilers.sh does, and installs it first
# where Debian's archive is at hand.
#
#   tools/cross.sh arm64    Linux on ARM, whose vectors are those of Apple's processors
#   tools/cross.sh mingw    Windows
set -eu
cd "$(dirname "$0")/.."

case ${1:-} in
  arm64) compiler=aarch64-linux-gnu-g++ package=g++-aarch64-linux-gnu ;;
  mingw) compiler=x86_64-w64-mingw32-g++-posix package=g++-mingw-w64-x86-64-posix ;;
  *) sed -n '5,6s/^# *//p' "$0" >&2; exit 2 ;;
esac
command -v "$compiler" > /dev/null || {
  apt-get update -q
  apt-get install -yq --no-install-recommends "$package"
} > /dev/null
exec tools/compilers.sh "$compiler"
