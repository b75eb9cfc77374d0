package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Shared is a server that the tests of a package share; it starts with the first
// test that needs it. The zero value is ready.
type Shared struct {
	// Settings of the server.
	Settings []string
	// Prepare makes an empty database what all of [Shared.NewCopy] and [Shared.Lend] begin
	// as.
	Prepare func(ctx context.Context, dsn string) error
	// Empty makes a database of [Shared.Lend] that again, when a test has used it.
	Empty func(ctx context.Context, dsn string) error

	once   sync.Once
	server *Server
	err    error

	preparing sync.Once
	prepared  string // name of the template database
	unready   error

	mu   sync.Mutex
	free []string                      // URLs of the databases that are free
	kept []func(context.Context) error // functions that drop databases after all tests
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

// NewCopy makes a database that is as Prepare has left the first one, and drops it when
// the test ends. To copy takes a fraction of the time that preparing each would.
func (s *Shared) NewCopy(tb testing.TB) (dsn string) {
	tb.Helper()
	server := s.Need(tb)
	return server.newDatabase(tb, s.template(tb))
}

// Lend is NewCopy for a test that leaves behind what Empty can take away: when it has
// passed and disconnected, the database is another test's.
func (s *Shared) Lend(tb testing.TB) (dsn string) {
	tb.Helper()
	dsn, err := s.vacant(tb)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			return // the database may be damaged, so no other test gets it
		}
		if err := s.Empty(context.WithoutCancel(tb.Context()), dsn); err != nil {
			tb.Error(err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, dsn)
	})
	return dsn
}

// vacant returns a free database, or creates one.
func (s *Shared) vacant(tb testing.TB) (dsn string, err error) {
	tb.Helper()
	server, template := s.Need(tb), s.template(tb)
	if dsn, free := s.takeFree(); free {
		return dsn, nil
	}
	dsn, drop, err := server.database(tb.Context(), template)
	if err == nil {
		s.keep(drop)
	}
	return dsn, err
}

func (s *Shared) takeFree() (dsn string, free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return "", false
	}
	dsn, s.free = s.free[last], s.free[:last]
	return dsn, true
}

func (s *Shared) keep(drop func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, drop)
}

// template returns the name of the template database.
func (s *Shared) template(tb testing.TB) string {
	tb.Helper()
	s.preparing.Do(func() { s.prepared, s.unready = s.prepare(context.WithoutCancel(tb.Context())) })
	if s.unready != nil {
		tb.Fatal(s.unready)
	}
	return s.prepared
}

func (s *Shared) prepare(ctx context.Context) (name string, err error) {
	dsn, drop, err := s.server.Database(ctx)
	if err != nil {
		return "", err
	}
	s.keep(drop)
	if err := s.Prepare(ctx, dsn); err != nil {
		return "", fmt.Errorf("prepare a database: %w", err)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(u.Path, "/"), nil
}

// Close stops the server, if it was started; call it at the end of TestMain.
func (s *Shared) Close() error {
	if s.server == nil {
		return nil
	}
	var err error
	if s.server.foreign {
		for _, drop := range s.kept {
			err = errors.Join(err, drop(context.Background()))
		}
	}
	return errors.Join(err, s.server.Close())
}

// NewDatabase makes an empty database and drops it when the test ends.
func (s *Server) NewDatabase(tb testing.TB) (dsn string) {
	tb.Helper()
	return s.newDatabase(tb, "template1")
}

func (s *Server) newDatabase(tb testing.TB, template string) (dsn string) {
	tb.Helper()
	dsn, drop, err := s.database(tb.Context(), template)
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
