package postgrestest_test

import (
	"fmt"
	"os"
	"strings"
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
