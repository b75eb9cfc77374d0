package couponkit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// bestOf tries all automatic coupons of each group under the counts of the store: together and with the codes of
// a request, or with KeepBest also without some of them.
func (w *world) bestOf(t *testing.T, all []coupon.Coupon, r couponkit.CheckoutRequest) (best int64) {
	t.Helper()
	var codes []eligibility.Candidate
	groups := map[string][]eligibility.Candidate{}
	for _, code := range r.Codes {
		found, err := store.Find(t.Context(), w.store, store.LookUp{Names: store.ByCode(coupon.StoredCode(code))})
		require.NoError(t, err)
		codes = append(codes, w.candidate(t, found.Coupon, r.Customer))
	}
	sets := [][]eligibility.Candidate{codes}
	if r.Conflicts == eligibility.KeepBest {
		for _, c := range codes {
			groups[c.Coupon.Group] = append(groups[c.Coupon.Group], c)
		}
		sets = [][]eligibility.Candidate{nil}
	}
	for _, c := range all {
		groups[c.Group] = append(groups[c.Group], w.candidate(t, w.get(t, c.ID), r.Customer))
	}
	for group, coupons := range groups {
		for _, set := range sets {
			for _, c := range coupons {
				if group != "" || len(set) == 0 {
					sets = append(sets, append(slices.Clip(set), c))
				}
			}
		}
	}
	var found eligibility.SetResult
	for _, set := range sets {
		require.NoError(t, found.Reevaluate(set, r.Cart, eligibility.Question{At: w.now, Customer: r.Customer}))
		if found.Err() == nil {
			best = max(best, found.Quote.Discount)
		}
	}
	return best
}

// candidate is a coupon with the customer's and all uses, as the store has counted them.
func (w *world) candidate(t *testing.T, c coupon.Coupon, customer eligibility.Customer) eligibility.Candidate {
	t.Helper()
	limits := eligibility.Claimant{Coupon: &c, Identities: customer.Identities(), At: w.now}.Limits()
	return eligibility.Candidate{Coupon: &c, Usage: eligibility.UsageOf(limits, func(counter string) int64 {
		return w.taken(t, counter)[0].Taken()
	})}
}

// A customer who has used the best 12 of 20 automatic coupons gets the best set of the others, and later all
// of them. A decision asks the store once more, or not at all.
func TestACustomerWhoHasUsedTheBestAutomaticCoupons(t *testing.T) {
	t.Parallel()
	for name, group := range map[string]func(i int) string{
		"each alone":  func(int) string { return "" },
		"one group":   func(int) string { return "a" },
		"four groups": func(i int) string { return "g" + strconv.Itoa(i%4) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, lookUps, calls := newWorld(t), 0, 0
			w.store = gated{w.store, func(call string, effect func() error) error {
				if call == "LookUp" {
					lookUps++
				}
				return effect()
			}}
			current := couponkit.NewOffers(w.store, offers.Limits{})
			w.withAutomatic(current)
			var all []coupon.Coupon
			create := func(from, until int) {
				for i := from; i < until; i++ {
					all = append(all, w.create(t, once(automatic(percentOff(int64(2*(20-i))), fmt.Sprintf("A%02d", i), group(i)))))
				}
				update(t, current)
			}
			use := func(most int) (used int) {
				for used < most {
					before := lookUps
					quote := w.priced(t, w.request(""))
					calls = lookUps - before
					require.Equal(t, w.bestOf(t, all, w.request("")), quote.Discount, "%v", applied(quote))
					if quote.Discount == 0 {
						break
					}
					made := w.checkout(t, w.request(""))
					require.Equal(t, quote.Total, made.Order.Quote.Total)
					used += len(made.Uses)
					w.pay(t, made)
				}
				return used
			}
			create(0, 12)
			require.Equal(t, 12, use(12))
			create(12, 20)
			require.Positive(t, use(1))
			require.Equal(t, 2, calls)
			use(20)
			for _, c := range all {
				require.Equal(t, int64(1), w.get(t, c.ID).UsedCount, c.Name)
			}
		})
	}
}

