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
func (s *Shared) Need(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = Start(context.WithoutCancel(t.Context())) })
	switch {
	case errors.Is(s.err, ErrNoServer):
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
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
func (s *Server) NewDatabase(t testing.TB) (dsn string) {
	t.Helper()
	dsn, drop, err := s.Database(t.Context())
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

// Open connects to the database and disconnects when the test ends.
func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
