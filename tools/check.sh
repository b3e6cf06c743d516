#!/bin/sh
# Checks the scripts, that generated files are fresh, and the tarball as CRAN would; fails on an error or a warning.
#
#   tools/check.sh         as CRAN would: compiles for the vignettes and for the check; then the site's articles
#   tools/check.sh built   what `make test` has built and tested already, without tests, articles and unknown names
#
# The first runs the tests as CRAN does: those of the tier "cran", one file after the other, on two threads at most.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
mode=${1:-}

echo "== scripts"
for script in configure configure.win cleanup cleanup.win tools/*.sh .ci/run; do
  dash -n "$script"
  checkbashisms "$script"
  shellcheck -s sh "$script"
done

# Another version of roxygen2 writes other files; only the one named in DESCRIPTION can say that ours are stale.
echo "== generated files"
# Marks the library as made from these sources, whatever the times of files say: with `built` it is, and it is after a
# comparison that finds no difference.
as_built() { if [ "$mode" = built ]; then touch .lib/.installed; fi; }
as_built
generated() { cksum NAMESPACE man/*.Rd R/*-gen.R 2> /dev/null || :; }
before=$(generated)
used=$(sed -n 's/^RoxygenNote: //p' DESCRIPTION)
here=$(Rscript -e 'cat(as.character(packageVersion("roxygen2")))')
if [ "$used" = "$here" ]; then
  make --no-print-directory docs
else
  echo "man/ is not compared: written by roxygen2 $used, here is $here"
  Rscript tools/ops.R
fi
[ "$before" = "$(generated)" ] || {
  echo "check: generated files were stale; they are fresh now, look at them" >&2
  exit 1
}
as_built

echo "== tarball"
export _R_CHECK_CRAN_INCOMING_=FALSE _R_CHECK_SYSTEM_CLOCK_=FALSE _R_CHECK_COMPILATION_FLAGS_=TRUE \
  _R_CHECK_THINGS_IN_TEMP_DIR_=TRUE _R_CHECK_THINGS_IN_OTHER_DIRS_=TRUE _R_CHECK_LIMIT_CORES_=TRUE OMP_THREAD_LIMIT=2
unset NOT_CRAN KERNWEAVE_TESTS KERNWEAVE_SOURCE TESTTHAT_PARALLEL TESTTHAT_CPUS
work=$(mktemp -d)
mkdir "$work/tmp"
export TMPDIR="$work/tmp"  # so that no other process leaves something there
cd "$work"
status=0
# Pages with a library where the package is.
render() {
  library=$1
  shift
  for page in "$@"; do
    R_LIBS="$library${R_LIBS:+:$R_LIBS}" Rscript -e 'rmarkdown::render(commandArgs(TRUE), quiet = TRUE)' "$page" ||
      status=1
  done
}
cp -R "$root/vignettes" .
if [ "$mode" = built ]; then
  # The tests look for unknown names themselves, in a tenth of the time.
  export _R_CHECK_USE_CODETOOLS_=FALSE
  make --no-print-directory -C "$root" .lib/.installed
  R CMD build --no-build-vignettes "$root"
  (render "$root/.lib" vignettes/*.Rmd; exit "$status") > vignettes.log 2>&1 &
  rendering=$!
  R CMD check --as-cran --no-manual --ignore-vignettes --no-tests --library="$root/.lib" \
    --install="check:$root/.lib/install.log" ./*.tar.gz || status=1
  echo "== vignettes"
  wait "$rendering" || status=1
  cat vignettes.log
else
  R CMD build "$root"
  R CMD check --as-cran --no-manual ./*.tar.gz || status=1
  echo "== articles"
  render "$work/kernweave.Rcheck" vignettes/articles/*.Rmd
fi
# R CMD check itself fails on errors only.
grep -q '^Status:.*\(ERROR\|WARNING\)' ./*.Rcheck/00check.log && status=1
if [ "$status" -eq 0 ]; then rm -rf "$work"; else echo "check: failed; see $work" >&2; fi
exit "$status"
