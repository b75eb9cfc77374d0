package stripeprocessor

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// How long a session may be open: Stripe's 30 minutes to 24 hours, less what clocks
// and calls take.
const (
	minSessionLifetime = 31 * time.Minute
	maxSessionLifetime = 24*time.Hour - time.Minute
	// lifetimeGrace is how much later than the caller this package may look at the
	// clock: an order is dated before its place is kept, and before another session of the
	// customer is ended. Stripe's 30 minutes are another half a minute away.
	lifetimeGrace = 30 * time.Second
)

const maxURLLength = 5000

// plan is a session that is ready to be made.
type plan struct {
	request   processor.SessionRequest
	money     money
	lines     []line
	discount  int64  // for the first period, in Stripe's minor units
	total     int64  // in Stripe's minor units
	subtotal  int64  // before that discount: what the lines sum to
	identity  string // equal for equal requests; in the session's metadata
	expiresAt time.Time
	after     string // the session that has ended, of a request without an expiry
	// late tells that a new session could not end when the request wants it to: only
	// one that was made before will do.
	late bool
}

// anew reports whether each call with the request has another expiry.
func (out *plan) anew() bool { return out.request.ExpiresAt.IsZero() }

// plan checks a request before any call, and works out what is sent.
func (p *Processor) plan(r processor.SessionRequest) (*plan, error) {
	now := p.options.Clock()
	out := &plan{request: r, expiresAt: r.ExpiresAt}
	if r.ExpiresAt.IsZero() {
		out.expiresAt = now.Add(p.options.SessionLifetime)
	}
	var faults validation.Error
	var err error
	faults.Merge("", r.ValidateTerms(p.terms()))
	requestFaults(&faults, r)
	faults.Merge("metadata", metadataFaults(p.sessionMetadata(r, "")))
	if r.FirstPeriodDiscount != 0 {
		faults.Merge("coupon.metadata", metadataFaults(p.sessionCouponMetadata(r)))
	}
	if !r.Currency.IsZero() {
		out.money, err = moneyOf(r.Currency)
		faults.Merge("", err)
	}
	if faults.Err() == nil {
		amountFaults(&faults, out)
	}
	if faults.Err() == nil {
		out.lines, err = out.money.sessionLines(r)
		faults.Merge("", err)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	lifetime := out.expiresAt.Sub(now)
	out.late = lifetime <= minSessionLifetime-lifetimeGrace || lifetime > maxSessionLifetime
	out.identity, err = identityOf(r)
	return out, err
}

// identityOf is equal for requests that ask for the same session. Go writes the
// keys of a map in order. OrderedAt is left out, hidden by the field of its name: it is no
// parameter, and sessions from before there was one are found.
func identityOf(r processor.SessionRequest) (string, error) {
	r.ExpiresAt = r.ExpiresAt.UTC()
	text, err := json.Marshal(struct {
		processor.SessionRequest
		OrderedAt *time.Time `json:",omitempty"`
	}{SessionRequest: r})
	if err != nil {
		return "", fmt.Errorf("stripe: %s: %w: %w", opCreateSession, ErrInvalid, err)
	}
	return shortHash(string(text)), nil
}

// terms are the abilities by which a request is checked before its lines are converted.
// The steps of amounts are not among them: only the total has to be on one, and lines
// that were priced without steps are brought to them. Several intervals, which Stripe's
// subscriptions may have, Checkout refuses in one session.
func (p *Processor) terms() processor.Abilities {
	return processor.Abilities{MinimumCharge: p.minimum, NeedsSuccessURL: true, OneInterval: true}
}

func requestFaults(faults *validation.Error, r processor.SessionRequest) {
	if utf8.RuneCountInString(r.OrderID) > maxClientRef {
		faults.Add("orderId", validation.TooLong, fmt.Sprintf("Stripe takes at most %d characters", maxClientRef))
	}
	urlFaults(faults, "successUrl", r.SuccessURL)
	urlFaults(faults, "cancelUrl", r.CancelURL)
}

func urlFaults(faults *validation.Error, field, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		faults.Add(field, validation.Malformed, "must be an absolute http or https address")
	}
	if len(text) > maxURLLength {
		faults.Add(field, validation.TooLong, fmt.Sprintf("Stripe takes at most %d characters", maxURLLength))
	}
}

