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

// How long a session may be open. Stripe allows 30 minutes to 24 hours. The limits here leave time for
// clock differences and calls.
const (
	minSessionLifetime = 31 * time.Minute
	maxSessionLifetime = 24*time.Hour - time.Minute
	// lifetimeGrace is the allowed time between the caller's reading of the clock and ours. Between
	// them, the caller stores the order and ends another session of the customer. Stripe's minimum of
	// 30 minutes leaves another 30 seconds.
	lifetimeGrace = 30 * time.Second
)

const maxURLLength = 5000

// plan is a checked request with the values to send.
type plan struct {
	request   processor.SessionRequest
	money     money
	lines     []line
	discount  int64  // discount of the first period, in Stripe's minor units
	total     int64  // in Stripe's minor units
	identity  string // equal for equal requests; stored in the session's metadata
	expiresAt time.Time
	after     string // the ended session that this one follows, for a request without an expiry
	// late means that a new session could not end at the requested time. Only a session of an earlier
	// call can be returned.
	late bool
}

// anew reports whether each call with the request computes another expiry.
func (out *plan) anew() bool { return out.request.ExpiresAt.IsZero() }

// plan checks a request before any call, and computes the values to send.
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

// identityOf returns a text that is equal for requests of the same session. Go encodes the keys of a
// map in order. OrderedAt is hidden by the field of the same name: it is not sent to Stripe, and
// sessions made before the field existed are still found.
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

// terms returns the abilities against which a request is checked before its lines are converted. Steps
// of amounts are not among them. Only the total must be a multiple of the step, because the lines are
// rounded. Only one interval is allowed, because Checkout refuses several in one session.
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

// amountFaults checks and converts total and discount. It never changes an amount to make it
// chargeable.
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
	case out.total+out.discount > maxStripeAmount: // the amount of a line may then be above the maximum, too
		faults.Add("lines", validation.TooLarge, out.money.atMost())
	}
}

// sessionMark returns the mark in a session's metadata. It identifies the request and the attempt.
func sessionMark(identity, tag string) string {
	if tag == firstAttempt {
		return identity
	}
	return identity + "-" + tag
}

// sessionMetadata returns the metadata of the request, with the entries of every session added.
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

// sessionParams converts the plan to Stripe's parameters. It never sets parameters with which the
// customer could change the price: promotion codes, adjustable quantities, optional items or recovery
// of an expired session.
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
	if r.CustomerEmail != "" && utf8.RuneCountInString(r.CustomerEmail) <= maxEmail { // without it, the customer types the address
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
