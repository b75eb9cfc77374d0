package stripeprocessor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

const (
	// maxSessionAttempts bounds how often an ended session is replaced.
	maxSessionAttempts = 5
	// firstAttempt is the tag of the first attempt.
	firstAttempt = "1"
)

// CreateSession creates a Checkout Session; see [processor.Sessions]. Invalid requests
// are refused before the first call, with an [ErrInvalid] around a
// *validation.Error:
//
//   - amounts that do not sum to the total
//   - a total above 0 and below the minimum charge, or off the currency's step
//   - lines with different intervals
//   - metadata beyond Stripe's limits
//   - a lifetime of 30.5 minutes or less, or of more than 23 hours 59 minutes
//
// A total that is too small is [processor.ErrBelowMinimum], whether the minimum is known here or
// Stripe refuses the total. If Stripe refuses CustomerEmail, the session is made without it.
//
// A repetition returns the session of the first call. If that session has ended unpaid,
// a new one replaces it a few times, as long as ExpiresAt allows. After that the last
// session is returned.
//
// A repetition after a lost answer searches the sessions since
// SessionRequest.OrderedAt, or of the last day. It reads at most 2,000 sessions. If
// more exist and the session was not found, the error is processor.ErrUnavailable.
//
// All processes use the same idempotency keys, so that only one session is created. If
// several attempts have failed, a call uses its own key. It expires its own session if
// another call has also created one. The error is then processor.ErrUnavailable.
//
// If Stripe's total differs from the request, the session is expired and the error is
// [ErrTotalsMismatch].
func (p *Processor) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	plan, err := p.plan(r)
	if err != nil {
		kind := ErrInvalid
		if r.BelowMinimum(p.terms()) {
			kind = errTooSmall
		}
		return processor.Session{}, refused(opCreateSession, kind, err)
	}
	made, err := p.create(ctx, plan)
	if r.CustomerEmail == "" || !emailRefused(err) && !(plan.late && refusal(err)) {
		return made, err
	}
	// Customers can type their address on the payment page. If the session can no longer be made, an
	// earlier call may have made it without the address.
	if emailRefused(err) {
		p.options.Logger.WarnContext(ctx, "stripe did not take the customer's address, and the session is made without it",
			slog.String("order", r.OrderID))
		if plan.discount > 0 {
			p.dropSessionCoupon(ctx, p.sessionCouponID(plan, firstAttempt))
		}
	}
	r.CustomerEmail = ""
	if plan, err = p.plan(r); err != nil {
		return processor.Session{}, refused(opCreateSession, ErrInvalid, err)
	}
	return p.create(ctx, plan)
}

// create makes the session of a plan, or returns the session of an earlier call.
func (p *Processor) create(ctx context.Context, plan *plan) (processor.Session, error) {
	if plan.late || plan.anew() {
		found, err := p.findSession(ctx, plan, anyEnded)
		switch {
		case plan.anew() && errors.Is(err, errSearchBound): // continue: the idempotency key finds the session, if there is one
		case err != nil:
			return processor.Session{}, err
		case found != nil && (plan.late || found.Status != stripe.CheckoutSessionStatusExpired):
			return p.asFound(ctx, plan, found)
		case plan.late:
			return processor.Session{}, refused(opCreateSession, ErrInvalid, expiryFault())
		case found != nil:
			plan.after = found.ID
		}
	}
	made, err := p.openSession(ctx, plan)
	if err != nil {
		return processor.Session{}, err
	}
	return p.withPayment(ctx, made)
}

func expiryFault() error {
	var faults validation.Error
	faults.Add("expiresAt", validation.TooSmall,
		fmt.Sprintf("a session is open for %s to %s", minSessionLifetime, maxSessionLifetime))
	return faults.Err()
}

// asFound checks and returns a session of an earlier call.
func (p *Processor) asFound(ctx context.Context, out *plan, found *stripe.CheckoutSession) (processor.Session, error) {
	if found.Status != stripe.CheckoutSessionStatusExpired {
		if err := p.compare(ctx, out, found); err != nil {
			return processor.Session{}, err
		}
	}
	return p.withPayment(ctx, found)
}

