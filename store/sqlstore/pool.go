package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// maxAttempts is how often a transaction is tried. The database may roll it back because of other
// transactions.
const maxAttempts = 10

// pool runs each call in its own transaction. It is for MySQL, which locks rows.
type pool struct {
	grammar *grammar
	db      *sql.DB
}

func (p *pool) write(ctx context.Context, r *request) error {
	err := p.answer(ctx, r)
	if err == nil && r.alone() {
		err = p.answer(ctx, r)
	}
	return err
}

func (p *pool) answer(ctx context.Context, r *request) error {
	thorough := false
	return p.repeat(ctx, &thorough, func(ctx context.Context, s *session) error {
		return r.answer(ctx, s, rand.IntN(p.grammar.slots), thorough) //nolint:gosec // no secret
	})
}

// repeat repeats a transaction that was rolled back because of other transactions. It sets again after
// [engine.ErrAgain].
func (p *pool) repeat(ctx context.Context, again *bool, run func(context.Context, *session) error) error {
	for attempt := 1; ; attempt++ {
		err := p.transaction(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, run)
		met := errors.Is(err, engine.ErrAgain)
		if err == nil || attempt == maxAttempts || !met && !p.grammar.transient(err) {
			return err
		}
		*again = *again || met
		// Wait longer after each attempt.
		if waited := pause(ctx, time.Duration(rand.Int64N(int64(attempt*attempt)))*time.Millisecond); waited != nil { //nolint:gosec // no secret
			return errors.Join(waited, err)
		}
	}
}

func (p *pool) transaction(ctx context.Context, o *sql.TxOptions, run func(context.Context, *session) error) error {
	tx, err := p.db.BeginTx(ctx, o)
	if err != nil {
		return &failure{err}
	}
	defer tx.Rollback() // does nothing after a commit
	if err := run(ctx, p.grammar.on(tx)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return &failure{err}
	}
	return nil
}

func (p *pool) view(ctx context.Context, read func(context.Context, *session) error) error {
	return p.transaction(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, read)
}

func (p *pool) seal(ctx context.Context) error {
	var again bool
	return p.repeat(ctx, &again, func(ctx context.Context, s *session) error { return s.seal(ctx) })
}

func (p *pool) close() error { return nil }

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

// hosted runs calls inside a transaction of the host.
type hosted struct{ session *session }

const savepoint = "couponkit"

func (h *hosted) write(ctx context.Context, r *request) error {
	thorough := false
	for attempt := 1; ; attempt++ {
		err := h.within(ctx, func(ctx context.Context) error { return r.answer(ctx, h.session, 0, thorough) })
		switch {
		case errors.Is(err, engine.ErrAgain) && !errors.Is(err, errEnded) && attempt < maxAttempts:
			thorough = true
		case err == nil && r.alone():
		default:
			return err
		}
	}
}

// errEnded means that the database ended the transaction because a statement failed.
var errEnded = errors.New("the transaction has ended")

// within runs a function. If it fails, within rolls back what the function wrote.
func (h *hosted) within(ctx context.Context, run func(context.Context) error) error {
	if _, err := h.session.on.ExecContext(ctx, "SAVEPOINT "+savepoint); err != nil {
		return closed(&failure{err})
	}
	failed := run(ctx)
	ctx = context.WithoutCancel(ctx)
	if failed != nil {
		if _, err := h.session.on.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+savepoint); err != nil {
			return fmt.Errorf("%w, and %w: %w", failed, errEnded, err)
		}
	}
	if _, err := h.session.on.ExecContext(ctx, "RELEASE SAVEPOINT "+savepoint); err != nil {
		return fmt.Errorf("%w: %w", errEnded, &failure{err})
	}
	return failed
}

func (h *hosted) view(ctx context.Context, read func(context.Context, *session) error) error {
	return closed(read(ctx, h.session))
}

// closed adds store.ErrClosed to an error after the host ended the transaction.
func closed(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("%w: %w", store.ErrClosed, err)
	}
	return err
}

func (h *hosted) seal(ctx context.Context) error { return h.within(ctx, h.session.seal) }
func (h *hosted) close() error                   { return nil }
