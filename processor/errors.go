package processor

import "errors"

// Adapters return these sentinel errors.
var (
	// ErrUnavailable means that the processor was unreachable, was busy or failed. The outcome of
	// the call is unknown. The caller should repeat the call later.
	ErrUnavailable = errors.New("processor unavailable")
	// ErrRejected means that the processor refused the request. For example, the coupon's code is
	// unsuitable or an amount is out of bounds.
	ErrRejected = errors.New("rejected by the processor")
	// ErrCodeTaken means that the promotion code is already active for a different coupon.
	// ErrCodeTaken also matches ErrRejected.
	ErrCodeTaken error = &kind{"promotion code taken at the processor", ErrRejected}
	// ErrBelowMinimum means that the total of a session is below the smallest amount that the
	// processor charges. ErrBelowMinimum also matches ErrRejected. The service turns ErrBelowMinimum
	// into the rejection coupon.ErrBelowMinimumCharge.
	ErrBelowMinimum error = &kind{"total below the minimum charge", ErrRejected}
	// ErrNotFound means that the requested object does not exist at the processor.
	ErrNotFound = errors.New("not found at the processor")
	// ErrForbidden means that the adapter's credentials are wrong or lack a permission.
	ErrForbidden = errors.New("forbidden by the processor")
	// ErrSignature means that a webhook delivery is too old or has no valid signature.
	ErrSignature = errors.New("invalid webhook signature")
)

// kind is a specific error that also matches a general one.
type kind struct {
	text    string
	general error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Unwrap() error { return k.general }
