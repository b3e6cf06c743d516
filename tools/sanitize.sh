#!/bin/sh
# Runs tests under g++'s sanitizers and the assertions of its library: reads and writes outside of what is there,
# numbers that overflow, indices out of range. Compiles all of src/ for it, a quarter of an hour of a processor, into a
# library of its own; later what changed.
#
#   tools/sanitize.sh               all tests, as CRAN runs them
#   tools/sanitize.sh plan join     more of these test files, by what stands between test- and .R
set -eu
cd "$(dirname "$0")/.."
root=$PWD
tier=quick
if [ $# -eq 0 ]; then
  tier=cran
  for file in tests/testthat/test-*.R; do
    name=${file##*/test-}
    set -- "$@" "${name%.R}"
  done
fi

place=$root/.lib/sanitized
mkdir -p "$place/lib" "$place/package"

# Sources keep their times, so make compiles what is newer than its object. R tracks no headers.
git ls-files -z --cached --others --exclude-standard DESCRIPTION NAMESPACE LICENSE configure R src inst |
  tar cf - --null --ignore-failed-read -T - | tar xf - -C "$place/package"
changed=$(find src inst \( -name '*.hpp' -o -name '*.def' \) -newer "$place/compiled" 2> /dev/null | head -n 1)
[ -z "$changed" ] || find "$place/package/src" -name '*.o' -exec rm {} +
touch "$place/compiled"

sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
cat > "$place/Makevars" <<RULES
CXX17FLAGS = -O1 -g1 $sanitizers -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS
LDFLAGS = $sanitizers
RULES
echo "== compiling; what is said goes to .lib/sanitized/log"
R_MAKEVARS_USER=$place/Makevars KERNWEAVE_CUDA=no KERNWEAVE_TEST_WINDOWS=yes R CMD INSTALL --no-docs --no-test-load \
  --no-byte-compile --library="$place/lib" "$place/package" > "$place/log" 2>&1 ||
  { tail -n 20 "$place/log" >&2; exit 1; }

# R itself is not compiled for it, so its library comes first; what R never frees is no leak of ours.
status=0
for name in "$@"; do
  echo "== test-$name.R"
  LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
    UBSAN_OPTIONS=print_stacktrace=1 NOT_CRAN=true KERNWEAVE_TESTS=$tier KERNWEAVE_SOURCE=$root \
    R_LIBS=$place/lib${R_LIBS:+:$R_LIBS} Rscript -e '
      testthat::test_file(commandArgs(TRUE), package = "kernweave", load_package = "installed", reporter = "summary",
                          stop_on_failure = TRUE)' "tests/testthat/test-$name.R" || status=1
done
exit "$status"
