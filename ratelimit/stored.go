package ratelimit

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Stored is a [Limiter] that counts in a store. All processes with the same store share its counts. Give all
// of them the same limits, and keep their clocks together: a clock that is ahead by a second gives a subject the
// attempts of one more second. Use [NewStored] to make a Stored.
//
// Take and Return change the store in one transaction each, which concurrent calls may share. If the store fails, Take
// fails, so that nobody guesses uncounted. Coupons are in the same store: without it, they could not be looked up either.
type Stored struct {
	store  store.Attempts
	limits Limits
	now    func() time.Time
}

// NewStored returns a limiter that counts in a store. The store must not be a view of a transaction: a rollback
// would forget the attempts. now is the clock; nil is time.Now. NewStored reads it once. If limits are invalid, the store
// is missing, or the time is zero or outside of the years 1 to 9999, NewStored returns a [*validation.Error].
func NewStored(s store.Attempts, limits Limits, now func() time.Time) (*Stored, error) {
	var faults validation.Error
	if s == nil {
		faults.Add("store", validation.Required, "is required")
	}
	if t, is := s.(store.Transactional); is && t.InTransaction() {
		faults.Add("store", validation.NotAllowed, "a rollback would forget the attempts")
	}
	faults.Merge("limits", limits.Validate())
	if now == nil {
		now = time.Now
	}
	at := now()
	if at.IsZero() {
		faults.Add("now", validation.Required, "the time is zero")
	}
	faults.Merge("now", calendar.CheckInstant(at))
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &Stored{store: s, limits: maps.Clone(limits), now: now}, nil
}

// Take implements [Limiter].
func (s *Stored) Take(ctx context.Context, n int, subjects ...Subject) error {
	return s.save(ctx, store.TakeAttempts, n, subjects)
}

// Return implements [Limiter].
func (s *Stored) Return(ctx context.Context, n int, subjects ...Subject) error {
	return s.save(ctx, store.ReturnAttempts, n, subjects)
}

func (s *Stored) save(ctx context.Context, kind store.AttemptKind, n int, subjects []Subject) error {
	buckets, err := s.limits.buckets(n, subjects)
	if err != nil || isNothing(n, err) {
		return err
	}
	retryAt, err := s.store.SaveAttempts(ctx, store.AttemptChange{Kind: kind, Buckets: buckets, At: s.now()})
	if err != nil {
		return fmt.Errorf("count attempts: %w", err)
	}
	return tooMany(retryAt)
}

// maxPortions is the maximum number of portions of one Forget. The next call goes on.
const maxPortions = 1_000

// Forget removes the buckets of subjects that have all of their attempts, also those of other limiters with the
// same store. It changes no count. couponkit.Service.Sweep calls it. Without it, the store has one small row for
// each subject that has ever tried.
func (s *Stored) Forget(ctx context.Context) error {
	for range maxPortions {
		n, err := s.store.ForgetAttempts(ctx, s.now())
		if err != nil {
			return fmt.Errorf("forget attempts: %w", err)
		}
		if n < store.MaxForgotten {
			return nil
		}
	}
	return nil
}
