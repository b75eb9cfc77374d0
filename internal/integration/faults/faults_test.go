// Package faults_test holds store/pgxstore to its contract while things break: many
// processes call at once, connections are killed, the server crashes, a client
// dies in the middle, or is stopped and goes on. What the processes saw is then
// checked for linearizability, and the database for what must be true of it.
//
//	go test -race -v ./faults                    # what CI runs: more than 200 rounds with faults
//	go test -v ./faults -rounds 3000 -seed 7 -timeout 0   # a night's run
//	go test -v ./faults -run Planted             # the harness notices what is broken on purpose
package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"

	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store/storetest"
)

var (
	rounds     = flag.Int("rounds", 225, "how many rounds to run, nine of ten with a fault")
	seed       = flag.Uint64("seed", 1, "what the rounds are drawn from")
	calls      = flag.Int("calls", 4, "calls of each goroutine in a round")
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
			log, err := server.LogTail(1 << 16)
			if err != nil {
				t.Error(err)
			}
			t.Logf("what the server has logged last:\n%s", log)
		}
	}()
	h := newHarness(t, server)
	defer h.close()
	count := *rounds
	if testing.Short() {
		count = 20
	}
	for round := range count {
		what := faultOf(round)
		if what == crash && server.Foreign() {
			what = terminate
		}
		h.round(round, what)
		if t.Failed() {
			break
		}
		if done := round + 1; done%500 == 0 && done < count {
			t.Logf("after %d rounds of seed %d:\n%s", done, *seed, h.summary())
		}
	}
	if err := storetest.CheckInvariants(t.Context(), h.store); err != nil {
		t.Error(err)
	}
	t.Log("\n" + h.summary())
}

// newServer returns a server of the test's own.
func newServer(t *testing.T) *postgrestest.Server {
	t.Helper()
	server, err := postgrestest.Start(t.Context())
	if err != nil {
		if errors.Is(err, postgrestest.ErrNoServer) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// newDatabase returns an empty database.
func newDatabase(t *testing.T, server *postgrestest.Server) (dsn string) {
	t.Helper()
	dsn, drop, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return dsn
}

// tally is what has happened in the rounds with one fault.
type tally struct {
	rounds, calls, acknowledged, repeated, unanswered int
	linearizable, undecided, violations               int
}

func (t *tally) add(o tally) {
	t.rounds += o.rounds
	t.calls += o.calls
	t.acknowledged += o.acknowledged
	t.repeated += o.repeated
	t.unanswered += o.unanswered
	t.linearizable += o.linearizable
	t.undecided += o.undecided
	t.violations += o.violations
}

// summary is a table of what has happened.
func (h *harness) summary() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, n tally) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name,
			n.rounds, n.calls, n.acknowledged, n.repeated, n.unanswered, n.linearizable, n.undecided, n.violations)
	}
	_, _ = fmt.Fprintln(table, "fault\trounds\tcalls\tacknowledged\tafter repeating\tunanswered\thistories linearizable\tundecided\tviolations\t")
	var all, faulty tally
	for _, what := range []fault{calm, terminate, kill, pause, crash} {
		if n := h.tallies[what]; n != nil {
			row(string(what), *n)
			all.add(*n)
			if what != calm {
				faulty.add(*n)
			}
		}
	}
	row("all with a fault", faulty)
	row("all", all)
	_ = table.Flush() // into memory
	return text.String()
}
