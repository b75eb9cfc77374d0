// Package faults_test holds store/pgxstore to its contract while things break: several
// processes call at once, connections are killed, the server crashes, a client dies in the
// middle, or is stopped and goes on. What the processes saw is then checked for
// linearizability, and the database for what must be true of it.
//
//	go test -race -v ./faults                            # what CI runs
//	go test -v ./faults -rounds 3000 -seed 7 -timeout 0  # a night's run
//	go test -v ./faults -run Planted                     # what is broken on purpose is noticed
package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store/storetest"
)

var (
	rounds     = flag.Int("rounds", testsize.Of(20, 40), "how many rounds to run, nine of ten with a fault")
	seed       = flag.Uint64("seed", 1, "what the rounds are drawn from")
	calls      = flag.Int("calls", 6, "calls of each goroutine in a round")
	goroutines = flag.Int("goroutines", 4, "goroutines of each process in a round")
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(workerVariable); dsn != "" {
		if err := worker(dsn, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fault is what happens during a round.
type fault string

const (
	calm      fault = "nothing"
	terminate fault = "connections terminated"
	kill      fault = "client killed"
	pause     fault = "client stopped for a while"
	crash     fault = "server crashed"
)

// faultOf says what happens in a round: a crash takes longest and is rarest.
func faultOf(round int) fault {
	switch {
	case round%20 == 19:
		return crash
	case round%10 == 0:
		return calm
	case round%2 == 1:
		return terminate
	case round%10 == 4:
		return pause
	}
	return kill
}

// TestFaults runs rounds of calls from three processes.
func TestFaults(t *testing.T) {
	server := newServer(t)
	defer func() {
		if t.Failed() {
			log, err := server.LogTail(1 << 12)
			t.Logf("what the server has logged last: %v\n%s", err, log)
		}
	}()
	h := newHarness(t, server)
	defer h.close()
	for round := range *rounds {
		what := faultOf(round)
		if what == crash && server.Foreign() {
			what = terminate
		}
		h.round(round, what)
		if t.Failed() {
			break
		}
	}
	require.NoError(t, storetest.Check(t.Context(), h.store))
	t.Log("\n" + h.summary())
}

// TestPlantedFaultsAreNoticed breaks the store, and clients, on purpose: rounds without any
// other fault must notice it.
func TestPlantedFaultsAreNoticed(t *testing.T) {
	server := newServer(t)
	for name, plant := range map[string]func(*harness){
		"acknowledged before it is committed":       func(h *harness) { h.modes = []string{forgetful} },
		"rows are not locked, counters not checked": func(h *harness) { h.modes = []string{lockless} },
		"what is released is still held, in counts": func(h *harness) {
			_, err := h.pool.Exec(h.t.Context(), `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF new.completed = old.completed AND new.reserved < old.reserved THEN new.reserved = old.reserved; END IF;
				RETURN new; END $$`)
			require.NoError(h.t, err)
			_, err = h.pool.Exec(h.t.Context(), `CREATE TRIGGER keep BEFORE UPDATE ON couponkit.counters FOR EACH ROW EXECUTE FUNCTION keep()`)
			require.NoError(h.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, server)
			defer h.close()
			h.planted = true
			plant(h)
			for round := range 100 {
				h.round(round, calm)
				if h.current.violations > 0 {
					t.Logf("in round %d", round+1)
					return
				}
			}
			t.Errorf("100 rounds notice nothing:\n%s", h.summary())
		})
	}
}

// newServer returns a server of the test's own.
func newServer(t *testing.T) *postgrestest.Server {
	t.Helper()
	server, err := postgrestest.Start(t.Context())
	if errors.Is(err, postgrestest.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// tally is what has happened in the rounds with one fault.
type tally struct {
	rounds, calls, acknowledged, adopted, repeated, unanswered, undecided, violations int
}

// summary is a table of what has happened.
func (h *harness) summary() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "fault\trounds\tcalls\tacknowledged\tadopted\tafter repeating\tunanswered\tundecided\tviolations\t")
	for _, what := range []fault{calm, terminate, kill, pause, crash} {
		if n := h.tallies[what]; n != nil {
			_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", what,
				n.rounds, n.calls, n.acknowledged, n.adopted, n.repeated, n.unanswered, n.undecided, n.violations)
		}
	}
	_ = table.Flush() // into memory
	return text.String()
}
