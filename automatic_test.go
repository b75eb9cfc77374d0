package couponkit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// automaticWorld is a world whose service looks for automatic coupons, with the offers that find them.
func automaticWorld(t *testing.T, options ...couponkit.Option) (*world, *couponkit.Offers) {
	t.Helper()
	w := newWorld(t)
	current := couponkit.NewOffers(w.store, offers.Limits{})
	return w.withAutomatic(current, options...), current
}

func (w *world) withAutomatic(current *couponkit.Offers, options ...couponkit.Option) *world {
	w.t.Helper()
	service, err := couponkit.New(w.store, append([]couponkit.Option{
		couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger), couponkit.WithAutomatic(current),
	}, options...)...)
	require.NoError(w.t, err)
	w.Service = service
	return w
}

// automatic is a draft of an automatic coupon without a code.
func automatic(d coupon.Draft, name, group string) coupon.Draft {
	d.Code, d.Name, d.Group, d.Automatic = "", name, group, true
	return d
}

func update(t *testing.T, o *couponkit.Offers) {
	t.Helper()
	_, err := o.Update(t.Context())
	require.NoError(t, err)
}

// applied are the names of a quote's coupons.
func applied(q couponkit.Quote) []string {
	names := []string{}
	for _, s := range q.Terms {
		names = append(names, s.Name)
	}
	return names
}

func (w *world) priced(t *testing.T, r couponkit.CheckoutRequest) couponkit.Quote {
	t.Helper()
	q, err := w.Quote(t.Context(), couponkit.QuoteRequest{
		Cart: r.Cart, Codes: r.Codes, Customer: r.Customer, Conflicts: r.Conflicts, SkipRefused: r.SkipRefused,
	})
	require.NoError(t, err)
	return q
}

// An automatic coupon is quoted, explained, sold, counted, given back and replayed like any other one.
func TestAnAutomaticCouponIsRecordedLikeAnyOther(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	d := automatic(percentOff(10), "Tenth", "")
	d.MaxUses, d.Budget = coupon.Set(5), coupon.Amounts{"EUR": "20.00"}
	c := w.create(t, d)
	update(t, current)

	r := w.request("")
	r.Key = "first"
	quote := w.priced(t, r)
	require.Equal(t, []string{"Tenth"}, applied(quote))
	require.Equal(t, int64(3_00), quote.Discount)
	explained, err := w.Explain(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Customer: ann})
	require.NoError(t, err)
	require.Empty(t, explained.Codes)
	require.Equal(t, []couponkit.ExplainedCode{
		{CouponID: c.ID, Applied: true, Discount: pricing.NewMoney(3_00, pricing.EUR()), Reasons: []coupon.Reason{}},
	}, explained.Automatic)

	r.Expected = &couponkit.Totals{Subtotal: quote.Subtotal, Discount: quote.Discount, Shipping: quote.Shipping, Total: quote.Total}
	sold := w.checkout(t, r)
	use := useOf(t, sold.Uses)
	require.Equal(t, c.ID, use.CouponID)
	require.True(t, use.Code.IsZero(), "it came without a code")
	require.Equal(t, quote.Total, sold.Order.Quote.Total)
	stored := w.get(t, c.ID)
	require.Equal(t, [2]int64{0, 1}, [2]int64{stored.UsedCount, stored.ReservedCount})

	w.create(t, automatic(percentOff(90), "Better", "")) // the index says something else now
	update(t, current)
	again := w.checkout(t, r)
	require.True(t, again.Replayed)
	if diff := cmp.Diff(sold.Order, again.Order); diff != "" {
		t.Errorf("the replayed order (-want +got):\n%s", diff)
	}
	w.pay(t, sold)
	stored = w.get(t, c.ID)
	require.Equal(t, [2]int64{1, 0}, [2]int64{stored.UsedCount, stored.ReservedCount})
	_, err = w.Refund(t.Context(), couponkit.RefundRequest{OrderID: sold.Order.ID, Key: "all", Returns: theRest})
	require.NoError(t, err)
	require.Equal(t, int64(0), w.get(t, c.ID).UsedCount, "a full refund gives the use back")
	_, err = w.Checkout(t.Context(), w.requestWithKey("first", "TEN"))
	require.ErrorIs(t, err, store.ErrKeyReused, "a code is another request")
}

