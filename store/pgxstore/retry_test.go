package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/couponkit/couponkit/store/pgxstore"
)

// A transaction that PostgreSQL has undone because of others runs again, at most ten times and while the
// context lives. Any other error ends it.
func TestRetry(t *testing.T) {
	t.Parallel()
	undone, broken := fmt.Errorf("commit: %w", &pgconn.PgError{Code: "40001"}), errors.New("broken")
	for name, test := range map[string]struct {
		answers []error // the last one repeats
		calls   int
		want    error
	}{
		"success":             {[]error{nil}, 1, nil},
		"another error":       {[]error{broken}, 1, broken},
		"undone once":         {[]error{undone, nil}, 2, nil},
		"undone, then broken": {[]error{undone, undone, broken}, 3, broken},
		"undone for ever":     {[]error{undone}, 10, undone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := pgxstore.Retry(t.Context(), func() error {
					calls++
					return test.answers[min(calls, len(test.answers))-1]
				})
				if calls != test.calls || !errors.Is(err, test.want) {
					t.Errorf("%d calls and %v, want %d and %v", calls, err, test.calls, test.want)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := pgxstore.Retry(ctx, func() error { cancel(); return undone })
	if !errors.Is(err, context.Canceled) || !errors.Is(err, undone) {
		t.Errorf("after the end of its context: %v", err)
	}
}
