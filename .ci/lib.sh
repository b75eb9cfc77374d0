# shellcheck shell=bash
# What every step of .ci/run uses: the modules, headings with timings, a place
# for temporary files, and Debian packages.

export CI=true
export DEBIAN_FRONTEND=noninteractive
# Tests that search run in their long form, see internal/testsize.
export COUPONKIT_LONG=1
# A checkout that belongs to another user has no version control for Go.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"
PATH="$(go env GOPATH)/bin:$PATH"

WORK=$(mktemp -d)
readonly WORK
trap 'leave $?' EXIT

# The servers of the tests call fsync, and all that they write is thrown away: where there is
# memory for it, they need not wait for a disk. Go goes on building on the disk.
readonly MEMORY_FOR_FILES_MB=8192
IN_MEMORY=
use_memory() {
  local free
  free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null) || return 0
  ((${free:-0} >= MEMORY_FOR_FILES_MB)) || return 0
  free=$(df -m --output=avail /dev/shm 2>/dev/null | tail -n 1) || return 0
  ((${free:-0} >= MEMORY_FOR_FILES_MB)) || return 0
  IN_MEMORY=$(mktemp -d -p /dev/shm)
  chmod 755 "$IN_MEMORY" # the servers do not run as root
  export GOTMPDIR="${GOTMPDIR:-${TMPDIR:-/tmp}}" TMPDIR="$IN_MEMORY"
}
use_memory

current=
started=0
worked=0
timings=

# processor_time sets worked to the seconds for which the programs of the script have used a processor.
processor_time() {
  times >"$WORK/times"
  worked=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } } END { print int(sum) }' "$WORK/times")
}

begin() {
  current=$1
  started=$SECONDS
  processor_time
  printf '\n==== %s: %s\n' "$1" "$(sed -n "s/^$1  *//p" <<<"$STEPS")"
}

finish() {
  local took=$((SECONDS - started)) before=$worked
  processor_time
  timings+=$(printf '%-10s %4d s, %4d s of processors' "$current" "$took" $((worked - before)))$'\n'
  printf '==== %s: ok, %d s\n' "$current" "$took"
  current=
}

summary() {
  printf '\n==== all passed, %d s\n%s' "$SECONDS" "$timings"
}

leave() {
  rm -rf "$WORK" ${IN_MEMORY:+"$IN_MEMORY"}
  if [[ $1 -ne 0 && -n $current ]]; then
    printf '==== %s: FAILED, %d s\n' "$current" $((SECONDS - started)) >&2
  fi
}

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# MODULES are the folders of all modules, the root first.
MODULES=$(git -c safe.directory='*' ls-files --cached --others --exclude-standard -- 'go.mod' '*/go.mod' |
  grep -v -e '/testdata/' -e '/node_modules/' | sed -e 's|/\{0,1\}go\.mod$||' -e 's|^$|.|' | sort -u)
readonly MODULES

# each_module runs a command in the folder of every module, outside of the
# workspace: what a module needs must stand in its own go.mod.
each_module() {
  local module
  for module in $MODULES; do
    printf -- '-- module %s\n' "$module"
    (cd "$module" && GOWORK=off FOLDER=$module "$@")
  done
}

# need_debian takes package:program and installs the packages whose program is
# missing.
need_debian() {
  local pair missing=()
  for pair in "$@"; do
    has_program "${pair#*:}" || missing+=("${pair%%:*}")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
    die "please install: ${missing[*]}"
  fi
  printf 'installing %s\n' "${missing[*]}"
  if ! { apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$WORK/apt.log" 2>&1; then
    cat "$WORK/apt.log" >&2
    die "apt-get could not install ${missing[*]}"
  fi
}

# need_program names what is missing of programs that nothing here installs.
need_program() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || die "please install: $program"
  done
}

# has_program also looks where Debian keeps servers that are not on the PATH.
has_program() {
  command -v "$1" >/dev/null || compgen -G "/usr/sbin/$1" >/dev/null ||
    compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null
}

# need_go_tool takes a package, its version, and the command that prints the
# version which is installed.
need_go_tool() {
  local source=$1 version=$2 print=("${@:3}")
  local program=${print[0]}
  if [[ "$("${print[@]}" 2>/dev/null || true)" == "$version" ]]; then
    return
  fi
  printf 'installing %s %s; this takes some minutes on a cold cache\n' "$program" "$version"
  GOWORK=off GOFLAGS=-buildvcs=false go install "$source@v$version"
  [[ "$("${print[@]}")" == "$version" ]] || die "$program $version is hidden by another one: $(command -v "$program")"
}