func (w *world) requestWithKey(key, code string) couponkit.CheckoutRequest {
	r := w.request(code)
	r.Key = key
	return r
}

// Which coupons apply to the phones of 30.00, by the codes and the policy.
func TestAutomaticCouponsBesideCodes(t *testing.T) {
	t.Parallel()
	free, small := automatic(percentOff(100), "Free", ""), automatic(percentOff(10), "Small", "a")
	other := automatic(percentOff(20), "Other", "b")
	for about, c := range map[string]struct {
		automatic []coupon.Draft
		codes     []coupon.Draft
		typed     []string
		conflicts eligibility.ConflictPolicy
		skip      bool
		want      []string // names, sorted
		refused   []string
	}{
		"the better one of a group":            {[]coupon.Draft{small, automatic(percentOff(30), "Third", "a")}, nil, nil, 0, false, []string{"Third"}, nil},
		"two groups":                           {[]coupon.Draft{small, other}, nil, nil, 0, false, []string{"Other", "Small"}, nil},
		"two groups are better than one alone": {[]coupon.Draft{small, other, automatic(percentOff(25), "Alone", "")}, nil, nil, 0, false, []string{"Other", "Small"}, nil},
		"one alone is better than two groups":  {[]coupon.Draft{small, other, automatic(percentOff(40), "Alone", "")}, nil, nil, 0, false, []string{"Alone"}, nil},
		"yields to a code":                     {[]coupon.Draft{free}, []coupon.Draft{tenOff()}, []string{"TEN"}, eligibility.RefuseAll, false, []string{"Ten off"}, nil},
		"yields to a code with KeepFirst":      {[]coupon.Draft{free}, []coupon.Draft{tenOff()}, []string{"TEN"}, eligibility.KeepFirst, true, []string{"Ten off"}, nil},
		"competes with a code":                 {[]coupon.Draft{automatic(percentOff(90), "Most", "")}, []coupon.Draft{tenOff()}, []string{"TEN"}, eligibility.KeepBest, true, []string{"Most"}, []string{"TEN not_combinable"}},
		"the code wins among equals":           {[]coupon.Draft{automatic(tenOff(), "Same", "")}, []coupon.Draft{tenOff()}, []string{"TEN"}, eligibility.KeepBest, true, []string{"Ten off"}, nil},
		"stands beside a code":                 {[]coupon.Draft{small, other}, []coupon.Draft{grouped(tenOff(), "TEN", "a")}, []string{"TEN"}, 0, false, []string{"Other", "Ten off"}, nil},
		"does not make a code useless":         {[]coupon.Draft{automatic(percentOff(100), "All", "b")}, []coupon.Draft{grouped(tenOff(), "TEN", "a")}, []string{"TEN"}, 0, false, []string{"Ten off"}, nil},
		"a refused code excludes nothing":      {[]coupon.Draft{small}, nil, []string{"WRONG"}, 0, true, []string{"Small"}, []string{"WRONG coupon_not_found"}},
		"the coupon of a code":                 {[]coupon.Draft{{Code: "TEN", Name: "Both", DiscountType: pricing.Percentage, Percent: "10", Automatic: true}}, nil, []string{"TEN"}, 0, false, []string{"Both"}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w, current := automaticWorld(t)
			for _, d := range append(c.automatic, c.codes...) {
				w.create(t, d)
			}
			update(t, current)
			r := w.request("")
			r.Codes, r.Conflicts, r.SkipRefused = c.typed, c.conflicts, c.skip
			quote := w.priced(t, r)
			require.ElementsMatch(t, c.want, applied(quote))
			if len(quote.Refused) > 0 || len(c.refused) > 0 {
				require.Equal(t, c.refused, refusedFor(quote.Refused))
			}
			checkout := w.checkout(t, r)
			require.Equal(t, quote.Total, checkout.Order.Quote.Total)
			require.Len(t, checkout.Uses, len(c.want))
		})
	}
}

