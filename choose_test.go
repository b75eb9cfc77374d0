package couponkit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
)

// often is a draft of 10 % off that a customer may use as often as they like.
func often(code string) coupon.Draft {
	d := grouped(percentOff(10), code, code)
	d.MaxUsesPerUser = coupon.Clear[int]()
	return d
}

// phonesFor is ann's request for phones of 50.00 each, without shipping.
func (w *world) phonesFor(quantity int64, c pricing.Currency, codes ...string) couponkit.CheckoutRequest {
	return couponkit.CheckoutRequest{Customer: ann, Codes: codes, Cart: pricing.Cart{Currency: c, Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: quantity, UnitPrice: 50_00},
	}}}
}

// agreed asks for the quote, its explanation and the checkout of a request, which have to agree.
func (w *world) agreed(t *testing.T, r couponkit.CheckoutRequest) (couponkit.Checkout, error) {
	t.Helper()
	request := couponkit.QuoteRequest{Cart: r.Cart, Codes: r.Codes, SkipRefused: r.SkipRefused, Customer: r.Customer}
	quote, refused := w.Quote(t.Context(), request)
	explained, err := w.Explain(t.Context(), request)
	require.NoError(t, err)
	made, err := w.Checkout(t.Context(), r)
	if refused != nil {
		require.Empty(t, cmp.Diff(coupon.RejectionsOf(refused), coupon.RejectionsOf(err)), "(-quote +checkout)")
		return made, err
	}
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(quote.Quote, made.Order.Quote), "(-quote +checkout)")
	require.Empty(t, cmp.Diff(quote.Refused, made.Refused), "(-quote +checkout)")
	require.Equal(t, quote.Total, explained.Quote.Total)
	return made, nil
}

// TestTheOpenOrderOfTodayIsReplaced: the limit of a day refuses, and the order of yesterday holds
// nothing of it.
func TestTheOpenOrderOfTodayIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := often("TEN")
	d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCustomer, Period: calendar.Day, Zone: zone("Europe/Berlin"), MaxUses: 1}}
	w.create(t, d)
	w.now = time.Date(2026, 11, 20, 22, 50, 0, 0, time.UTC) // 23:50 in Berlin
	yesterday := w.checkout(t, w.request("TEN"))
	w.pass(15 * time.Minute)
	today := w.checkout(t, w.request("TEN"))
	require.Empty(t, today.Order.Replaces)
	w.pass(5 * time.Minute)
	again, err := w.agreed(t, w.request("TEN"))
	require.NoError(t, err)
	require.Equal(t, today.Order.ID, again.Order.Replaces)
	require.Equal(t, redemption.OrderOpen, w.order(t, yesterday.Order.ID).State)
}

// TestTheOpenOrderThatLeavesEnoughBudgetIsReplaced: 15.00, of which open orders hold 5.00 and 10.00,
// are enough for 10.00 once the second is replaced.
func TestTheOpenOrderThatLeavesEnoughBudgetIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := often("TEN")
	d.Budget = coupon.NewAmounts(pricing.NewMoney(15_00, pricing.EUR()))
	w.create(t, d)
	w.checkout(t, w.phonesFor(1, pricing.EUR(), "TEN"))
	w.pass(time.Minute)
	large := w.checkout(t, w.phonesFor(2, pricing.EUR(), "TEN"))
	for name, retry := range map[string]couponkit.CheckoutRequest{
		"the same cart": w.phonesFor(2, pricing.EUR(), "TEN"),
		"another cart":  {Customer: ann, Codes: []string{"TEN"}, Cart: dearPhone(100_00)},
	} {
		again, err := w.agreed(t, retry)
		require.NoError(t, err, name)
		require.Equal(t, large.Order.ID, again.Order.Replaces, name)
		large = again
	}
}

// dearPhone is a cart of one phone.
func dearPhone(price int64) pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: price},
	}}
}

// TestTheOpenOrderInTheCurrencyOfTheBudgetIsReplaced: the older open order takes from another budget.
func TestTheOpenOrderInTheCurrencyOfTheBudgetIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := often("TEN")
	d.Budget = coupon.NewAmounts(pricing.NewMoney(10_00, pricing.EUR()), pricing.NewMoney(10_00, pricing.USD()))
	w.create(t, d)
	dollars := w.checkout(t, w.phonesFor(2, pricing.USD(), "TEN"))
	w.pass(time.Minute)
	euros := w.checkout(t, w.phonesFor(2, pricing.EUR(), "TEN"))
	again, err := w.agreed(t, couponkit.CheckoutRequest{Customer: ann, Codes: []string{"TEN"}, Cart: dearPhone(100_00)})
	require.NoError(t, err)
	require.Equal(t, euros.Order.ID, again.Order.Replaces)
	require.Equal(t, redemption.OrderOpen, w.order(t, dollars.Order.ID).State)
}

