package stripeprocessor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// maxSearched bounds the search for a session of unknown outcome: a shop that has more in
// the time in question must not spend a minute of Stripe's calls on one customer.
const maxSearched = 20 * pageSize

// maxFindSearched bounds FindSession, for which no customer waits.
const maxFindSearched = 50 * pageSize

// errSearchBound tells that the search has not looked at all sessions in question.
var errSearchBound = errors.New("there are more")

// FindSession implements [processor.SessionFinder]. Stripe cannot search sessions by their
// metadata, so that FindSession lists the sessions that were created since, or up to 5
// minutes earlier. It reads at most 5,000 sessions. If more exist and the session was
// not found, the error is processor.ErrUnavailable.
func (p *Processor) FindSession(ctx context.Context, orderID string, since time.Time) (processor.Session, error) {
	if err := searchFaults(orderID, since); err != nil {
		return processor.Session{}, refused(opListSessions, ErrInvalid, err)
	}
	created := stripe.RangeQueryParams{GreaterThanOrEqual: since.Add(-clockSkew).Unix()}
	var newest *stripe.CheckoutSession
	for s, err := range p.sessionsUpTo(ctx, maxFindSearched, created) {
		switch {
		case err != nil:
			return processor.Session{}, err
		case s.Metadata[metadataSessionApp] != p.options.App || s.Metadata[processor.MetadataOrderID] != orderID:
		case s.Status != stripe.CheckoutSessionStatusExpired:
			return p.withPayment(ctx, s)
		case newest == nil:
			newest = s
		}
	}
	if newest == nil {
		return processor.Session{}, refused(opListSessions, processor.ErrNotFound, fmt.Errorf("no session of order %s", named(orderID)))
	}
	return p.withPayment(ctx, newest)
}

func searchFaults(orderID string, since time.Time) error {
	var faults validation.Error
	if orderID == "" {
		faults.Add("orderId", validation.Required, "an order is required")
	}
	if since.IsZero() {
		faults.Add("since", validation.Required, "a time is required")
	}
	return faults.Err()
}

// findSession finds the session of the request that is open or was paid, by the mark in
// its metadata; nil when there is none. Of those that have ended unpaid the
// newest that is wanted will do then. Sessions that are older than the replaced one are left out.
// Their place in the list tells their age, since Stripe gives times in seconds. A search that
// ends at its bound does not know that there is none: it is an ErrUnavailable around
// errSearchBound.
func (p *Processor) findSession(
	ctx context.Context, out *plan, wanted func(ended *stripe.CheckoutSession) bool,
) (last *stripe.CheckoutSession, err error) {
	replaced := false
	for s, err := range p.sessionsOf(ctx, out) {
		switch {
		case err != nil:
			return nil, err
		case s.Status != stripe.CheckoutSessionStatusExpired:
			return s, nil
		case s.ID == out.after:
			replaced = true
		case last == nil && !replaced && wanted(s):
			last = s
		}
	}
	return last, nil
}

// sessionsOf yields the sessions of the request, the newest first.
func (p *Processor) sessionsOf(ctx context.Context, out *plan) iter.Seq2[*stripe.CheckoutSession, error] {
	return func(yield func(*stripe.CheckoutSession, error) bool) {
		for s, err := range p.sessionsUpTo(ctx, maxSearched, p.createdWithin(out)) {
			if (err != nil || p.isOurs(s) && out.made(s)) && !yield(s, err) {
				return
			}
		}
	}
}

// sessionsUpTo yields the sessions that were created in a range, the newest first. If there are more
// than the bound, the last is an ErrUnavailable around errSearchBound.
func (p *Processor) sessionsUpTo(
	ctx context.Context, bound int, created stripe.RangeQueryParams,
) iter.Seq2[*stripe.CheckoutSession, error] {
	return func(yield func(*stripe.CheckoutSession, error) bool) {
		seen := 0
		for s, err := range p.sessions(ctx, created) {
			if seen++; err == nil && seen > bound {
				s, err = nil, refused(opListSessions, processor.ErrUnavailable,
					fmt.Errorf("not found among %d sessions, and %w", bound, errSearchBound))
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

func anyEnded(*stripe.CheckoutSession) bool { return true }

func noneEnded(*stripe.CheckoutSession) bool { return false }

const (
	// clockSkew is how far the caller's clock may be from Stripe's, which says when a session
	// was created. Webhooks ask for the same.
	clockSkew = signatureTolerance
	// creationSlack is what may pass at Stripe between checking an expiry and creating.
	creationSlack = time.Minute
)

// createdWithin is when the sessions of the request can have been created: by Stripe's
// rule 24 hours to 30 minutes before they end, and not before the order was made. Without
// an expiry it is the day for which a repetition is known as one. An order that was made
// after that, or later than now, tells nothing.
func (p *Processor) createdWithin(out *plan) stripe.RangeQueryParams {
	latest := p.options.Clock()
	since, until := latest.Add(-24*time.Hour), time.Time{}
	if !out.anew() {
		since, until = out.expiresAt.Add(-24*time.Hour), out.expiresAt.Add(creationSlack-30*time.Minute)
		latest = earlier(latest, until)
	}
	if ordered := out.request.OrderedAt.Add(-clockSkew); ordered.After(since) && ordered.Before(latest) {
		since = ordered
	}
	created := stripe.RangeQueryParams{GreaterThanOrEqual: since.Unix()}
	if !until.IsZero() {
		created.LesserThanOrEqual = until.Unix()
	}
	return created
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// isOurs reports whether a session is not known to be another application's: what shares the
// account has the same events and lists. Those from before sessions said whose they are are
// told apart by nothing.
func (p *Processor) isOurs(s *stripe.CheckoutSession) bool {
	app, marked := s.Metadata[metadataSessionApp]
	return !marked || app == p.options.App
}

// made reports whether a session is one of the request.
func (out *plan) made(s *stripe.CheckoutSession) bool {
	identity, _, _ := strings.Cut(s.Metadata[metadataRequest], "-")
	return identity == out.identity
}

// ofAttempt wants the sessions that have ended and were made by a spent key of the attempt.
// The next attempt replaces them: under another key of the same attempt a successor would
// share the coupon that goes with the first, and a process that comes by the first key
// would go past it.
func (out *plan) ofAttempt(tag string) func(ended *stripe.CheckoutSession) bool {
	mark := sessionMark(out.identity, tag)
	return func(s *stripe.CheckoutSession) bool {
		return s.Metadata[metadataRequest] == mark
	}
}
