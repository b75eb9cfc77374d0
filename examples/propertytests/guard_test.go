package propertytests_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/propertytests"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// situation is one input of the rule.
type situation struct {
	guard    propertytests.Guard
	coupon   coupon.Coupon
	cart     pricing.Cart
	question eligibility.Question
}

// situations draws the parts in the order in which they depend on each other.
func situations() *rapid.Generator[situation] {
	return rapid.Custom(func(t *rapid.T) situation {
		var s situation
		s.cart = pricingtest.Cart(pricingtest.CartOptions{MaxLines: 8}).Draw(t, "cart")
		s.coupon = coupontest.SimpleFor(s.cart).Draw(t, "coupon")
		s.question = coupontest.Question(s.coupon).Draw(t, "question")
		if rapid.Bool().Draw(t, "favourable") {
			makeFavourable(t, &s)
		}
		s.guard = propertytests.Guard{Currency: s.cart.Currency, Floors: floors(t, s.cart)}
		return s
	})
}

// makeFavourable takes away what stands against the coupon but the cart and the
// guard: refused coupons leave the guard nothing to do, so that half of the
// situations have none but those that the cart refuses.
func makeFavourable(t *rapid.T, s *situation) {
	s.coupon = coupon.Coupon{
		ID: s.coupon.ID, Code: s.coupon.Code, Name: s.coupon.Name, Terms: coupon.Terms{
			Scope:    s.coupon.Scope,
			Discount: pricingtest.SimpleDiscount(s.cart.Currency).Draw(t, "discount"), Currency: s.cart.Currency,
			Distribution: coupon.General, RefundPolicy: pricing.Keep,
		},
		State: coupon.Active, Revision: s.coupon.Revision,
	}
	s.question = eligibility.Question{At: s.question.At, AllowAnonymous: true}
}

// floors draws floors for some items of the cart, at and around their prices. It
// is no generator of its own, because of a cart without lines it draws nothing.
func floors(t *rapid.T, cart pricing.Cart) map[propertytests.Item]int64 {
	drawn := make(map[propertytests.Item]int64)
	for _, line := range cart.Lines {
		if !rapid.Bool().Draw(t, "guarded") {
			continue
		}
		price := line.UnitPrice
		drawn[propertytests.Item{Kind: line.Kind, ID: line.ItemID}] = rapid.OneOf(
			rapid.SampledFrom([]int64{0, 1, price / 2, price - price/10, price}),
			rapid.Int64Range(0, price),
		).Draw(t, "floor")
	}
	return drawn
}

// quoter is what the properties are about: the guard, or a broken one.
type quoter func(situation) (propertytests.Offer, error)

func guarded(s situation) (propertytests.Offer, error) {
	return s.guard.Quote(s.coupon, s.cart, s.question)
}

// property returns what is wrong with an offer, or nil. Properties are values, so
// that the same ones judge the guard and the broken guards.
type property func(situation, propertytests.Offer) error

// noUnitBelowItsFloor is why the rule exists.
func noUnitBelowItsFloor(s situation, o propertytests.Offer) error {
	for i, line := range o.Quote.Lines {
		floor := s.guard.Floors[propertytests.Item{Kind: line.Kind, ID: line.ItemID}]
		for _, u := range o.Quote.Units(i) {
			if line.Discount > 0 && u.UnitPrice < floor {
				return fmt.Errorf("%d units of line %s cost %d, the floor is %d", u.Quantity, line.ID, u.UnitPrice, floor)
			}
		}
	}
	return nil
}

// pricesAreExact lets couponkit judge the quote: it is what the coupon takes off
// the lines that are left to it, or the list prices when it is refused whatever
// the guard says.
func pricesAreExact(s situation, o propertytests.Offer) error {
	discount, eligible := s.coupon.Discount, eligibility.Lines(s.coupon.Scope, s.cart.Lines)
	plain, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	if err != nil {
		return err
	}
	if !plain.Decision.Allowed() {
		discount = pricing.Discount{}
	}
	for i, out := range o.Guarded {
		eligible[i] = eligible[i] && !out
	}
	var found faults
	pricingtest.CheckQuote(&found, s.cart, discount, eligible, o.Quote)
	return found.err
}

