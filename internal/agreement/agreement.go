// Package agreement checks that a quote is what a checkout would do, on any store.
package agreement

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// Check lets customers exchange points, check out, pay and give up, and lets time pass. Before each
// checkout, Check asks for the quote. The checkout must have the same prices, or the same refusals
// with the same parameters. The store is empty.
func Check(t *rapid.T, s store.Store) {
	shop := open(t, s)
	steps := rapid.SliceOfN(rapid.SampledFrom([]func(){
		shop.checkout, shop.checkout, shop.checkout, shop.exchange, shop.pay, shop.cancel, shop.pass,
	}), 1, 25).Draw(t, "steps")
	for _, step := range steps {
		step()
	}
}

// shop is a service with customers and their orders.
type shop struct {
	t       *rapid.T
	ctx     context.Context
	now     time.Time
	service *couponkit.Service
	fake    *fakeprocessor.Processor
	codes   []string
	open    []couponkit.Checkout
}

func open(t *rapid.T, s store.Store) *shop {
	shop := &shop{t: t, ctx: t.Context(), now: time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return shop.now }
	shop.fake = fakeprocessor.New(fakeprocessor.Options{Now: clock, Tolerance: 1_000 * time.Hour})
	ids := 0
	var err error
	shop.service, err = couponkit.New(s, couponkit.WithProcessor(shop.fake), couponkit.WithClock(clock), couponkit.WithPoints(points{}),
		couponkit.WithIDs(func(prefix string) string { ids++; return fmt.Sprintf("%s%04d", prefix, ids) }))
	shop.must(err)
	for i := range rapid.IntRange(1, 4).Draw(t, "coupons") {
		code := fmt.Sprintf("CODE%d", i)
		_, err := shop.service.Create(shop.ctx, shop.draft(code))
		shop.must(err)
		shop.codes = append(shop.codes, code)
	}
	return shop
}

// draft draws a coupon with some limits.
func (s *shop) draft(code string) coupon.Draft {
	chance := func(what string) bool { return rapid.IntRange(0, 2).Draw(s.t, what) == 0 }
	limit := func(what string) coupon.Optional[int] {
		if n := rapid.IntRange(0, 3).Draw(s.t, what); n > 0 {
			return coupon.Set(n)
		}
		return coupon.Clear[int]()
	}
	d := coupon.Draft{
		Code: code, Name: code, Group: rapid.SampledFrom([]string{code, code, code, "shared", ""}).Draw(s.t, "group"),
		DiscountType: pricing.Percentage, Percent: strconv.Itoa(rapid.IntRange(1, 40).Draw(s.t, "percent")),
		MaxUses: limit("uses"), MaxUsesPerUser: limit("uses per customer"), FirstOrder: chance("first order"),
	}
	if chance("points") {
		d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 1
	}
	if chance("budget") {
		d.Budget = coupon.NewAmounts(
			pricing.NewMoney(rapid.Int64Range(1, 30_00).Draw(s.t, "EUR"), pricing.EUR()),
			pricing.NewMoney(rapid.Int64Range(1, 30_00).Draw(s.t, "USD"), pricing.USD()))
	}
	if chance("period") {
		zone, err := calendar.ParseZone("Europe/Berlin")
		s.must(err)
		d.PeriodLimits = []coupon.PeriodLimit{{
			Per:    rapid.SampledFrom([]coupon.LimitSubject{coupon.PerCustomer, coupon.PerCoupon, coupon.PerCode}).Draw(s.t, "per"),
			Period: calendar.Day, Zone: zone, MaxUses: rapid.Int64Range(1, 2).Draw(s.t, "uses a day"),
		}}
	}
	return d
}

func (s *shop) customer() eligibility.Customer {
	return eligibility.Customer{ID: rapid.SampledFrom([]string{"ann", "bob"}).Draw(s.t, "customer")}
}

