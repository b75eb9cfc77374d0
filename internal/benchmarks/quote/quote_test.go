package quote_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/benchmarks/quote"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// baskets draws baskets within what the unchecked ways can multiply, those with
// free lines, equal lines and one cent beside a fortune among them.
func baskets() *rapid.Generator[quote.Basket] {
	return rapid.Custom(func(t *rapid.T) quote.Basket {
		cart := pricingtest.Cart(pricingtest.CartOptions{
			Kinds: []pricing.LineKind{pricing.Device}, MinLines: 1, MaxTotal: 1_000_000_000,
		}).Filter(func(c pricing.Cart) bool {
			q, err := pricing.Price(c, pricing.Terms{})
			return err == nil && q.Total > 0
		}).Draw(t, "cart")
		var b quote.Basket
		for _, l := range cart.Lines {
			b.Lines = append(b.Lines, quote.Line{Price: l.UnitPrice, Quantity: l.Quantity})
		}
		if rapid.Bool().Draw(t, "percentage") {
			b.Percent = rapid.Int64Range(1, 1_000_000).Draw(t, "ten-thousandths of a percent")
		} else {
			b.Amount = rapid.Int64Range(1, 2_000_000_000).Draw(t, "amount")
		}
		return b
	})
}

func priced(tb require.TestingT, w quote.Way, b quote.Basket) quote.Answer {
	p, err := w.Prepare(b)
	require.NoError(tb, err, w.Name)
	require.NoError(tb, p.Price(), w.Name)
	first := p.Answer()
	require.NoError(tb, p.Price(), w.Name) // as the benchmark does: over and over
	require.Equal(tb, first, p.Answer(), w.Name)
	return first
}

func TestAllWaysGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := baskets().Draw(t, "basket")
		want := priced(t, quote.Ways()[0], b)
		for _, w := range quote.Ways()[1:] {
			got := priced(t, w, b)
			if w.Loose {
				got = loosely(t, w.Name, b, want, got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-couponkit +%s):\n%s", w.Name, w.Name, diff)
			}
		}
	})
}

// loosely checks what a way without largest remainder promises, and then takes its
// parts for those that are wanted.
func loosely(t *rapid.T, name string, b quote.Basket, want, got quote.Answer) quote.Answer {
	discount, base := int64(0), int64(0)
	for i, l := range b.Lines {
		base += l.Price * l.Quantity
		discount += want.Discounts[i]
	}
	sum := int64(0)
	for i, part := range got.Discounts {
		sum += part
		share := b.Lines[i].Price * b.Lines[i].Quantity * discount
		if off := part*base - share; off > base || off < -base {
			t.Errorf("%s: line %d has %d, which is more than a cent off its share", name, i, part)
		}
	}
	if sum != discount {
		t.Errorf("%s: the parts sum to %d, the discount is %d", name, sum, discount)
	}
	return quote.Answer{Discounts: want.Discounts, Total: got.Total}
}

// The baskets of the benchmarks, which are larger than those drawn above.
func TestTheMeasuredBaskets(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		for discount, b := range measured(size) {
			want := priced(t, quote.Ways()[0], b)
			require.Len(t, want.Discounts, size)
			for _, w := range quote.Ways()[1:] {
				if got := priced(t, w, b); !w.Loose {
					require.Empty(t, cmp.Diff(want, got), "%s, %s of %d lines", w.Name, discount, size)
				} else {
					require.Equal(t, want.Total, got.Total, "%s, %s of %d lines", w.Name, discount, size)
				}
			}
		}
	}
}

// go-money gives what is left to the first lines: that is why it is declared
// loose, and the declaration is not an excuse.
func TestWhereGoMoneyDiffers(t *testing.T) {
	t.Parallel()
	b := quote.Basket{Lines: []quote.Line{{Price: 0, Quantity: 1}, {Price: 100, Quantity: 1}, {Price: 200, Quantity: 1}}, Amount: 100}
	answers := make(map[string]string)
	for _, w := range quote.Ways() {
		answers[w.Name] = strings.Trim(fmt.Sprint(priced(t, w, b).Discounts), "[]")
	}
	want := map[string]string{
		"couponkit": "0 33 67", "couponkit-fresh": "0 33 67", "floor": "0 33 67", "plain-int64": "0 33 67",
		"shopspring": "0 33 67",
		"go-money":   "1 33 66", // a cent off a free line
	}
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The goal of the repository for its own way.
func TestAReusedResultAllocatesNothing(t *testing.T) {
	for _, size := range sizes {
		for discount, b := range measured(size) {
			p, err := quote.Ways()[0].Prepare(b)
			require.NoError(t, err)
			require.NoError(t, p.Price())
			if n := testing.AllocsPerRun(100, func() { _ = p.Price() }); n != 0 {
				t.Errorf("%s of %d lines: %v allocations", discount, size, n)
			}
		}
	}
}
