package sqldb_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// workVariable makes the test binary a worker process; see [work].
const workVariable = "COUPONKIT_SQLDB_WORK"

// work is what a worker process does: it uses a coupon again and again, and prints
// the name of every use that the store has acknowledged.
type work struct {
	Driver   string
	DSN      string
	Dialect  sqlstore.Dialect
	CouponID string
	Name     string
	Attempts int // 0 is until it is killed
	Callers  int
}

// runWorker is the main function of a worker process.
func runWorker(text string) error {
	var w work
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	db, err := sql.Open(w.Driver, w.DSN)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(16)
	s, err := sqlstore.New(db, w.Dialect, sqlstore.Options{})
	if err != nil {
		return err
	}
	err = w.run(context.Background(), s, os.Stdout)
	return errors.Join(err, s.Close(), db.Close())
}

func (w work) run(ctx context.Context, s store.Store, out io.Writer) error {
	c, err := s.Coupon(ctx, w.CouponID)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var mu sync.Mutex
	var failures []error
	var all sync.WaitGroup
	for range w.Callers {
		all.Go(func() {
			for {
				i := int(next.Add(1))
				if w.Attempts > 0 && i > w.Attempts {
					return
				}
				name := fmt.Sprintf("%s-%06d", w.Name, i)
				ok, err := use(ctx, s, c, customer(i), name)
				mu.Lock()
				if err != nil {
					failures = append(failures, err)
				} else if ok {
					_, err = fmt.Fprintln(out, name)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// worker is a running worker process.
type worker struct {
	command *exec.Cmd
	lines   chan string // what it has acknowledged; closed when it has ended
	errors  *os.File
}

func startWorker(t *testing.T, w work) *worker {
	t.Helper()
	text, err := json.Marshal(w)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), workVariable+"="+string(text))
	log, err := os.CreateTemp(t.TempDir(), "errors")
	require.NoError(t, err)
	command.Stderr = log
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	p := &worker{command: command, lines: make(chan string, 1_000_000), errors: log}
	go func() {
		defer close(p.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			p.lines <- scan.Text()
		}
	}()
	return p
}

// kill ends the process at once, with SIGKILL.
func (p *worker) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Kill())
}

// acknowledged waits for the end of the process and returns what it has printed.
func (p *worker) acknowledged(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range p.lines {
		names = append(names, line)
	}
	if err := p.command.Wait(); err != nil && p.command.ProcessState.ExitCode() > 0 {
		text, _ := os.ReadFile(p.errors.Name())
		t.Errorf("a worker failed: %v\n%s", err, text)
	}
	return names
}

// shop is a database that several processes use.
type shop struct {
	driver, dsn string
	dialect     sqlstore.Dialect
}

func sqliteShop(t *testing.T, driver string) shop {
	t.Helper()
	return shop{driver: driver, dsn: sqlitedriver.DSN(t.TempDir() + "/coupons.db"), dialect: sqlstore.SQLite}
}

func mariadbShop(t *testing.T) shop {
	t.Helper()
	return shop{driver: "mysql", dsn: mariadb.Need(t).NewDatabase(t), dialect: sqlstore.MySQL}
}

// connect opens the database as it is, with or without tables.
func (s shop) connect(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(s.driver, s.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// open returns a store in the shop's database, which it migrates.
func (s shop) open(t *testing.T) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	db := s.connect(t)
	require.NoError(t, sqlstore.Migrate(t.Context(), db, s.dialect, ""))
	opened, err := sqlstore.New(db, s.dialect, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened, db
}

func (s shop) work(c coupon.Coupon, name string, attempts, callers int) work {
	return work{
		Driver: s.driver, DSN: s.dsn, Dialect: s.dialect, CouponID: c.ID, Name: name, Attempts: attempts, Callers: callers,
	}
}
