# shellcheck shell=bash
# The steps of .ci/run that look at the code without running it.

readonly GOLANGCI_LINT_VERSION=2.15.0
readonly DEADCODE_VERSION=0.52.0
readonly MODULE=github.com/couponkit/couponkit

readonly LARGEST_FILE=1048576 # bytes; no program that Go builds is smaller

step_format() {
  local files
  files=$(own_files '*.go' | xargs -r -d '\n' gofmt -l)
  [[ -z $files ]] || die "gofmt would change: ${files//$'\n'/ }"
  files=$(own_files | xargs -r -d '\n' stat -c '%s %n' | awk -v most="$LARGEST_FILE" '$1 > most')
  [[ -z $files ]] || die "larger than $LARGEST_FILE bytes, as built programs are: ${files//$'\n'/, }"
}

# own_files lists the files of the repository, of the given patterns, that are there.
own_files() {
  git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" |
    while read -r file; do [[ ! -f $file ]] || printf '%s\n' "$file"; done
}

step_tidy() {
  each_module go mod tidy -diff
}

# step_vet vets what stands behind a tag. Step lint has go vet for everything else. Whatever step race names exists.
step_vet() {
  local name tests missing=()
  tests=$(own_files '*_test.go' | xargs -d '\n' grep -hoE '^func Test[A-Za-z0-9]+')
  for name in $(tr -d '^$()' <<<"$NOTHING_SHARED|$TESTS_AT_ONCE" | tr '|' ' '); do
    grep -qE "^func $name\$" <<<"$tests" || missing+=("$name")
  done
  ((${#missing[@]} == 0)) || die "step race names tests that do not exist: ${missing[*]}"
  (cd internal/integration/sqldb && GOWORK=off go vet -tags mattn ./sqlitedriver) # the C library, behind a tag
}

# every_package prints the patterns of all packages, for tools that read the workspace.
every_package() {
  sed -e 's|^|./|' -e 's|$|/...|' <<<"$MODULES"
}

step_lint() {
  local patterns
  need_go_tool github.com/golangci/golangci-lint/v2/cmd/golangci-lint "$GOLANGCI_LINT_VERSION" \
    golangci-lint version --short
  mapfile -t patterns < <(every_package)
  # All at once: what the modules share is loaded and checked once. Step tidy holds each go.mod.
  golangci-lint run --config .golangci.yml "${patterns[@]}"
}

# step_deadcode asks what neither a program nor a test of any module can reach. An
# unexported function of that kind fails the step; an exported one is a hint that
# a test is missing, since hosts may well call it.
step_deadcode() {
  local report="$WORK/deadcode" patterns
  mapfile -t patterns < <(every_package)
  go run "golang.org/x/tools/cmd/deadcode@v$DEADCODE_VERSION" -test "${patterns[@]}" >"$report"
  awk '
    { name = $NF; dead = name ~ /^[a-z]/ || name ~ /\.[a-z]/ || $1 ~ /^internal\// }
    dead { print "unreachable: " $0; failed = 1; next }
    { print "exported, reached by no test: " $0 }
    END { exit failed }' "$report"
}

# step_purity has two halves. What a pure package imports itself is on a list of
# standard packages without clock, input, output or shared state. What it links
# from elsewhere is the two modules of the core and the floors below it.
step_purity() {
  local failed=0
  local reading=(internal/appendjson internal/enum internal/strictjson internal/unicode15 validation)
  check_pure pricing internal/appendjson internal/strictjson validation || failed=1
  check_pure calendar "${reading[@]}" || failed=1
  check_pure email "${reading[@]}" || failed=1
  check_pure coupon calendar email pricing "${reading[@]}" || failed=1
  check_pure codes calendar coupon email pricing "${reading[@]}" || failed=1
  check_pure codes/codecsv calendar coupon email pricing "${reading[@]}" || failed=1
  check_pure eligibility calendar coupon email pricing "${reading[@]}" || failed=1
  check_pure eligibility/offers calendar coupon eligibility email pricing "${reading[@]}" || failed=1
  check_pure eligibility/replay calendar coupon eligibility eligibility/offers email pricing "${reading[@]}" || failed=1
  check_pure redemption calendar coupon eligibility email pricing "${reading[@]}" || failed=1
  check_without_goroutines || failed=1
  return "$failed"
}

# check_without_goroutines looks at the packages that step race leaves out.
check_without_goroutines() {
  local package files=()
  for package in $WITHOUT_GOROUTINES; do
    files+=("$package"/*.go)
  done
  if grep -nE '^\s*go [a-zA-Z]|"(sync|sync/[a-z]+|golang\.org/x/sync/[a-z]+)"' "${files[@]}" >&2; then
    printf 'step race leaves these packages out\n' >&2
    return 1
  fi
}

# check_pure takes a package and the floors below it.
check_pure() {
  local package=$1 floors=("$@") imports linked strangers
  if [[ ! -d $package ]]; then
    printf '%s: not there\n' "$package"
    return
  fi
  imports=$(go list -f '{{join .Imports "\n"}}' "./$package") || return
  linked=$(go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' "./$package") || return
  strangers=$({
    printf '%s\n' "$imports" | grep -v '^[^/]*\.' | grep -v -x -F -f <(grep -v -E '^(#|$)' .ci/pure-imports.txt)
    printf '%s\n' "$linked" | grep -v -x -F -f <(printf "$MODULE/%s\n" "${floors[@]}") |
      grep -v -x -E 'github\.com/shopspring/decimal|golang\.org/x/text/.*'
  } || true)
  if [[ -n $strangers ]]; then
    printf '%s imports or links what a pure package may not: %s\n' "$package" "${strangers//$'\n'/ }" >&2
    return 1
  fi
  printf 'ok\t%s\n' "$package"
}
