package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxAttempts is how often a transaction is tried that the database undoes because
// of others.
const maxAttempts = 10

// errExists: a row was there that was not seen before. The next attempt sees it.
var errExists = errors.New("exists already")

// pool runs each intent in a transaction of its own.
type pool struct {
	schema     *schema
	db         *sql.DB
	statements *statementCache
}

func (p *pool) single(ctx context.Context, run intent) error {
	return p.evenUnprepared(ctx, func(statements *statementCache) error {
		return run(ctx, newTx(p.schema, statements.prepared(p.db)))
	})
}

// statementPatience is how long a call waits for a server that keeps no more prepared
// statements: transactions that wait for each other's rows keep theirs until they end.
const statementPatience = 30 * time.Second

// evenUnprepared tries again what has failed because the server keeps no more prepared
// statements. The store gives its own up then; those of a connection are gone when nobody
// uses that.
func (p *pool) evenUnprepared(ctx context.Context, try func(*statementCache) error) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := p.statements.lend(try, p.crowded)
		if !p.crowded(err) || time.Since(began) > statementPatience {
			return err
		}
		if waited := backOff(ctx, min(attempt, maxAttempts)); waited != nil {
			return errors.Join(waited, err)
		}
	}
}

// crowded reports whether a call has failed because the server keeps no more statements.
func (p *pool) crowded(err error) bool {
	return err != nil && !ofContract(err) && p.schema.crowded(err)
}

func (p *pool) change(ctx context.Context, _ wish, run intent) error {
	seen := false // what exists already
	for attempt := 1; ; attempt++ {
		err := p.evenUnprepared(ctx, func(statements *statementCache) error {
			return p.attempt(ctx, statements, run, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		})
		anew := errors.Is(err, errExists) && !seen
		if err == nil || attempt == maxAttempts || !p.schema.transient(err) && !anew {
			return err
		}
		seen = seen || anew
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

func (p *pool) snapshot(ctx context.Context, run intent) error {
	return p.evenUnprepared(ctx, func(statements *statementCache) error {
		return p.attempt(ctx, statements, run, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	})
}

func (p *pool) attempt(ctx context.Context, statements *statementCache, run intent, options *sql.TxOptions) error {
	if err := statements.prime(ctx); err != nil {
		return err
	}
	tx, err := p.db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	t := newTx(p.schema, statements.pooled(tx))
	if err := run(ctx, t); err != nil {
		return err
	}
	if err := t.flush(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

func (p *pool) close() error { return p.statements.close() }

// backOff leaves others a moment, a longer one after each attempt.
func backOff(ctx context.Context, attempt int) error {
	return pause(ctx, time.Duration(rand.Int64N(int64(attempt*attempt)))*time.Millisecond) //nolint:gosec // no secret
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// hosted runs intents within a transaction of the host.
type hosted struct {
	schema *schema
	on     querier
}

const savepoint = "couponkit"

func (h *hosted) change(ctx context.Context, _ wish, run intent) error {
	err := h.attempt(ctx, run)
	if errors.Is(err, errExists) && !errors.Is(err, errEnded) {
		err = h.attempt(ctx, run)
	}
	return err
}

func (h *hosted) attempt(ctx context.Context, run intent) error {
	t := newTx(h.schema, h.on)
	t.joined = h.schema.rowLocks
	return within(ctx, t, func(ctx context.Context) error {
		if err := run(ctx, t); err != nil {
			return err
		}
		return t.flush(ctx)
	})
}

// errEnded: the database has ended a transaction at a statement that failed.
var errEnded = errors.New("the transaction has ended")

// within undoes what the function has written when it fails.
func within(ctx context.Context, t *tx, run func(context.Context) error) error {
	if _, err := t.on.exec(ctx, "SAVEPOINT "+savepoint); err != nil {
		return err
	}
	failed := run(ctx)
	if failed != nil {
		if _, err := t.on.exec(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+savepoint); err != nil {
			return fmt.Errorf("%w, and %w: %w", failed, errEnded, err)
		}
	}
	if _, err := t.on.exec(context.WithoutCancel(ctx), "RELEASE SAVEPOINT "+savepoint); err != nil {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return failed
}

func (h *hosted) single(ctx context.Context, run intent) error {
	return run(ctx, newTx(h.schema, h.on))
}

func (h *hosted) snapshot(ctx context.Context, run intent) error { return h.single(ctx, run) }

func (h *hosted) close() error { return nil }
