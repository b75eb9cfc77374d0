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
	if len(os.Args) == 2 && os.Args[1] == redisAlone {
		if err := startRedisAlone(); err != nil {
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

// redisAlone is the argument with which the test is a program that starts Redis, says
// its process ID and waits to be killed.
const redisAlone = "-redis"

func startRedisAlone() error {
	s, _, err := startRedis(context.Background())
	if err != nil {
		return err
	}
	if s == nil {
		_, err = fmt.Println(0)
		return err
	}
	if _, err := fmt.Println(s.command.Process.Pid, s.dir); err != nil {
		return err
	}
	select {}
}

// few are uses that are there before, so that the counts do not begin at 0.
var few = content{coupons: 2, redemptions: 50}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{server: postgres.Need(t), rounds: 2, turns: 2, duration: 200 * time.Millisecond, notes: io.Discard, templates: make(map[content]string)}
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
// has acknowledged in every round (it is an error otherwise), over a slow network and
// from several processes too, and leaves no database behind.
func TestEveryWayKeepsItsBooks(t *testing.T) {
	b := newBench(t)
	every := slices.Sorted(maps.Keys(ways()))
	for _, p := range []part{
		{name: "here", rows: rowsOf(every...), clients: []int{1, 2}, content: few},
		{name: "slow", rows: rowsOf("batched", "ceiling"), clients: []int{2}, content: few, network: time.Millisecond, commit: time.Millisecond},
		{name: "processes", rows: []row{{way: "batched", processes: 1}, {way: "batched", processes: 2}}, clients: []int{4}, content: few},
		{name: "empty", rows: []row{{way: "batched", filled: asSeeded}, {way: "batched", filled: asEmpty}}, clients: []int{2}, content: few},
	} {
		measured, err := b.measure(t.Context(), p)
		require.NoError(t, err, p.name)
		for _, r := range p.rows {
			if ways()[r.way].redis && b.redis == nil {
				continue
			}
			for _, clients := range p.clients {
				requireRounds(t, b, measured[p.cell(r, clients)], p.name+": "+r.label())
			}
		}
	}
	require.Empty(t, left(t, b))
}

func requireRounds(t *testing.T, b *bench, rounds []sample, of string) {
	t.Helper()
	require.Len(t, rounds, b.rounds, of)
	for _, s := range rounds {
		require.Positive(t, s.calls, of)
		require.Positive(t, s.perSecond, of)
		require.Positive(t, s.p50, of)
		require.GreaterOrEqual(t, s.p99, s.p50, of)
	}
}

// TestALostRedemptionIsNoticed: fewer rows, or other counts, than were acknowledged are
// no measurement.
func TestALostRedemptionIsNoticed(t *testing.T) {
	b := newBench(t)
	d, err := b.database(t.Context(), few, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.drop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, d.verify(t.Context(), false))
	d.made++
	require.ErrorContains(t, d.verify(t.Context(), false), "50 rows for 51")
	d.made--
	conn, err := pgx.Connect(t.Context(), d.dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE coupon_counters SET reserved = reserved + 1 WHERE coupon_id = $1 AND stripe = 0", couponID(0))
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.ErrorContains(t, d.verify(t.Context(), false), "counts")
	require.NoError(t, d.verify(t.Context(), true), "what checks nothing counts nothing")
}

// TestAnInterruptedRunLeavesNothing: whoever stops the program in the middle of a cell
// finds neither its database nor, as TestMain requires, a goroutine.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.duration = time.Hour
	for _, p := range []part{
		{name: "here", rows: rowsOf("batched"), clients: []int{4}, content: few, network: time.Millisecond},
		{name: "processes", rows: []row{{way: "batched", processes: 2}}, clients: []int{4}, content: few},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := b.measure(ctx, p)
			ended <- err
		}()
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
		require.Equal(t, rowsOf("textbook", "batched"), p.rows)
		require.Equal(t, []int{1, 64}, p.clients)
	}
	all, err := program{}.chosen()
	require.NoError(t, err)
	require.Len(t, all, len(parts()))
	for _, wrong := range []program{{parts: "cold"}, {ways: "luck"}, {clients: "0"}, {clients: "many"}} {
		_, err := wrong.chosen()
		require.Error(t, err)
	}
	for _, wrong := range []program{{parts: "cold", rounds: 1, duration: 1}, {duration: 1}, {rounds: 1}} {
		require.Error(t, wrong.run(t.Context(), io.Discard, io.Discard))
	}
}
