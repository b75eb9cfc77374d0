package postgrestest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

var shared postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Close(); err != nil {
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestCopies: a copy begins as what was prepared once, and is the test's own. One that is
// lent comes back, without what a test has left in it.
func TestCopies(t *testing.T) {
	var prepared int
	copies := postgrestest.Shared{
		Prepare: func(ctx context.Context, dsn string) error {
			prepared++
			return execute(ctx, dsn, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
		},
		Empty: func(ctx context.Context, dsn string) error { return execute(ctx, dsn, "DELETE FROM kept WHERE n <> 1") },
	}
	t.Cleanup(func() {
		if err := copies.Close(); err != nil {
			t.Error(err)
		}
	})
	use := func(t *testing.T, dsn string) string {
		t.Helper()
		var name string
		var sum int
		pool := postgrestest.NewPool(t, dsn)
		if err := pool.QueryRow(t.Context(), "INSERT INTO kept VALUES (2) RETURNING current_database(), (SELECT sum(n) FROM kept)").
			Scan(&name, &sum); err != nil {
			t.Fatal(err)
		}
		if sum != 1 {
			t.Errorf("a copy begins with %d, want 1", sum)
		}
		return name
	}
	var own, lent []string
	for range 2 {
		t.Run("own", func(t *testing.T) { own = append(own, use(t, copies.NewCopy(t))) })
		t.Run("lent", func(t *testing.T) { lent = append(lent, use(t, copies.Lend(t))) })
	}
	if own[0] == own[1] || lent[0] != lent[1] {
		t.Errorf("own copies %q, want two; lent ones %q, want one", own, lent)
	}
	if prepared != 1 {
		t.Errorf("prepared %d times, want once", prepared)
	}
}

func execute(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// TestServerSurvivesHalt: what was committed is there after a crash, and what was
// not is gone.
func TestServerSurvivesHalt(t *testing.T) {
	server := shared.Need(t)
	if server.Foreign() {
		t.Skip("a server named by " + postgrestest.DSNVariable + " is not stopped")
	}
	dsn := server.NewDatabase(t)
	pool := postgrestest.NewPool(t, dsn)
	ctx := t.Context()
	if _, err := pool.Exec(ctx, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO kept VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	if err := server.Halt(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err == nil {
		t.Fatal("a commit on a server that is gone succeeds")
	}
	if err := server.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	pool.Reset()
	var fsync string
	var sum int
	if err := pool.QueryRow(ctx, "SELECT current_setting('fsync'), (SELECT sum(n) FROM kept)").Scan(&fsync, &sum); err != nil {
		t.Fatal(err)
	}
	if fsync != "on" || sum != 1 {
		t.Errorf("fsync is %s and the rows sum to %d, want on and 1", fsync, sum)
	}
}

// TestLogTail: the end of the log is told in whole lines.
func TestLogTail(t *testing.T) {
	server := shared.Need(t)
	if server.Foreign() {
		t.Skip("a server named by " + postgrestest.DSNVariable + " does not show its log")
	}
	pool := postgrestest.NewPool(t, server.NewDatabase(t))
	for _, name := range []string{"first_of_all", "last_of_all"} {
		if _, err := pool.Exec(t.Context(), "SELECT "+name); err == nil {
			t.Fatalf("%s is a column", name)
		}
	}
	whole, err := server.LogTail(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(whole, "first_of_all") || !strings.Contains(whole, "last_of_all") {
		t.Errorf("the log does not tell of two failures:\n%s", whole)
	}
	end, err := server.LogTail(int64(len("STATEMENT:  SELECT last_of_all") + 60))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(whole, "\n"+end) || !strings.Contains(end, "last_of_all") || strings.Contains(end, "first_of_all") {
		t.Errorf("the last lines of the log are %q", end)
	}
}
