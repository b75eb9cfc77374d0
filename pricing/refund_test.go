package pricing_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// stored returns a quote as it is read back.
func stored(t fataler, q pricing.Quote) pricing.Quote {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatalf("the quote is not stored: %v", err)
	}
	var read pricing.Quote
	if err := read.UnmarshalJSON(text); err != nil || !read.Equal(q) {
		t.Fatalf("%s is read as %+v: %v", text, read, err)
	}
	return read
}

// boughtLines returns the lines that count as bought for a coupon, from the document of the quote.
func boughtLines(q pricing.Quote, coupon int) map[int]bool {
	text, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	var document struct {
		Coupons []struct {
			BoughtLines *[]int `json:"boughtLines"`
		} `json:"coupons"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		panic(err)
	}
	lines := map[int]bool{}
	if of := document.Coupons[coupon].BoughtLines; of != nil {
		for _, i := range *of {
			lines[i] = true
		}
		return lines
	}
	for i := range q.Lines {
		lines[i] = q.Covers(coupon, i)
	}
	return lines
}

// drawQuote draws a quote of a random cart and set of coupons.
func drawQuote(t *rapid.T, policies bool) (pricing.Quote, *rand.Rand) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	return refundCase(t, r, policies), r
}

// giveBack refunds what is returned, and checks what holds of every refund.
func giveBack(t fataler, q pricing.Quote, before *pricing.Refunded, now pricing.Returns) pricing.Refund {
	t.Helper()
	refund, err := q.Refund(*before, now)
	if err != nil {
		t.Fatalf("%+v after %+v: %v", now, *before, err)
	}
	if err := refund.Validate(); err != nil {
		t.Fatalf("the refund %+v is invalid: %v", refund, err)
	}
	list, paid := int64(0), int64(0)
	for _, l := range refund.Lines {
		list += l.Quantity * q.Lines[l.Line].UnitPrice
		paid += l.Amount
	}
	keep := true
	for _, c := range q.Coupons {
		keep = keep && c.Refund.Policy == pricing.Keep
	}
	if list != refund.Subtotal+refund.Shipping || keep && paid != refund.Amount || refund.Amount > list {
		t.Fatalf("the refund %+v is not that of its lines", refund)
	}
	before.Add(refund)
	if before.Amount > q.Total {
		t.Fatalf("%d of %d are refunded", before.Amount, q.Total)
	}
	for i, c := range q.Coupons {
		if before.Discounts[i] > c.Discount {
			t.Fatalf("the coupon %s takes back %d of %d", c.ID, before.Discounts[i], c.Discount)
		}
	}
	return refund
}

// Whatever is returned in whatever steps: when everything is returned, exactly the total is
// refunded, and every coupon has taken back what it took off.
func refundsSumToTheTotal(t *rapid.T) {
	q, r := drawQuote(t, true)
	var before pricing.Refunded
	for left := unitsLeft(q, before); sumOfUnits(left) > 0; left = unitsLeft(q, before) {
		giveBack(t, q, &before, randomReturns(r, q, left))
	}
	if before.Amount != q.Total {
		t.Fatalf("%d of %d are refunded for everything", before.Amount, q.Total)
	}
	for i, c := range q.Coupons {
		if len(q.Lines) > 0 && before.Discounts[i] != c.Discount {
			t.Fatalf("the coupon %s takes back %d of %d", c.ID, before.Discounts[i], c.Discount)
		}
	}
}

// With the policy keep, units that are returned one by one, in any order of calls, give what they
// give together.
func oneByOneEqualsTogether(t *rapid.T) {
	q, r := drawQuote(t, false)
	var units []int
	for i, l := range q.Lines {
		for range r.Int64N(l.Quantity + 1) {
			units = append(units, i)
		}
	}
	if len(units) == 0 {
		t.Skip("nothing is returned")
	}
	var together pricing.Returns
	for i := range q.Lines {
		n := int64(0)
		for _, line := range units {
			if line == i {
				n++
			}
		}
		if n > 0 {
			together.Lines = append(together.Lines, pricing.LineReturn{Line: i, Quantity: n})
		}
	}
	var once, single pricing.Refunded
	giveBack(t, q, &once, together)
	r.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	for _, line := range units {
		giveBack(t, q, &single, pricing.Returns{Lines: []pricing.LineReturn{{Line: line, Quantity: 1}}})
	}
	require.Equal(t, once.Amount, single.Amount)
	require.Equal(t, once.Discounts, single.Discounts)
}

func TestRefundProperties(t *testing.T) {
	t.Parallel()
	for name, property := range map[string]func(*rapid.T){
		"everything returned gives the total": refundsSumToTheTotal,
		"one by one equals together":          oneByOneEqualsTogether,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, property)
		})
	}
}

func FuzzRefund(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(refundsSumToTheTotal))
}

// refundable is a quote with three lines and shipping, of 30.00 off 90.00.
func refundable(t fataler) pricing.Quote {
	t.Helper()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: "book", Quantity: 3, UnitPrice: 1000},
		{ID: "B", Kind: "book", Quantity: 1, UnitPrice: 6000},
		{ID: "S", Kind: pricing.Shipping, Quantity: 1, UnitPrice: 490},
		{ID: "S", Kind: pricing.Shipping, Quantity: 1, UnitPrice: 100},
	}}
	q, err := pricing.Price(cart, pricing.Terms{ID: "ten", Discount: amountOff(t, "10.00", "EUR")})
	if err != nil {
		t.Fatalf("Price: %v", err)
	}
	return q
}

func TestRefundNamesEveryField(t *testing.T) {
	t.Parallel()
	q := refundable(t)
	lines := func(lines ...pricing.LineReturn) pricing.Returns { return pricing.Returns{Lines: lines} }
	for name, c := range map[string]struct {
		before pricing.Refunded
		now    pricing.Returns
		want   map[string]validation.Code
	}{
		"nothing": {want: map[string]validation.Code{"returns": validation.Required}},
		"more than was bought": {
			now:  lines(pricing.LineReturn{Line: 1, Quantity: 1}, pricing.LineReturn{Line: 0, Quantity: 4}),
			want: map[string]validation.Code{"returns[1].quantity": validation.TooLarge},
		},
		"more than is left": {
			before: pricing.Refunded{Amount: 1778, Units: []int64{2}, Discounts: []int64{222}},
			now:    lines(pricing.LineReturn{Line: 0, Quantity: 2}),
			want:   map[string]validation.Code{"returns[0].quantity": validation.TooLarge},
		},
		"a whole line of which nothing is left": {
			before: pricing.Refunded{Amount: 5333, Units: []int64{0, 1}, Discounts: []int64{667}},
			now:    lines(pricing.LineReturn{Line: 1, Whole: true}),
			want:   map[string]validation.Code{"returns[0].quantity": validation.TooLarge},
		},
		"quantities below 1": {
			now:  lines(pricing.LineReturn{Line: 0}, pricing.LineReturn{Line: 1, Quantity: -1}),
			want: map[string]validation.Code{"returns[0].quantity": validation.TooSmall, "returns[1].quantity": validation.TooSmall},
		},
		"lines that do not exist": {
			now:  lines(pricing.LineReturn{Line: -1, Quantity: 1}, pricing.LineReturn{Line: 4, Quantity: 1}),
			want: map[string]validation.Code{"returns[0].line": validation.Unknown, "returns[1].line": validation.Unknown},
		},
		"a line twice": {
			now:  lines(pricing.LineReturn{Line: 0, Quantity: 1}, pricing.LineReturn{Line: 0, Quantity: 1}),
			want: map[string]validation.Code{"returns[1].line": validation.Mismatch},
		},
		"a whole line with a quantity": {
			now:  lines(pricing.LineReturn{Line: 0, Quantity: 1, Whole: true}),
			want: map[string]validation.Code{"returns[0].quantity": validation.NotAllowed},
		},
		"everything and more": {
			now:  pricing.Returns{All: true, Shipping: true, Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}},
			want: map[string]validation.Code{"returns": validation.NotAllowed, "shipping": validation.NotAllowed},
		},
		"shipping and a line of it": {
			now:  pricing.Returns{Shipping: true, Lines: []pricing.LineReturn{{Line: 3, Quantity: 1}}},
			want: map[string]validation.Code{"returns[0].line": validation.Mismatch},
		},
		"shipping that is gone": {
			before: pricing.Refunded{Amount: 590, Units: []int64{0, 0, 1, 1}},
			now:    pricing.Returns{Shipping: true},
			want:   map[string]validation.Code{"shipping": validation.TooLarge},
		},
		"everything is gone": {
			before: pricing.Refunded{Amount: 8590, Units: []int64{3, 1, 1, 1}, Discounts: []int64{1000}},
			now:    pricing.Returns{All: true},
			want:   map[string]validation.Code{"all": validation.TooLarge},
		},
		"earlier refunds of another quote": {
			before: pricing.Refunded{Units: []int64{4, -1, 0, 0, 1}, Discounts: []int64{0, 1}},
			now:    pricing.Returns{All: true},
			want: map[string]validation.Code{
				"before.units": validation.TooLong, "before.discounts": validation.TooLong,
				"before.units[0]": validation.TooLarge, "before.units[1]": validation.TooSmall,
			},
		},
		"earlier refunds that were too high": {
			before: pricing.Refunded{Amount: 2000, Units: []int64{2}, Discounts: []int64{222}},
			now:    pricing.Returns{All: true},
			want:   map[string]validation.Code{"before.amount": validation.Mismatch},
		},
		"earlier discounts that were too high": {
			before: pricing.Refunded{Amount: 0, Units: []int64{2}, Discounts: []int64{2000}},
			now:    lines(pricing.LineReturn{Line: 0, Quantity: 1}),
			want:   map[string]validation.Code{"before.discounts[0]": validation.TooLarge},
		},
		"earlier discounts below 0": {
			before: pricing.Refunded{Amount: 2001, Units: []int64{2}, Discounts: []int64{-1}},
			now:    lines(pricing.LineReturn{Line: 0, Quantity: 1}),
			want:   map[string]validation.Code{"before.discounts[0]": validation.TooSmall},
		},
		"too many lines": {
			now:  pricing.Returns{Lines: make([]pricing.LineReturn, pricing.MaxLines+1)},
			want: map[string]validation.Code{"returns": validation.TooLong},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refund, err := q.Refund(c.before, c.now)
			require.ErrorIs(t, err, validation.ErrInvalid)
			require.Equal(t, c.want, faultsOf(err))
			require.True(t, refund.Equal(pricing.Refund{}), "a refund beside an error")
		})
	}
}

// A quote that was changed by hand is refused, and makes nothing panic.
func TestRefundOfAChangedQuote(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		q := refundCase(t, r, true)
		switch seed % 3 {
		case 0:
			q.Coupons = append(q.Coupons, pricing.QuotedCoupon{ID: "z"}, pricing.QuotedCoupon{ID: "zz"})
		case 1:
			q.Lines = append(q.Lines, pricing.QuotedLine{Line: pricing.Line{Quantity: 1, UnitPrice: 5}})
		case 2:
			for i := range q.Coupons {
				q.Coupons[i].Discount, q.Coupons[i].Terms = 1_000_000, pricing.Discount{}
			}
		}
		for _, now := range []pricing.Returns{{All: true}, {Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}} {
			if refund, err := q.Refund(pricing.Refunded{}, now); err == nil && refund.Validate() != nil {
				t.Fatalf("case %d: %+v", seed, refund)
			}
		}
	}
}

func TestRefundedSums(t *testing.T) {
	t.Parallel()
	var sum pricing.Refunded
	sum.Add(pricing.Refund{Amount: 5, Lines: []pricing.RefundedLine{{Line: 2, Quantity: 1}}, Coupons: []pricing.RefundedCoupon{{Discount: 3}}})
	sum.Add(pricing.Refund{Amount: 1, Lines: []pricing.RefundedLine{{Line: 0, Quantity: 2}}, Coupons: []pricing.RefundedCoupon{{}, {Discount: 4}}})
	require.Equal(t, pricing.Refunded{Amount: 6, Units: []int64{2, 0, 1}, Discounts: []int64{3, 4}}, sum)
	sum.Add(pricing.Refund{Amount: math.MaxInt64, Lines: []pricing.RefundedLine{{Line: 0, Quantity: -1}}})
	require.Equal(t, []int64{math.MaxInt64, math.MaxInt64}, []int64{sum.Amount, sum.Units[0]})
	_, err := refundable(t).Refund(sum, pricing.Returns{All: true})
	require.Equal(t, map[string]validation.Code{
		"before.units[0]": validation.TooLarge, "before.discounts": validation.TooLong,
	}, faultsOf(err))
	sum = pricing.Refunded{}
	sum.Add(pricing.Refund{Lines: []pricing.RefundedLine{{Line: pricing.MaxLines, Quantity: 1}}})
	require.Equal(t, int64(math.MaxInt64), sum.Amount)
}

func TestLineIndex(t *testing.T) {
	t.Parallel()
	q := refundable(t)
	index, ok := q.LineIndex("B")
	require.True(t, ok)
	require.Equal(t, 1, index)
	for _, id := range []string{"S", "C", ""} {
		_, ok = q.LineIndex(id)
		require.False(t, ok, id)
	}
}

// Recompute allocates nothing once warm, whatever the coupons.
func TestRecomputingAllocatesNothing(t *testing.T) {
	var refund pricing.Refund
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 46))
		q := refundCase(t, r, true)
		left := unitsLeft(q, pricing.Refunded{})
		if sumOfUnits(left) == 0 {
			continue
		}
		now := randomReturns(r, q, left)
		require.NoError(t, refund.Recompute(&q, pricing.Refunded{}, now))
		if n := testing.AllocsPerRun(3, func() { _ = refund.Recompute(&q, pricing.Refunded{}, now) }); n != 0 {
			t.Fatalf("case %d allocates %g times: %+v of %+v", seed, n, now, q)
		}
	}
}

func TestRefundsAreCopied(t *testing.T) {
	t.Parallel()
	q := refundable(t)
	var refund pricing.Refund
	require.NoError(t, refund.Recompute(&q, pricing.Refunded{}, pricing.Returns{All: true}))
	clone := refund.Clone()
	require.True(t, clone.Equal(refund))
	require.NoError(t, refund.Recompute(&q, pricing.Refunded{}, pricing.Returns{Shipping: true}))
	require.Equal(t, int64(8590), clone.Amount)
	require.Len(t, clone.Lines, 4)
	require.Equal(t, int64(590), refund.Amount)
}
