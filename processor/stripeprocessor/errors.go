package stripeprocessor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
)

// Errors of this package. Each also matches an error of package processor. The other
// failures of a call match a sentinel of package processor only.
var (
	// ErrConflict means that an object with the wanted ID belongs to another
	// application or has other terms. It also means that an idempotency key was used
	// for another request. It matches processor.ErrRejected.
	ErrConflict error = &kind{"conflict with an object at Stripe", processor.ErrRejected}
	// ErrInvalid means that this package or Stripe refused the parameters. It matches
	// processor.ErrRejected.
	ErrInvalid error = &kind{"refused parameters", processor.ErrRejected}
	// errTooSmall means that the total is below Stripe's minimum charge. Either the table of minimums
	// or Stripe's answer shows this.
	errTooSmall error = &kind{"total below the minimum charge", errors.Join(ErrInvalid, processor.ErrBelowMinimum)}
	// ErrTotalsMismatch means that Stripe created a session with another total than the
	// order. The session was expired. It matches processor.ErrRejected.
	ErrTotalsMismatch error = &kind{"session charges another total", processor.ErrRejected}
	// ErrWrongOrigin means that a signed webhook delivery has an unexpected account,
	// environment or API release. It matches processor.ErrRejected.
	ErrWrongOrigin error = &kind{"webhook event of another origin", processor.ErrRejected}
	// ErrRateLimited means that Stripe refused the call because of its rate limit. It
	// matches processor.ErrUnavailable.
	ErrRateLimited error = &kind{"rate limited by Stripe", processor.ErrUnavailable}
)

// kind is a specific error that also matches a general one.
type kind struct {
	text    string
	general error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Unwrap() error { return k.general }

// Error is a failed call of Stripe. It matches one sentinel of package processor, and
// may match an error of this package. errors.As finds the *stripe.Error or the
// transport's error behind it.
type Error struct {
	// Op is the operation, such as "create coupon".
	Op string
	// Status is the HTTP status; 0 means no answer.
	Status int
	// Type, Code, Param and Message are from Stripe's answer; each may be empty.
	Type    string
	Code    string
	Param   string
	Message string
	// RequestID is Stripe's request ID, for Stripe's support.
	RequestID string
	// Orphan is the ID of a Stripe coupon that this call created and could not remove.
	// The service's Reconcile removes it. Orphan is usually empty.
	Orphan string

	kind  error
	cause error
}

// Error returns a message with the operation, the kind of error and Stripe's message.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stripe: %s: %v", e.Op, e.kind)
	for _, part := range [...]struct{ name, value string }{
		{"status", statusText(e.Status)},
		{"type", e.Type},
		{"code", e.Code},
		{"param", e.Param},
		{"request", e.RequestID},
		{"orphan", e.Orphan},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%s", part.name, part.value)
		}
	}
	var answered *stripe.Error
	switch {
	case e.Message != "":
		b.WriteString(": " + e.Message)
	case e.cause != nil && !errors.As(e.cause, &answered): // the text of a *stripe.Error is the whole answer, so it is left out
		b.WriteString(": " + e.cause.Error())
	}
	return b.String()
}

// Unwrap returns the sentinel and the cause.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

func statusText(status int) string {
	if status == 0 {
		return ""
	}
	return fmt.Sprint(status)
}

// errUnreadable replaces stripe-go's error for an answer that it cannot read. That error quotes the
// body, which may have data of a customer.
var errUnreadable = answerError("the answer is not Stripe's")

// newError wraps the error that stripe-go returned for an answer.
func newError(op string, answer *exchange, cause error) *Error {
	e := &Error{Op: op, Status: answer.status, RequestID: answer.header.Get("Request-Id"), cause: cause}
	if answered, ok := errors.AsType[*stripe.Error](cause); ok {
		e.Type, e.Code, e.Param = string(answered.Type), string(answered.Code), answered.Param
		e.RequestID, e.Message = answered.RequestID, withoutAddresses(answered.Msg)
		e.kind = kindOf(answered)
		return e
	}
	var bad answerError
	switch {
	case errors.As(cause, &bad):
	case answer.whole:
		e.cause = errUnreadable
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		// This is the time limit of the HTTP client. Callers would mistake it for their own deadline.
		e.cause = errors.New(cause.Error())
	}
	e.kind = processor.ErrUnavailable
	if answer.status == http.StatusUnauthorized || answer.status == http.StatusForbidden {
		e.kind = processor.ErrForbidden
	}
	return e
}

var address = regexp.MustCompile(`[^\s"'<>(),;:]+@[^\s"'<>(),;:]+`)

// withoutAddresses shortens a message of Stripe and removes e-mail addresses from it. Stripe repeats an
// address that it refuses.
func withoutAddresses(message string) string {
	const most = 1000
	message = address.ReplaceAllString(message, "[e-mail]")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	return message
}

// kindOf reads status, type and code. It never reads the message, because messages are for people and
// change.
func kindOf(e *stripe.Error) error {
	switch status := e.HTTPStatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return processor.ErrForbidden
	case status == http.StatusTooManyRequests:
		return ErrRateLimited
	case status == http.StatusConflict, failed(status):
		return processor.ErrUnavailable
	case status == http.StatusNotFound, e.Code == stripe.ErrorCodeResourceMissing:
		return processor.ErrNotFound
	case e.Code == stripe.ErrorCodeResourceAlreadyExists, e.Type == stripe.ErrorTypeIdempotency:
		return ErrConflict
	case e.Code == stripe.ErrorCodeAmountTooSmall:
		return errTooSmall
	}
	return ErrInvalid
}

// emailRefused reports whether Stripe refused the customer's address and nothing else.
func emailRefused(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Param == "customer_email" && refusal(err)
}

// refused returns an error that this package found itself. Either no call was made, or its answer is
// not acceptable.
func refused(op string, kind, cause error) *Error { return &Error{Op: op, kind: kind, cause: cause} }

// refusal reports whether the error is Stripe's refusal of the request, not a failure. The same request
// would be refused again.
func refusal(err error) bool {
	return errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrNotFound)
}
