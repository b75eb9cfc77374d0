package couponkit_test

import (
	gocmp "cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// grouped is a draft that can be combined with drafts of other groups.
func grouped(d coupon.Draft, code, group string) coupon.Draft {
	d.Code, d.Group = code, group
	return d
}

// twoCoupons are 10 EUR off and 10 % off, of two groups.
func (w *world) twoCoupons(t *testing.T) (ten, percent coupon.Coupon) {
	t.Helper()
	return w.create(t, grouped(tenOff(), "TEN", "amount")), w.create(t, grouped(percentOff(10), "PERCENT", "percent"))
}

// withCodes is ann's request with several codes.
func (w *world) withCodes(codes ...string) couponkit.CheckoutRequest {
	r := w.request("")
	r.Codes = codes
	return r
}

// taken is how much is taken of counters.
func (w *world) taken(t *testing.T, keys ...string) []eligibility.Count {
	t.Helper()
	counts, err := w.store.Counts(t.Context(), keys)
	require.NoError(t, err)
	return counts
}

// refusedFor are the reasons of an error, by the code that each concerns.
func refusedFor(err error) []string {
	var lines []string
	for _, r := range coupon.RejectionsOf(err) {
		for _, reason := range r.Reasons {
			lines = append(lines, strings.TrimSpace(r.Code+" "+reason.Code.String()))
		}
	}
	return lines
}

// One order has one session and a use of each coupon, with a discount and a budget of its own.
func TestSeveralCouponsOnOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := grouped(percentOff(10), "PERCENT", "percent")
	d.Budget = coupon.NewAmounts(pricing.NewMoney(50_00, pricing.EUR()))
	percent, ten := w.create(t, d), w.create(t, grouped(tenOff(), "TEN", "amount"))
	made := w.checkout(t, w.withCodes("ten", percent.ID))
	require.EqualValues(t, 13_00, made.Order.Quote.Discount)
	require.Len(t, made.Order.Coupons, 2)
	discounts := map[string]int64{}
	for _, u := range made.Uses {
		discounts[u.CouponID] = u.Discount
	}
	require.Equal(t, map[string]int64{ten.ID: 10_00, percent.ID: 3_00}, discounts)
	require.Equal(t, []eligibility.Count{{Reserved: 3_00}}, w.taken(t, eligibility.Budget(percent.ID, "EUR")))
	asked, err := w.fake.Request(made.Session.ID)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{ten.ID, percent.ID}, processor.CouponIDs(asked.Metadata))
	require.Equal(t, "1300", asked.Metadata[processor.MetadataDiscountAmount])
	require.Equal(t, made.Order.Coupons, asked.Coupons)
	w.pay(t, made)
	for _, id := range []string{ten.ID, percent.ID} {
		require.EqualValues(t, 1, w.get(t, id).UsedCount)
	}
	require.Equal(t, []eligibility.Count{{Completed: 3_00}, {Completed: 1}}, w.taken(t, eligibility.Budget(percent.ID, "EUR"), eligibility.CustomerOrders(ann.ID)))
}

// By default one refused coupon refuses all. The request may leave it out instead.
func TestARefusedCouponOfASet(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		codes    []string
		want     []string // refused
		discount int64    // of the rest
	}{
		"none is refused":      {[]string{"TEN", "PERCENT"}, nil, 13_00},
		"an unknown code":      {[]string{"NONE", "TEN"}, []string{"NONE coupon_not_found"}, 10_00},
		"two unknown codes":    {[]string{"NONE", "TEN", "ALSO"}, []string{"ALSO coupon_not_found", "NONE coupon_not_found"}, 10_00},
		"an empty code":        {[]string{"", "TEN"}, []string{"code_required"}, 10_00},
		"exclusive coupons":    {[]string{"TEN", "ALONE", "PERCENT"}, []string{"TEN not_combinable", "PERCENT not_combinable", "ALONE not_combinable"}, 0},
		"one group":            {[]string{"TEN", "TENTH", "PERCENT"}, []string{"TEN not_combinable", "TENTH not_combinable"}, 3_00},
		"one is inactive":      {[]string{"OFF", "PERCENT"}, []string{"OFF coupon_inactive"}, 3_00},
		"only a refused one":   {[]string{"OFF"}, []string{"OFF coupon_inactive"}, 0},
		"every one is refused": {[]string{"OFF", "NONE"}, []string{"NONE coupon_not_found", "OFF coupon_inactive"}, 0},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.twoCoupons(t)
			w.create(t, grouped(percentOff(20), "ALONE", ""))
			w.create(t, grouped(tenOff(), "TENTH", "amount"))
			off := w.create(t, grouped(tenOff(), "OFF", "off"))
			_, err := w.SetActive(t.Context(), off.ID, false)
			require.NoError(t, err)
			request := couponkit.QuoteRequest{Cart: phones(), Codes: c.codes, Customer: ann}
			quote, err := w.Quote(t.Context(), request)
			require.ElementsMatch(t, c.want, refusedFor(err))
			if err != nil {
				require.Zero(t, quote.Discount, "the list prices")
				require.Empty(t, quote.Terms)
				_, err = w.Checkout(t.Context(), w.withCodes(c.codes...))
				require.ElementsMatch(t, c.want, refusedFor(err))
			}
			request.SkipRefused = true
			quote, err = w.Quote(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, c.discount, quote.Discount)
			require.Len(t, quote.Terms, len(c.codes)-len(quote.Refused))
			checkout := w.withCodes(c.codes...)
			checkout.SkipRefused = true
			made := w.checkout(t, checkout)
			require.Equal(t, c.discount, made.Order.Quote.Discount)
			require.Len(t, made.Uses, len(c.codes)-len(made.Refused))
			if len(made.Refused) > 0 {
				require.ElementsMatch(t, c.want, refusedFor(made.Refused))
			}
		})
	}
}

