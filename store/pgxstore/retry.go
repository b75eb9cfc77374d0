package pgxstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	maxAttempts  = 10
	firstBackoff = 2 * time.Millisecond
	maxBackoff   = 200 * time.Millisecond
)

// Error codes of PostgreSQL after which a transaction may be run again.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	uniqueViolation      = "23505"
)

// meetings are the unique indexes in which two calls about one customer or one
// session meet that were made at once; the next attempt sees what the other has
// done.
var meetings = []string{"coupon_redemptions_session_key", "coupon_redemptions_usage_key", "orders_key_key", "orders_pkey"}

// retry runs work, which is one transaction of the store's own, again as
// Namespace.retry does. Within a transaction of the host it runs once.
func (s *Store) retry(ctx context.Context, work func() error) error {
	if s.pool == nil {
		return work()
	}
	return s.names.retry(ctx, work)
}

// retry runs work again while PostgreSQL says that this may help: after a
// serialisation failure, a deadlock or a meeting of two calls, or when the connection
// was lost before anything was sent.
func (n Namespace) retry(ctx context.Context, work func() error) error {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		err := work()
		if err == nil || attempt == maxAttempts || !n.retryable(err) {
			return err
		}
		pause := time.NewTimer(backoff/2 + rand.N(backoff)) //nolint:gosec // not a secret
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(ctx.Err(), err)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (n Namespace) retryable(err error) bool {
	if server := (*pgconn.PgError)(nil); errors.As(err, &server) {
		return server.Code == serializationFailure || server.Code == deadlockDetected || n.isMeeting(err)
	}
	return pgconn.SafeToRetry(err)
}

// isMeeting reports whether the error is of one of the meetings.
func (n Namespace) isMeeting(err error) bool { return n.violates(err, meetings) }

// violates reports whether the error is of one of the unique indexes, and not of an index of
// the host that has the name of one in another schema or behind another prefix.
func (n Namespace) violates(err error, indexes []string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == uniqueViolation && server.SchemaName == n.schema() &&
		slices.ContainsFunc(indexes, func(index string) bool { return server.ConstraintName == n.Prefix+index })
}