// neverBetterThanTheCoupon: a guard takes away, it does not give.
func neverBetterThanTheCoupon(s situation, o propertytests.Offer) error {
	plain, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	switch {
	case err != nil:
		return err
	case o.Quote.Discount > plain.Quote.Discount:
		return fmt.Errorf("the discount is %d, without a guard %d", o.Quote.Discount, plain.Quote.Discount)
	case !plain.Decision.Allowed() && o.Refused == nil:
		return errors.New("a refused coupon applies")
	}
	return nil
}

// onlyForAReason: without a line below its floor the guard changes nothing.
func onlyForAReason(s situation, o propertytests.Offer) error {
	plain, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	if err != nil {
		return err
	}
	if noUnitBelowItsFloor(s, propertytests.Offer{Quote: plain.Quote}) == nil && !o.Quote.Equal(plain.Quote) {
		return fmt.Errorf("changed without need (-without +with a guard):\n%s", cmp.Diff(plain.Quote, o.Quote))
	}
	return nil
}

// refusedOrEffective: a customer never spends a use on nothing.
func refusedOrEffective(_ situation, o propertytests.Offer) error {
	if (o.Refused == nil) != (o.Quote.Discount > 0) {
		return fmt.Errorf("the discount is %d, the refusal %w", o.Quote.Discount, o.Refused)
	}
	return nil
}

func properties() map[string]property {
	return map[string]property{
		"no unit below its floor":      noUnitBelowItsFloor,
		"prices are exact":             pricesAreExact,
		"never better than the coupon": neverBetterThanTheCoupon,
		"only for a reason":            onlyForAReason,
		"refused or effective":         refusedOrEffective,
	}
}

// faults collects what a checker reports.
type faults struct{ err error }

func (f *faults) Helper() {}

func (f *faults) Errorf(format string, args ...any) {
	f.err = errors.Join(f.err, fmt.Errorf(format, args...))
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for name, holds := range properties() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := situations().Draw(t, "situation")
				offer, err := guarded(s)
				if err != nil {
					t.Fatalf("a valid cart is refused: %v", err)
				}
				if err := holds(s, offer); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestGuardMatters watches the generators: most situations must not be trivial,
// or the properties above hold for want of a case.
func TestGuardMatters(t *testing.T) {
	t.Parallel()
	const situationsDrawn, least = 1_000, 20
	applied, partly, refused := 0, 0, 0
	for seed := range situationsDrawn {
		s := situations().Example(seed)
		offer, err := guarded(s)
		require.NoError(t, err)
		plain, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		switch {
		case offer.Refused == nil && offer.Quote.Equal(plain.Quote):
			applied++
		case offer.Refused == nil:
			partly++
		case plain.Decision.Allowed():
			refused++
		}
	}
	if applied < least || partly < least || refused < least {
		t.Errorf("of %d situations the guard let %d pass, changed %d and refused %d: want at least %d of each",
			situationsDrawn, applied, partly, refused, least)
	}
}

func TestGuardOfAnotherCurrency(t *testing.T) {
	t.Parallel()
	guard := propertytests.Guard{Currency: pricing.EUR(), Floors: map[propertytests.Item]int64{{Kind: pricing.Device, ID: "phone"}: 1}}
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	_, err = guard.Quote(coupon.Coupon{}, pricing.Cart{Currency: usd}, eligibility.Question{})
	var invalid *validation.Error
	if !errors.As(err, &invalid) || invalid.Fields[0].Path != "currency" {
		t.Errorf("got %v, want the currency to be named", err)
	}
}

func ExampleGuard_Quote() {
	guard := propertytests.Guard{
		Currency: pricing.EUR(),
		Floors:   map[propertytests.Item]int64{{Kind: pricing.Device, ID: "phone"}: 46_000},
	}
	percent, _ := pricing.ParsePercent("10")
	c := coupon.Coupon{
		Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep,
		},
		State: coupon.Active,
	}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 50_000},
		{ID: "B", Kind: pricing.Accessory, ItemID: "case", Quantity: 2, UnitPrice: 2_500},
	}}
	offer, err := guard.Quote(c, cart, eligibility.Question{At: time.Unix(0, 0), Customer: eligibility.Customer{ID: "ann"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, line := range offer.Quote.Lines {
		fmt.Println(line.ID, pricing.EUR().Format(line.Total), "guarded:", offer.Guarded[i])
	}
	fmt.Println(pricing.EUR().Format(offer.Quote.Total), offer.Refused)
	// Output:
	// A 500.00 guarded: true
	// B 45.00 guarded: false
	// 545.00 <nil>
}
