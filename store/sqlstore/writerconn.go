package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"
)

func (w *writer) writing() querier { return w.cache.prepared(w.conn) }

// shares reports whether the pool has only one connection. Then it goes back after
// each transaction.
func (w *writer) shares() bool { return w.db.Stats().MaxOpenConnections == 1 }

// acquire takes a connection and sets it up, for which it may have to wait for others.
func (w *writer) acquire(ctx context.Context, patience time.Duration) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := w.setUp(ctx, conn, patience); err != nil {
		spoil(conn)
		_ = conn.Close()
		return err
	}
	if w.conn = conn; !w.shares() {
		w.cache = newStatementCache(conn)
	}
	return nil
}

// A batch changes a page of several indexes for each row, at random places: they stay in
// memory until it ends, and are copied from the log into the database once for many batches.
// A larger cache is slower: where a batch has balanced a tree, SQLite looks at all that it
// holds when the batch ends.
const (
	cacheSize       = "PRAGMA cache_size = -8192"        // KiB, at most
	checkpointEvery = "PRAGMA wal_autocheckpoint = 8192" // pages of 4 KiB
)

func (w *writer) setUp(ctx context.Context, conn *sql.Conn, patience time.Duration) (err error) {
	if err := w.bePatient(ctx, conn, patience); err != nil {
		return err
	}
	mode, err := w.journal(ctx, conn, patience)
	if err != nil {
		return fmt.Errorf("set journal mode: %w", err)
	}
	synchronous := "PRAGMA synchronous = FULL"
	if w.options.Synchronous == Normal {
		synchronous = "PRAGMA synchronous = NORMAL"
	}
	if _, err := conn.ExecContext(ctx, synchronous); err != nil {
		return fmt.Errorf("set synchronous: %w", err)
	}
	if !w.shares() {
		for _, pragma := range [...]string{cacheSize, checkpointEvery} {
			if _, err := conn.ExecContext(ctx, pragma); err != nil {
				return fmt.Errorf("%s: %w", pragma, err)
			}
		}
	}
	// In WAL mode nothing but the beginning of a transaction waits for others, and
	// lock does that better.
	if w.polls = strings.EqualFold(mode, "wal") && !w.shares(); w.polls {
		return waitAtMost(ctx, conn, 0)
	}
	return nil
}

// bePatient sets how long the connection waits for others, before anything that waits: to
// read another setting looks into the file, which somebody may be locking. It keeps the
// host's settings of what setUp changes.
func (w *writer) bePatient(ctx context.Context, conn *sql.Conn, patience time.Duration) (err error) {
	if w.before, err = settingsOf(ctx, conn, "busy_timeout"); err != nil {
		return err
	}
	if err := waitAtMost(ctx, conn, patience); err != nil {
		return err
	}
	others, err := settingsOf(ctx, conn, w.changed()...)
	maps.Copy(w.before, others)
	return err
}

// waitAtMost sets how long SQLite itself waits for others.
func waitAtMost(ctx context.Context, conn *sql.Conn, longest time.Duration) error {
	milliseconds := min(longest.Milliseconds(), math.MaxInt32) // more is none to SQLite
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", milliseconds)); err != nil {
		return fmt.Errorf("set busy timeout: %w", err)
	}
	return nil
}

// changed are the names of the further settings that setUp changes: of a connection that
// the host uses too, no more than has to be.
func (w *writer) changed() []string {
	if w.shares() {
		return []string{"synchronous"}
	}
	return []string{"synchronous", "cache_size", "wal_autocheckpoint"}
}

// settingsOf returns these settings of a connection.
func settingsOf(ctx context.Context, conn *sql.Conn, names ...string) (map[string]int64, error) {
	settings := make(map[string]int64, len(names))
	for _, name := range names {
		var value int64
		if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		settings[name] = value
	}
	return settings, nil
}

// giveBack leaves the connection as the host had it: with the store's settings, a
// statement of the host would not wait for a lock at all.
func (w *writer) giveBack(ctx context.Context) {
	for name, value := range w.before {
		if _, err := w.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %d", name, value)); err != nil {
			spoil(w.conn)
			return
		}
	}
}

// journal sets the journal mode, which the file keeps. SQLite does not wait for
// others when it changes the mode.
func (w *writer) journal(ctx context.Context, conn *sql.Conn, patience time.Duration) (mode string, err error) {
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil || strings.EqualFold(mode, "wal") {
		return mode, err
	}
	err = w.patiently(ctx, patience, func() error {
		return conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	})
	return mode, err
}

// How often and how long the writer waits for readers, so that the log begins anew. By then
// it has been copied as a whole once or more.
const (
	restartEvery = 8192 // calls
	untilRead    = 100 * time.Millisecond
)

// errRead: somebody still reads what is in the log alone.
var errRead = errors.New("the log is being read")

// restartLog lets the log begin anew, which it does by itself only when nobody reads at the
// moment of a commit. Where readers always overlap it would grow for ever.
func (w *writer) restartLog(ctx context.Context) {
	if w.logged < restartEvery || !w.polls || w.conn == nil {
		return
	}
	w.logged = 0
	_ = w.patiently(ctx, untilRead, func() error { // if not, then the next time
		var busy, inLog, copied int
		err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(RESTART)").Scan(&busy, &inLog, &copied)
		if err == nil && busy != 0 {
			err = errRead
		}
		return err
	})
}

// release gives the connection back when it is the only one, or at the end.
func (w *writer) release(always bool) {
	if w.conn == nil || !always && w.cache != nil {
		return
	}
	if w.cache != nil {
		_ = w.cache.close()
	}
	w.giveBack(context.Background())
	_ = w.conn.Close()
	w.conn, w.cache = nil, nil
}

// discard takes a connection out of use whose state is not known.
func (w *writer) discard() {
	if w.cache != nil { // first: modernc.org/sqlite panics over a statement of a closed connection
		_ = w.cache.close()
		w.cache = nil
	}
	if w.conn != nil {
		spoil(w.conn)
		_ = w.conn.Close()
		w.conn = nil
	}
}
