#!/bin/sh
# Builds, tests and checks the package under the newest R and compilers: those of Debian's unstable release, in a folder
# of its own beside this machine's R. Made on first use, as root, in some 5 minutes and 1.5 GB, from the archive that
# this machine's apt uses.
#
#   tools/current.sh [FOLDER]             ../current-r, if none is named
#   tools/current.sh FOLDER COMMAND...    runs a command there instead, in a copy of the sources
set -eu
cd "$(dirname "$0")/.."

root=${1:-../current-r}
[ $# -eq 0 ] || shift
mkdir -p "$root"
root=$(cd "$root" && pwd)

needed="r-base-dev r-cran-rcpp r-cran-rcppeigen r-cran-matrix r-cran-testthat r-cran-generics r-cran-progressr
  r-cran-nlme r-cran-knitr r-cran-rmarkdown r-cran-mass pandoc qpdf clang"

# Older lists have one line for an archive, newer ones a field.
mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null | grep -v '^ *#' |
    grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' '
}

# shellcheck disable=SC2086  # a list of names is split on purpose
make_root() {
  command -v debootstrap > /dev/null || { apt-get update -q && apt-get install -yq debootstrap; } > /dev/null
  debootstrap --variant=minbase --include=ca-certificates sid "$root" "$(mirror)"
  cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2> /dev/null || :
  cp /etc/resolv.conf /etc/hosts "$root/etc/" 2> /dev/null || :
  chroot "$root" apt-get update -q
  DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -yq --no-install-recommends $needed
  touch "$root/.ready"
}

if [ ! -f "$root/.ready" ]; then
  echo "current: making $root; what is said goes to $root.log"
  make_root > "$root.log" 2>&1
fi

# The sources as they are here, nothing that was built.
rm -rf "$root/work"
mkdir "$root/work"
git ls-files -z --cached --others --exclude-standard | tar cf - --null --ignore-failed-read -T - |
  tar xf - -C "$root/work"

# Tests run as CRAN runs them, in the check.
[ $# -gt 0 ] || set -- sh -c 'R --version | head -n 1; g++ --version | head -n 1
  R CMD build --no-build-vignettes . &&
    _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual --ignore-vignettes kernweave_*.tar.gz &&
    ! grep "^Status:.*WARNING" kernweave.Rcheck/00check.log'
exec chroot "$root" env HOME=/root LANG=C.UTF-8 OMP_THREAD_LIMIT=2 _R_CHECK_LIMIT_CORES_=TRUE \
  sh -c 'cd /work && exec "$@"' sh "$@"