// Prices, explanations and fingerprints are the same in every order of the codes. Lists of codes
// are in the order of the request.
func TestTheOrderOfCodesChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.twoCoupons(t)
	w.create(t, grouped(percentOff(20), "TWENTY", "percent"))
	w.create(t, grouped(percentOff(30), "ALONE", ""))
	all := []string{"TEN", "PERCENT", "TWENTY", "ALONE", "NONE"}
	rapid.Check(t, func(r *rapid.T) {
		codes := rapid.Permutation(all).Draw(r, "codes")[:rapid.IntRange(1, len(all)).Draw(r, "number")]
		text := func(codes []string) string {
			request := couponkit.QuoteRequest{Cart: phones(), Codes: codes, Customer: ann}
			quote, err := w.Quote(t.Context(), request)
			request.SkipRefused = true
			skipped, failed := w.Quote(t.Context(), request)
			explained, unexplained := w.Explain(t.Context(), request)
			if failed != nil || unexplained != nil {
				r.Fatal(failed, unexplained)
			}
			inOrder := func(code string) int { return slices.Index(codes, code) }
			refused := coupon.RejectionsOf(err)
			for _, list := range []coupon.Rejections{refused, skipped.Refused, explained.Quote.Refused} {
				if !slices.IsSortedFunc(list, func(a, b *coupon.Rejection) int { return gocmp.Compare(inOrder(a.Code), inOrder(b.Code)) }) {
					r.Errorf("%q are refused as %v", codes, list)
				}
				slices.SortFunc(list, func(a, b *coupon.Rejection) int { return strings.Compare(a.Code, b.Code) })
			}
			for i, code := range codes {
				if explained.Codes[i].Code != code {
					r.Errorf("%q are explained as %v", codes, explained.Codes)
				}
			}
			slices.SortFunc(explained.Codes, func(a, b couponkit.ExplainedCode) int { return strings.Compare(a.Code, b.Code) })
			parts, bad := json.Marshal([]any{quote, fmt.Sprint(refused), skipped, fmt.Sprint(skipped.Refused), explained})
			if bad != nil {
				r.Fatal(bad)
			}
			return string(parts)
		}
		if diff := cmp.Diff(text(codes), text(rapid.Permutation(codes).Draw(r, "other order"))); diff != "" {
			r.Errorf("another order, another answer:\n%s", diff)
		}
	})
}

// A key brings its order back in any order and spelling of the same codes, and for no others.
func TestARepeatedKeyWithSeveralCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ten, _ := w.twoCoupons(t)
	r := w.withCodes("TEN", "PERCENT")
	r.Key = "k"
	first := w.checkout(t, r)
	for _, same := range [][]string{{"percent", " ten "}, {"PERCENT", "TEN"}} {
		r.Codes = same
		again := w.checkout(t, r)
		require.True(t, again.Replayed)
		require.Equal(t, first.Order.ID, again.Order.ID)
	}
	for _, other := range [][]string{nil, {"TEN"}, {"TEN", "NONE"}, {"PERCENT", "TEN", "NONE"}, {ten.ID, "PERCENT"}} {
		r.Codes = other
		_, err := w.Checkout(t.Context(), r)
		require.ErrorIs(t, err, store.ErrKeyReused, "%q", other)
	}
	r.Codes, r.SkipRefused = []string{"TEN", "PERCENT"}, true
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, store.ErrKeyReused)
}

