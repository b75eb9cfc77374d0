package couponkit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// suggestWorld is a world with an index of all its coupons. Automatic coupons are found only on request.
func suggestWorld(t *testing.T, drafts ...coupon.Draft) (*world, *couponkit.Offers) {
	t.Helper()
	w := newWorld(t)
	for _, d := range drafts {
		w.create(t, d)
	}
	current := couponkit.NewOffers(w.store, offers.Limits{})
	update(t, current)
	return w, current
}

// anyCode shows every plain code.
func anyCode(*coupon.Coupon) bool { return true }

// shown are the names of suggestions with what they save, and what the customer has to add.
func shown(list []couponkit.Suggestion) (texts []string) {
	for _, s := range list {
		text := s.Terms.Name + " " + s.Saves.String()
		if !s.Missing.Currency().IsZero() {
			text += " after " + s.Missing.String()
		}
		if s.Contained {
			text += " of what it requires"
		}
		if s.Pieces > 0 {
			text += fmt.Sprintf(" after %d", s.Pieces)
		}
		texts = append(texts, text)
	}
	return texts
}

// What is suggested for the phones of 30.00, by the codes.
func TestSuggest(t *testing.T) {
	t.Parallel()
	named := func(d coupon.Draft, name, group string) coupon.Draft {
		d.Code, d.Name, d.Group = name, name, group
		return d
	}
	dear, pack, bobs := named(percentOff(50), "DEAR", "d"), named(percentOff(40), "PACK", "e"), named(percentOff(90), "BOBS", "f")
	dear.MinPurchase, pack.MinQuantity = coupon.Amounts{"": "38"}, coupon.Set(5)
	bobs.Distribution, bobs.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"bob@example.org"}
	secret := named(percentOff(60), "SECRET", "g")
	nameless := named(percentOff(70), "nameless", "h")
	nameless.Code = ""
	all := []coupon.Draft{named(percentOff(10), "TENTH", "a"), named(percentOff(20), "FIFTH", "b"), named(percentOff(35), "ALONE", ""), dear, pack, bobs, secret, nameless}
	for about, c := range map[string]struct {
		codes        []string
		customer     eligibility.Customer
		best, nearly []string
	}{
		"no code":                    {nil, ann, []string{"ALONE 10.50 EUR", "FIFTH 6.00 EUR", "TENTH 3.00 EUR"}, []string{"PACK 20.00 EUR after 2", "DEAR 19.00 EUR after 8.00 EUR"}},
		"beside a code":              {[]string{"TENTH"}, ann, []string{"ALONE 7.50 EUR", "FIFTH 6.00 EUR"}, []string{"PACK 20.00 EUR after 2", "DEAR 19.00 EUR after 8.00 EUR"}},
		"instead of a code":          {[]string{"FIFTH"}, ann, []string{"ALONE 4.50 EUR", "TENTH 3.00 EUR"}, []string{"PACK 20.00 EUR after 2", "DEAR 19.00 EUR after 8.00 EUR"}},
		"what excludes all":          {[]string{"ALONE"}, ann, nil, nil},
		"a refused code":             {[]string{"WRONG"}, ann, []string{"ALONE 10.50 EUR", "FIFTH 6.00 EUR", "TENTH 3.00 EUR"}, []string{"PACK 20.00 EUR after 2", "DEAR 19.00 EUR after 8.00 EUR"}},
		"a code that lacks a little": {[]string{"DEAR"}, ann, []string{"ALONE 10.50 EUR", "FIFTH 6.00 EUR", "TENTH 3.00 EUR"}, []string{"PACK 20.00 EUR after 2"}},
		"another customer":           {nil, bob, []string{"BOBS 27.00 EUR", "ALONE 10.50 EUR", "FIFTH 6.00 EUR"}, []string{"PACK 20.00 EUR after 2", "DEAR 19.00 EUR after 8.00 EUR"}},
		"nobody":                     {nil, eligibility.Customer{}, nil, nil},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w, current := suggestWorld(t, all...)
			found, err := w.Suggest(t.Context(), couponkit.SuggestRequest{
				QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: c.codes, Customer: c.customer},
				Offers:       current, Visible: func(c *coupon.Coupon) bool { return c.Code.String() != "SECRET" }, Best: 3, Nearly: 2,
			})
			require.NoError(t, err)
			require.Equal(t, c.best, shown(found.Best))
			require.Equal(t, c.nearly, shown(found.Nearly))
			require.Equal(t, couponkit.OpSuggest, w.attempts[len(w.attempts)-1].Operation)
		})
	}
}

