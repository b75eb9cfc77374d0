package processor

import "errors"

// Errors of the contract.
var (
	// ErrUnavailable: the processor could not be reached, was too busy, or failed;
	// whether the call took effect is not known. Repeat it later.
	ErrUnavailable = errors.New("processor unavailable")
	// ErrRejected: the processor refused the call for what it asks: an unsuitable
	// code, an amount out of bounds, a mirror of other terms.
	ErrRejected = errors.New("rejected by the processor")
	// ErrCodeTaken: the promotion code is active for another coupon. It is a kind of
	// rejection and matches ErrRejected too.
	ErrCodeTaken error = &kind{"promotion code taken at the processor", ErrRejected}
	// ErrNotFound: the object does not exist at the processor.
	ErrNotFound = errors.New("not found at the processor")
	// ErrForbidden: the credentials are wrong or lack a permission.
	ErrForbidden = errors.New("forbidden by the processor")
	// ErrSignature: a webhook delivery is not signed by the processor, or too old.
	ErrSignature = errors.New("invalid webhook signature")
)

// kind is a specific error that also matches a general one.
type kind struct {
	text    string
	general error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Unwrap() error { return k.general }
