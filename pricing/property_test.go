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
	"github.com/couponkit/couponkit/validation"
)

// purchase is everything that determines a quote.
type purchase struct {
	cart     pricing.Cart
	discount pricing.Discount
	eligible []bool
}

// drawPurchase draws a purchase with a percentage or a fixed amount without further terms.
func drawPurchase(t *rapid.T, o pricingtest.CartOptions) purchase {
	return drawPurchaseWith(t, o, pricingtest.SimpleDiscountFor)
}

func drawPurchaseWith(
	t *rapid.T, o pricingtest.CartOptions, discount func(pricing.Cart) *rapid.Generator[pricing.Discount],
) purchase {
	o.Step = pricingtest.Step().Draw(t, "step")
	cart := pricingtest.Cart(o).Draw(t, "cart")
	return purchase{
		cart:     cart,
		discount: discount(cart).Draw(t, "discount"),
		eligible: pricingtest.Eligible(cart).Draw(t, "eligible"),
	}
}

func (p purchase) price(t *rapid.T) pricing.Quote {
	q, err := pricing.Price(p.cart, pricing.Terms{Discount: p.discount, Eligible: p.eligible})
	if err != nil {
		t.Fatalf("a valid cart is refused: %v", err)
	}
	return q
}

// Contract section 2, nos. 1 to 5. The rules are those of pricingtest.CheckQuote,
// whose own test breaks each of them on purpose.
func quoteKeepsTheRules(t *rapid.T) {
	p := drawPurchaseWith(t, pricingtest.CartOptions{}, pricingtest.DiscountFor)
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
	return pricing.Price(c, pricing.Terms{})
}

// overflowFault draws a cart around the bounds of 64 bits and compares what price
// makes of it with arithmetic that has no bounds.
func overflowFault(t *rapid.T, price func(pricing.Cart) (pricing.Quote, error)) string {
	amount := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64), rapid.Just[int64](math.MaxInt64))
	cart := pricing.Cart{Currency: pricing.EUR()}
	sum, limit, overflowing := new(big.Int), big.NewInt(math.MaxInt64), map[string]bool{}
	units := new(big.Int)
	for i := range rapid.IntRange(1, 5).Draw(t, "lines") {
		l := pricing.Line{
			Kind:     rapid.SampledFrom([]pricing.LineKind{pricing.Device, pricing.Shipping}).Draw(t, "kind"),
			Quantity: max(1, amount.Draw(t, "quantity")), UnitPrice: amount.Draw(t, "unit price"),
		}
		cart.Lines = append(cart.Lines, l)
		if units.Cmp(limit) <= 0 && units.Add(units, big.NewInt(l.Quantity)).Cmp(limit) > 0 {
			overflowing[fmt.Sprintf("lines[%d].quantity", i)] = true
		}
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
			if faults, ok := errors.AsType[*validation.Error](err); ok {
				faults.Fields = faults.Fields[:1]
				faults.Fields[0].Path = "lines[0].unitPrice"
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
