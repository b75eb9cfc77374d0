package stripeprocessor_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// stepShop is a service on Stripe that charges everything, with coupons of every
// kind in one currency.
type stepShop struct {
	*world
	service  *couponkit.Service
	currency pricing.Currency
	coupons  []coupon.Coupon
}

func newStepShop(t *testing.T, c pricing.Currency, recurring couponkit.RecurringDiscount) *stepShop {
	t.Helper()
	w := newWorld(t, noMinimum)
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(w.processor), couponkit.WithClock(w.clock.Now), couponkit.WithRecurringDiscount(recurring))
	require.NoError(t, err)
	s := &stepShop{world: w, service: service, currency: c}
	step, _ := stepAndExponent(c)
	for i, percent := range []string{"0.01", "1", "5", "7.77", "10", "12.5", "33.33", "50", "66.67", "99.99", "100"} {
		s.create(fmt.Sprintf("PERCENT%d", i), pricing.Percentage, decimal.RequireFromString(percent))
	}
	for i, steps := range []int64{1, 2, 3, 77, 333, 1000, 12_345, 1_000_003} {
		s.create(fmt.Sprintf("AMOUNT%d", i), pricing.FixedAmount, pricing.NewMoney(steps*step, c).Decimal())
	}
	return s
}

func (s *stepShop) create(code string, kind pricing.DiscountType, value decimal.Decimal) {
	s.Helper()
	d := coupon.Draft{
		Code: code, Name: code, DiscountType: kind, Percent: value.String(), Currency: s.currency.Code(),
		MaxUsesPerUser: coupon.Clear[int](),
	}
	if kind == pricing.FixedAmount {
		d.Percent, d.Amount = "", coupon.Amounts{"": value.String()}
	}
	made, err := s.service.Create(s.Context(), d)
	require.NoError(s, err)
	s.coupons = append(s.coupons, made)
}

// buy checks a cart out and returns the order; ok is false when the coupon takes
// nothing off it, or when it has more plans than Stripe takes.
func (s *stepShop) buy(seed int, cart pricing.Cart) (order couponkit.Checkout, ok bool) {
	s.Helper()
	c := s.coupons[rand.New(rand.NewPCG(uint64(seed), 1)).IntN(len(s.coupons))]
	order, err := s.service.Checkout(s.Context(), couponkit.CheckoutRequest{
		Key: fmt.Sprint("cart-", seed), Customer: eligibility.Customer{ID: fmt.Sprint("customer-", seed)},
		Cart: cart, Codes: []string{c.Code.String()}, SuccessURL: "https://shop.example/thanks",
	})
	var faults *validation.Error
	switch {
	case err == nil:
		return order, true
	case errors.Is(err, coupon.ErrNoDiscount) || errors.Is(err, coupon.ErrNoEligibleItems):
	case errors.As(err, &faults) && faults.Fields[0].Path == "lines" && faults.Fields[0].Code == validation.TooLong:
	default:
		s.Fatalf("cart %d: %v\n%+v", seed, err, cart)
	}
	return order, false
}

// sessionFault compares what Stripe charges with what was quoted.
func (s *stepShop) sessionFault(order couponkit.Checkout) string {
	s.Helper()
	quote := order.Order.Quote
	session, found := s.account.Session(order.Session.ID)
	require.True(s, found)
	step, _ := stepAndExponent(s.currency)
	if quote.Discount%step != 0 || quote.Discount == 0 {
		return fmt.Sprintf("the discount is %d, off the step of %d", quote.Discount, step)
	}
	sum, least := int64(0), stripeStep(s.currency)
	for _, l := range session.Lines {
		if l.UnitAmount%least != 0 {
			return fmt.Sprintf("a unit costs %d at Stripe, off the step of %d", l.UnitAmount, least)
		}
		sum += l.UnitAmount * l.Quantity
	}
	if session.AmountDiscount%least != 0 {
		return fmt.Sprintf("Stripe takes %d off, off the step of %d", session.AmountDiscount, least)
	}
	if want := s.atStripe(quote.Total); sum-session.AmountDiscount != want || session.AmountTotal != want {
		return fmt.Sprintf("the lines sum to %d less %d and Stripe charges %d, the quote is %d", sum, session.AmountDiscount, session.AmountTotal, want)
	}
	return s.linesFault(quote, session)
}

// atStripe is an amount in Stripe's minor units.
func (s *stepShop) atStripe(minor int64) int64 {
	_, exponent := stepAndExponent(s.currency)
	for range exponent - s.currency.Exponent() {
		minor *= 10
	}
	return minor / divisor(s.currency)
}

// linesFault looks line by line, where lines were not merged.
func (s *stepShop) linesFault(quote pricing.Quote, session stripefake.Session) string {
	step, _ := stepAndExponent(s.currency)
	charged := map[string]int64{}
	for _, l := range session.Lines {
		charged[l.Name] += l.UnitAmount * l.Quantity
	}
	for _, l := range quote.Lines {
		if l.Discount%step != 0 || l.Total%step != 0 {
			return fmt.Sprintf("line %s has a discount of %d and costs %d, off the step of %d", l.ID, l.Discount, l.Total, step)
		}
	}
	if len(quote.Lines) > 1 || session.CouponID != "" {
		return "" // lines of one item have one name
	}
	if only := quote.Lines[0]; charged[only.ItemID] != s.atStripe(only.Total) {
		return fmt.Sprintf("line %s costs %d at Stripe, quoted %d", only.ID, charged[only.ItemID], only.Total)
	}
	return ""
}