// amountFaults checks and converts total and discount: no amount is changed so that
// it becomes chargeable.
func amountFaults(faults *validation.Error, out *plan) {
	r := out.request
	var err error
	out.total, err = out.money.toStripe(r.Total)
	faults.At("total", err)
	out.discount, err = out.money.toStripe(r.FirstPeriodDiscount)
	faults.At("firstPeriodDiscount", err)
	switch {
	case out.total > maxStripeAmount:
		faults.Add("total", validation.TooLarge, out.money.atMost())
	case out.discount > maxStripeAmount:
		faults.Add("firstPeriodDiscount", validation.TooLarge, out.money.atMost())
	case out.total+out.discount > maxStripeAmount: // and so may be the amount of a line
		faults.Add("lines", validation.TooLarge, out.money.atMost())
	}
	out.subtotal = out.total + out.discount
}

// sessionMark is what a session carries so that it is found: of which request it is, and
// of which attempt.
func sessionMark(identity, tag string) string {
	if tag == firstAttempt {
		return identity
	}
	return identity + "-" + tag
}

// sessionMetadata is the request's, completed by what every session carries.
func (p *Processor) sessionMetadata(r processor.SessionRequest, mark string) map[string]string {
	metadata := maps.Clone(r.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	complete := map[string]string{processor.MetadataOrderID: r.OrderID}
	maps.Copy(complete, processor.MetadataOfCoupons(r.Coupons))
	for key, value := range complete {
		if _, given := metadata[key]; !given && value != "" {
			metadata[key] = value
		}
	}
	metadata[metadataRequest], metadata[metadataSessionApp] = mark, p.options.App
	return metadata
}

// sessionParams writes the plan in Stripe's words. What would let the customer change
// what was priced is never set: no promotion codes, adjustable quantities, optional
// items or recovery of an expired session.
func (p *Processor) sessionParams(out *plan, tag string) *stripe.CheckoutSessionCreateParams {
	r := out.request
	metadata := p.sessionMetadata(r, sessionMark(out.identity, tag))
	params := &stripe.CheckoutSessionCreateParams{
		Mode:       stripe.String(r.Mode.String()),
		SuccessURL: stripe.String(r.SuccessURL),
		ExpiresAt:  new(out.expiresAt.Unix()),
		Metadata:   metadata,
	}
	if r.CancelURL != "" {
		params.CancelURL = stripe.String(r.CancelURL)
	}
	if r.OrderID != "" {
		params.ClientReferenceID = stripe.String(r.OrderID)
	}
	if r.CustomerEmail != "" && utf8.RuneCountInString(r.CustomerEmail) <= maxEmail { // the customer can type it
		params.CustomerEmail = stripe.String(r.CustomerEmail)
	}
	if r.Mode == processor.Subscription {
		params.SubscriptionData = &stripe.CheckoutSessionCreateSubscriptionDataParams{Metadata: metadata}
	} else {
		params.PaymentIntentData = &stripe.CheckoutSessionCreatePaymentIntentDataParams{Metadata: metadata}
	}
	if p.options.AutomaticTax {
		params.AutomaticTax = &stripe.CheckoutSessionCreateAutomaticTaxParams{Enabled: new(true)}
	}
	if out.discount > 0 {
		params.Discounts = []*stripe.CheckoutSessionCreateDiscountParams{{Coupon: stripe.String(p.sessionCouponID(out, tag))}}
	}
	for _, l := range out.lines {
		params.LineItems = append(params.LineItems, p.lineParams(out.money, l))
	}
	return params
}

func (p *Processor) lineParams(m money, l line) *stripe.CheckoutSessionCreateLineItemParams {
	name, _ := cutName(l.name, maxLineName)
	price := &stripe.CheckoutSessionCreateLineItemPriceDataParams{
		Currency:    stripe.String(m.code()),
		ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: stripe.String(name)},
		UnitAmount:  new(l.unitAmount),
	}
	if p.options.TaxBehavior != "" {
		price.TaxBehavior = stripe.String(p.options.TaxBehavior)
	}
	if l.recurs != pricing.Once {
		price.Recurring = &stripe.CheckoutSessionCreateLineItemPriceDataRecurringParams{Interval: stripe.String(l.recurs.String())}
	}
	params := &stripe.CheckoutSessionCreateLineItemParams{PriceData: price, Quantity: new(l.quantity)}
	if p.options.AutomaticTax && l.id != "" {
		params.AddMetadata(metadataLine, l.id)
	}
	return params
}