// TestAutomaticCouponsAreTheBestOfAll compares quotes with every set of automatic coupons under the counts of
// the store, beside codes and without.
func TestAutomaticCouponsAreTheBestOfAll(t *testing.T) {
	t.Parallel()
	together := 0
	for seed := range testsize.Of(60, 1_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 52))
		w, current := automaticWorld(t)
		var all []coupon.Coupon
		for i := range 1 + r.IntN(6) {
			d := automatic(percentOff(int64(1+r.IntN(60))), "A"+strconv.Itoa(i), []string{"", "a", "b", "c", "code"}[r.IntN(5)])
			if r.IntN(3) == 0 {
				d.DiscountType, d.Percent, d.Amount = pricing.FixedAmount, "", coupon.Amounts{"": strconv.Itoa(1 + r.IntN(25))}
			}
			if r.IntN(3) == 0 {
				d.MinPurchase = coupon.Amounts{"": strconv.Itoa(20 + r.IntN(20))}
			}
			d.MaxUses = coupon.Set(1 + r.IntN(2))
			if r.IntN(4) == 0 {
				d.Budget = coupon.Amounts{"EUR": strconv.Itoa(5 + r.IntN(10))}
				d.MaxDiscount = coupon.Amounts{"EUR": "5.00"}
			}
			if d.DiscountType == pricing.FixedAmount {
				d.Budget, d.MaxDiscount = coupon.Amounts{}, coupon.Amounts{}
			}
			all = append(all, w.create(t, d))
		}
		w.create(t, grouped(percentOff(10), "CODE", "code"))
		update(t, current)
		for range r.IntN(3) { // uses that the index does not know
			request := w.request("")
			request.Customer = bob
			_, err := w.Checkout(t.Context(), request)
			require.NoError(t, err)
		}
		request := w.request("")
		if r.IntN(2) == 0 {
			request.Codes = []string{"CODE"}
		}
		quote := w.priced(t, request)
		want := w.bestDiscount(t, all, request)
		require.Equal(t, want, quote.Discount, "seed %d: %v", seed, applied(quote))
		require.Equal(t, quote.Total, w.checkout(t, request).Order.Quote.Total)
		if len(quote.Terms) > 1 {
			together++
		}
	}
	require.Positive(t, together)
}

// bestDiscount tries every set of coupons beside the codes of a request.
func (w *world) bestDiscount(t *testing.T, all []coupon.Coupon, r couponkit.CheckoutRequest) (best int64) {
	t.Helper()
	var base []eligibility.Candidate
	for _, code := range r.Codes {
		found, err := store.Find(t.Context(), w.store, store.LookUp{Names: store.ByCode(coupon.StoredCode(code))})
		require.NoError(t, err)
		base = append(base, eligibility.Candidate{Coupon: &found.Coupon})
	}
	for chosen := range 1 << len(all) {
		set := append([]eligibility.Candidate{}, base...)
		for i := range all {
			if chosen&(1<<i) == 0 {
				continue
			}
			c := w.get(t, all[i].ID)
			counts := w.taken(t, eligibility.Budget(c.ID, "EUR"))
			set = append(set, eligibility.Candidate{Coupon: &c, Usage: eligibility.Usage{
				Completed: c.UsedCount, Reserved: c.ReservedCount, Spent: coupon.NewMoneySet(pricing.NewMoney(counts[0].Taken(), pricing.EUR())),
			}})
		}
		found, err := eligibility.EvaluateSet(set, r.Cart, eligibility.Question{At: w.now, Customer: ann})
		require.NoError(t, err)
		if found.Err() == nil {
			best = max(best, found.Quote.Discount)
		}
	}
	return best
}

