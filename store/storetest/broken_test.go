package storetest_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// subjectVariable names the broken store that this process runs the suite on.
const subjectVariable = "COUPONKIT_BROKEN_STORE"

// agreement is the subtest that plays histories.
const agreement = "histories"

// TestBroken proves the suite: each of these stores breaks the contract, and the clauses
// that are named for it fail. The suite runs in a process of its own, which is this test
// again.
func TestBroken(t *testing.T) {
	if name := os.Getenv(subjectVariable); name != "" {
		runSubject(t, name)
		return
	}
	t.Parallel()
	for name, broken := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clauses := slices.Clone(broken.caught)
			if !testsize.Long() { // the search through histories is one of several clauses that notice it
				clauses = slices.DeleteFunc(clauses, func(clause string) bool { return clause == agreement })
			}
			output := runSuite(t, name, clauses...)
			for _, clause := range clauses {
				test := "TestBroken/" + strings.ReplaceAll(clause, " ", "_")
				require.Contains(t, output, "=== RUN   "+test+"\n", "there is no such clause")
				if !strings.Contains(output, "--- FAIL: "+test+" ") {
					t.Errorf("the clause %q does not notice it:\n%s", clause, output)
				}
			}
			require.Contains(t, output, "the contract says: ", "the failure does not tell what the contract asks for")
		})
	}
}

// TestEveryClauseCatches proves that no clause is idle: each passes on a sound store, and
// has a broken one that it notices.
func TestEveryClauseCatches(t *testing.T) {
	t.Parallel()
	output := runSuite(t, "sound")
	require.NotContains(t, output, "--- FAIL")
	require.Contains(t, output, "--- PASS: TestBroken ")
	caught := map[string]bool{}
	for _, broken := range faults() {
		for _, clause := range broken.caught {
			caught[strings.ReplaceAll(clause, " ", "_")] = true
		}
	}
	clauses := regexp.MustCompile(`(?m)^=== RUN   TestBroken/(.*)$`).FindAllStringSubmatch(output, -1)
	require.Greater(t, len(clauses), 80, "the clauses were not found in the output:\n%s", output)
	for _, match := range clauses {
		if !caught[match[1]] && match[1] != agreement {
			t.Errorf("no broken store shows that the clause %q notices anything", match[1])
		}
	}
}

// runSuite runs clauses of the suite, or all, on a subject in another process.
func runSuite(t *testing.T, name string, clauses ...string) string {
	t.Helper()
	run, checks := "^TestBroken$", testsize.Of("-rapid.checks=10", "-rapid.checks=100")
	if len(clauses) > 0 {
		checks = "-rapid.checks=1000" // histories are drawn: the first that notices a fault is the last
		quoted := make([]string, len(clauses))
		for i, clause := range clauses {
			quoted[i] = regexp.QuoteMeta(strings.ReplaceAll(clause, " ", "_"))
		}
		run += "/^(" + strings.Join(quoted, "|") + ")$"
	}
	executable, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), executable, "-test.v", "-test.timeout=120s", "-rapid.nofailfile", "-rapid.shrinktime=1ms", "-rapid.seed=1", checks, "-test.run="+run)
	c.Env = append(os.Environ(), subjectVariable+"="+name)
	output, _ := c.CombinedOutput()
	require.NotContains(t, string(output), "panic: ", "the suite did not come to its end")
	return string(output)
}

func runSubject(t *testing.T, name string) {
	t.Helper()
	sound := func(*testing.T) store.Store { return newDamageable() }
	newStore := sound
	if name != "sound" {
		broken, known := faults()[name]
		require.True(t, known, name)
		newStore = func(*testing.T) store.Store {
			f := newFaulty()
			broken.plant(f)
			return f
		}
	}
	t.Run(agreement, func(t *testing.T) {
		t.Parallel()
		storetest.Agree(t, newStore, sound)
	})
	storetest.Run(t, newStore, storetest.Capabilities{Goroutines: 16, Damage: damage})
}