// openSession makes the session, or returns the session of an earlier call. If that session ended
// unpaid, it makes another, up to maxSessionAttempts. Each attempt has a tag that all processes compute
// in the same way, so that they find the same sessions. The tag is the number of the attempt. Without
// an expiry, the keys contain the preceding session instead.
func (p *Processor) openSession(ctx context.Context, out *plan) (made *stripe.CheckoutSession, err error) {
	for attempt := 1; attempt <= maxSessionAttempts; attempt++ {
		tag := strconv.Itoa(attempt)
		if out.anew() {
			tag = firstAttempt
		}
		made, err = p.withCoupon(ctx, out, tag)
		if errors.Is(err, errKeysSpent) {
			if out.discount > 0 {
				p.dropSessionCoupon(ctx, p.sessionCouponID(out, tag))
			}
			made, err = p.sessionApart(ctx, out)
		}
		if err != nil {
			return nil, err
		}
		p.dropSessionCoupons(ctx, made)
		if made.Status != stripe.CheckoutSessionStatusExpired {
			return made, nil
		}
		if out.anew() {
			out.after = made.ID
		}
	}
	return made, p.compare(ctx, out, made)
}

// sessionApart makes a session with a random key and a coupon of its own. It is used when all common
// keys are spent. Two such calls at once may make two sessions. A call that sees another session ends
// its own.
func (p *Processor) sessionApart(ctx context.Context, out *plan) (*stripe.CheckoutSession, error) {
	found, err := p.findSession(ctx, out, noneEnded)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		return found, p.compare(ctx, out, found)
	}
	tag := strings.ToLower(rand.Text()[:12])
	made, err := p.withCoupon(ctx, out, tag)
	if err != nil {
		if out.discount > 0 && refusal(err) { // no other call knows of its coupon
			p.dropSessionCoupon(ctx, p.sessionCouponID(out, tag))
		}
		return nil, err
	}
	for other, err := range p.sessionsOf(ctx, out) {
		switch {
		case err == nil && (other.ID == made.ID || other.Status == stripe.CheckoutSessionStatusExpired):
			continue
		case err == nil:
			err = fmt.Errorf("session %s of the same request was made at once", other.ID)
		}
		ended, unended := p.expire(ctx, made.ID)
		if unended != nil {
			return nil, unended
		}
		p.dropSessionCoupons(ctx, ended)
		return nil, refused(opCreateSession, processor.ErrUnavailable, err)
	}
	return made, nil
}

// withCoupon ensures that the coupon of an attempt exists, and returns the session. It makes the coupon
// again if another call has removed it meanwhile.
func (p *Processor) withCoupon(ctx context.Context, out *plan, tag string) (made *stripe.CheckoutSession, err error) {
	for range maxRounds {
		if err := p.ensureSessionCoupon(ctx, out, tag); err != nil {
			return nil, err
		}
		made, err = p.sessionNow(ctx, out, tag)
		if !errors.Is(err, processor.ErrNotFound) {
			return made, err
		}
	}
	// Keep only the text, so that callers do not match ErrNotFound.
	return nil, refused(opCreateSession, processor.ErrUnavailable, errors.New(err.Error()))
}

// sessionNow returns the current state of the session of an attempt.
func (p *Processor) sessionNow(ctx context.Context, out *plan, tag string) (*stripe.CheckoutSession, error) {
	made, replayed, err := p.sendSession(ctx, out, tag)
	if err == nil && replayed {
		// A replayed answer is old. Read the session.
		made, err = p.readSession(ctx, made.ID, nil)
	}
	switch {
	case err != nil:
		return nil, err
	case made.Status == stripe.CheckoutSessionStatusExpired:
		return made, nil
	}
	return made, p.compare(ctx, out, made)
}

// sendSession makes the session of an attempt, or finds an existing session. It looks for one after a
// saved failure, and when Stripe knows the key with other parameters. Other parameters come from a
// process with other options, or from a call that read the clock earlier.
func (p *Processor) sendSession(ctx context.Context, out *plan, tag string) (made *stripe.CheckoutSession, replayed bool, err error) {
	params := p.sessionParams(out, tag)
	var found *stripe.CheckoutSession
	c := call{
		op:  opCreateSession,
		key: func(generation int) string { return sessionKey(out, tag, generation) },
		look: func(ctx context.Context) (bool, error) {
			found, err = p.findSession(ctx, out, out.ofAttempt(tag))
			return found != nil, err
		},
	}
	err = p.do(ctx, c, func(ctx context.Context, key string) (err error) {
		params.SetIdempotencyKey(key)
		made, err = p.client.V1CheckoutSessions.Create(ctx, params)
		replayed = exchangeOf(ctx).replayed()
		if err != nil {
			return err
		}
		return about(made.Object, made.ID, made.ID)
	})
	if err == nil && found != nil {
		p.dropUnused(ctx, out, tag, found)
		return found, false, nil
	}
	return made, replayed, err
}

