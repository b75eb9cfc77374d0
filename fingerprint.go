package couponkit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// digest gathers values of which a fingerprint is made. Every value is written with
// its length, so that two lists of values never look the same.
type digest []byte

func (d *digest) text(s string) {
	*d = binary.AppendUvarint(*d, uint64(len(s)))
	*d = append(*d, s...)
}

func (d *digest) number(n int64) { *d = binary.AppendVarint(*d, n) }

func (d *digest) cart(c pricing.Cart, prices bool) {
	d.text(c.Currency.Code())
	d.number(int64(len(c.Lines)))
	for _, l := range c.Lines {
		d.text(l.ID)
		d.text(l.Kind.String())
		d.number(int64(l.ClassOf()))
		d.text(l.ItemID)
		d.text(l.Categories.String())
		d.number(l.Quantity)
		d.number(int64(l.Recurs))
		if prices {
			d.number(l.UnitPrice)
		}
	}
}

func (d *digest) sum() string {
	sum := sha256.Sum256(*d)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// quoteFingerprint changes with everything that a quote depends on.
func quoteFingerprint(c pricing.Cart, terms []coupon.Snapshot) string {
	var d digest
	d.cart(c, true)
	d.number(int64(len(terms)))
	for i := range terms {
		d.text(terms[i].ID)
		d.text(terms[i].Code.String())
		d.number(terms[i].Revision)
	}
	if c.Step > 1 {
		d.number(c.Step)
	}
	return d.sum()
}

// requestFingerprint tells whether two requests with one key are the same. Prices
// are left out: they are the catalogue's, and may change between the two.
func requestFingerprint(r QuoteRequest) string {
	var d digest
	d.text("cart")
	d.cart(r.Cart, false)
	d.codes(r)
	return d.sum()
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
	d.number(int64(len(keys)))
	for _, key := range keys {
		d.text(key)
	}
	if r.SkipRefused {
		d.number(1)
	}
	if keepFirst {
		d.number(2)
	}
	if !r.Facts.IsZero() {
		facts, _ := json.Marshal(r.Facts) // texts alone
		d.text(string(facts))
	}
}

// amountFingerprint is the requestFingerprint of a payment link in product mode,
// where the amount is the request.
func amountFingerprint(r PaymentLinkRequest) string {
	var d digest
	d.text("amount")
	d.text(r.Amount.Currency().Code())
	d.number(r.Amount.Minor())
	d.codes(r.quoteRequest())
	return d.sum()
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
	found, err := s.findCode(ctx, typed)
	if errors.Is(err, coupon.ErrNotFound) {
		return true, nil
	}
	return found.Coupon.ID == used.ID, err
}