// An index that is behind the store grants nothing that the store refuses, and misses only what it does not
// know.
func TestAStaleIndexOfAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	off, down, manual := w.create(t, automatic(percentOff(50), "Off", "")), w.create(t, automatic(percentOff(40), "Down", "")), w.create(t, automatic(percentOff(30), "Manual", ""))
	gone := w.create(t, automatic(percentOff(60), "Gone", ""))
	w.create(t, automatic(percentOff(5), "Kept", ""))
	update(t, current)
	require.Equal(t, []string{"Gone"}, applied(w.priced(t, w.request(""))))
	_, err := w.SetActive(t.Context(), off.ID, false)
	require.NoError(t, err)
	_, err = w.Update(t.Context(), down.ID, coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "100"})})
	require.NoError(t, err)
	_, err = w.Update(t.Context(), manual.ID, coupon.Patch{Automatic: coupon.Set(false)})
	require.NoError(t, err)
	require.NoError(t, w.Delete(t.Context(), gone.ID))
	w.create(t, automatic(percentOff(70), "New", ""))
	require.Equal(t, []string{"Kept"}, applied(w.priced(t, w.request(""))))
	require.Equal(t, []string{"Kept"}, names(w.checkout(t, w.request("")).Order))
	update(t, current)
	require.Equal(t, []string{"New"}, applied(w.priced(t, w.request(""))))
	require.Nil(t, current.Automatic().Get(manual.ID))
	require.Nil(t, current.Index().Get(manual.ID), "it has no code")
}

func names(o redemption.Order) []string {
	list := []string{}
	for _, s := range o.Coupons {
		list = append(list, s.Name)
	}
	return list
}

// An automatic coupon that runs out between the quote and the checkout is left out: the customer is told by
// the totals that they expect, and nothing is stored.
func TestAnAutomaticCouponRunsOut(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	d := automatic(percentOff(50), "Last", "")
	d.MaxUses = coupon.Set(1)
	last := w.create(t, d)
	w.create(t, automatic(percentOff(5), "Kept", ""))
	update(t, current)
	r := w.requestWithKey("mine", "")
	quote := w.priced(t, r)
	require.Equal(t, []string{"Last"}, applied(quote))
	others := w.request("")
	others.Customer = bob
	require.Equal(t, []string{"Last"}, names(w.checkout(t, others).Order))

	r.Expected = &couponkit.Totals{Subtotal: quote.Subtotal, Discount: quote.Discount, Shipping: quote.Shipping, Total: quote.Total}
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrCartTotalsInvalid)
	require.Equal(t, []string{"cart_totals_invalid", "cart_totals_invalid"}, refusedFor(err))
	_, err = w.orderByKey("mine")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Equal(t, int64(1), w.get(t, last.ID).ReservedCount)
	r.Expected = nil
	require.Equal(t, []string{"Kept"}, names(w.checkout(t, r).Order))
}

// Two checkouts at once for the last use of an automatic coupon: both succeed, and one has the coupon.
func TestTwoCheckoutsForTheLastUseOfAnAutomaticCoupon(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	for round := range 20 {
		d := automatic(percentOff(50), "Last", "")
		d.MaxUses = coupon.Set(1)
		last := w.create(t, d)
		update(t, current)
		var wg sync.WaitGroup
		orders := make([]couponkit.Checkout, 2)
		for i := range orders {
			wg.Go(func() {
				made, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Customer: eligibility.Customer{ID: customerID(2*round + i)}})
				if err != nil {
					t.Error(err)
				}
				orders[i] = made
			})
		}
		wg.Wait()
		require.Equal(t, 1, len(orders[0].Uses)+len(orders[1].Uses))
		require.Equal(t, int64(1), w.get(t, last.ID).ReservedCount)
		_, err := w.SetActive(t.Context(), last.ID, false)
		require.NoError(t, err)
	}
}

