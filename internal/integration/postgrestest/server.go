package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/internal/integration/patience"
)

// DSNVariable is the environment variable that names a server to use instead of a
// throwaway one, as a URL.
const DSNVariable = "COUPONKIT_POSTGRES_DSN"

// ErrNoServer tells that there are no PostgreSQL binaries and no server was named.
var ErrNoServer = errors.New("no PostgreSQL: install it (Debian: postgresql), or name a server in " + DSNVariable)

// ErrForeign tells that the server was named by the environment and is not ours to stop.
var ErrForeign = errors.New("the server is not a throwaway one")

const (
	startTimeout = time.Minute // both measured by package patience
	stopTimeout  = time.Minute
)

// Server is a PostgreSQL server. Its methods may be called from many goroutines,
// except those that stop and start it.
type Server struct {
	dsn     *url.URL
	bin     string
	dir     string
	log     string
	process *process
	foreign bool
	made    atomic.Int64
}

// Start returns a running server: the one that the environment names, else a new
// throwaway one with these extra settings, such as "commit_delay=1000". Without
// binaries it is [ErrNoServer].
func Start(ctx context.Context, settings ...string) (*Server, error) {
	if dsn := os.Getenv(DSNVariable); dsn != "" {
		u, err := url.Parse(dsn)
		if err != nil {
			return nil, fmt.Errorf("%s is no URL: %w", DSNVariable, err)
		}
		return &Server{dsn: u, foreign: true}, nil
	}
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	if err := s.initialise(ctx, settings); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Resume(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// initialise creates the database cluster.
func (s *Server) initialise(ctx context.Context, settings []string) error {
	owner, err := unprivileged()
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "couponkit-postgres-"); err != nil {
		return err
	}
	password, pwfile := rand.Text(), filepath.Join(s.dir, "password")
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := owner.own(s.dir, pwfile); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "password", "--pwfile", pwfile, "--encoding", "UTF8", "--no-locale", "--no-sync")
	initdb.Dir, initdb.Env, initdb.SysProcAttr = s.dir, cleanEnvironment(), owner.attributes()
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	s.dsn = &url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	s.log = filepath.Join(s.dir, "log")
	arguments := []string{"-D", data, "-p", strconv.Itoa(port)}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=on", "synchronous_commit=on",
		"max_connections=400", "shared_buffers=256MB", "max_wal_size=4GB", "timezone=UTC",
	}, settings...) {
		arguments = append(arguments, "-c", setting)
	}
	s.process = &process{path: filepath.Join(s.bin, "postgres"), arguments: arguments, owner: owner, dir: s.dir, log: s.log}
	return nil
}

// DSN returns the URL of the server's own database.
func (s *Server) DSN() string { return s.dsn.String() }

// Foreign reports whether the server was named by the environment: it cannot be
// stopped.
func (s *Server) Foreign() bool { return s.foreign }

// Database makes an empty database and returns its URL and a function that drops
// it, whoever is connected.
func (s *Server) Database(ctx context.Context) (dsn string, drop func(context.Context) error, err error) {
	return s.database(ctx, "template1")
}

func (s *Server) database(ctx context.Context, template string) (dsn string, drop func(context.Context) error, err error) {
	name := fmt.Sprintf("couponkit_%d_%d", os.Getpid(), s.made.Add(1))
	if err := s.exec(ctx, "CREATE DATABASE "+quoted(name)+" TEMPLATE "+quoted(template)); err != nil {
		return "", nil, fmt.Errorf("make a database: %w", err)
	}
	u := *s.dsn
	u.Path = "/" + name
	return u.String(), func(ctx context.Context) error { return s.drop(ctx, name) }, nil
}

func (s *Server) drop(ctx context.Context, name string) error {
	return s.exec(ctx, "DROP DATABASE IF EXISTS "+quoted(name)+" WITH (FORCE)")
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func (s *Server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Halt stops the server at once, as a crash would: sessions are cut and the next
// start recovers from the log.
func (s *Server) Halt() error { return s.stop(syscall.SIGQUIT) }

func (s *Server) stop(signal syscall.Signal) error {
	if s.foreign {
		return ErrForeign
	}
	if s.process == nil {
		return nil
	}
	return s.process.stop(signal, stopTimeout)
}

// Resume starts the server and waits until it answers.
func (s *Server) Resume(ctx context.Context) error {
	if s.foreign {
		return ErrForeign
	}
	if err := s.process.start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	ctx, cancel := patience.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-s.process.ended:
			log, _ := os.ReadFile(s.log) // the log may be missing
			return fmt.Errorf("PostgreSQL ended at its start: %w\n%s", err, log)
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// LogTail returns the last lines of what the server has logged, at most so many bytes.
// Of a server that the environment named there is nothing.
func (s *Server) LogTail(most int64) (string, error) {
	if s.log == "" {
		return "", nil
	}
	log, err := os.Open(s.log)
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }() // ignore the error of a file that was only read
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	tail := make([]byte, min(most, size))
	if _, err := log.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if int64(len(tail)) < size {
		_, tail, _ = bytes.Cut(tail, []byte("\n"))
	}
	return string(tail), nil
}

// Close stops the server and removes what it has written. A server that the
// environment named is left as it is.
func (s *Server) Close() error {
	if s.foreign {
		return nil
	}
	err := s.stop(syscall.SIGINT)
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// findBinaries returns the directory of the newest installed server.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil { // the other programs are in the same folder
			return "", err
		}
		return filepath.Dir(path), nil
	}
	newest, version := "", 0
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		found, _ := filepath.Glob(pattern) // no error: the patterns are well formed
		for _, dir := range found {
			if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
				continue
			}
			if n := versionOf(filepath.Dir(dir)); newest == "" || n > version {
				newest, version = dir, n
			}
		}
	}
	if newest == "" {
		return "", ErrNoServer
	}
	return newest, nil
}

// versionOf returns the number at the end of a path.
func versionOf(path string) int {
	begin := len(path)
	for begin > 0 && path[begin-1] >= '0' && path[begin-1] <= '9' {
		begin--
	}
	n, _ := strconv.Atoi(path[begin:]) // without digits, the version is 0
	return n
}

func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(fmt.Errorf("%s has no port", listener.Addr()), listener.Close())
	}
	return address.Port, listener.Close()
}

// cleanEnvironment returns an environment without settings of the developer's own PostgreSQL.
func cleanEnvironment() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"} }