// A coupon that lacks an amount of what the cart must contain is suggested like one that lacks a minimum.
func TestASuggestionLacksWhatItRequires(t *testing.T) {
	t.Parallel()
	d := tenOff()
	d.Contains = &coupon.ContentsDraft{ScopeDraft: coupon.ScopeDraft{Kinds: []string{"device"}}, MinPurchase: coupon.Amounts{"": "32.50"}}
	w, current := suggestWorld(t, d)
	found, err := w.Suggest(t.Context(), couponkit.SuggestRequest{
		QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann}, Offers: current, Visible: anyCode, Best: 1, Nearly: 1,
	})
	require.NoError(t, err)
	require.Empty(t, found.Best)
	require.Equal(t, []string{"Ten off 10.00 EUR after 2.50 EUR of what it requires"}, shown(found.Nearly))
}

// A coupon that takes nothing off before some units are added is suggested, with a minimum quantity and without.
func TestASuggestionTakesNothingOffBefore(t *testing.T) {
	t.Parallel()
	for _, least := range []coupon.Optional[int]{{}, coupon.Set(4), coupon.Set(5)} {
		d := tenOff()
		d.DiscountType, d.Amount, d.Percent, d.BuyQuantity, d.GetQuantity, d.MinQuantity = pricing.BuyXGetY, nil, "100", 3, 1, least
		w, current := suggestWorld(t, d)
		found, err := w.Suggest(t.Context(), couponkit.SuggestRequest{
			QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann}, Offers: current, Visible: anyCode, Nearly: 1,
		})
		require.NoError(t, err)
		pieces := 1
		if m, _ := least.Value(); m == 5 {
			pieces = 2
		}
		require.Equal(t, []string{fmt.Sprintf("Ten off 10.00 EUR after %d", pieces)}, shown(found.Nearly))
	}
}

// The index may be old. The store decides, so nothing is suggested that is used up, switched off, deleted or changed.
func TestSuggestionsAreDecidedByTheStore(t *testing.T) {
	t.Parallel()
	near := tenOff()
	near.Code, near.Group, near.MinPurchase, near.MaxUses = "NEAR", "a", coupon.Amounts{"": "40"}, coupon.Set(1)
	request := func(current *couponkit.Offers) couponkit.SuggestRequest {
		return couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann}, Offers: current, Visible: anyCode, Best: 1, Nearly: 1}
	}
	for about, change := range map[string]func(*world, []coupon.Coupon) error{
		"used up": func(w *world, _ []coupon.Coupon) error {
			many := phones()
			many.Lines[0].Quantity = 5
			_, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: many, Codes: []string{"TEN", "NEAR"}, Customer: bob})
			return err
		},
		"switched off": func(w *world, all []coupon.Coupon) error {
			for _, c := range all {
				if _, err := w.SetActive(t.Context(), c.ID, false); err != nil {
					return err
				}
			}
			return nil
		},
		"deleted": func(w *world, all []coupon.Coupon) error {
			for _, c := range all {
				if err := w.Delete(t.Context(), c.ID); err != nil {
					return err
				}
			}
			return nil
		},
		"changed": func(w *world, all []coupon.Coupon) error {
			for _, c := range all {
				if _, err := w.Update(t.Context(), c.ID, coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "35"})}); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		last := tenOff()
		last.Group, last.MaxUses = "b", coupon.Set(1)
		w, current := suggestWorld(t, last, near)
		found, err := w.Suggest(t.Context(), request(current))
		require.NoError(t, err)
		require.Equal(t, [][]string{{"Ten off 10.00 EUR"}, {"Ten off 10.00 EUR after 10.00 EUR"}}, [][]string{shown(found.Best), shown(found.Nearly)})
		page, err := w.List(t.Context(), store.CouponList{})
		require.NoError(t, err)
		slices.SortFunc(page.Items, func(a, b coupon.Coupon) int { return -strings.Compare(a.Code.String(), b.Code.String()) })
		require.NoError(t, change(w, page.Items), about)
		found, err = w.Suggest(t.Context(), request(current))
		require.NoError(t, err)
		require.Equal(t, [][]string{nil, nil}, [][]string{shown(found.Best), shown(found.Nearly)}, about)
	}
}