// TestTwoOpenOrdersHoldOneCouponEach: one order replaces one. Quote and checkout refuse the coupon of
// the other, and SkipRefused orders with the first alone.
func TestTwoOpenOrdersHoldOneCouponEach(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		w := newWorld(t)
		for _, code := range []string{"A", "B"} {
			d := often(code)
			d.MaxUses = coupon.Set(1)
			w.create(t, d)
		}
		first := w.checkout(t, w.phonesFor(2, pricing.EUR(), "A"))
		w.pass(time.Minute)
		second := w.checkout(t, w.phonesFor(2, pricing.EUR(), "B"))
		both := w.phonesFor(2, pricing.EUR(), "B", "A")
		both.SkipRefused = skip
		made, err := w.agreed(t, both)
		if !skip {
			require.Equal(t, []string{"B usage_limit_reached"}, refusedFor(err))
			require.Equal(t, redemption.OrderOpen, w.order(t, first.Order.ID).State)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, first.Order.ID, made.Order.Replaces)
		require.Equal(t, redemption.OrderOpen, w.order(t, second.Order.ID).State)
		require.EqualValues(t, 90_00, made.Order.Quote.Total)
		require.Equal(t, []string{"B usage_limit_reached"}, refusedFor(made.Refused))
	}
}

// TestWhichOpenOrderIsReplaced: the order of the same request first, then the oldest, among the 16
// newest. An order whose session nobody knows is the last: the session may be created right now.
func TestWhichOpenOrderIsReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		orders int   // open, of 1, 2, 3 … phones
		retry  int64 // phones
		naked  int   // the order whose session nobody knows
		want   int   // the order that is replaced
	}{
		"the oldest":                  {orders: 3, retry: 9, naked: -1, want: 0},
		"with a session":              {orders: 3, retry: 9, naked: 0, want: 1},
		"the same request":            {orders: 3, retry: 3, naked: 0, want: 2},
		"the oldest of the 16 newest": {orders: 18, retry: 99, naked: -1, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := often("TEN")
			d.MaxUses = coupon.Set(test.orders)
			w.create(t, d)
			var ids []string
			for i := range test.orders {
				w.pass(time.Second)
				r := w.phonesFor(int64(i+1), pricing.EUR(), "TEN")
				r.Key = fmt.Sprint(i)
				if i == test.naked {
					w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
					_, err := w.Checkout(t.Context(), r)
					require.ErrorIs(t, err, couponkit.ErrUnavailable)
				} else {
					w.checkout(t, r)
				}
				o, err := w.orderByKey(r.Key)
				require.NoError(t, err)
				ids = append(ids, o.ID)
			}
			w.pass(time.Second)
			made, err := w.agreed(t, w.phonesFor(test.retry, pricing.EUR(), "TEN"))
			require.NoError(t, err)
			require.Equal(t, ids[test.want], made.Order.Replaces)
		})
	}
}

// TestAReservationOfACouponThatCostsNoPointsAnyMore is used only where a limit would refuse the coupon.
// Else the customer keeps the points.
func TestAReservationOfACouponThatCostsNoPointsAnyMore(t *testing.T) {
	t.Parallel()
	for most, used := range map[int]bool{1: true, 2: false} {
		w := newWorld(t)
		d := forPoints()
		d.MaxUsesPerUser = coupon.Set(most)
		c := w.create(t, d)
		held := w.exchange(t, c)
		_, err := w.Update(t.Context(), c.ID, coupon.Patch{Distribution: coupon.Set(coupon.General), PointsRequired: coupon.Clear[int64]()})
		require.NoError(t, err)
		made, err := w.agreed(t, w.request("TEN"))
		require.NoError(t, err)
		require.Equal(t, used, useOf(t, made.Uses).ExchangeID == held.ID)
	}
}