// dropUnused removes the coupon made for an attempt if the session found has another coupon.
func (p *Processor) dropUnused(ctx context.Context, out *plan, tag string, found *stripe.CheckoutSession) {
	own := p.sessionCouponID(out, tag)
	if out.discount > 0 && !slices.Contains(slices.Collect(p.sessionCoupons(found)), own) {
		p.dropSessionCoupon(ctx, own)
	}
}

// sessionKey returns the idempotency key of an attempt. Its hash covers the request (through the
// identity) and the expiry. So processes with the same options never send one key with different
// parameters. A request without an expiry keeps its key until its session has ended: of two calls at
// once, only one makes the session.
func sessionKey(out *plan, tag string, generation int) string {
	order := out.request.OrderID
	if !objectName.MatchString(order) || len(order) > 100 {
		order = shortHash(order)
	}
	return fmt.Sprintf("session:%s:%s.%d:%s", order, tag, generation,
		shortHash(out.identity, fmt.Sprint(out.request.ExpiresAt.Unix())+out.after))
}

// charged returns the amount of a session without the tax that Stripe adds, in Stripe's minor units.
// With automatic tax, this is the subtotal less the discount of the first period.
func (p *Processor) charged(s *stripe.CheckoutSession) int64 {
	if !p.automaticTax(s) {
		return s.AmountTotal
	}
	if s.TotalDetails == nil {
		return s.AmountSubtotal
	}
	return s.AmountSubtotal - s.TotalDetails.AmountDiscount
}

// compare checks that a session charges the amount of the order. It expires a session that does not,
// and returns an error.
func (p *Processor) compare(ctx context.Context, out *plan, made *stripe.CheckoutSession) error {
	got := p.charged(made)
	if string(made.Currency) == out.money.code() && got == out.total {
		return nil
	}
	mismatch := fmt.Errorf("session %s charges %d %s, the order %d %s", made.ID, got, made.Currency, out.total, out.money.code())
	if _, err := p.ExpireSession(ctx, made.ID); err != nil {
		mismatch = fmt.Errorf("%w; it could not be expired (%v)", mismatch, err) //nolint:errorlint // one kind only
	}
	return refused(opCreateSession, ErrTotalsMismatch, mismatch)
}

// Session implements [processor.Sessions]. A complete, unpaid session needs a second
// call, which reads whether the delayed payment has failed.
func (p *Processor) Session(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.readSession(ctx, id, nil)
	if err != nil {
		return processor.Session{}, err
	}
	return p.withPayment(ctx, s)
}

func (p *Processor) withPayment(ctx context.Context, s *stripe.CheckoutSession) (processor.Session, error) {
	out := p.toSession(s)
	switch {
	case s.Status != stripe.CheckoutSessionStatusComplete:
		return out, nil
	case out.PaymentStatus.Settled():
		err := p.readLineTaxes(ctx, s.ID, &out)
		return out, err
	}
	expand := "payment_intent"
	if s.Mode == stripe.CheckoutSessionModeSubscription {
		expand = "subscription"
	}
	full, err := p.readSession(ctx, s.ID, []string{expand})
	if err != nil {
		return processor.Session{}, err
	}
	out = p.toSession(full)
	out.PaymentFailed = !out.PaymentStatus.Settled() && paymentFailed(full)
	return out, nil
}

// paymentFailed reports whether the payment of an unpaid session has failed for good.
func paymentFailed(s *stripe.CheckoutSession) bool {
	if payment := s.PaymentIntent; payment != nil {
		return payment.Status == stripe.PaymentIntentStatusCanceled ||
			payment.Status == stripe.PaymentIntentStatusRequiresPaymentMethod
	}
	return s.Subscription != nil && slices.Contains([]stripe.SubscriptionStatus{
		stripe.SubscriptionStatusIncompleteExpired, stripe.SubscriptionStatusCanceled, stripe.SubscriptionStatusUnpaid,
	}, s.Subscription.Status)
}

