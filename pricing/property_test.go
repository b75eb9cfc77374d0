package pricing_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// purchase is everything that determines a quote.
type purchase struct {
	cart     pricing.Cart
	discount pricing.Discount
	eligible []bool
}

func drawPurchase(t *rapid.T, o pricingtest.CartOptions) purchase {
	cart := pricingtest.Cart(o).Draw(t, "cart")
	return purchase{
		cart:     cart,
		discount: pricingtest.Discount(cart.Currency).Draw(t, "discount"),
		eligible: pricingtest.Eligible(cart).Draw(t, "eligible"),
	}
}

func (p purchase) price(t *rapid.T) pricing.Quote {
	q, err := pricing.Price(p.cart, p.discount, p.eligible)
	if err != nil {
		t.Fatalf("a valid cart is refused: %v", err)
	}
	return q
}

// Contract section 2, nos. 1 to 5. The rules are those of pricingtest.CheckQuote,
// whose own test breaks each of them on purpose.
func quoteKeepsTheRules(t *rapid.T) {
	p := drawPurchase(t, pricingtest.CartOptions{})
	q := p.price(t)
	pricingtest.CheckQuote(t, p.cart, p.discount, p.eligible, q)
	if err := q.Validate(); err != nil {
		t.Errorf("Validate refuses what Price made: %v", err)
	}
}

func TestQuoteKeepsTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, quoteKeepsTheRules)
}

func FuzzPrice(f *testing.F) {
	for seed := range uint64(4) {
		// Draws are read from the bytes, eight at a time; small carts take some
		// hundred of them.
		bits, random := make([]byte, 0, 4096), seed
		for len(bits) < cap(bits) {
			random = random*6364136223846793005 + 1442695040888963407
			bits = binary.LittleEndian.AppendUint64(bits, random>>16)
		}
		f.Add(bits)
	}
	f.Fuzz(rapid.MakeFuzz(quoteKeepsTheRules))
}

// Contract 2.5: 100 % leaves exactly the shipping, to the customer and on every
// line.
func TestAHundredPercentLeavesExactlyTheShipping(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPurchase(t, pricingtest.CartOptions{})
		p.discount, p.eligible = pricing.PercentOff(percent(t, "100")), nil
		q := p.price(t)
		if q.Total != q.Shipping {
			t.Fatalf("total %d, shipping %d", q.Total, q.Shipping)
		}
		for i, l := range q.Lines {
			if l.Kind != pricing.Shipping && l.Total != 0 {
				t.Fatalf("line %d still costs %d", i, l.Total)
			}
		}
	})
}

// Reprice into memory that held another cart, or failed on one, is Price.
func TestRepriceIsPrice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var reused pricing.Quote
		for range rapid.IntRange(1, 4).Draw(t, "carts before") {
			before := drawPurchase(t, pricingtest.CartOptions{})
			if rapid.Bool().Draw(t, "broken") {
				before.cart.Lines = append(before.cart.Lines, pricing.Line{})
			}
			err := reused.Reprice(before.cart, before.discount, before.eligible)
			if diff := cmp.Diff(pricing.Quote{}, reused); err != nil && diff != "" {
				t.Fatalf("after an error the quote is not empty (-want +got):\n%s", diff)
			}
		}
		p := drawPurchase(t, pricingtest.CartOptions{})
		if err := reused.Reprice(p.cart, p.discount, p.eligible); err != nil {
			t.Fatalf("a valid cart is refused: %v", err)
		}
		if diff := cmp.Diff(p.price(t), reused); diff != "" {
			t.Fatalf("(-Price +Reprice):\n%s", diff)
		}
	})
}

// Pricing neither changes its input nor hands out memory that a later Reprice of
// another quote writes to.
func TestPriceLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPurchase(t, pricingtest.CartOptions{})
		lines := append([]pricing.Line(nil), p.cart.Lines...)
		eligible := append([]bool(nil), p.eligible...)
		q := p.price(t)
		copied := q.Clone()
		if err := q.Reprice(pricing.Cart{Currency: pricing.EUR(), Lines: make([]pricing.Line, 1)}, pricing.Discount{}, nil); err == nil {
			t.Fatal("a line of nothing is accepted")
		}
		if diff := cmp.Diff(p.price(t), copied); diff != "" {
			t.Fatalf("the clone changed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(lines, append([]pricing.Line(nil), p.cart.Lines...)); diff != "" {
			t.Fatalf("the cart changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(eligible, append([]bool(nil), p.eligible...)); diff != "" {
			t.Fatalf("eligible changed (-before +after):\n%s", diff)
		}
	})
}