// Coupons that are used up do not keep others from being proposed.
func TestUsedUpAutomaticCouponsMakeWay(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	for i := range 20 {
		d := automatic(percentOff(50), fmt.Sprint("Once ", i), "")
		d.MaxUses, d.MaxUsesPerUser = coupon.Set(1), coupon.Clear[int]()
		w.create(t, d)
	}
	w.create(t, automatic(percentOff(5), "Kept", ""))
	update(t, current)
	used := map[string]bool{}
	for i := 0; len(used) < 20 && i < 30; i++ {
		made := w.checkout(t, w.request(""))
		for _, name := range names(made.Order) {
			used[name] = true
		}
		w.pay(t, made)
	}
	require.Len(t, used, 20)
	for range 3 { // each decision learns of further ones
		w.priced(t, w.request(""))
	}
	require.Equal(t, []string{"Kept"}, applied(w.priced(t, w.request(""))))
}

// A customer who goes back and checks out again keeps an automatic coupon that their open order holds.
func TestAnAutomaticCouponIsHandedOver(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	d := automatic(percentOff(50), "Once", "")
	d.FirstOrder = true
	c := w.create(t, d) // once for each customer
	update(t, current)
	first := w.checkout(t, w.request(""))
	require.Len(t, first.Uses, 1)
	r := w.request("")
	r.Cart.Lines[0].Quantity = 2
	require.Equal(t, []string{"Once"}, applied(w.priced(t, r)))
	second := w.checkout(t, r)
	require.Equal(t, []string{"Once"}, names(second.Order))
	require.Equal(t, first.Order.ID, second.Order.Replaces)
	require.Equal(t, int64(1), w.get(t, c.ID).ReservedCount)
	w.pay(t, second)
	require.Empty(t, applied(w.priced(t, w.request(""))), "the customer has used it")
}

// An automatic coupon never refuses a request.
func TestAnAutomaticCouponNeverRefuses(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t, couponkit.WithMirrorTTL(0))
	c := w.create(t, automatic(pricedOff("34.60"), "Nearly all", "")) // 0.30 is too small for the processor
	w.create(t, automatic(percentOff(10), "Tenth", ""))
	update(t, current)
	r := w.request("")
	r.Cart.Lines[1].UnitPrice = 5_00
	r.Cart.Lines[0].UnitPrice, r.Cart.Lines[0].Quantity = 34_90, 1
	r.Cart.Lines = r.Cart.Lines[:1]
	require.Equal(t, []string{"Tenth"}, applied(w.priced(t, r)))

	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.LostBefore, Times: -1})
	require.Empty(t, applied(w.priced(t, r)), "nobody knows whether the mirrors are valid")
	w.fake.Heal()
	_, err := w.Update(t.Context(), c.ID, coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "10"})})
	require.NoError(t, err)
	require.Equal(t, []string{"Tenth"}, names(w.checkout(t, r).Order))
}

func pricedOff(amount string) coupon.Draft {
	d := tenOff()
	d.Amount = coupon.Amounts{"": amount}
	return d
}

// A mirror that is gone takes its coupon out, and the next best one applies.
func TestAnAutomaticCouponWithoutItsMirror(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	c := w.create(t, automatic(percentOff(50), "Half", ""))
	w.create(t, automatic(percentOff(10), "Tenth", ""))
	update(t, current)
	require.Equal(t, []string{"Half"}, names(w.checkout(t, w.request("")).Order))
	require.NoError(t, w.fake.RemoveMirror(t.Context(), w.get(t, c.ID)))
	r := w.request("")
	r.Customer = bob
	require.Equal(t, []string{"Tenth"}, names(w.checkout(t, r).Order))
}

