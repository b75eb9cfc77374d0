package couponkit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// QuoteRequest describes a cart to be priced.
type QuoteRequest struct {
	// Cart contains the prices of the host's catalog. Some processors charge a currency only in
	// multiples of a step (processor.Abilities.AmountStep). Every price in the cart must be a multiple
	// of the step. If the cart has no Step, the service uses the processor's step. If the cart has its
	// own Step, that Step must be a multiple of the processor's step.
	Cart pricing.Cart
	// Codes are the codes or IDs of coupons, at most [pricing.MaxCoupons]. The order of the codes
	// does not matter, except with [eligibility.KeepFirst]. Without codes, the service prices the cart
	// without a coupon, or with automatic ones; see [WithAutomatic].
	Codes []string
	// Conflicts tells which coupons are refused if coupons exclude each other. By default, all of them
	// are refused. With SkipRefused, the cart is priced with those that are kept. Without it, a refused
	// coupon refuses the whole request.
	Conflicts eligibility.ConflictPolicy
	// SkipRefused leaves out the coupons that are refused, and reports them in [Quote].Refused. By
	// default, one refused coupon refuses the whole request.
	SkipRefused bool
	// Customer is the person who wants to use the coupons.
	Customer eligibility.Customer
	// Facts are what the host knows about the purchase, such as the country of delivery. Conditions of
	// coupons look at them.
	Facts eligibility.Facts
	// AllowAnonymous accepts a customer without an ID if everybody may use the coupon. For a customer
	// without an ID, the service does not check the coupon's limit per customer.
	AllowAnonymous bool
}

// Quote is a priced cart.
type Quote struct {
	pricing.Quote
	// Terms are the terms of the coupons that were applied to the cart, sorted by ID. An automatic coupon has no
	// Code there.
	Terms []coupon.Snapshot `json:"terms,omitempty"`
	// Refused are the coupons that were left out, in the order of the request's codes; see
	// [QuoteRequest].SkipRefused. They are not part of the JSON.
	Refused coupon.Rejections `json:"-"`
	// At is the time at which the cart was priced.
	At time.Time `json:"at"`
	// Fingerprint changes when the cart, the currency, a coupon or the revision of a coupon changes. It
	// also changes when a coupon is entered by another code.
	Fingerprint string `json:"fingerprint"`
}

// String returns the prices, the time and the fingerprint for logs and failed tests, and the codes of
// coupons that were left out; see [pricing.Quote.String].
func (q Quote) String() string {
	text := fmt.Sprintf("%s; at %s; fingerprint %s", q.Quote, q.At.Format(time.RFC3339Nano), q.Fingerprint)
	if len(q.Refused) > 0 {
		text += "; left out: " + q.Refused.Error()
	}
	return text
}

// GoString formats the quote for the messages of failed tests; see [Quote.String].
func (q Quote) GoString() string { return fmt.Sprintf("couponkit.Quote(%s)", q) }

// maxQuoteDocument is the maximum size of a quote in JSON, in bytes. It adds three selections of
// maximum size to [pricing.MaxQuoteDocument].
const maxQuoteDocument = pricing.MaxQuoteDocument + 56<<20

// quoteDetails has the fields of a Quote besides the prices.
type quoteDetails struct {
	Terms       []coupon.Snapshot `json:"terms,omitempty"`
	At          time.Time         `json:"at"`
	Fingerprint string            `json:"fingerprint"`
}

var quoteDetailsReader = strictjson.For[quoteDetails]()

// MarshalJSON returns the JSON of [pricing.Quote.MarshalJSON] with the added fields terms, at and
// fingerprint. MarshalJSON returns a [*validation.Error] if the prices are invalid.
func (q Quote) MarshalJSON() ([]byte, error) {
	prices, err := q.Quote.MarshalJSON()
	if err != nil {
		return nil, err
	}
	details, err := json.Marshal(quoteDetails{Terms: q.Terms, At: q.At, Fingerprint: q.Fingerprint})
	if err != nil {
		return nil, err
	}
	return slices.Concat(prices[:len(prices)-1], []byte{','}, details[1:]), nil
}

