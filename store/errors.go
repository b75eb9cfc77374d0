package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/eligibility"
)

// Stores return these errors and the rejections of package coupon.
var (
	// ErrNotFound means that an order or a use does not exist. For an unknown coupon, stores
	// return coupon.ErrNotFound instead.
	ErrNotFound = errors.New("not found in the store")
	// ErrConflict means that a record has changed since the caller read it, or that a new ID
	// is taken. ErrStaleRevision, ErrSuperseded, ErrPaymentOpen and ErrKeyReused match ErrConflict.
	ErrConflict = errors.New("conflict with another change")
	// ErrStaleRevision means that the coupon has a different revision than the caller saw. It
	// matches ErrConflict.
	ErrStaleRevision error = &conflict{"the coupon has changed since it was read"}
	// ErrSuperseded means that the caller came too late, for one of these reasons:
	//
	//   - The order has ended.
	//   - Another order has replaced the order.
	//   - Another checkout has taken the points reservation.
	//   - Another order has the payment session.
	//
	// ErrSuperseded matches ErrConflict.
	ErrSuperseded error = &conflict{"the order was superseded"}
	// ErrPaymentOpen means that the payment of an earlier order of the customer, which the order has
	// replaced, can perhaps still be paid. Record the end of that payment first. It matches ErrConflict.
	ErrPaymentOpen error = &conflict{"the payment of an earlier order may still be paid"}
	// ErrKeyReused means that the idempotency key was used before for a different request. It
	// matches ErrConflict.
	ErrKeyReused error = &conflict{"the idempotency key was used for another request"}
	// ErrCodesLeft means that a coupon has more codes than one call of DeleteCoupon removes. The
	// call has removed some. Repeat the call.
	ErrCodesLeft = errors.New("the coupon has more codes to remove")
	// ErrNoCodesLeft means that a batch has fewer free codes than owners who need one.
	ErrNoCodesLeft = errors.New("the batch has too few codes left")
	// ErrLimit means that a claim exceeds its limit. Every [*LimitError] matches ErrLimit.
	ErrLimit = errors.New("a limit leaves no room")
	// ErrClosed means that the store was closed, or that the host's transaction in which it worked has
	// ended.
	ErrClosed = errors.New("the store is closed")
	// ErrUnreadable means that a stored record cannot be read. Every [*UnreadableError] matches
	// ErrUnreadable.
	ErrUnreadable = errors.New("a stored record cannot be read")
)

type conflict struct{ text string }

func (c *conflict) Error() string { return c.text }

func (c *conflict) Is(target error) bool { return target == ErrConflict }

// LimitError lists the claims that exceed their limits. A request that fails with a
// LimitError claims nothing.
type LimitError struct {
	// Exceeded are the claims that exceed their limits. Claims of the order come before
	// claims of its uses.
	Exceeded []eligibility.Claim
}

// Error returns a message with the keys of the counters.
func (e *LimitError) Error() string {
	keys := make([]string, len(e.Exceeded))
	for i, c := range e.Exceeded {
		keys[i] = c.Counter
	}
	return fmt.Sprintf("%v: %s", ErrLimit, strings.Join(keys, ", "))
}

// Is reports whether the target is [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// UnreadableError names a stored record that cannot be read, for one of these reasons:
//
//   - Its row is damaged.
//   - Its row has a member that this version of couponkit does not know.
//   - Its row names a time zone that the machine does not have.
//
// The record is unchanged. A program that can read it may still use it. An UnreadableError does not
// match validation.ErrInvalid, because the caller's input is not at fault.
type UnreadableError struct {
	// Kind is the kind of the record: "coupon", "order" or "use".
	Kind string
	// ID is the ID of the record.
	ID string
	// Reason tells administrators what cannot be read.
	Reason string
}

// Error returns a message with the kind, the ID and the reason.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("stored %s %s cannot be read: %s", e.Kind, e.ID, e.Reason)
}

// Is reports whether the target is [ErrUnreadable].
func (e *UnreadableError) Is(target error) bool { return target == ErrUnreadable }
