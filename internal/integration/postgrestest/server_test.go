package postgrestest_test

import (
	"fmt"
	"os"
	"testing"

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
