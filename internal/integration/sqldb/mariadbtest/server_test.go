package mariadbtest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
)

var shared mariadbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestServerSurvivesAKill(t *testing.T) {
	server := shared.Need(t)
	db := mariadbtest.Open(t, server.NewDatabase(t))
	_, err := db.ExecContext(t.Context(), "CREATE TABLE kept (n INT) ENGINE = InnoDB")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO kept VALUES (7)")
	require.NoError(t, err)
	if !server.Foreign() {
		require.NoError(t, server.Kill())
		require.NoError(t, server.Resume(t.Context()))
	}
	var n int
	require.Eventually(t, func() bool { // connections of before are found broken one by one
		return db.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT n FROM kept").Scan(&n) == nil
	}, time.Minute, time.Millisecond)
	require.Equal(t, 7, n)
}
