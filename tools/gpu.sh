#!/bin/sh
# Builds the package with nvcc, and runs the tests that need a GPU side by side, long files in parts: some 8 minutes on
# a machine with a GPU and 16 cores. Each process writes .lib/gpu/found/NAME-PART, which is shown as soon as it ends.
set -eu
cd "$(dirname "$0")/.."
lib=$PWD/.lib/gpu/lib
found=$PWD/.lib/gpu/found
rm -rf "$found"
mkdir -p "$lib" "$found"
cores=$(getconf _NPROCESSORS_ONLN)

KERNWEAVE_CUDA=yes KERNWEAVE_TEST_WINDOWS=yes R_MAKEVARS_USER=$PWD/tools/Makevars MAKEFLAGS=-j$cores \
  R CMD INSTALL --no-docs --no-test-load --library="$lib" . > "$found/install" 2>&1 ||
  { tail -n 20 "$found/install" >&2; exit 1; }
export R_LIBS="$lib${R_LIBS:+:$R_LIBS}" NOT_CRAN=true KERNWEAVE_TESTS="${KERNWEAVE_TESTS:-usual}"
export KERNWEAVE_SOURCE="$PWD" FOUND="$found"

# A file of tests, and in how many parts: the longest test of test-gpu.R takes 5 minutes, alone in its part.
parts() {
  cat << FILES
gpu 12
window 3
arrays-gpu 2
tensor 2
approximate-gpu 1
contract 1
device 1
index-gpu 1
models-sinkhorn 1
nearest 1
pairs-gpu 1
FILES
}
# shellcheck disable=SC2016  # expanded by the shell that xargs starts
parts | while read -r name parts; do
  for part in $(seq "$parts"); do echo "$name" "$part" "$parts"; done
done | xargs -n 3 -P "$cores" sh -c 'Rscript tools/part.R "$0" "$1" "$2" > "$FOUND/$0-$1" 2>&1; cat "$FOUND/$0-$1"'
# A test of this file fills the memory of the GPU, so it runs alone.
Rscript tools/part.R gputrouble 1 1 > "$found/gputrouble-1" 2>&1 || :
cat "$found/gputrouble-1"
! grep -L ' 0 failed' "$found"/*-[0-9]* | grep .
