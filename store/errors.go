package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/redemption"
)

// Errors of the contract, beside the rejections of package coupon.
var (
	// ErrNotFound: there is no such order or use. An unknown coupon is coupon.ErrNotFound.
	ErrNotFound = errors.New("not found in the store")
	// ErrConflict is matched by every error that tells that a record has changed since the
	// caller read it, or that its ID is taken.
	ErrConflict = errors.New("conflict with another change")
	// ErrStaleRevision: the coupon has another revision than the caller saw. It matches
	// ErrConflict.
	ErrStaleRevision error = &conflict{"the coupon has changed since it was read"}
	// ErrSuperseded: the order has ended or another order has replaced it, or the points
	// reservation is in another checkout, or the session belongs to another order. It
	// matches ErrConflict.
	ErrSuperseded error = &conflict{"the order was superseded"}
	// ErrKeyReused: the key was used before for another request. It matches ErrConflict.
	ErrKeyReused error = &conflict{"the idempotency key was used for another request"}
	// ErrLimit is matched by every [*LimitError].
	ErrLimit = errors.New("a limit leaves no room")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

type conflict struct{ text string }

func (c *conflict) Error() string { return c.text }

func (c *conflict) Is(target error) bool { return target == ErrConflict }

// LimitError tells which claims did not fit. Nothing was claimed.
type LimitError struct {
	// Exceeded are the claims that did not fit, in the order of the request: the order's
	// own, then those of its uses.
	Exceeded []redemption.Claim
}

// Error names the counters.
func (e *LimitError) Error() string {
	keys := make([]string, len(e.Exceeded))
	for i, c := range e.Exceeded {
		keys[i] = c.Counter
	}
	return fmt.Sprintf("%v: %s", ErrLimit, strings.Join(keys, ", "))
}

// Is reports whether target is [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }
