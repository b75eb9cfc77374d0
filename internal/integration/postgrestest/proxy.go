package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/internal/integration/patience"
)

// ErrNoProxy tells that there is no pgbouncer.
var ErrNoProxy = errors.New("no pgbouncer: install it (Debian: pgbouncer)")

// Proxy is a throwaway pgbouncer in front of a server, which pools transactions: a
// client has a connection to the server only while its transaction lasts.
type Proxy struct {
	address string
	dir     string
	process *process
}

// StartProxy starts a proxy with so many connections to each database of the server.
// Without pgbouncer it is [ErrNoProxy].
func (s *Server) StartProxy(ctx context.Context, connections int) (*Proxy, error) {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			return nil, ErrNoProxy
		}
	}
	p := new(Proxy)
	if err := p.configure(ctx, s.dsn, path, connections); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.process.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start pgbouncer: %w", err), p.Close())
	}
	if err := p.wait(ctx, s.DSN()); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// configure writes the configuration of the proxy.
func (p *Proxy) configure(ctx context.Context, server *url.URL, path string, connections int) error {
	owner, err := unprivileged()
	if err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "couponkit-pgbouncer-"); err != nil {
		return err
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	p.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	serverPort := server.Port()
	if serverPort == "" {
		serverPort = "5432"
	}
	users, settings := filepath.Join(p.dir, "users"), filepath.Join(p.dir, "pgbouncer.ini")
	password, _ := server.User.Password() // without a password, the server requires none
	quote := func(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
	if err := os.WriteFile(users, []byte(quote(server.User.Username())+" "+quote(password)+"\n"), 0o600); err != nil {
		return err
	}
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = plain
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 1000
`, server.Hostname(), serverPort, port, users, connections)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return err
	}
	if err := owner.own(p.dir, users, settings); err != nil {
		return err
	}
	p.process = &process{path: path, arguments: []string{settings}, owner: owner, dir: p.dir, log: filepath.Join(p.dir, "log")}
	return nil
}

// wait waits until a database is reachable.
func (p *Proxy) wait(ctx context.Context, dsn string) error {
	ctx, cancel := patience.WithTimeout(ctx, startTimeout)
	defer cancel()
	through, err := p.DSN(dsn)
	if err != nil {
		return err
	}
	for {
		conn, err := pgx.Connect(ctx, through)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.process.ended:
			log, _ := os.ReadFile(p.process.log) // the log may be missing
			return fmt.Errorf("pgbouncer ended at its start: %w\n%s", err, log)
		case <-ctx.Done():
			return fmt.Errorf("pgbouncer does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// DSN returns the URL by which a database of the server is reached through the
// proxy.
func (p *Proxy) DSN(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Host = p.address
	return u.String(), nil
}

// Close stops the proxy and removes its files.
func (p *Proxy) Close() error {
	var err error
	if p.process != nil {
		err = p.process.stop(syscall.SIGINT, stopTimeout)
	}
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// NewProxy starts a proxy and stops it when the test ends. Without pgbouncer the
// test is skipped.
func (s *Server) NewProxy(tb testing.TB, connections int) *Proxy {
	tb.Helper()
	p, err := s.StartProxy(tb.Context(), connections)
	switch {
	case errors.Is(err, ErrNoProxy):
		tb.Skip(err)
	case err != nil:
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// Through returns the URL of a database behind the proxy.
func (p *Proxy) Through(tb testing.TB, dsn string) string {
	tb.Helper()
	through, err := p.DSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return through
}