// TestARaceIsRefusedLikeAQuote: another customer takes what is left of a limit between the decision
// and the reservation. The refusal has the code and the parameters that a quote tells.
func TestARaceIsRefusedLikeAQuote(t *testing.T) {
	t.Parallel()
	euros := func(minor int64) coupon.Amount { return coupon.Amount{Money: pricing.NewMoney(minor, pricing.EUR())} }
	day := func(per coupon.LimitSubject) func(*coupon.Draft) {
		return func(d *coupon.Draft) {
			d.PeriodLimits = []coupon.PeriodLimit{{Per: per, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
		}
	}
	ofDay := func(per coupon.LimitSubject) coupon.Reason {
		return coupon.Reason{Code: coupon.PeriodLimitReached, Params: coupon.Params{
			Per: per, Period: calendar.Day, TimeZone: "UTC", MaxUses: 1, EndsAt: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		}}
	}
	for name, test := range map[string]struct {
		limit func(*coupon.Draft)
		rival eligibility.Customer
		want  coupon.Reason
	}{
		"uses": {
			func(d *coupon.Draft) { d.MaxUses = coupon.Set(1) }, bob,
			coupon.Reason{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: 1}},
		},
		"uses per customer": {
			func(d *coupon.Draft) { d.MaxUsesPerUser = coupon.Set(1) }, ann,
			coupon.Reason{Code: coupon.UserUsageLimitReached, Params: coupon.Params{MaxUsesPerUser: 1}},
		},
		"uses a day":               {day(coupon.PerCoupon), bob, ofDay(coupon.PerCoupon)},
		"uses of a code a day":     {day(coupon.PerCode), bob, ofDay(coupon.PerCode)},
		"uses of a customer a day": {day(coupon.PerCustomer), ann, ofDay(coupon.PerCustomer)},
		"budget": {
			func(d *coupon.Draft) { d.Budget = coupon.NewAmounts(pricing.NewMoney(13_00, pricing.EUR())) }, bob,
			coupon.Reason{Code: coupon.BudgetExhausted, Params: coupon.Params{Budget: euros(13_00), Remaining: euros(3_00), Missing: euros(7_00)}},
		},
		"first order": {
			func(d *coupon.Draft) { d.FirstOrder = true }, ann,
			coupon.Reason{Code: coupon.NotFirstOrder, Params: coupon.Params{Orders: 1}},
		},
	} {
		for _, codes := range [][]string{{"A"}, {"A", "B"}} {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, codes %q, skip refused %t", name, codes, skip), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					d := often("A")
					test.limit(&d)
					c := w.create(t, d)
					w.create(t, often("B"))
					whole, raced := w.Service, false
					w.behind(func(call string, effect func() error) error {
						if call == "Reserve" && !raced {
							raced = true
							theirs := w.phonesFor(2, pricing.EUR(), "A")
							theirs.Customer = test.rival
							made, err := whole.Checkout(t.Context(), theirs)
							require.NoError(t, err)
							require.NoError(t, w.fake.Pay(made.Session.ID)) // it is replaced by nobody
							w.Service, whole = whole, w.Service
							w.deliver(t)
							w.Service, whole = whole, w.Service
						}
						return effect()
					}, couponkit.WithClock(clockOf(w)))
					r := w.phonesFor(2, pricing.EUR(), codes...)
					r.SkipRefused = skip
					made, err := w.Checkout(t.Context(), r)
					got := coupon.RejectionsOf(err)
					if skip {
						require.NoError(t, err)
						require.Len(t, made.Uses, len(codes)-1)
						got = made.Refused
					}
					want := coupon.Rejections{{CouponID: c.ID, Code: "A", Reasons: []coupon.Reason{test.want}}}
					require.Empty(t, cmp.Diff(want, got), "(-want +got)")
					if !skip {
						w.Service = whole
						_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: codes, Customer: ann})
						require.Empty(t, cmp.Diff(want, coupon.RejectionsOf(err)), "of a quote (-want +got)")
					}
				})
			}
		}
	}
}

