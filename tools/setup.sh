#!/bin/sh
# Installs what this machine lacks for one job, and does nothing, fast, when nothing is lacking.
#
#   tools/setup.sh demo    R, a compiler, and what the package needs to run
#   tools/setup.sh test    and what its tests and vignettes suggest
#   tools/setup.sh check   and what makes and checks its documentation, scripts and tarball
#   tools/setup.sh guard   as for demo, and what counts instructions
#
# The R packages are those of DESCRIPTION, so that there is no second list to forget.
# shellcheck disable=SC2046,SC2086  # lists of names are split on purpose
set -eu
cd "$(dirname "$0")/.."

commands="R c++ make" fields="Depends|Imports|LinkingTo" extra=
case ${1:-} in
  demo) ;;
  test) fields="$fields|Suggests" ;;
  check)
    fields="$fields|Suggests" extra=roxygen2
    commands="$commands pandoc checkbashisms shellcheck qpdf" ;;
  guard) commands="$commands valgrind" ;;
  *) sed -n '4,7s/^# *//p' "$0" >&2; exit 2 ;;
esac

log=.lib/setup.log
say() { printf 'setup: %s\n' "$*"; }
# Runs a command whose words matter only if it fails.
quietly() {
  mkdir -p "$(dirname "$log")"
  "$@" > "$log" 2>&1 || {
    say "failed: $*; the end of $log:" >&2
    tail -n 20 "$log" >&2
    return 1
  }
}
have() { command -v "$1" > /dev/null; }
twice() { "$@" || { sleep 5; "$@"; }; }

# --- Missing software -----------------------------------------------------------------------------------------

lacking_commands() {
  for name in $commands; do
    have "$name" || echo "$name"
  done
}

needed_packages() {
  {
    awk -v field="^($fields):" '/^[^ \t]/ { on = $0 ~ field; sub(/^[^:]*:/, "") } on' DESCRIPTION
    echo "$extra"
  } | tr ',' '\n' | sed -e 's/(.*//' -e 's/[[:space:]]//g' -e '/^R$/d' -e '/^$/d'
}

# system.file() finds a package without loading it: one R start, a fifth of a second.
lacking_packages() {
  if have Rscript; then
    needed_packages | sort -u | Rscript -e '
      need <- readLines(file("stdin"))
      writeLines(need[!nzchar(vapply(need, function(p) system.file(package = p), ""))])'
  else
    with_r='base|compiler|datasets|gr(aphics|Devices|id)|methods|parallel|splines|stats4?|tools|utils|'
    needed_packages | sort -u | grep -vxE "$with_r"
  fi
}

# --- Get it ---------------------------------------------------------------------------------------------------

debian_names() {
  for name in "$@"; do
    case $name in
      R) echo r-base-core ;;
      c++) echo g++ ;;
      checkbashisms) echo devscripts ;;
      *) echo "$name" ;;
    esac
  done
}

debian_packages() { for name in "$@"; do echo "r-cran-$name"; done | tr '[:upper:]' '[:lower:]'; }

in_archive() {
  for name in "$@"; do
    ! apt-cache show "$name" > /dev/null 2>&1 || echo "$name"
  done
}

root=
[ "$(id -u)" -eq 0 ] || root=sudo
apt() { $root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 "$@"; }

apt_install() {
  if [ -n "$root" ] && ! have sudo; then
    say "some software is needed; run this as root, then come back:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends $*" >&2
    exit 1
  fi
  twice apt update > /dev/null || say "the package lists could not be refreshed; going on with the old ones"
  found=$(in_archive "$@")
  [ -n "$found" ] || return 0
  say "installing" $found
  quietly twice apt install -y --no-install-recommends $found
}

# Into R's own library where it may be written, else into the user's.
r_install() {
  say "installing from R's package archive:" "$@"
  quietly Rscript -e '
    lib <- .libPaths()[1]
    if (file.access(lib, 2) != 0) dir.create(lib <- path.expand(Sys.getenv("R_LIBS_USER")), FALSE, TRUE)
    if (identical(getOption("repos")[["CRAN"]], "@CRAN@")) utils::chooseCRANmirror(FALSE, ind = 1)
    install.packages(commandArgs(TRUE), lib = lib)' "$@"
}

names=$(lacking_commands) packages=$(lacking_packages)
[ -n "$names$packages" ] || exit 0
! have apt-get || apt_install $(debian_names $names) $(debian_packages $packages)

names=$(lacking_commands)
[ -z "$names" ] || { say "please install, then come back:" $names >&2; exit 1; }
packages=$(lacking_packages)
[ -n "$packages" ] || exit 0
r_install $packages
packages=$(lacking_packages)
[ -z "$packages" ] || { say "these R packages could not be installed:" $packages >&2; exit 1; }
