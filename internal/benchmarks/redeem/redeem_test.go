package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// postgres is the server that the tests share.
var postgres postgrestest.Shared

// TestMain requires that clients, batches and proxies end with what was measured. As
// the program itself, the test is also each of several processes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-worker" {
		if err := worker(context.Background(), os.Args[2], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	status := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	// The client of Redis starts its clock before the tests, and stops it only when
	// somebody has used it.
	clock := goleak.IgnoreTopFunction("github.com/redis/go-redis/v9/internal/pool.startGlobalTimeCache.func1")
	if err := goleak.Find(clock); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// few are uses that are there before, so that the counts do not begin at 0.
var few = content{coupons: 2, redemptions: 50}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{server: postgres.Need(t), duration: 1200 * time.Millisecond, out: io.Discard, templates: make(map[content]string)}
	require.NoError(t, b.start(t.Context()))
	t.Cleanup(func() {
		for _, name := range b.templates {
			_, err := b.admin.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name)
			require.NoError(t, err)
		}
		require.NoError(t, b.close())
	})
	return b
}

// left are the databases that cells have left.
func left(t *testing.T, b *bench) (names []string) {
	t.Helper()
	rows, err := b.admin.Query(t.Context(), `SELECT datname FROM pg_database WHERE datname ~ '^couponkit_redeem_\d+_'`)
	require.NoError(t, err)
	names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// TestEveryWayKeepsItsBooks: whatever is compared has stored and counted all that it
// has acknowledged (a cell is an error otherwise), over a slow network and from several
// processes too, and leaves no database behind.
func TestEveryWayKeepsItsBooks(t *testing.T) {
	b := newBench(t)
	every := slices.Sorted(maps.Keys(ways()))
	for _, p := range []part{
		{name: "here", ways: every, clients: []int{2}, content: few},
		{name: "slow", ways: []string{"batched", "ceiling"}, clients: []int{2}, content: few, network: time.Millisecond, commit: time.Millisecond},
		{name: "processes", ways: []string{"batched"}, clients: []int{4}, content: few, processes: 2},
	} {
		require.NoError(t, b.measure(t.Context(), p), p.name)
		for _, name := range p.ways {
			if ways()[name].redis && b.redis == nil {
				continue
			}
			c, measured := results(b.cells).find(p.name, name, p.clients[0])
			require.True(t, measured, "%s: %s", p.name, name)
			require.Positive(t, c.calls, "%s: %s", p.name, name)
		}
	}
	require.Empty(t, left(t, b))
}

// TestALostRedemptionIsNoticed: fewer rows, or other counts, than were acknowledged are
// no measurement.
func TestALostRedemptionIsNoticed(t *testing.T) {
	b := newBench(t)
	dsn, drop, err := b.database(t.Context(), few, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, verify(t.Context(), dsn, few.redemptions, 0, false))
	require.ErrorContains(t, verify(t.Context(), dsn, few.redemptions, 1, false), "50 rows for 51")
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE coupon_counters SET reserved = reserved + 1 WHERE coupon_id = $1 AND stripe = 0", couponID(0))
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.ErrorContains(t, verify(t.Context(), dsn, few.redemptions, 0, false), "counts")
	require.NoError(t, verify(t.Context(), dsn, few.redemptions, 0, true), "what checks nothing counts nothing")
}

// TestAnInterruptedRunLeavesNothing: whoever stops the program in the middle of a cell
// finds neither its database nor, as TestMain requires, a goroutine.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.duration = time.Hour
	for _, p := range []part{
		{name: "here", ways: []string{"batched"}, clients: []int{4}, content: few, network: time.Millisecond},
		{name: "processes", ways: []string{"batched"}, clients: []int{4}, content: few, processes: 2},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.measure(ctx, p) }()
		for redeemed := 0; redeemed == 0 && len(ended) == 0; {
			require.NoError(t, b.admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE datname ~ '^couponkit_redeem_\d+_' AND query LIKE '%coupon%'`).Scan(&redeemed))
		}
		interrupt()
		err := <-ended
		require.Error(t, err, p.name)
		require.NotContains(t, err.Error(), "rows for")
		require.Empty(t, left(t, b), p.name)
	}
}

// TestWhatTheCommandLineAsks: parts, ways and numbers of clients by name; what is not
// there is told, not left out.
func TestWhatTheCommandLineAsks(t *testing.T) {
	t.Parallel()
	chosen, err := program{parts: "hot,slow", ways: "textbook,batched", clients: "1, 64"}.chosen()
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	for _, p := range chosen {
		require.Equal(t, []string{"textbook", "batched"}, p.ways)
		require.Equal(t, []int{1, 64}, p.clients)
	}
	all, err := program{}.chosen()
	require.NoError(t, err)
	require.Len(t, all, len(parts()))
	for _, wrong := range []program{{parts: "cold"}, {clients: "0"}, {clients: "many"}} {
		_, err := wrong.chosen()
		require.Error(t, err)
	}
	require.Error(t, program{parts: "cold"}.run(t.Context(), io.Discard))
}
