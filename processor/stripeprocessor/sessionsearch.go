package stripeprocessor

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
)

// maxSearched bounds the search for a session of unknown outcome: a shop that has more in
// the time in question must not spend a minute of Stripe's calls on one customer.
const maxSearched = 20 * pageSize

// errSearchBound tells that the search has not looked at all sessions in question.
var errSearchBound = fmt.Errorf("not found among %d sessions, and there are more", maxSearched)

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
		seen := 0
		for s, err := range p.sessions(ctx, p.createdWithin(out)) {
			if seen++; err == nil && seen > maxSearched {
				err = refused(opListSessions, processor.ErrUnavailable, errSearchBound)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if p.isOurs(s) && out.made(s) && !yield(s, nil) {
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
