package mariadbtest

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
)

// Shared is a server that the tests of a package share; it starts with the first
// test that needs it. The zero value is ready.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Need returns the server. Without MariaDB the test is skipped.
func (s *Shared) Need(tb testing.TB) *Server {
	tb.Helper()
	s.once.Do(func() {
		// Commits do not wait for the disk, because no test cuts the power.
		s.server, s.err = Start(context.WithoutCancel(tb.Context()), "--innodb-flush-log-at-trx-commit=2")
	})
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

// NewDatabase makes an empty database, and drops it when the test ends.
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

// Open connects to the database and disconnects when the test ends.
func Open(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}