// An order that has left out a refused coupon comes back although the coupon could be used now.
func TestARepeatedKeyOfAnOrderThatHasLeftOutACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ten, _ := w.twoCoupons(t)
	_, err := w.SetActive(t.Context(), ten.ID, false)
	require.NoError(t, err)
	r := w.withCodes("TEN", "PERCENT")
	r.Key, r.SkipRefused = "k", true
	first := w.checkout(t, r)
	require.Len(t, first.Refused, 1)
	_, err = w.SetActive(t.Context(), ten.ID, true)
	require.NoError(t, err)
	again := w.checkout(t, r)
	require.True(t, again.Replayed)
	require.Len(t, again.Uses, 1)
}

func TestTheBoundsOfTheCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.twoCoupons(t)
	var many []string
	for i := range pricing.MaxCoupons + 1 {
		many = append(many, fmt.Sprintf("CODE%d", i))
	}
	for about, c := range map[string]struct {
		codes []string
		want  []string
	}{
		"33 codes":         {many, []string{"codes"}},
		"the same twice":   {[]string{"TEN", "PERCENT", "TEN", "TEN"}, []string{"codes[2]", "codes[3]"}},
		"another spelling": {[]string{"TEN", " ten"}, []string{"codes[1]"}},
		"unknown twice":    {[]string{"NONE", "none"}, []string{"codes[1]"}},
	} {
		_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: c.codes, Customer: ann, SkipRefused: true})
		require.Equal(t, c.want, faultyFields(t, err), about)
		_, err = w.Explain(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: c.codes, Customer: ann})
		require.Equal(t, c.want, faultyFields(t, err), about)
		_, err = w.Checkout(t.Context(), w.withCodes(c.codes...))
		require.Equal(t, c.want, faultyFields(t, err), about)
		_, err = w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
			CheckoutRequest: w.withCodes(c.codes...), Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
		})
		require.Equal(t, c.want, faultyFields(t, err), about)
	}
	_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: many[:pricing.MaxCoupons], Customer: ann})
	require.Len(t, coupon.RejectionsOf(err), pricing.MaxCoupons)
}

// A checkout with other codes takes over the open order of the same customer.
func TestHandOverToOtherCodes(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct{ before, after []string }{
		"one more":  {[]string{"TEN"}, []string{"TEN", "PERCENT"}},
		"one fewer": {[]string{"TEN", "PERCENT"}, []string{"PERCENT"}},
		"the same":  {[]string{"TEN", "PERCENT"}, []string{"PERCENT", "TEN"}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t) // each coupon once per customer
			ten, percent := w.twoCoupons(t)
			before := w.checkout(t, w.withCodes(c.before...))
			after := w.checkout(t, w.withCodes(c.after...))
			require.Equal(t, before.Order.ID, after.Order.Replaces)
			require.Equal(t, redemption.OrderCancelled, w.order(t, before.Order.ID).State)
			for id, code := range map[string]string{ten.ID: "TEN", percent.ID: "PERCENT"} {
				want := int64(0)
				if slices.Contains(c.after, code) {
					want = 1
				}
				require.Equal(t, want, w.get(t, id).ReservedCount, code)
			}
			ended, err := w.fake.Session(t.Context(), before.Session.ID)
			require.NoError(t, err)
			require.Equal(t, processor.SessionExpired, ended.Status)
		})
	}
}

// Two open orders hold one coupon each. An order replaces one other at most.
func TestNoHandOverOfTwoOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ten, percent := w.twoCoupons(t)
	w.checkout(t, w.withCodes("TEN"))
	w.checkout(t, w.withCodes("PERCENT"))
	_, err := w.Checkout(t.Context(), w.withCodes("TEN", "PERCENT"))
	require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached)
	for _, id := range []string{ten.ID, percent.ID} {
		require.EqualValues(t, 1, w.get(t, id).ReservedCount, "all or nothing")
	}
}