// The order of the lines decides ties and nothing else: in another order, the
// totals are the same, and no line changes by more than one minor unit.
func TestTheOrderOfLinesDecidesOnlyTies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPurchase(t, pricingtest.CartOptions{})
		order := make([]int, len(p.cart.Lines))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		shuffled := purchase{cart: pricing.Cart{Currency: p.cart.Currency}, discount: p.discount}
		for _, from := range order {
			shuffled.cart.Lines = append(shuffled.cart.Lines, p.cart.Lines[from])
			if p.eligible != nil {
				shuffled.eligible = append(shuffled.eligible, p.eligible[from])
			}
		}
		q, r := p.price(t), shuffled.price(t)
		if q.Discount != r.Discount || q.Total != r.Total || q.Subtotal != r.Subtotal || q.Shipping != r.Shipping {
			t.Fatalf("totals depend on the order: %+v and %+v", q, r)
		}
		claims := make(map[int64]int) // lines of one subtotal have one share
		for _, l := range q.Lines {
			if l.Eligible {
				claims[l.Subtotal]++
			}
		}
		for to, from := range order {
			before, after := q.Lines[from], r.Lines[to]
			off := before.Discount - after.Discount
			if off != 0 && (off*off > 1 || claims[before.Subtotal] < 2 && !tied(q, from)) {
				t.Fatalf("line %d: discount %d, elsewhere %d", from, before.Discount, after.Discount)
			}
		}
	})
}

// tied reports whether another line has the same remainder as the line.
func tied(q pricing.Quote, line int) bool {
	remainder := func(l pricing.QuotedLine) *big.Int {
		product := new(big.Int).Mul(big.NewInt(l.Subtotal), big.NewInt(q.Discount))
		return product.Mod(product, big.NewInt(q.EligibleSubtotal))
	}
	for i, l := range q.Lines {
		if i != line && l.Eligible && remainder(l).Cmp(remainder(q.Lines[line])) == 0 {
			return true
		}
	}
	return false
}

// Pricing works in minor units: the same integers in a currency of another
// exponent give the same integers.
func TestPricingDoesNotDependOnTheExponent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPurchase(t, pricingtest.CartOptions{})
		other := p
		other.cart.Currency = pricingtest.Currency().Draw(t, "other currency")
		if p.discount.Type() == pricing.FixedAmount {
			amount, err := pricing.AmountOff(pricing.NewMoney(p.discount.Amount().Minor(), other.cart.Currency))
			if err != nil {
				t.Fatal(err)
			}
			other.discount = amount
		}
		q, r := p.price(t), other.price(t)
		r.Currency = q.Currency
		if diff := cmp.Diff(q, r); diff != "" {
			t.Fatalf("(-%s +%s):\n%s", p.cart.Currency, other.cart.Currency, diff)
		}
	})
}

// A greater percentage or amount never makes the cart dearer. (A single line may
// become dearer: largest remainder is not monotone per line.)
func TestAGreaterDiscountNeverRaisesTheTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPurchase(t, pricingtest.CartOptions{})
		q := p
		q.discount = pricingtest.Discount(p.cart.Currency).
			Filter(func(d pricing.Discount) bool { return d.Type() == p.discount.Type() }).Draw(t, "other discount")
		if q.discount.Amount().Minor() < p.discount.Amount().Minor() ||
			q.discount.Percent().Decimal().LessThan(p.discount.Percent().Decimal()) {
			p, q = q, p
		}
		if lesser, greater := p.price(t), q.price(t); greater.Total > lesser.Total {
			t.Fatalf("%s: %d, %s: %d", p.discount, lesser.Total, q.discount, greater.Total)
		}
	})
}

// Contract 2.6: every overflow is an error that names the line, never a wrap;
// what big integers say fits is priced.
func TestOverflowIsAnErrorNeverAWrap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if fault := overflowFault(t, atListPrices); fault != "" {
			t.Fatal(fault)
		}
	})
}

func atListPrices(c pricing.Cart) (pricing.Quote, error) {
	return pricing.Price(c, pricing.Discount{}, nil)
}

