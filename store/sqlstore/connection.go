package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// connection is the connection that the writer uses. It restores the host's settings of SQLite before
// it returns to the pool.
type connection struct {
	grammar *grammar
	db      *sql.DB
	options Options

	conn      *sql.Conn
	stmts     *prepared
	before    []setting // the host's values of the settings that were changed
	polls     bool      // the connection polls for the lock, because SQLite does not wait
	contended int       // number of transactions before which other processes may take the lock first
	logged    int       // calls since the last restart of the log
}

type setting struct {
	name  string
	value int64
}

func (c *connection) session() *session {
	if c.stmts != nil {
		return c.grammar.on(c.stmts)
	}
	return c.grammar.on(c.conn)
}

// shares reports whether the pool has only one connection. That connection returns to the pool after
// each transaction, and keeps most of the host's settings.
func (c *connection) shares() bool { return c.db.Stats().MaxOpenConnections == 1 }

// begin begins a writing transaction. It waits for other processes up to patience.
func (c *connection) begin(ctx context.Context, patience time.Duration) error {
	err := c.acquire(ctx, patience)
	if err == nil {
		err = c.lock(ctx, patience)
	}
	if err == nil {
		return nil
	}
	if c.grammar.transient(err) {
		c.release(false)
	} else {
		c.discard()
	}
	return &failure{fmt.Errorf("begin transaction: %w", err)}
}

// finish commits, or rolls back if the transaction has failed.
func (c *connection) finish(ctx context.Context, failed error) error {
	if failed == nil {
		err := c.session().exec(ctx, "COMMIT")
		if err == nil {
			return nil
		}
		failed = fmt.Errorf("commit: %w", err)
	}
	if err := c.session().exec(ctx, "ROLLBACK"); err != nil && !inNone(err) {
		c.discard()
	}
	return failed
}

// lock takes the database's write lock. If other processes recently waited for it, it pauses first, so
// that they can take it.
func (c *connection) lock(ctx context.Context, patience time.Duration) error {
	begin := func() error { return c.session().exec(ctx, "BEGIN IMMEDIATE") }
	if !c.polls {
		if err := waitAtMost(ctx, c.conn, patience); err != nil {
			return err
		}
		return begin()
	}
	if c.contended > 0 {
		c.contended--
		if err := pause(ctx, rand.N(lastPoll)); err != nil { //nolint:gosec // no secret
			return err
		}
	}
	return patiently(ctx, patience, c.grammar.transient, func() error {
		err := begin()
		if err != nil {
			c.contended = 32
		}
		return err
	})
}

// acquire takes a connection from the pool and sets it up. It may have to wait for other processes.
func (c *connection) acquire(ctx context.Context, patience time.Duration) error {
	if c.conn != nil {
		return nil
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := c.setUp(ctx, conn, patience); err != nil {
		spoil(conn)
		_ = conn.Close()
		return err
	}
	if c.conn = conn; !c.shares() {
		c.stmts = &prepared{conn: conn, stmts: map[string]*sql.Stmt{}}
	}
	return nil
}

// A batch changes pages of several indexes at random places. The pages stay in memory until the batch
// ends. Many batches are copied from the log to the database at once. A larger cache would be slower:
// SQLite scans the whole cache at the end of a batch that has balanced a tree.
const (
	cacheSize  = -8192 // maximum in KiB
	checkpoint = 8192  // in pages of 4 KiB
)

func (c *connection) setUp(ctx context.Context, conn *sql.Conn, patience time.Duration) error {
	c.before = nil
	if c.options.KeepSettings {
		c.polls = true
		return nil
	}
	// Set the wait first. Reading another setting opens the file, and another process may have locked
	// it.
	if err := c.set(ctx, conn, "busy_timeout", milliseconds(patience)); err != nil {
		return err
	}
	mode, err := c.journal(ctx, conn, patience)
	if err != nil {
		return fmt.Errorf("set journal mode: %w", err)
	}
	settings := []setting{{"synchronous", 2}, {"cache_size", cacheSize}, {"wal_autocheckpoint", checkpoint}}
	if c.options.Relaxed {
		settings[0].value = 1
	}
	if c.shares() { // change few settings of a shared connection
		settings = settings[:1]
	}
	for _, s := range settings {
		if err := c.set(ctx, conn, s.name, s.value); err != nil {
			return err
		}
	}
	// In WAL mode only the beginning of a transaction waits for other processes. The method lock waits
	// better than SQLite.
	if c.polls = strings.EqualFold(mode, "wal") && !c.shares(); c.polls {
		return waitAtMost(ctx, conn, 0)
	}
	return nil
}

// set changes a setting and records the host's value.
func (c *connection) set(ctx context.Context, conn *sql.Conn, name string, value int64) error {
	before := setting{name: name}
	if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&before.value); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %d", name, value)); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	c.before = append(c.before, before)
	return nil
}

// waitAtMost sets how long SQLite itself waits for other processes.
func waitAtMost(ctx context.Context, conn *sql.Conn, longest time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", milliseconds(longest)))
	return err
}

func milliseconds(d time.Duration) int64 { return min(d.Milliseconds(), math.MaxInt32) } // SQLite reads a larger number as 0

// journal sets the journal mode, which is stored in the file. SQLite does not wait for other processes
// when it changes the mode.
func (c *connection) journal(ctx context.Context, conn *sql.Conn, patience time.Duration) (mode string, err error) {
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil || strings.EqualFold(mode, "wal") {
		return mode, err
	}
	err = patiently(ctx, patience, c.grammar.transient, func() error {
		return conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	})
	return mode, err
}

// How often and how long the writer waits for readers, so that the log can restart. By then the whole
// log has been copied at least once.
const (
	restartEvery = 8192 // in calls
	untilRead    = 100 * time.Millisecond
)

// errRead means that a reader still uses a state that only the log has.
var errRead = errors.New("the log is being read")

// written restarts the log after many calls. SQLite restarts it only if nobody reads at the moment of a
// commit. With overlapping reads, the log would grow forever.
func (c *connection) written(ctx context.Context, calls int) {
	if c.logged += calls; c.logged < restartEvery || !c.polls || c.options.KeepSettings || c.conn == nil {
		return
	}
	c.logged = 0
	others := func(err error) bool { return errors.Is(err, errRead) || c.grammar.transient(err) }
	_ = patiently(ctx, untilRead, others, func() error { // after a failure, try again at the next batch
		var busy, inLog, copied int
		err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(RESTART)").Scan(&busy, &inLog, &copied)
		if err == nil && busy != 0 {
			err = errRead
		}
		return err
	})
}

// release returns the connection to the pool if it is the only one, or if always is true. With the
// store's settings, statements of the host would not wait for locks.
func (c *connection) release(always bool) {
	if c.conn == nil || !always && c.stmts != nil {
		return
	}
	if c.stmts != nil {
		c.stmts.close()
	}
	for _, s := range c.before {
		if _, err := c.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA %s = %d", s.name, s.value)); err != nil {
			spoil(c.conn)
			break
		}
	}
	_ = c.conn.Close()
	c.conn, c.stmts = nil, nil
}

// discard closes a connection whose state is unknown.
func (c *connection) discard() {
	if c.stmts != nil { // before the connection: modernc.org/sqlite panics if a statement outlives it
		c.stmts.close()
		c.stmts = nil
	}
	if c.conn != nil {
		spoil(c.conn)
		_ = c.conn.Close()
		c.conn = nil
	}
}
