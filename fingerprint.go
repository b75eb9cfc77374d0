package couponkit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/fingerprint"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// digest gathers the values of a fingerprint.
type digest struct{ fingerprint.Digest }

func (d *digest) cart(c pricing.Cart, prices bool) {
	d.Text(c.Currency.Code())
	d.Number(int64(len(c.Lines)))
	for _, l := range c.Lines {
		d.Text(l.ID)
		d.Text(l.Kind.String())
		d.Number(int64(l.ClassOf()))
		d.Text(l.ItemID)
		d.Text(l.Categories.String())
		d.Number(l.Quantity)
		d.Number(int64(l.Recurs))
		if prices {
			d.Number(l.UnitPrice)
		}
	}
}

// quoteFingerprint changes with everything that a quote depends on.
func quoteFingerprint(c pricing.Cart, terms []coupon.Snapshot) string {
	var d digest
	d.cart(c, true)
	d.Number(int64(len(terms)))
	for i := range terms {
		d.Text(terms[i].ID)
		d.Text(terms[i].Code.String())
		d.Number(terms[i].Revision)
	}
	if c.Step > 1 {
		d.Number(c.Step)
	}
	return d.Sum()
}

// requestFingerprint tells whether two requests with one key are the same. Prices
// are left out: they are the catalogue's, and may change between the two.
func requestFingerprint(r QuoteRequest) string {
	var d digest
	d.Text("cart")
	d.cart(r.Cart, false)
	d.codes(r)
	return d.Sum()
}

// requestFingerprints are those of the request, with and without SkipRefused.
func requestFingerprints(r QuoteRequest) []string {
	other := r
	other.SkipRefused = !r.SkipRefused
	return []string{requestFingerprint(r), requestFingerprint(other)}
}

// codes adds the codes of a request and its facts. The order of the codes is added only where it can
// change the answer.
func (d *digest) codes(r QuoteRequest) {
	keys := make([]string, len(r.Codes))
	for i, code := range r.Codes {
		keys[i] = codeKey(code)
	}
	keepFirst := len(keys) > 1 && r.Conflicts == eligibility.KeepFirst
	if !keepFirst {
		slices.Sort(keys)
	}
	d.Number(int64(len(keys)))
	for _, key := range keys {
		d.Text(key)
	}
	if r.SkipRefused {
		d.Number(1)
	}
	if keepFirst {
		d.Number(2)
	}
	if !r.Facts.IsZero() {
		facts, _ := json.Marshal(r.Facts) // texts alone
		d.Text(string(facts))
	}
}

// amountFingerprint is the requestFingerprint of a payment link in product mode,
// where the amount is the request.
func amountFingerprint(r PaymentLinkRequest) string {
	var d digest
	d.Text("amount")
	d.Text(r.Amount.Currency().Code())
	d.Number(r.Amount.Minor())
	d.codes(r.quoteRequest())
	return d.Sum()
}

// codeKey is the code that a look-up finds for what was typed, or the text as it is. An ID has
// the key of the code that reads like it; see repeated.
func codeKey(typed string) string {
	code, err := coupon.TypedCode(typed)
	if err != nil {
		return typed
	}
	if generated, is := code.AsGenerated(); is {
		return generated.String()
	}
	return code.String()
}

// repeated returns the order that the key has already. Texts that may name two coupons have one
// fingerprint: an ID and the code that reads like it, a generated code and a code of which it
// may be a misreading. So repeated also compares the coupons of the order with the codes.
func (s *Service) repeated(ctx context.Context, r CheckoutRequest, request string) (store.Reserved, error) {
	before, err := s.replay(ctx, r.Customer.ID, r.Key, request)
	if err != nil {
		return before, err
	}
	for i := range before.Order.Coupons {
		switch is, err := s.anyNames(ctx, r.Codes, before.Order.Coupons[i]); {
		case err != nil:
			return store.Reserved{}, err
		case !is:
			return store.Reserved{}, store.ErrKeyReused
		}
	}
	return before, nil
}

// anyNames reports whether one of the codes names the coupon of an order.
func (s *Service) anyNames(ctx context.Context, codes []string, used coupon.Snapshot) (bool, error) {
	for _, code := range codes {
		if is, err := s.names(ctx, code, used); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

func (s *Service) names(ctx context.Context, typed string, used coupon.Snapshot) (bool, error) {
	id := strings.TrimSpace(typed)
	if used.ID == id {
		return true, nil
	}
	code, err := coupon.TypedCode(typed)
	generated, _ := code.AsGenerated()
	if err != nil || code != used.Code && generated != used.Code {
		return false, nil //nolint:nilerr // what is no code names no coupon
	}
	if code == used.Code && !coupon.IsID(id) {
		return true, nil
	}
	found, err := s.catalog().Named(ctx, typed)
	if errors.Is(err, coupon.ErrNotFound) {
		return true, nil
	}
	return found.Coupon.ID == used.ID, err
}