// Points pay for one coupon of a set. Without points the set is refused.
func TestPointsCouponsInASet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := grouped(forPoints(), "POINTS", "points")
	bought := w.create(t, d)
	w.create(t, grouped(percentOff(10), "PERCENT", "percent"))
	_, err := w.Checkout(t.Context(), w.withCodes("POINTS", "PERCENT"))
	require.Equal(t, []string{"points_not_redeemed"}, reasonCodes(err))
	held := w.exchange(t, bought)
	first := w.checkout(t, w.withCodes("POINTS", "PERCENT"))
	second := w.checkout(t, w.withCodes("PERCENT", "POINTS"))
	require.Equal(t, first.Order.ID, second.Order.Replaces)
	for _, u := range second.Uses {
		require.Equal(t, u.CouponID == bought.ID, u.ExchangeID == held.ExchangeID)
	}
	w.pay(t, second)
	require.EqualValues(t, 1, w.get(t, bought.ID).UsedCount)
	require.Zero(t, w.get(t, bought.ID).ReservedCount)
}

func reasonCodes(err error) (codes []string) {
	for _, r := range coupon.RejectionsOf(err) {
		for _, reason := range r.Reasons {
			codes = append(codes, reason.Code.String())
		}
	}
	return codes
}

// The mirror of each coupon is checked.
func TestTheMirrorOfEachCouponIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, percent := w.twoCoupons(t)
	require.NoError(t, w.fake.RemoveMirror(t.Context(), percent))
	_, err := w.Checkout(t.Context(), w.withCodes("TEN", "PERCENT"))
	require.Equal(t, []string{"PERCENT processor_out_of_sync"}, refusedFor(err))
}

// A payment that comes late is flagged use by use.
func TestALatePaymentForSeveralCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := grouped(tenOff(), "TEN", "amount")
	d.MaxUses = coupon.Set(1)
	ten, percent := w.create(t, d), w.create(t, grouped(percentOff(10), "PERCENT", "percent"))
	late := w.checkout(t, w.withCodes("TEN", "PERCENT"))
	event := w.event(late, processor.Completed, processor.Paid)
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	_, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	theirs := w.request("TEN")
	theirs.Customer = bob
	w.checkout(t, theirs)
	o, err := w.HandleEvent(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagOverLimit, o.Flag)
	for _, u := range o.Uses {
		require.Equal(t, redemption.Completed, u.State)
		require.Equal(t, u.CouponID == ten.ID, u.OverLimit)
	}
	require.EqualValues(t, 1, w.get(t, percent.ID).UsedCount)
}

// The metadata of a session names each coupon, so that a payment without an order counts all.
func TestAnUnknownPaymentForSeveralCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ten, percent := w.twoCoupons(t)
	event := processor.Event{
		ID: "evt", Type: processor.Completed, SessionID: "cs_unknown", PaymentStatus: processor.Paid, CreatedAt: w.now,
		Metadata: processor.MetadataOfCoupons([]coupon.Snapshot{ten.Snapshot(), percent.Snapshot(), {ID: "cpn_gone"}}),
	}
	event.Metadata[processor.MetadataCustomerID] = ann.ID
	for range 2 {
		o, err := w.HandleEvent(t.Context(), event)
		require.NoError(t, err)
		require.Len(t, o.Uses, 3)
		for _, id := range []string{ten.ID, percent.ID} {
			require.EqualValues(t, 1, w.get(t, id).UsedCount)
		}
	}
}

