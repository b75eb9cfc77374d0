package store

import (
	"errors"
	"fmt"
)

// Errors of the contract, beside the rejections of package coupon.
var (
	// ErrNotFound: there is no such order or redemption. (An unknown coupon is
	// coupon.ErrNotFound.)
	ErrNotFound = errors.New("not found in the store")
	// ErrConflict is matched by every error that tells that the record has changed
	// since the caller read it.
	ErrConflict = errors.New("conflict with another change")
	// ErrStaleRevision: the coupon has another revision than the caller saw. It
	// matches ErrConflict.
	ErrStaleRevision error = &conflict{"the coupon has changed since it was read"}
	// ErrSuperseded: another checkout of the customer has taken the reservation
	// over, the order has ended, or the session is another redemption's. It matches
	// ErrConflict.
	ErrSuperseded error = &conflict{"the order was superseded"}
	// ErrKeyReused: the key was used before for something else. It matches
	// ErrConflict.
	ErrKeyReused error = &conflict{"the idempotency key was used for another request"}
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// SessionTaken returns the error of a store that is asked to give a redemption a session
// which another one has. It matches [ErrSuperseded] and names the session, and what it may
// come from.
func SessionTaken(sessionID string) error {
	return fmt.Errorf("session %s is that of another redemption, as when a processor gives an ID twice: %w", sessionID, ErrSuperseded)
}

// conflict is a specific conflict that also matches the general one.
type conflict struct{ text string }

func (c *conflict) Error() string { return c.text }

func (c *conflict) Is(target error) bool { return target == ErrConflict }
