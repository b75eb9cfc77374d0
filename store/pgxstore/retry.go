package pgxstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/couponkit/couponkit/store/engine"
)

const (
	maxAttempts = 10
	// maxLate is how often a batch may fail before Load locks all its counters. Until then, a batch
	// assumes that shared counters do not change between Load and Save.
	maxLate      = 5
	firstBackoff = time.Millisecond
	maxBackoff   = 200 * time.Millisecond
)

// Error codes of PostgreSQL.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	uniqueViolation      = "23505"
	invalidText          = "22P02"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"

	insufficientPrivilege = "42501"
)

// raced begins the message of a statement that inserted too few rows, or found too few counters within
// their bounds. The transaction must fail before the COMMIT in the same round trip. Plain SQL can fail
// by a failed cast.
const raced = "couponkit: another transaction was first, "

// Retryable reports whether a transaction that ended with this error may be run again from
// its beginning: PostgreSQL has undone it because of others, or nothing was sent. The store
// has tried again before it returns such an error. A host that gave its own transaction
// ([Store.WithTx]) rolls that back and begins it again.
func Retryable(err error) bool {
	if errors.Is(err, engine.ErrAgain) {
		return true
	}
	if code := codeOf(err); code != "" {
		return code == serializationFailure || code == deadlockDetected
	}
	return err != nil && pgconn.SafeToRetry(err)
}

// codeOf returns the code of a server error, or "".
func codeOf(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}

// again joins [engine.ErrAgain] to errors that mean it.
func again(err error) error {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		if server.Code == invalidText && strings.Contains(server.Message, raced) || server.Code == uniqueViolation {
			return errors.Join(engine.ErrAgain, err)
		}
	}
	return err
}

// Retry runs a transaction, and runs it again while its error is [Retryable], at most ten times. The pauses
// grow to 0.2 seconds. Retry returns the last error; if ctx ends in a pause, the error matches that of ctx,
// too. Use Retry for a transaction of the host:
//
//	pgxstore.Retry(ctx, func() error { return pgx.BeginFunc(ctx, pool, f) })
func Retry(ctx context.Context, work func() error) error {
	for attempt := 1; ; attempt++ {
		err := work()
		if attempt == maxAttempts || !Retryable(err) {
			return err
		}
		select {
		case <-time.After(rand.N(min(firstBackoff<<attempt, maxBackoff))): //nolint:gosec // not a secret
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}
