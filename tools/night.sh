#!/bin/sh
# What takes hours, for the night: every combination and all random formulas of the tests, the check as CRAN runs it,
# instructions counted by valgrind, seconds and bytes of each compiled file.
set -eu
cd "$(dirname "$0")/.."

KERNWEAVE_TESTS=all make test
make check
make guard
Rscript tools/compiled.R