// A payment link in product mode records several coupons and takes nothing off.
func TestAProductLinkWithSeveralCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.twoCoupons(t)
	w.create(t, grouped(percentOff(20), "ALONE", ""))
	link := couponkit.PaymentLinkRequest{
		CheckoutRequest: w.withCodes("TEN", "PERCENT"), Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
	}
	made, err := w.PaymentLink(t.Context(), link)
	require.NoError(t, err)
	require.EqualValues(t, 10_00, made.Order.Quote.Total)
	require.Len(t, made.Uses, 2)
	link.Codes = []string{"ALONE", "TEN"}
	_, err = w.PaymentLink(t.Context(), link)
	require.Equal(t, []string{"ALONE not_combinable", "TEN not_combinable"}, refusedFor(err), "the open order has TEN")
	link.Codes, link.SkipRefused = []string{"NONE", "PERCENT"}, true
	link.Customer = bob
	made, err = w.PaymentLink(t.Context(), link)
	require.NoError(t, err)
	require.Len(t, made.Uses, 1)
	require.Len(t, made.Refused, 1)
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.twoCoupons(t)
	d := grouped(percentOff(20), "LARGE", "large")
	d.MinPurchase = coupon.Amounts{"": "50"}
	w.create(t, d)
	w.create(t, grouped(tenOff(), "TENTH", "amount"))
	request := couponkit.QuoteRequest{Cart: phones(), Codes: []string{"tenth", "TEN", "PERCENT", "LARGE", "NONE"}, Customer: ann}
	e, err := w.Explain(t.Context(), request)
	require.NoError(t, err)
	require.EqualValues(t, 3_00, e.Quote.Discount)
	require.Len(t, e.Quote.Refused, 4)
	for i := range e.Codes {
		require.Equal(t, e.Codes[i].Code == "NONE", e.Codes[i].CouponID == "")
		e.Codes[i].CouponID = ""
	}
	text, err := json.Marshal(e.Codes)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"code":"tenth","applied":false,"discount":"0.00","excludedBy":["TEN"],"rejections":[{"code":"not_combinable",
		 "message":"This coupon cannot be combined with another coupon in the cart.","params":{"excludedBy":["TEN"]}}]},
		{"code":"TEN","applied":false,"discount":"0.00","excludedBy":["TENTH"],"rejections":[{"code":"not_combinable",
		 "message":"This coupon cannot be combined with another coupon in the cart.","params":{"excludedBy":["TENTH"]}}]},
		{"code":"PERCENT","applied":true,"discount":"3.00","rejections":[]},
		{"code":"LARGE","applied":false,"discount":"0.00","rejections":[{"code":"minimum_purchase_not_met",
		 "message":"The minimum purchase for this coupon is not met.","params":{"minPurchase":"50.00","eligibleSubtotal":"30.00","missing":"20.00"}}]},
		{"code":"NONE","applied":false,"discount":"0.00","rejections":[{"code":"coupon_not_found",
		 "message":"This coupon code does not exist.","params":{}}]}]`, string(text))
	last := w.attempts[len(w.attempts)-1]
	require.Equal(t, couponkit.OpExplain, last.Operation)
	request.Codes = nil
	e, err = w.Explain(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, e.Codes)
	require.EqualValues(t, 34_90, e.Quote.Total)
}

// Two services on one store sell two coupons together and alone. No order has one of two
// coupons, and no limit is exceeded.
func TestAllOrNothingUnderLoad(t *testing.T) {
	t.Parallel()
	const customers, limitOfTen, limitOfPercent = 60, 7, 11
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	shared := memstore.New()
	fake := fakeprocessor.New(fakeprocessor.Options{Now: now})
	var services []*couponkit.Service
	for range 2 {
		s, err := couponkit.New(shared, couponkit.WithProcessor(fake), couponkit.WithClock(now))
		require.NoError(t, err)
		services = append(services, s)
	}
	ids := map[string]string{}
	for code, limit := range map[string]int{"TEN": limitOfTen, "PERCENT": limitOfPercent} {
		d := grouped(percentOff(10), code, code)
		d.MaxUses = coupon.Set(limit)
		c, err := services[0].Create(t.Context(), d)
		require.NoError(t, err)
		ids[code] = c.ID
	}
	var group sync.WaitGroup
	made, errs := make([]couponkit.Checkout, customers), make([]error, customers)
	for i := range customers {
		group.Go(func() {
			r := couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN", "PERCENT"}, Customer: eligibility.Customer{ID: customerID(i)}}
			r.SkipRefused = i%3 == 0
			slices.SortFunc(r.Codes, func(a, b string) int { return (i%2*2 - 1) * strings.Compare(a, b) })
			made[i], errs[i] = services[i%2].Checkout(t.Context(), r)
		})
	}
	group.Wait()
	reserved := map[string]int64{}
	for i, c := range made {
		switch err := errs[i]; {
		case i%3 != 0 && err == nil && len(c.Uses) != 2, i%3 == 0 && len(c.Uses)+len(c.Refused) != 2:
			t.Errorf("customer %d has an order with %d uses", i, len(c.Uses))
		case i%3 == 0 && err != nil, err != nil && !errors.Is(err, coupon.ErrUsageLimitReached):
			t.Errorf("customer %d: %v", i, err)
		}
		for _, u := range c.Uses {
			reserved[u.CouponID]++
		}
	}
	for code, limit := range map[string]int64{"TEN": limitOfTen, "PERCENT": limitOfPercent} {
		found, err := store.Find(t.Context(), shared, store.LookUp{Names: store.ByID(ids[code])})
		require.NoError(t, err)
		require.Equal(t, found.Coupon.ReservedCount, reserved[ids[code]], code)
		require.LessOrEqual(t, reserved[ids[code]], limit, code)
	}
	require.EqualValues(t, limitOfTen, reserved[ids["TEN"]])
}