// What is suggested at the bounds of a search. No request fails because of a coupon that is not suggested.
func TestBoundsOfSuggestions(t *testing.T) {
	t.Parallel()
	series := func(n int, prefix string, d coupon.Draft, change func(d *coupon.Draft, i int)) (drafts []coupon.Draft, codes []string) {
		for i := range n {
			d.Code = fmt.Sprintf("%s%02d", prefix, i)
			d.Name, d.Group = d.Code, strings.ToLower(d.Code)
			change(&d, i)
			drafts, codes = append(drafts, d), append(codes, d.Code)
		}
		return drafts, codes
	}
	off := func(code, amount string) coupon.Draft {
		d := tenOff()
		d.Code, d.Name, d.Group, d.Amount = code, code, strings.ToLower(code), coupon.Amounts{"": amount}
		return d
	}
	near := func(code, amount, minimum string) coupon.Draft {
		d := off(code, amount)
		d.MinPurchase = coupon.Amounts{"": minimum}
		return d
	}
	full, all := series(pricing.MaxCoupons, "CENT", off("", "0.01"), func(*coupon.Draft, int) {})
	nameless, _ := series(12, "NONE", off("", "20"), func(d *coupon.Draft, _ int) { d.Code, d.Group, d.Automatic = "", "none", true })
	applied, _ := series(12, "AUTO", off("", "1"), func(d *coupon.Draft, _ int) { d.Automatic = true })
	nearly, _ := series(40, "NEAR", near("", "10", "35"), func(d *coupon.Draft, i int) {
		d.Amount = coupon.Amounts{"": fmt.Sprintf("9.%02d", 99-i)}
	})
	devices := pricing.Cart{Currency: pricing.EUR(), Lines: phones().Lines[:1]}
	cheap := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "A", Kind: pricing.Accessory, ItemID: "pin", Quantity: 1, UnitPrice: 40}}}
	half, err := pricing.ParsePercent("50")
	require.NoError(t, err)
	for about, c := range map[string]struct {
		drafts       []coupon.Draft
		request      couponkit.SuggestRequest
		best, nearly []string
	}{
		"as many codes as a cart can have":       {append(full, off("MORE", "1")), couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Codes: all}, Best: 1}, nil, nil},
		"coupons without a code take no turn":    {append(nameless, off("LAST", "1")), couponkit.SuggestRequest{Best: 1}, []string{"LAST 1.00 EUR"}, nil},
		"coupons that apply take no turn":        {append(applied, off("LAST", "0.50")), couponkit.SuggestRequest{Best: 1}, []string{"LAST 0.50 EUR"}, nil},
		"a total that is not charged":            {[]coupon.Draft{off("MOST", "29.80"), off("TEN", "10")}, couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: devices}, Best: 1}, []string{"TEN 10.00 EUR"}, nil},
		"a cart that is not charged":             {[]coupon.Draft{near("NEAR", "0.10", "0.60"), off("CENT", "0.01")}, couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: cheap}, Best: 1, Nearly: 1}, nil, nil},
		"more near coupons than a look-up holds": {nearly, couponkit.SuggestRequest{Nearly: 2}, nil, []string{"NEAR00 9.99 EUR after 5.00 EUR", "NEAR01 9.98 EUR after 5.00 EUR"}},
		"only near coupons are wanted":           {[]coupon.Draft{off("TEN", "10"), near("NEAR", "10", "35")}, couponkit.SuggestRequest{Nearly: 1}, nil, []string{"NEAR 10.00 EUR after 5.00 EUR"}},
		"only the best coupon is wanted":         {[]coupon.Draft{off("TEN", "10"), near("NEAR", "10", "35")}, couponkit.SuggestRequest{Best: 1}, []string{"TEN 10.00 EUR"}, nil},
		"nothing is wanted":                      {[]coupon.Draft{off("TEN", "10"), near("NEAR", "10", "35")}, couponkit.SuggestRequest{}, nil, nil},
		"too small a part of a minimum":          {[]coupon.Draft{near("FAR", "10", "60.01"), near("NEAR", "9", "60")}, couponkit.SuggestRequest{Nearly: 2, NearlyFrom: half}, nil, []string{"NEAR 9.00 EUR after 30.00 EUR"}},
		"no part of a minimum has to be reached": {[]coupon.Draft{near("FAR", "10", "300")}, couponkit.SuggestRequest{Nearly: 2}, nil, []string{"FAR 10.00 EUR after 270.00 EUR"}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w, current := automaticWorld(t)
			for _, d := range c.drafts {
				w.create(t, d)
			}
			update(t, current)
			c.request.Offers, c.request.Customer, c.request.Visible = current, ann, anyCode
			if c.request.Cart.Currency.IsZero() {
				c.request.Cart = phones()
			}
			found, err := w.Suggest(t.Context(), c.request)
			require.NoError(t, err)
			require.Equal(t, [][]string{c.best, c.nearly}, [][]string{shown(found.Best), shown(found.Nearly)})
		})
	}
}

