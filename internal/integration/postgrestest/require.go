package postgrestest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Shared is a server that the tests of a package share; it starts with the first
// test that needs it. The zero value is ready.
type Shared struct {
	// Settings of the server.
	Settings []string

	once   sync.Once
	server *Server
	err    error
}

// Need returns the server. Without PostgreSQL the test is skipped.
func (s *Shared) Need(tb testing.TB) *Server {
	tb.Helper()
	s.once.Do(func() { s.server, s.err = Start(context.WithoutCancel(tb.Context()), s.Settings...) })
	switch {
	case errors.Is(s.err, ErrNoServer):
		tb.Skip(s.err)
	case s.err != nil:
		tb.Fatal(s.err)
	}
	return s.server
}

// Close stops the server, if it was started; call it at the end of TestMain.
func (s *Shared) Close() error {
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

// NewDatabase makes an empty database and drops it when the test ends.
func (s *Server) NewDatabase(tb testing.TB) (dsn string) {
	tb.Helper()
	dsn, drop, err := s.Database(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := drop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
	})
	return dsn
}

// NewPool connects to the database and disconnects when the test ends.
func NewPool(tb testing.TB, dsn string, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	for _, apply := range configure {
		apply(config)
	}
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}
