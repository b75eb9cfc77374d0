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

// connection is the one by which the writer writes. It leaves the settings of SQLite as
// the host had them when it goes back.
type connection struct {
	grammar *grammar
	db      *sql.DB
	options Options

	conn      *sql.Conn
	stmts     *prepared
	before    []setting // as the host had them
	polls     bool      // it waits for the lock itself
	contended int       // transactions for which to leave others a chance
	logged    int       // calls since the log was to begin anew
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

// shares reports whether the pool has only one connection. Then it goes back after each
// transaction, and keeps most of the host's settings.
func (c *connection) shares() bool { return c.db.Stats().MaxOpenConnections == 1 }

// begin begins a transaction that writes, and waits for others no longer than it is told.
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

// lock takes the database's write lock. As long as other processes were seen to want it,
// it leaves them a moment to take it first.
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

// acquire takes a connection and sets it up, for which it may have to wait for others.
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

// A batch changes pages of several indexes at random places. They stay in memory until it
// ends, and are copied from the log into the database once for many batches. A larger
// cache is slower: where a batch has balanced a tree, SQLite looks at all of the cache
// when the batch ends.
const (
	cacheSize  = -8192 // KiB, at most
	checkpoint = 8192  // pages of 4 KiB
)

func (c *connection) setUp(ctx context.Context, conn *sql.Conn, patience time.Duration) error {
	c.before = nil
	if c.options.KeepSettings {
		c.polls = true
		return nil
	}
	// First how long to wait: to read another setting looks into the file, which somebody
	// may be locking.
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
	if c.shares() { // as few as possible
		settings = settings[:1]
	}
	for _, s := range settings {
		if err := c.set(ctx, conn, s.name, s.value); err != nil {
			return err
		}
	}
	// In WAL mode nothing but the beginning of a transaction waits for others, and lock
	// does that better.
	if c.polls = strings.EqualFold(mode, "wal") && !c.shares(); c.polls {
		return waitAtMost(ctx, conn, 0)
	}
	return nil
}

// set changes a setting and remembers what the host had.
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

// waitAtMost sets how long SQLite itself waits for others.
func waitAtMost(ctx context.Context, conn *sql.Conn, longest time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", milliseconds(longest)))
	return err
}

func milliseconds(d time.Duration) int64 { return min(d.Milliseconds(), math.MaxInt32) } // more is none to SQLite

// journal sets the journal mode, which the file keeps. SQLite does not wait for others
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

// How often and how long the writer waits for readers, so that the log begins anew. By
// then it has been copied as a whole once or more.
const (
	restartEvery = 8192 // calls
	untilRead    = 100 * time.Millisecond
)

// errRead: somebody still reads what is in the log alone.
var errRead = errors.New("the log is being read")

// written lets the log begin anew after many calls. SQLite does it only when nobody reads
// at the moment of a commit: where reads always overlap, the log would grow for ever.
func (c *connection) written(ctx context.Context, calls int) {
	if c.logged += calls; c.logged < restartEvery || !c.polls || c.options.KeepSettings || c.conn == nil {
		return
	}
	c.logged = 0
	others := func(err error) bool { return errors.Is(err, errRead) || c.grammar.transient(err) }
	_ = patiently(ctx, untilRead, others, func() error { // if not, then the next time
		var busy, inLog, copied int
		err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(RESTART)").Scan(&busy, &inLog, &copied)
		if err == nil && busy != 0 {
			err = errRead
		}
		return err
	})
}

// release gives the connection back when it is the only one, or at the end. With the
// store's settings, a statement of the host would not wait for a lock at all.
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

// discard takes a connection out of use whose state is not known.
func (c *connection) discard() {
	if c.stmts != nil { // first: modernc.org/sqlite panics over a statement of a closed connection
		c.stmts.close()
		c.stmts = nil
	}
	if c.conn != nil {
		spoil(c.conn)
		_ = c.conn.Close()
		c.conn = nil
	}
}