// ExpireSession implements [processor.Sessions]. It also removes the session's coupon
// for the first period. If Stripe refuses to expire the session, for example during a
// payment, the error is [ErrInvalid]. The session can then still be paid.
func (p *Processor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.readSession(ctx, id, nil)
	if err != nil {
		return processor.Session{}, err
	}
	if !hasEnded(s) {
		if s, err = p.expire(ctx, id); err != nil {
			return processor.Session{}, err
		}
	}
	if !hasEnded(s) {
		return processor.Session{}, refused(opExpireSession, processor.ErrUnavailable, fmt.Errorf("session %s is open all the same", id))
	}
	p.dropSessionCoupons(ctx, s)
	return p.withPayment(ctx, s)
}

// expire ends a session. If the session has already ended, expire returns its state.
func (p *Processor) expire(ctx context.Context, id string) (*stripe.CheckoutSession, error) {
	ended, err := p.sendExpire(ctx, id)
	if !errors.Is(err, processor.ErrRejected) {
		return ended, err
	}
	now, unread := p.readSession(ctx, id, nil)
	switch {
	case unread != nil:
		return nil, unread
	case !hasEnded(now):
		return nil, err
	}
	return now, nil
}

func (p *Processor) sendExpire(ctx context.Context, id string) (ended *stripe.CheckoutSession, err error) {
	err = p.do(ctx, call{op: opExpireSession}, func(ctx context.Context, key string) (err error) {
		params := &stripe.CheckoutSessionExpireParams{}
		params.SetIdempotencyKey(key)
		if ended, err = p.client.V1CheckoutSessions.Expire(ctx, id, params); err != nil {
			return err
		}
		return about(ended.Object, ended.ID, id)
	})
	return ended, err
}

func (p *Processor) readSession(ctx context.Context, id string, expand []string) (found *stripe.CheckoutSession, err error) {
	if err := withID(opReadSession, id); err != nil {
		return nil, err
	}
	params := &stripe.CheckoutSessionRetrieveParams{}
	if len(expand) > 0 { // stripe-go would send an empty list, and Stripe refuses it
		params.Expand = stripe.StringSlice(expand)
	}
	err = p.do(ctx, call{op: opReadSession}, func(ctx context.Context, _ string) (err error) {
		if found, err = p.client.V1CheckoutSessions.Retrieve(ctx, id, params); err != nil {
			return err
		}
		return about(found.Object, found.ID, id)
	})
	return found, err
}

// toSession converts a session. It leaves out amounts in a currency that couponkit does not know,
// because such a session is not ours.
func (p *Processor) toSession(s *stripe.CheckoutSession) processor.Session {
	m := parseCurrency(string(s.Currency))
	out := processor.Session{
		ID: s.ID, URL: s.URL, Status: sessionStatus(s.Status), PaymentStatus: paymentStatus(s.PaymentStatus),
		Currency: m.currency, Metadata: publicMetadata(s.Metadata),
	}
	if !m.currency.IsZero() {
		out.Total = m.fromStripe(p.charged(s))
		out.Tax.Amount = m.fromStripe(s.AmountTotal) - out.Total
	}
	if s.CustomerDetails != nil {
		out.Payer.Email = s.CustomerDetails.Email
	}
	if s.ExpiresAt > 0 {
		out.ExpiresAt = time.Unix(s.ExpiresAt, 0).UTC()
	}
	if out.Status != processor.SessionComplete {
		out.PaymentStatus = processor.Unpaid
	}
	return out
}

// publicMetadata returns metadata without the entries of this package.
func publicMetadata(metadata map[string]string) map[string]string {
	out := maps.Clone(metadata)
	delete(out, metadataRequest)
	delete(out, metadataSessionApp)
	return out
}

// hasEnded reports whether a session is complete or expired. An unknown status counts as open.
func hasEnded(s *stripe.CheckoutSession) bool {
	return sessionStatus(s.Status) != processor.SessionOpen
}

func sessionStatus(s stripe.CheckoutSessionStatus) processor.SessionStatus {
	switch s {
	case stripe.CheckoutSessionStatusComplete:
		return processor.SessionComplete
	case stripe.CheckoutSessionStatusExpired:
		return processor.SessionExpired
	case stripe.CheckoutSessionStatusOpen:
	}
	return processor.SessionOpen
}

func paymentStatus(s stripe.CheckoutSessionPaymentStatus) processor.PaymentStatus {
	switch s {
	case stripe.CheckoutSessionPaymentStatusPaid:
		return processor.Paid
	case stripe.CheckoutSessionPaymentStatusNoPaymentRequired:
		return processor.NoPaymentRequired
	case stripe.CheckoutSessionPaymentStatusUnpaid:
	}
	return processor.Unpaid
}