// overflowFault draws a cart around the bounds of 64 bits and compares what price
// makes of it with arithmetic that has no bounds.
func overflowFault(t *rapid.T, price func(pricing.Cart) (pricing.Quote, error)) string {
	amount := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64), rapid.Just[int64](math.MaxInt64))
	cart := pricing.Cart{Currency: pricing.EUR()}
	sum, limit, overflowing := new(big.Int), big.NewInt(math.MaxInt64), map[string]bool{}
	for i := range rapid.IntRange(1, 5).Draw(t, "lines") {
		l := pricing.Line{
			Kind:     rapid.SampledFrom([]pricing.LineKind{pricing.Device, pricing.Shipping}).Draw(t, "kind"),
			Quantity: max(1, amount.Draw(t, "quantity")), UnitPrice: amount.Draw(t, "unit price"),
		}
		cart.Lines = append(cart.Lines, l)
		subtotal := new(big.Int).Mul(big.NewInt(l.Quantity), big.NewInt(l.UnitPrice))
		if subtotal.Cmp(limit) > 0 {
			overflowing[fmt.Sprintf("lines[%d].unitPrice", i)] = true
			continue
		}
		if sum.Cmp(limit) <= 0 && sum.Add(sum, subtotal).Cmp(limit) > 0 {
			overflowing[fmt.Sprintf("lines[%d].unitPrice", i)] = true
		}
	}
	q, err := price(cart)
	if diff := cmp.Diff(overflowing, overflows(err)); diff != "" {
		return "overflowing fields (-want +got):\n" + diff
	}
	if err == nil && big.NewInt(q.Total).Cmp(sum) != 0 {
		return fmt.Sprintf("total %d, want %s", q.Total, sum)
	}
	return ""
}

// TestTheOverflowPropertyNotices: arithmetic that wraps, that stops at the bound, and
// that names another line does not pass.
func TestTheOverflowPropertyNotices(t *testing.T) {
	t.Parallel()
	for name, price := range map[string]func(pricing.Cart) (pricing.Quote, error){
		"wraps": func(c pricing.Cart) (pricing.Quote, error) {
			var q pricing.Quote
			for _, l := range c.Lines {
				q.Total += l.Quantity * l.UnitPrice
			}
			return q, nil
		},
		"stops at the bound": func(c pricing.Cart) (pricing.Quote, error) {
			q, err := atListPrices(c)
			if err != nil {
				return pricing.Quote{Total: math.MaxInt64}, nil
			}
			return q, nil
		},
		"names the first line": func(c pricing.Cart) (pricing.Quote, error) {
			q, err := atListPrices(c)
			var faults *pricing.ValidationError
			if errors.As(err, &faults) {
				faults.Fields = faults.Fields[:1]
				faults.Fields[0].Field = "lines[0].unitPrice"
			}
			return q, err
		},
	} {
		fault := ""
		life := rapid.Custom(func(t *rapid.T) string { return overflowFault(t, price) })
		for seed := 0; seed < 200 && fault == ""; seed++ {
			fault = life.Example(seed)
		}
		if fault == "" {
			t.Errorf("arithmetic that %s passes", name)
		}
	}
}

// Price refuses exactly what Validate refuses, whatever is wrong with the cart.
func TestPriceRefusesWhatValidateRefuses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{MinLines: 1, MaxLines: 5}).Draw(t, "cart")
		l := &cart.Lines[rapid.IntRange(0, len(cart.Lines)-1).Draw(t, "line")]
		switch rapid.SampledFrom([]string{"kind", "quantity", "price", "recurs", "currency"}).Draw(t, "field") {
		case "kind":
			l.Kind = pricing.LineKind(rapid.Uint8().Draw(t, "kind"))
		case "quantity":
			l.Quantity = rapid.Int64().Draw(t, "quantity")
		case "price":
			l.UnitPrice = rapid.Int64().Draw(t, "price")
		case "recurs":
			l.Recurs = pricing.Interval(rapid.Uint8Range(0, 8).Draw(t, "recurs"))
		case "currency":
			cart.Currency = pricing.Currency{}
		}
		_, err := pricing.Price(cart, pricing.Discount{}, nil)
		if diff := cmp.Diff(fmt.Sprint(cart.Validate()), fmt.Sprint(err)); diff != "" {
			t.Fatalf("(-Validate +Price):\n%s", diff)
		}
	})
}

// The plain computation of the benchmarks agrees, where its products fit.
func TestTheFloorAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{
			Kinds: []pricing.LineKind{pricing.Device}, MinLines: 1, MaxTotal: 1_000_000_000,
		}).Filter(func(c pricing.Cart) bool { return c.Lines[0].UnitPrice > 0 }).Draw(t, "cart")
		tenThousandths := rapid.Int64Range(1, 1_000_000).Draw(t, "percent")
		discount := pricing.PercentOff(percent(t, fmt.Sprintf("%de-4", tenThousandths)))
		q := purchase{cart: cart, discount: discount}.price(t)
		floor := newFloorPricer(len(cart.Lines))
		if total := floor.percentage(floorLines(cart), tenThousandths); total != q.Total {
			t.Fatalf("total %d, the floor has %d", q.Total, total)
		}
		for i, l := range q.Lines {
			if l.Discount != floor.discounts[i] {
				t.Fatalf("line %d: discount %d, the floor has %d", i, l.Discount, floor.discounts[i])
			}
		}
	})
}
