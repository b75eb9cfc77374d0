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

	"github.com/jackc/pgx/v5"
)

// Standby starts a server, with these extra settings, that follows this one by streaming
// replication. The name is for synchronous_standby_names. The standby connects to the address
// "host:port", such as that of a [Forwarder]. If the address is empty, it connects to this server.
func (s *Server) Standby(ctx context.Context, name, address string, settings ...string) (*Server, error) {
	if s.foreign {
		return nil, ErrForeign
	}
	dir, err := os.MkdirTemp("", "couponkit-postgres-")
	if err != nil {
		return nil, err
	}
	standby := &Server{bin: s.bin, dir: dir, log: filepath.Join(dir, "log")}
	if err := standby.copyOf(ctx, s, name, address, settings); err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	if err := standby.Resume(ctx); err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

func (s *Server) copyOf(ctx context.Context, primary *Server, name, address string, settings []string) error {
	owner := primary.process.owner
	if err := owner.own(s.dir); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	backup := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_basebackup"), "--pgdata", data, "--checkpoint", "fast",
		"--no-sync", "--write-recovery-conf", "--dbname", primary.follow(name, address))
	backup.Dir, backup.Env, backup.SysProcAttr = s.dir, cleanEnvironment(), owner.attributes()
	if output, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, output)
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	u := *primary.dsn
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.dsn = &u
	arguments := []string{"-D", data, "-p", strconv.Itoa(port)}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=on", "max_connections=400", "shared_buffers=64MB", "timezone=UTC",
	}, settings...) {
		arguments = append(arguments, "-c", setting)
	}
	s.process = &process{path: filepath.Join(s.bin, "postgres"), arguments: arguments, owner: owner, dir: s.dir, log: s.log}
	return nil
}

// follow returns the URL with which a standby connects to the server.
func (s *Server) follow(name, address string) string {
	u := *s.dsn
	if address != "" {
		u.Host = address
	}
	u.Path = ""
	u.RawQuery = url.Values{"sslmode": {"disable"}, "application_name": {name}}.Encode()
	return u.String()
}

// Follow makes a standby follow another primary.
func (s *Server) Follow(ctx context.Context, primary *Server, name string) error {
	text := "'" + strings.ReplaceAll(primary.follow(name, ""), "'", "''") + "'"
	if err := s.exec(ctx, "ALTER SYSTEM SET primary_conninfo = "+text); err != nil {
		return err
	}
	return s.exec(ctx, "SELECT pg_reload_conf()")
}

// Promote makes a standby a primary, and waits until it is.
func (s *Server) Promote(ctx context.Context) error { return s.exec(ctx, "SELECT pg_promote(true)") }

// Received returns how many bytes of the primary's log a standby has received.
func (s *Server) Received(ctx context.Context) (received int64, err error) {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint").Scan(&received)
	return received, errors.Join(err, conn.Close(ctx))
}

// Address returns "host:port".
func (s *Server) Address() string { return s.dsn.Host }

// Signal sends the signal to every process of the server, such as SIGSTOP.
func (s *Server) Signal(signal syscall.Signal) error {
	if s.foreign {
		return ErrForeign
	}
	pid := s.process.command.Process.Pid
	err := syscall.Kill(pid, signal) // signal it first, because it would start new ones
	children, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	err = errors.Join(err, readErr)
	for child := range strings.FieldsSeq(string(children)) {
		n, convErr := strconv.Atoi(child)
		if convErr != nil {
			return errors.Join(err, convErr)
		}
		if killErr := syscall.Kill(n, signal); killErr != nil && !errors.Is(killErr, syscall.ESRCH) {
			err = errors.Join(err, killErr)
		}
	}
	return err
}
