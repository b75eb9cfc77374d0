package processor

import "errors"

// Errors of the contract.
var (
	// ErrUnavailable means that the processor was unreachable, busy or failed. The
	// outcome is unknown. Repeat the call later.
	ErrUnavailable = errors.New("processor unavailable")
	// ErrRejected means that the processor refused the request. Examples are an
	// unsuitable code and an amount out of bounds.
	ErrRejected = errors.New("rejected by the processor")
	// ErrCodeTaken means that the promotion code is active for another coupon.
	// ErrCodeTaken also matches ErrRejected.
	ErrCodeTaken error = &kind{"promotion code taken at the processor", ErrRejected}
	// ErrNotFound means that the object does not exist at the processor.
	ErrNotFound = errors.New("not found at the processor")
	// ErrForbidden means that the credentials are wrong or lack a permission.
	ErrForbidden = errors.New("forbidden by the processor")
	// ErrSignature means that a webhook delivery has no valid signature, or is too old.
	ErrSignature = errors.New("invalid webhook signature")
)

// kind is a specific error that also matches a general one.
type kind struct {
	text    string
	general error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Unwrap() error { return k.general }