// TestAutomaticCouponsAreTheBestOfMany compares quotes with every set of up to 24 automatic coupons, under the
// counts of the store and beside a code that excludes some of them.
func TestAutomaticCouponsAreTheBestOfMany(t *testing.T) {
	t.Parallel()
	for seed := range testsize.Of(30, 2_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		w, current := automaticWorld(t)
		var all []coupon.Coupon
		groups := []string{"", "a", "b", "c", "code"}[r.IntN(2):]
		for i := range 9 + r.IntN(16) {
			all = append(all, w.create(t, randomAutomatic(r, i, groups)))
		}
		w.create(t, grouped(percentOff(10), "CODE", []string{"code", "other", ""}[r.IntN(3)]))
		update(t, current)
		for range r.IntN(8) { // uses that the index does not know
			request := w.request("")
			request.Customer = []eligibility.Customer{ann, bob, {ID: "eve"}}[r.IntN(3)]
			made, err := w.Checkout(t.Context(), request)
			require.NoError(t, err)
			w.pay(t, made)
		}
		request := w.request([]string{"", "CODE"}[r.IntN(2)])
		quote := w.priced(t, request)
		require.Equal(t, w.bestOf(t, all, request), quote.Discount, "seed %d: %v", seed, applied(quote))
		require.Equal(t, quote.Total, w.checkout(t, request).Order.Quote.Total)
	}
}

// randomAutomatic is an automatic coupon, mostly with limits that a few uses reach.
func randomAutomatic(r *rand.Rand, i int, groups []string) coupon.Draft {
	d := automatic(percentOff(int64(1+r.IntN(50))), "A"+strconv.Itoa(i), groups[r.IntN(len(groups))])
	if r.IntN(3) == 0 {
		d.DiscountType, d.Percent, d.Amount = pricing.FixedAmount, "", coupon.Amounts{"": strconv.Itoa(1 + r.IntN(20))}
	}
	if r.IntN(3) == 0 {
		d.MinPurchase = coupon.Amounts{"": strconv.Itoa(20 + r.IntN(20))}
	}
	if r.IntN(3) == 0 {
		d.MaxUses = coupon.Set(1 + r.IntN(3))
	}
	if d.DiscountType == pricing.Percentage && r.IntN(4) == 0 {
		d.Budget, d.MaxDiscount = coupon.Amounts{"EUR": strconv.Itoa(5 + r.IntN(10))}, coupon.Amounts{"EUR": "5.00"}
	}
	return d
}

// TestAutomaticCouponsCompeteWithCodes: with KeepBest, the cart costs what the best set of codes and automatic
// coupons leaves. A code that loses is not combinable, and refuses the request unless refused codes are skipped.
func TestAutomaticCouponsCompeteWithCodes(t *testing.T) {
	t.Parallel()
	lost, kept := 0, 0
	for seed := range testsize.Of(40, 2_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 78))
		w, current := automaticWorld(t)
		var all []coupon.Coupon
		groups := []string{"", "a", "b", "c"}
		for i := range 1 + r.IntN(16) {
			d := randomAutomatic(r, i, groups)
			d.MinPurchase, d.Budget, d.MaxDiscount = coupon.Amounts{}, coupon.Amounts{}, coupon.Amounts{}
			all = append(all, w.create(t, d))
		}
		request := w.request("")
		for i := range 1 + r.IntN(3) {
			code := "CODE" + strconv.Itoa(i)
			w.create(t, grouped(percentOff(int64(1+r.IntN(50))), code, groups[r.IntN(len(groups))]))
			request.Codes = append(request.Codes, code)
		}
		update(t, current)
		request.Conflicts, request.SkipRefused = eligibility.KeepBest, true
		quote, want := w.priced(t, request), w.bestOf(t, all, request)
		require.Equal(t, want, quote.Discount, "seed %d: %v", seed, applied(quote))
		explained, err := w.Explain(t.Context(), couponkit.QuoteRequest{
			Cart: request.Cart, Customer: ann, Codes: request.Codes, Conflicts: request.Conflicts,
		})
		require.NoError(t, err)
		require.Equal(t, quote.Total, explained.Quote.Total)
		for _, code := range explained.Codes {
			if len(all) <= 8 && len(request.Codes) == 1 && len(code.ExcludedBy) > 0 { // all coupons were looked at
				beside := request
				beside.Conflicts = eligibility.RefuseAll
				require.Equal(t, w.bestOf(t, all, beside), code.Instead.Minor(), "seed %d", seed)
			}
		}
		request.SkipRefused = false
		strict, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: request.Cart, Customer: ann, Codes: request.Codes, Conflicts: request.Conflicts})
		_, failed := w.Checkout(t.Context(), request)
		require.Equal(t, refusedFor(quote.Refused), refusedFor(err), "seed %d", seed)
		require.Equal(t, refusedFor(err), refusedFor(failed))
		if err == nil {
			kept++
			require.Equal(t, quote.Quote, strict.Quote)
			continue
		}
		lost++
		for _, refused := range coupon.RejectionsOf(err) {
			require.True(t, refused.Has(coupon.NotCombinable) || refused.Has(coupon.NoDiscount), "seed %d: %v", seed, refused)
		}
	}
	require.Positive(t, lost)
	require.Positive(t, kept)
}