// Who gets automatic coupons: the same customers as with a code, and nobody is refused because of one.
func TestWhoGetsAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t, couponkit.WithGuests(), couponkit.WithOpaqueRefusals())
	own := automatic(percentOff(50), "For Ann", "")
	own.Distribution, own.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{ann.Email}
	w.create(t, own)
	tagged := automatic(percentOff(30), "Members", "")
	tagged.CustomerTags.Any = []string{"member"}
	w.create(t, tagged)
	w.create(t, automatic(percentOff(10), "All", ""))
	update(t, current)
	for about, c := range map[string]struct {
		customer  eligibility.Customer
		anonymous bool
		want      []string
		err       error
	}{
		"the customer of the list": {ann, false, []string{"For Ann"}, nil},
		"another customer":         {bob, false, []string{"All"}, nil},
		"a member":                 {eligibility.Customer{ID: "eve", Tags: []string{"member"}}, false, []string{"Members"}, nil},
		"a guest on the list":      {eligibility.Customer{Email: ann.Email}, false, []string{"All"}, nil},
		"an anonymous customer":    {eligibility.Customer{}, true, []string{"All"}, nil},
		"one who has to sign in":   {eligibility.Customer{}, false, []string{}, coupon.ErrUserRequired},
	} {
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Customer: c.customer, AllowAnonymous: c.anonymous})
		require.ErrorIs(t, err, c.err, about)
		require.Equal(t, c.want, applied(q), about)
	}
}

// An automatic coupon takes no attempt of the limiter.
func TestAnAutomaticCouponTakesNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	current := couponkit.NewOffers(w.store, offers.Limits{})
	w.withAutomatic(current, couponkit.WithLimiter(brokenLimiter{}))
	w.create(t, automatic(percentOff(10), "Tenth", ""))
	update(t, current)
	require.Equal(t, []string{"Tenth"}, applied(w.priced(t, w.request(""))))
}

// Nothing is looked for without the option, in an amount, and before there is a cart.
func TestWithoutAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	w.create(t, automatic(percentOff(10), "Tenth", ""))
	require.Empty(t, applied(w.priced(t, w.request(""))), "before the first update")
	update(t, current)
	link, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		CheckoutRequest: w.request(""), Mode: couponkit.ProductLink, Amount: pricing.NewMoney(5_00, pricing.EUR()),
	})
	require.NoError(t, err)
	require.Equal(t, int64(5_00), w.order(t, link.Order.ID).Quote.Total)
	calls := 0
	s, err := couponkit.New(gated{w.store, func(string, func() error) error { calls++; return context.Canceled }}, couponkit.WithAutomatic(nil))
	require.NoError(t, err)
	_, err = s.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Customer: ann})
	require.NoError(t, err)
	require.Zero(t, calls)
}

// A prepared request keeps the automatic coupons that were looked at, in a transaction of the host.
func TestAPreparedRequestWithAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	c := w.create(t, automatic(percentOff(10), "Tenth", ""))
	update(t, current)
	r := couponkit.ReserveRequest{OrderID: "1001", QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann}}
	prepared, err := w.Prepare(t.Context(), r)
	require.NoError(t, err)
	w.create(t, automatic(percentOff(50), "New", ""))
	update(t, current)
	made, err := w.In(inHost{w.store}).Reserve(t.Context(), prepared)
	require.NoError(t, err)
	require.Equal(t, []string{"Tenth"}, names(made.Order))

	r.OrderID, r.Customer = "1002", bob
	prepared, err = w.Prepare(t.Context(), r)
	require.NoError(t, err)
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Changed")})
	require.NoError(t, err)
	made, err = w.In(inHost{w.store}).Reserve(t.Context(), prepared)
	require.NoError(t, err)
	require.Equal(t, []string{"New"}, names(made.Order), "a change of a coupon that does not apply is no matter")
	own, err := w.Reserve(t.Context(), couponkit.ReserveRequest{OrderID: "1003", QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: eligibility.Customer{ID: "eve"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"New"}, names(own.Order))
}

// More automatic coupons than a decision looks at: the best set is among them.
func TestManyAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	for i := range 100 {
		w.create(t, automatic(percentOff(40), fmt.Sprintf("Crowd %d", i), "a"))
	}
	w.create(t, automatic(percentOff(5), "Beside", "b"))
	update(t, current)
	got := applied(w.priced(t, w.request("")))
	require.Len(t, got, 2)
	require.Contains(t, got, "Beside")
	require.Equal(t, 2, strings.Count(fmt.Sprint(names(w.checkout(t, w.request("")).Order)), "e"), "a crowd coupon and Beside")
}