// A suggestion is what trying every coupon finds: with the code of a suggestion, a quote costs as much less as it says.
func TestSuggestionsAreTheBestOfAll(t *testing.T) {
	t.Parallel()
	suggested := 0
	for seed := range testsize.Of(60, 600) {
		r := rand.New(rand.NewPCG(uint64(seed), 61))
		w, current := automaticWorld(t)
		ids := []string{}
		for i := range 2 + r.IntN(6) {
			d := percentOff(int64(1 + r.IntN(60)))
			if r.IntN(2) == 0 {
				d = tenOff()
				d.Amount = coupon.Amounts{"": strconv.Itoa(1 + r.IntN(25))}
			}
			d.Code, d.Name, d.Group = "C"+strconv.Itoa(i), "C"+strconv.Itoa(i), []string{"", "a", "b", "c"}[r.IntN(4)]
			if r.IntN(5) == 0 {
				d = automatic(d, "A"+strconv.Itoa(i), d.Group)
			}
			if r.IntN(4) == 0 {
				d.MinPurchase = coupon.Amounts{"": strconv.Itoa(20 + r.IntN(20))}
			}
			if c := w.create(t, d); !c.Code.IsZero() {
				ids = append(ids, c.ID)
			}
		}
		update(t, current)
		request := couponkit.QuoteRequest{Cart: phones(), Customer: ann, Codes: []string{"C0", "C1"}[:r.IntN(3)]}
		found, err := w.Suggest(t.Context(), couponkit.SuggestRequest{QuoteRequest: request, Offers: current, Visible: anyCode, Best: 2})
		require.NoError(t, err)
		var want, got []string
		all := w.savings(t, request, ids)
		for _, s := range all[:min(2, len(all))] {
			want = append(want, s.String())
		}
		for _, s := range found.Best {
			got = append(got, saving{s.Saves.Minor(), s.Terms.ID}.String())
			suggested++
		}
		require.Empty(t, cmp.Diff(want, got), "seed %d", seed)
	}
	require.Greater(t, suggested, 50)
}

type saving struct {
	minor int64
	id    string
}

func (s saving) String() string { return fmt.Sprintf("%s saves %d", s.id, s.minor) }

