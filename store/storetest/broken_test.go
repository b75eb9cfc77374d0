package storetest_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// subjectVariable names the broken store that this process runs the suite on.
const subjectVariable = "COUPONKIT_BROKEN_STORE"

// subject is a store that breaks the contract, and the clauses that notice it.
type subject struct {
	how    func(store.Store) *faulty
	caught []string
}

func subjects() map[string]subject {
	all := map[string]subject{}
	for _, group := range []map[string]subject{
		brokenCoupons(), brokenReaders(), brokenReservations(), brokenKeys(), brokenSettlements(), brokenRest(), brokenRefusals(), brokenPlaces(), brokenLists(),
		brokenCrossings(), brokenRequests(), brokenHalves(), brokenOrders(), brokenProcesses(), brokenEndings(), brokenDetails(), brokenBounds(), brokenSessions(), brokenEnds(), brokenEvents(),
	} {
		maps.Copy(all, group)
	}
	return all
}

// TestBroken proves the suite: every one of these stores breaks the contract, and the
// clauses for it fail. The suite runs in a process of its own, which is this test
// again.
func TestBroken(t *testing.T) {
	if name := os.Getenv(subjectVariable); name != "" {
		runSubject(t, name)
		return
	}
	t.Parallel()
	for name, broken := range subjects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := runSuite(t, name, broken.caught...)
			for _, clause := range broken.caught {
				test := "TestBroken/" + strings.ReplaceAll(clause, " ", "_")
				if !strings.Contains(output, "=== RUN   "+test+"\n") {
					t.Fatalf("there is no clause %q:\n%s", clause, output)
				}
				if !strings.Contains(output, "--- FAIL: "+test+" ") {
					t.Errorf("the clause %q does not notice it:\n%s", clause, output)
				}
			}
			if !strings.Contains(output, "the contract says: ") {
				t.Errorf("the failure does not say what the contract asks for:\n%s", output)
			}
		})
	}
}

// TestEveryClauseCatches proves that no clause is idle: each passes on a sound store,
// and has a broken one that it notices.
func TestEveryClauseCatches(t *testing.T) {
	t.Parallel()
	output := runSuite(t, "sound")
	if strings.Contains(output, "--- FAIL") || !strings.Contains(output, "--- PASS: TestBroken ") {
		t.Fatalf("the suite fails on a sound store:\n%s", output)
	}
	caught := map[string]bool{}
	for _, broken := range subjects() {
		for _, clause := range broken.caught {
			caught[strings.ReplaceAll(clause, " ", "_")] = true
		}
	}
	clauses := regexp.MustCompile(`(?m)^=== RUN   TestBroken/(.*)$`).FindAllStringSubmatch(output, -1)
	require.Greater(t, len(clauses), 80, "the clauses were not found in the output:\n%s", output)
	for _, match := range clauses {
		if !caught[match[1]] {
			t.Errorf("no broken store shows that the clause %q notices anything", match[1])
		}
	}
}

// runSuite runs clauses of the suite, or all, on a subject in another process.
func runSuite(t *testing.T, name string, clauses ...string) string {
	t.Helper()
	run := "^TestBroken$"
	if len(clauses) > 0 {
		quoted := make([]string, len(clauses))
		for i, clause := range clauses {
			quoted[i] = regexp.QuoteMeta(strings.ReplaceAll(clause, " ", "_"))
		}
		run += "/^(" + strings.Join(quoted, "|") + ")$"
	}
	return runSubtests(t, name, run)
}

// runSubtests is runSuite for the subtests that -test.run would choose.
func runSubtests(t *testing.T, name, run string) string {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), executable, "-test.v", "-test.timeout=60s", "-test.run="+run)
	c.Env = append(os.Environ(), subjectVariable+"="+name)
	output, _ := c.CombinedOutput()
	if strings.Contains(string(output), "panic: ") {
		t.Fatalf("the suite did not come to its end:\n%s", output)
	}
	return string(output)
}

func runSubject(t *testing.T, name string) {
	t.Helper()
	switch name {
	case "sound":
		storetest.Run(t, open, storetest.Capabilities{Reopen: reopen})
		return
	case forgetful:
		storetest.Run(t, open, storetest.Capabilities{Reopen: func(*testing.T, store.Store) store.Store { return on(memstore.New()) }})
		return
	}
	broken, known := subjects()[name]
	if !known {
		t.Fatalf("no broken store %q", name)
	}
	newStore := func(*testing.T) store.Store { return broken.how(memstore.New()) }
	var can storetest.Capabilities
	if _, processes := brokenProcesses()[name]; processes {
		newStore = func(*testing.T) store.Store { return broken.processOf(memstore.New()) }
		can.Reopen = func(t *testing.T, s store.Store) store.Store {
			t.Helper()
			f, ok := s.(*faulty)
			require.True(t, ok)
			return broken.processOf(f.data)
		}
	}
	t.Run(agreement, func(t *testing.T) {
		t.Parallel()
		storetest.Agree(t, newStore, reference, storetest.Histories{Count: 24})
	})
	storetest.Run(t, newStore, can)
}

// forgetful is the subject whose data is gone when it is opened again.
const forgetful = "a restart loses everything"

// open returns a store on data of its own, which outlives it.
func open(*testing.T) store.Store { return on(memstore.New()) }

// on returns one of several stores on the data: closing it closes no other.
func on(data store.Store) store.Store {
	f := &faulty{Store: data, data: data}
	f.close = func() error {
		closed := memstore.New()
		f.Store = closed
		return closed.Close()
	}
	return f
}

func reopen(t *testing.T, s store.Store) store.Store {
	t.Helper()
	f, ok := s.(*faulty)
	require.True(t, ok)
	return on(f.data)
}
