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

// maxSearched bounds the search for a session with an unknown outcome. In a busy shop, the search for
// one customer's session must not use up Stripe's rate limit for a minute.
const maxSearched = 20 * pageSize

// maxFindSearched bounds FindSession. No customer waits for it.
const maxFindSearched = 50 * pageSize

// errSearchBound means that the search stopped before it had seen all sessions.
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

// findSession finds the session of the request by the mark in its metadata. It returns an open or
// completed session if there is one. Otherwise it returns the newest expired session that wanted
// accepts, or nil. It ignores expired sessions that are older than the replaced session. The order of
// the list shows their age, because Stripe's times are in seconds. If the search stops at its bound,
// the error is an ErrUnavailable around errSearchBound.
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

// sessionsOf yields the sessions of the request, newest first.
func (p *Processor) sessionsOf(ctx context.Context, out *plan) iter.Seq2[*stripe.CheckoutSession, error] {
	return func(yield func(*stripe.CheckoutSession, error) bool) {
		for s, err := range p.sessionsUpTo(ctx, maxSearched, p.createdWithin(out)) {
			if (err != nil || p.isOurs(s) && out.made(s)) && !yield(s, err) {
				return
			}
		}
	}
}

// sessionsUpTo yields the sessions that were created in a range, newest first. If there are more than
// bound, it ends with an ErrUnavailable around errSearchBound.
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
	// clockSkew is the allowed difference between the caller's clock and Stripe's clock, which sets the
	// creation time of sessions. Webhooks allow the same difference.
	clockSkew = signatureTolerance
	// creationSlack is the time that Stripe may take between the check of an expiry and the creation.
	creationSlack = time.Minute
)

// createdWithin returns the range in which sessions of the request can have been created. By Stripe's
// rule this is 24 hours to 30 minutes before they expire. Without an expiry, it is the last 24 hours,
// in which Stripe recognizes a repeated key. The range begins no earlier than the order, unless the
// time of the order lies outside it.
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

// isOurs reports whether a session may belong to this application. Applications that share the account
// have the same events and lists. Old sessions do not name their application, so they count as ours.
func (p *Processor) isOurs(s *stripe.CheckoutSession) bool {
	app, marked := s.Metadata[metadataSessionApp]
	return !marked || app == p.options.App
}

// made reports whether a session belongs to the request.
func (out *plan) made(s *stripe.CheckoutSession) bool {
	identity, _, _ := strings.Cut(s.Metadata[metadataRequest], "-")
	return identity == out.identity
}

// ofAttempt selects the expired sessions that the attempt made with a spent key. The next attempt must
// replace such a session. Another key of the same attempt would not do: the new session would share the
// coupon of the old one, and processes that use the first key would not find it.
func (out *plan) ofAttempt(tag string) func(ended *stripe.CheckoutSession) bool {
	mark := sessionMark(out.identity, tag)
	return func(s *stripe.CheckoutSession) bool {
		return s.Metadata[metadataRequest] == mark
	}
}