// savings tries every coupon beside the codes of a request. The greatest saving comes first, then the least ID.
func (w *world) savings(t *testing.T, request couponkit.QuoteRequest, ids []string) (list []saving) {
	t.Helper()
	request.Conflicts, request.SkipRefused = eligibility.KeepBest, true
	total := func(codes []string) couponkit.Quote {
		with := request
		with.Codes = codes
		q, err := w.Quote(t.Context(), with)
		if err != nil {
			require.ErrorIs(t, err, coupon.ErrBelowMinimumCharge)
			q.Terms = nil
		}
		return q
	}
	now := total(request.Codes)
	for _, id := range ids {
		with := total(append(slices.Clip(request.Codes), id))
		uses := func(q couponkit.Quote) bool {
			return slices.ContainsFunc(q.Terms, func(s coupon.Snapshot) bool { return s.ID == id })
		}
		if saved := now.Total - with.Total; saved > 0 && uses(with) && !uses(now) {
			list = append(list, saving{saved, id})
		}
	}
	slices.SortFunc(list, func(a, b saving) int {
		if a.minor != b.minor {
			return int(b.minor - a.minor)
		}
		return strings.Compare(a.id, b.id)
	})
	return list
}

func TestInvalidSuggestRequests(t *testing.T) {
	t.Parallel()
	w, current := suggestWorld(t)
	for _, c := range []struct {
		request couponkit.SuggestRequest
		want    []string
	}{
		{couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones()}}, []string{"offers", "visible"}},
		{couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones()}, Offers: current, Visible: anyCode, Best: -1, Nearly: couponkit.MaxSuggestions + 1}, []string{"best", "nearly"}},
		{couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Codes: []string{"A", "a"}}, Offers: current, Visible: anyCode}, []string{"currency", "codes[1]"}},
	} {
		_, err := w.Suggest(t.Context(), c.request)
		require.ElementsMatch(t, c.want, faultyFields(t, err))
	}
}

// SkipRefused and Conflicts of a suggestion are ignored, whatever they are.
func TestASuggestionHasItsOwnPolicy(t *testing.T) {
	t.Parallel()
	w, current := suggestWorld(t, tenOff(), percentOff(50))
	var want couponkit.Suggestions
	for i, conflicts := range []eligibility.ConflictPolicy{eligibility.RefuseAll, eligibility.KeepFirst, eligibility.KeepBest, 99} {
		for _, skip := range []bool{false, true} {
			got, err := w.Suggest(t.Context(), couponkit.SuggestRequest{Offers: current, Visible: anyCode, Best: 1, QuoteRequest: couponkit.QuoteRequest{
				Cart: phones(), Customer: ann, Codes: []string{"TEN", "WRONG"}, Conflicts: conflicts, SkipRefused: skip,
			}})
			require.NoError(t, err, conflicts)
			if i == 0 && !skip {
				want = got
				require.Equal(t, []string{"Percent off 5.00 EUR"}, shown(got.Best))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v, %v (-want +got):\n%s", conflicts, skip, diff)
			}
		}
	}
}

// A processor that does not answer about a suggestion suggests nothing. The codes of the request need its answer.
func TestSuggestionsWithoutAProcessor(t *testing.T) {
	t.Parallel()
	w, current := suggestWorld(t, tenOff())
	request := couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann}, Offers: current, Visible: anyCode, Best: 1, Nearly: 1}
	w.pass(30 * 24 * time.Hour) // no answer about a mirror is fresh
	ctx, cancel := context.WithCancel(t.Context())
	leave := func() {}
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.LostBefore, Times: -1, Match: func(fakeprocessor.Call) bool {
		leave()
		return true
	}})
	found, err := w.Suggest(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, found.Best)
	request.Codes = []string{"TEN"}
	_, err = w.Suggest(t.Context(), request)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	leave = cancel
	request.Codes, request.Nearly = nil, 0
	_, err = w.Suggest(ctx, request)
	require.Error(t, err, "nobody waits for suggestions")
}
