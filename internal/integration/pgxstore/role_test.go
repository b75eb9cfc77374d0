package pgxstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// run runs a script.
func run(t *testing.T, pool *pgxpool.Pool, script string) {
	t.Helper()
	_, err := pool.Exec(context.WithoutCancel(t.Context()), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}
