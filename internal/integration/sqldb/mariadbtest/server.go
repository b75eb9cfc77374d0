package mariadbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DSNVariable is the environment variable that names a server to use instead of a
// throwaway one.
const DSNVariable = "COUPONKIT_MARIADB_DSN"

// ErrNoServer tells that there are no MariaDB programs and no server was named.
var ErrNoServer = errors.New("no MariaDB: install it (Debian: mariadb-server), or name a server in " + DSNVariable)

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
)

// Server is a MariaDB server. Its methods may be called from many goroutines,
// except those that stop and start it.
type Server struct {
	config  *mysql.Config
	dir     string
	daemon  string
	owner   account
	process *process
	more    []string
	foreign bool
	made    atomic.Int64
}

// Start returns a running server: the one that the environment names, else a new
// throwaway one. Without programs it is [ErrNoServer]. More arguments are for the throwaway
// server.
func Start(ctx context.Context, more ...string) (*Server, error) {
	if dsn := os.Getenv(DSNVariable); dsn != "" {
		config, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", DSNVariable, err)
		}
		return &Server{config: config, foreign: true}, nil
	}
	daemon, errDaemon := find("mariadbd", "mysqld")
	install, errInstall := find("mariadb-install-db", "mysql_install_db")
	if errDaemon != nil || errInstall != nil {
		return nil, ErrNoServer
	}
	s := &Server{daemon: daemon, more: more}
	if err := s.initialise(ctx, install); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Resume(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// find searches for a program in the usual folders of servers. They are not always in a user's path.
func find(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb/bin"} {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

func (s *Server) initialise(ctx context.Context, install string) (err error) {
	if s.owner, err = unprivileged(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "couponkit-mariadb-"); err != nil {
		return err
	}
	if err := s.owner.own(s.dir); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, install, "--no-defaults", "--datadir="+s.data(), s.temporary(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	command.Dir, command.Env, command.SysProcAttr = s.dir, cleanEnvironment(), s.owner.attributes()
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, output)
	}
	s.config = mysql.NewConfig()
	s.config.User, s.config.Net, s.config.Addr = "root", "unix", filepath.Join(s.dir, "socket")
	return nil
}

// temporary gives the server its own folder for temporary tables. A starting server deletes all
// temporary tables in its folder, even those of other servers.
func (s *Server) temporary() string { return "--tmpdir=" + s.dir }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Foreign reports whether the server was named by the environment: it cannot be
// stopped.
func (s *Server) Foreign() bool { return s.foreign }

// Database makes an empty database and returns its DSN and a function that drops
// it.
func (s *Server) Database(ctx context.Context) (dsn string, drop func(context.Context) error, err error) {
	name := fmt.Sprintf("couponkit_%d_%d", os.Getpid(), s.made.Add(1))
	if err := s.exec(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return "", nil, fmt.Errorf("make a database: %w", err)
	}
	config := s.config.Clone()
	config.DBName = name
	return config.FormatDSN(), func(ctx context.Context) error { return s.exec(ctx, "DROP DATABASE IF EXISTS "+name) }, nil
}

// Reach returns the DSN of a database of another node of the cluster, by way of this node.
func (s *Server) Reach(dsn string) string {
	config := s.config.Clone()
	if other, err := mysql.ParseDSN(dsn); err == nil {
		config.DBName = other.DBName
	}
	return config.FormatDSN()
}

func (s *Server) exec(ctx context.Context, statement string) error {
	config := s.config.Clone()
	config.DBName = ""
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// Kill ends the server at once, as a crash would; the next start recovers.
func (s *Server) Kill() error { return s.stop(syscall.SIGKILL) }

func (s *Server) stop(signal syscall.Signal) error {
	if s.foreign || s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	return process.stop(signal, stopTimeout)
}

// Resume starts the server and waits until it answers.
func (s *Server) Resume(ctx context.Context) error {
	if s.foreign {
		return errors.New("the server is not a throwaway one")
	}
	log := filepath.Join(s.dir, "log")
	started, err := start(s.owner, s.dir, log, s.daemon, append([]string{
		"--no-defaults", "--datadir=" + s.data(), s.temporary(),
		"--socket=" + s.config.Addr, "--pid-file=" + filepath.Join(s.dir, "pid"), "--skip-networking", "--skip-name-resolve",
		"--max-connections=300", "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin",
		"--innodb-file-per-table=OFF", // one file for each table of each test would take longer than the tests
	}, s.more...)...)
	if err != nil {
		return fmt.Errorf("start MariaDB: %w", err)
	}
	s.process = started
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.exec(ctx, "DO 1")
		if err == nil {
			return nil
		}
		select {
		case <-started.ended:
			text, _ := os.ReadFile(log) // the log may be missing
			return fmt.Errorf("MariaDB ended at its start: %w\n%s", err, text)
		case <-ctx.Done():
			text, _ := os.ReadFile(log) // the log may be missing
			return fmt.Errorf("MariaDB does not answer: %w\n%s", err, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Close stops the server and removes what it has written. A server that the
// environment named is left as it is.
func (s *Server) Close() error {
	if s.foreign {
		return nil
	}
	err := s.stop(syscall.SIGTERM)
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