// stripeStep is the step of amounts in Stripe's minor units
// (https://docs.stripe.com/currencies).
func stripeStep(c pricing.Currency) int64 {
	switch c.Code() {
	case "ISK", "UGX":
		return 100
	case "BHD", "JOD", "KWD", "OMR", "TND":
		return 10
	}
	return 1
}

// TestServiceQuotesWhatStripeCharges: a host that does nothing for it gets quotes that
// Stripe charges to the last minor unit, in currencies that Stripe charges in steps
// too: 10,000 carts through the service, over HTTP.
func TestServiceQuotesWhatStripeCharges(t *testing.T) {
	t.Parallel()
	const carts = 10_000
	shops := []struct {
		code      string
		recurring couponkit.RecurringDiscount
	}{
		{"KWD", couponkit.FirstPeriod},
		{"KWD", couponkit.EveryPeriod},
		{"BHD", couponkit.FirstPeriod},
		{"ISK", couponkit.FirstPeriod},
		{"JPY", couponkit.EveryPeriod},
		{"EUR", couponkit.FirstPeriod},
		{"MGA", couponkit.EveryPeriod},
	}
	for i, shop := range shops {
		t.Run(fmt.Sprintf("%s, %d", shop.code, shop.recurring), func(t *testing.T) {
			t.Parallel()
			s := newStepShop(t, currencyOf(t, shop.code), shop.recurring)
			step, _ := stepAndExponent(s.currency)
			draw := pricingtest.Cart(pricingtest.CartOptions{
				Currency: s.currency, Step: step, MinLines: 1, MaxLines: 8, MaxTotal: 900_000_000,
			})
			sold := 0
			for seed := i * 10 * carts; sold < carts/len(shops)+1; seed++ {
				cart := draw.Example(seed)
				inOneInterval(cart.Lines)
				cart.Step = 0 // the host knows nothing of steps
				order, ok := s.buy(seed, cart)
				if !ok {
					continue
				}
				sold++
				if fault := s.sessionFault(order); fault != "" {
					t.Fatalf("cart %d: %s\nquote: %+v", seed, fault, order.Order.Quote)
				}
			}
		})
	}
}

// TestServiceRefusesWhatStripeCannotCharge: by its name, and before anything is made.
func TestServiceRefusesWhatStripeCannotCharge(t *testing.T) {
	t.Parallel()
	s := newStepShop(t, currencyOf(t, "KWD"), couponkit.FirstPeriod)
	ann := eligibility.Customer{ID: "ann"}
	line := phones(2)
	line.UnitPrice = 1005
	request := couponkit.CheckoutRequest{
		Customer: ann, Cart: pricing.Cart{Currency: s.currency, Lines: []pricing.Line{line}},
		Codes: []string{"PERCENT4"}, SuccessURL: "https://shop.example/thanks",
	}
	_, err := s.service.Checkout(t.Context(), request)
	requireField(t, err, "lines[0].unitPrice")
	_, err = s.service.Quote(t.Context(), couponkit.QuoteRequest{Cart: request.Cart, Customer: ann})
	requireField(t, err, "lines[0].unitPrice")
	_, err = s.service.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		CheckoutRequest: request, Mode: couponkit.ProductLink, Amount: pricing.NewMoney(1005, s.currency),
	})
	requireField(t, err, "amount")
	_, err = s.service.Create(t.Context(), coupon.Draft{
		Code: "FINE", Name: "Fine", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "1.005"}, Currency: "KWD",
	})
	requireField(t, err, "discountValue")
	_, err = s.service.Create(t.Context(), coupon.Draft{
		Code: "LÄRGE", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10000000000000.000"}, Currency: "KWD",
		MaxUses: coupon.Set(math.MaxInt64),
	})
	for _, field := range []string{"code", "name", "discountValue", "maxUses"} {
		requireField(t, err, field)
	}
	_, err = s.service.Update(t.Context(), s.coupons[0].ID, coupon.Patch{MaxUses: coupon.Set(math.MaxInt64)})
	requireField(t, err, "maxUses")
	require.Empty(t, s.account.Sessions())
	require.Len(t, s.account.Coupons(), len(s.coupons))
}

// TestOrdersPricedBeforeStepsAreCharged: a request in minor units whose total is on
// the step is brought to the step line by line, and stays exact.
func TestOrdersPricedBeforeStepsAreCharged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	r.Currency, r.ExpiresAt = currencyOf(t, "KWD"), w.clock.Now().Add(time.Hour)
	r.Lines = []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 667},
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 666},
	}
	r.Total = 2000
	_, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	want := []stripefake.Line{{Name: "Phone", Quantity: 2, UnitAmount: 670}, {Name: "Phone", Quantity: 1, UnitAmount: 660}}
	require.Equal(t, want, w.account.Sessions()[0].Lines)
}