// checkout asks for a quote and checks out.
func (s *shop) checkout() {
	request := couponkit.CheckoutRequest{
		Customer: s.customer(), SkipRefused: rapid.Bool().Draw(s.t, "skip"),
		Codes:     rapid.Permutation(s.codes).Draw(s.t, "codes")[:rapid.IntRange(0, len(s.codes)).Draw(s.t, "number")],
		Conflicts: rapid.SampledFrom([]eligibility.ConflictPolicy{eligibility.RefuseAll, eligibility.KeepFirst, eligibility.KeepBest}).Draw(s.t, "conflicts"),
		Cart: pricing.Cart{
			Currency: rapid.SampledFrom([]pricing.Currency{pricing.EUR(), pricing.EUR(), pricing.USD()}).Draw(s.t, "currency"),
			Lines:    []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: rapid.Int64Range(1, 3).Draw(s.t, "phones"), UnitPrice: 20_00}},
		},
	}
	quote, refused := s.service.Quote(s.ctx, couponkit.QuoteRequest{
		Cart: request.Cart, Codes: request.Codes, Conflicts: request.Conflicts, SkipRefused: request.SkipRefused, Customer: request.Customer,
	})
	made, err := s.service.Checkout(s.ctx, request)
	if refused == nil && err == nil {
		s.same(quote.Quote, made.Order.Quote, "prices")
		s.same(reasons(quote.Refused), reasons(made.Refused), "coupons that were left out")
		s.open = append(s.open, made)
		return
	}
	if coupon.RejectionsOf(refused) == nil || coupon.RejectionsOf(err) == nil {
		s.t.Fatalf("%s with %q: the quote has the error %v, the checkout %v", request.Customer.ID, request.Codes, refused, err)
	}
	s.same(reasons(coupon.RejectionsOf(refused)), reasons(coupon.RejectionsOf(err)), "refusals")
}

// reasons returns the rejections as values.
func reasons(all coupon.Rejections) (list []coupon.Rejection) {
	for _, r := range all {
		list = append(list, *r)
	}
	return list
}

func (s *shop) same(quote, checkout any, what string) {
	if diff := cmp.Diff(quote, checkout); diff != "" {
		s.t.Fatalf("%s (-quote +checkout):\n%s", what, diff)
	}
}

func (s *shop) exchange() {
	_, err := s.service.ExchangePoints(s.ctx, couponkit.ExchangeRequest{
		Coupon: rapid.SampledFrom(s.codes).Draw(s.t, "coupon"), Customer: s.customer(),
	})
	_ = err // ignore the error: most coupons cost no points
}

// pay pays one of the created sessions. The session may have ended.
func (s *shop) pay() {
	if len(s.open) == 0 {
		return
	}
	_ = s.fake.Pay(rapid.SampledFrom(s.open).Draw(s.t, "paid").Session.ID)
	for _, d := range s.fake.Deliveries() {
		e, err := s.fake.ParseEvent(d.Payload, d.Signature)
		s.must(err)
		_, err = s.service.HandleEvent(s.ctx, e)
		s.must(err)
	}
}

// cancel cancels one of the orders. The order may be paid.
func (s *shop) cancel() {
	if len(s.open) == 0 {
		return
	}
	_, err := s.service.CancelCheckout(s.ctx, couponkit.OrderRequest{
		OrderID: rapid.SampledFrom(s.open).Draw(s.t, "cancelled").Order.ID, AnyCustomer: true,
	})
	_ = err
}

// pass moves the clock forward by up to 20 minutes. After a few steps, it passes midnight in Berlin.
func (s *shop) pass() {
	s.now = s.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(s.t, "minutes")) * time.Minute)
}

func (s *shop) must(err error) {
	if err != nil {
		s.t.Fatal(err)
	}
}

// points is a ledger in which every customer has enough points.
type points struct{}

func (points) Debit(context.Context, string, string, int64) error { return nil }

func (points) Refund(context.Context, string, string) error { return nil }
