#!/bin/sh
# Runs the work of hours, for the night: every combination and all random formulas of the tests, the check as CRAN runs
# it, once more without the packages that are only suggested and once under the newest R, instructions counted by
# valgrind, seconds and bytes of each compiled file, what other compilers say of the sources, tests under sanitizers.
set -eu
cd "$(dirname "$0")/.."

# Kernels that are compiled where a GPU is seen are compiled here all the same.
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then export KERNWEAVE_CUDA=yes; fi

KERNWEAVE_TESTS=all make test
make check
_R_CHECK_DEPENDS_ONLY_=true tools/check.sh built
make guard
Rscript tools/compiled.R
tools/compilers.sh
tools/cross.sh arm64
tools/cross.sh mingw
tools/sanitize.sh
make current
