# shellcheck shell=bash
# The steps of .ci/run that run programs: a stranger's module and the examples.

readonly PROGRAM_SECONDS=300 # beside step race

# What `go list -m all` of a consumer may show: the two modules of the core,
# what its suites use in tests, and what those bring. A database driver, a
# processor's SDK or a browser has no line here.
readonly CONSUMER_MODULES='github\.com/(couponkit/couponkit|shopspring/decimal|google/go-cmp)
github\.com/(stretchr/(testify|objx)|davecgh/go-spew|pmezard/go-difflib|kr/(text|pretty|pty)|rogpeppe/go-internal)
golang\.org/x/(text|tools|mod|sync|sys|telemetry)
gopkg\.in/(yaml\.v3|check\.v1)
go\.yaml\.in/yaml/v[34]
pgregory\.net/rapid
example\.com/consumer'

# What a program built on the core must not link, although the suites use it.
readonly TEST_ENGINES='testing|github\.com/google/go-cmp|github\.com/stretchr/testify|pgregory\.net/rapid'

# step_consumer is a host on its first day: a module of its own, outside of the
# workspace, with the quickstart as its program, every public package imported,
# and the suites imported by its tests.
step_consumer() {
  local dir="$WORK/consumer"
  mkdir "$dir"
  write_consumer "$dir"
  (cd "$dir" && GOWORK=off GOFLAGS="-mod=mod -buildvcs=false" use_consumer)
}

use_consumer() {
  go build -o consumer .
  timeout "$PROGRAM_SECONDS" ./consumer
  go test ./...
  check_consumer_modules
}

write_consumer() {
  local dir=$1
  cp go.sum "$dir/go.sum"
  cat >"$dir/go.mod" <<GOMOD
module example.com/consumer

go 1.26.0

require $MODULE v0.0.0

replace $MODULE => $ROOT
GOMOD
  if [[ -d examples/quickstart ]]; then
    find examples/quickstart -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec cp {} "$dir/" \;
  else
    printf 'package main\n\nfunc main() {}\n' >"$dir/main.go"
  fi
  public_packages | grep -v 'test$' | import_clause main >"$dir/core.go"
  public_packages | { grep 'test$' || true; } | import_clause main >"$dir/suites_test.go"
}

# public_packages prints the import paths that a host can import.
public_packages() {
  GOWORK=off go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' ./... |
    grep -v -e '/internal/' -e '/examples/'
}

import_clause() {
  printf 'package %s\n\nimport (\n' "$1"
  sed -e 's/.*/\t_ "&"/'
  printf ')\n'
}

check_consumer_modules() {
  local strangers linked
  go list -m all
  strangers=$(go list -m -f '{{.Path}}' all | grep -v -x -E -f <(printf '%s\n' "$CONSUMER_MODULES") || true)
  [[ -z $strangers ]] || die "the core brings: ${strangers//$'\n'/ }"
  linked=$(go list -deps . | grep -E "^($TEST_ENGINES)(/|\$)" || true)
  [[ -z $linked ]] || die "a program on the core links: ${linked//$'\n'/ }"
}

# step_examples runs every program in examples/. One that needs more than its
# name has a smoke.sh beside it, which ends with status 0 when all is well.
step_examples() {
  local dir
  for dir in examples/*/; do
    dir=${dir%/}
    if [[ -f $dir/smoke.sh ]]; then
      printf -- '-- %s/smoke.sh\n' "$dir"
      timeout "$PROGRAM_SECONDS" bash "$dir/smoke.sh"
    elif [[ -f $dir/go.mod ]]; then
      die "$dir is a module of its own and has no smoke.sh that runs it"
    elif [[ $(GOWORK=off go list -e -f '{{.Name}}' "./$dir") == main ]]; then
      run_example "$dir"
    fi
  done
}

run_example() {
  local dir=$1 out="$WORK/example.out"
  printf -- '-- go run ./%s\n' "$dir"
  timeout "$PROGRAM_SECONDS" go run "./$dir" </dev/null >"$out"
  cat "$out"
  [[ -s $out ]] || die "$dir says nothing"
}