// TestEveryRefusalNamesItsCode, also that of the only code of a request.
func TestEveryRefusalNamesItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	off := w.create(t, tenOff())
	_, err := w.SetActive(t.Context(), off.ID, false)
	require.NoError(t, err)
	cheap := couponkit.CheckoutRequest{Customer: ann, Codes: []string{" ten"}, Cart: dearPhone(10)}
	for _, code := range []string{" ten", "NONE"} {
		_, validate := w.Validate(t.Context(), couponkit.ValidateRequest{Code: code, Customer: ann})
		_, quote := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{code}, Customer: ann})
		_, checkout := w.Checkout(t.Context(), w.request(code))
		_, exchange := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: code, Customer: eligibility.Customer{}})
		skip := cheap
		skip.SkipRefused, skip.Codes = true, []string{code}
		_, below := w.Checkout(t.Context(), skip)
		link := w.link(code)
		_, linked := w.PaymentLink(t.Context(), link)
		for name, err := range map[string]error{
			"validate": validate, "quote": quote, "checkout": checkout, "a total that is too small": below, "link": linked, "exchange": exchange,
		} {
			if name == "exchange" && code != "NONE" {
				continue // the coupon costs no points
			}
			refused := coupon.RejectionsOf(err)
			require.Len(t, refused, 1, name)
			require.Equal(t, code, refused[0].Code, name)
		}
	}
}

// TestTotalsThatDifferBecauseACouponWasLeftOut: the customer learns of the coupon, too.
func TestTotalsThatDifferBecauseACouponWasLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ten, _ := w.twoCoupons(t)
	r := w.withCodes("PERCENT", "TEN")
	shown, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: r.Codes, Customer: ann})
	require.NoError(t, err)
	_, err = w.SetActive(t.Context(), ten.ID, false)
	require.NoError(t, err)
	r.SkipRefused = true
	r.Expected = &couponkit.Totals{Subtotal: shown.Subtotal, Discount: shown.Discount, Shipping: shown.Shipping, Total: shown.Total}
	_, err = w.Checkout(t.Context(), r)
	require.Equal(t, []string{"cart_totals_invalid", "cart_totals_invalid", "TEN coupon_inactive"}, refusedFor(err))
	r.Codes = []string{"TEN"}
	_, err = w.Checkout(t.Context(), r)
	require.Equal(t, []string{"TEN coupon_inactive", "TEN cart_totals_invalid", "TEN cart_totals_invalid"}, refusedFor(err))
	r.Codes, r.Expected = []string{"PERCENT", "TEN"}, &couponkit.Totals{Subtotal: 30_00, Discount: 3_00, Shipping: 4_90, Total: 31_90}
	require.Len(t, w.checkout(t, r).Refused, 1, "the totals are those without the coupon")
}

// TestRefusalsAreInTheOrderOfTheRequest: what concerns the whole request comes first.
func TestRefusalsAreInTheOrderOfTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, code := range []string{"A", "B", "C"} {
		d := often(code)
		d.MinPurchase = coupon.Amounts{"": "1000"}
		w.create(t, d)
	}
	for _, codes := range [][]string{{"C", "A", "NONE", "B"}, {"NONE", "B", "C", "A"}} {
		r := w.withCodes(codes...)
		var want []string
		for _, code := range codes {
			reason := " minimum_purchase_not_met"
			if code == "NONE" {
				reason = " coupon_not_found"
			}
			want = append(want, code+reason)
		}
		_, err := w.agreed(t, r)
		require.Equal(t, want, refusedFor(err))
		explained, err := w.Explain(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: codes, Customer: ann})
		require.NoError(t, err)
		for i, code := range explained.Codes {
			require.Equal(t, codes[i], code.Code)
		}
		require.Equal(t, want, refusedFor(explained.Quote.Refused))
		r.SkipRefused, r.Expected = true, &couponkit.Totals{Subtotal: 30_00, Shipping: 4_90, Total: 1}
		_, err = w.Checkout(t.Context(), r)
		require.Equal(t, append([]string{"cart_totals_invalid"}, want...), refusedFor(err))
	}
}

// TestNothingIsReplacedForNothing: an open order stays if none of the coupons applies once it is given up.
func TestNothingIsReplacedForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := often("ONE")
	d.MaxUses, d.MinPurchase = coupon.Set(1), coupon.Amounts{"EUR": "100.00"}
	w.create(t, d)
	first := w.checkout(t, w.phonesFor(2, pricing.EUR(), "ONE"))
	small := w.phonesFor(1, pricing.EUR(), "ONE")
	small.SkipRefused = true
	second, err := w.agreed(t, small)
	require.NoError(t, err)
	require.Empty(t, second.Order.Replaces)
	require.Equal(t, []string{"minimum_purchase_not_met"}, reasonCodes(second.Refused))
	require.Equal(t, redemption.OrderOpen, w.order(t, first.Order.ID).State)
}