// UnmarshalJSON reads the JSON that MarshalJSON writes and checks the prices; see
// [pricing.Quote.UnmarshalJSON]. Without its terms, the JSON may have at most
// [pricing.MaxQuoteDocument] bytes. With its terms, the JSON may have at most 96 MiB. The JSON
// value null leaves the quote unchanged.
//
// UnmarshalJSON returns a [*validation.Error] that names every invalid field of the prices, or
// else of the terms, the time and the fingerprint. After an error, the quote is unchanged.
func (q *Quote) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	beside := data // the document without its terms
	if len(data) > pricing.MaxQuoteDocument && len(data) <= maxQuoteDocument {
		beside = withoutTerms(data)
	}
	var prices pricing.Quote
	if err := prices.UnmarshalJSON(beside); err != nil {
		return err
	}
	var details quoteDetails
	if err := quoteDetailsReader.Stored(data, &details); err != nil {
		return err
	}
	*q = Quote{Quote: prices, Terms: details.Terms, At: details.At, Fingerprint: details.Fingerprint}
	return nil
}

// withoutTerms returns the JSON object without the member "terms". The selections in it may be longer
// than the rest. Other text is returned unchanged.
func withoutTerms(data []byte) []byte {
	rest := []byte{'{'}
	err := strictjson.Members(data, func(name string, raw json.RawMessage) {
		if name == "terms" {
			return
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		quoted, _ := json.Marshal(name) // cannot fail for a string
		rest = append(append(append(rest, quoted...), ':'), raw...)
	})
	if err != nil {
		return data
	}
	return append(rest, '}')
}

// RequiresPayment reports whether the total is greater than 0. Check out a cart that costs nothing
// like any other cart; see [Service.Checkout].
func (q Quote) RequiresPayment() bool { return q.Total > 0 }

// Quote prices a cart with coupons (specification 4.5, 4.6, 7). Quote changes nothing and reserves
// nothing. A quote is what a checkout would do: an open order of the customer that the checkout would
// replace is not in its way. Quote may have to ask the processor about the coupons; see
// [WithMirrorTTL].
// [Service.Explain] tells more about several coupons.
//
// Quote returns these errors:
//
//   - A [*validation.Error] means that the cart is malformed, that there are too many codes,
//     or that a code is given twice. Different codes of one coupon are refused as not_combinable.
//   - A [*coupon.Rejection] lists every reason for the refusal. If several coupons are refused, the
//     error is [coupon.Rejections], in the order of the request's codes. errors.As with a
//     *coupon.Rejection finds only the first; use [coupon.RejectionsOf] to read all. Together with a
//     rejection, Quote returns the cart at its list prices.
//   - coupon.ErrBelowMinimumCharge means that the processor cannot charge the total. Quote then
//     returns the discounted prices instead of the list prices.
//   - [ErrTooManyAttempts] means that the customer has entered too many wrong codes.
//   - [ErrUnavailable] means that the processor did not answer.
func (s *Service) Quote(ctx context.Context, r QuoteRequest) (q Quote, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpQuote, &attempt, &err)()
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Quote{}, err
	}
	quoter, request := s.quoter(s.mirrors.Recent, &attempt), quote.Request(r)
	if err := quoter.Validate(&request); err != nil {
		return Quote{}, err
	}
	d, err := quoter.Price(ctx, request, quote.OfCart)
	attempt.CouponID = d.CouponID()
	return newQuote(d), err
}

// quoter returns the Quoter for the service's store.
// The attempt hears of what the guard hides.
func (s *Service) quoter(check mirrors.Check, attempt *settle.Attempt) *quote.Quoter {
	return &quote.Quoter{
		Store: s.store, Abilities: s.abilities, Mirror: check, Clock: s.clock, Logger: s.logger, Guard: s.guard(attempt),
		Automatic: s.automatic,
	}
}

// newQuote returns the quote of a decision, or the zero value.
func newQuote(d *quote.Decision) Quote {
	if d == nil {
		return Quote{}
	}
	return Quote{Quote: d.Quote, Terms: d.Terms, Refused: d.Refused, At: d.At, Fingerprint: d.Fingerprint()}
}
