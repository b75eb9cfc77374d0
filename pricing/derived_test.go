package pricing_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// pricer prices a cart into a quote that may have held another, as Reprice does.
type pricer func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error

func reprice(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
	return q.Reprice(c, pricing.Terms{Discount: d, Eligible: eligible})
}

// A property says what is wrong with a pricer on a purchase that it draws, or
// nothing.
type property func(t *rapid.T, price pricer) string

// The properties that follow from the rules without being one of them.
var derived = map[string]property{
	"100 % leaves exactly the shipping":           hundredPercentFault,
	"reused memory makes no difference":           reuseFault,
	"the input is left alone":                     inputFault,
	"the order of lines decides only ties":        orderFault,
	"the exponent makes no difference":            exponentFault,
	"a greater discount never raises the total":   greaterDiscountFault,
	"a step is a currency of coarser minor units": stepFault,
	"Price refuses what Validate refuses":         refusalFault,
}

func TestDerivedProperties(t *testing.T) {
	t.Parallel()
	for name, fault := range derived {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				if fault := fault(t, reprice); fault != "" {
					t.Fatal(fault)
				}
			})
		})
	}
}

// TestDerivedPropertiesNotice: each property is seen to fail on pricing that is
// broken the way people break it, and on nothing else of it.
func TestDerivedPropertiesNotice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		property string
		broken   string
		price    pricer
	}{
		{"100 % leaves exactly the shipping", "shipping is discounted too", after(func(q *pricing.Quote) {
			q.Total -= q.Shipping * q.Discount / max(q.EligibleSubtotal, 1)
		})},
		{"100 % leaves exactly the shipping", "a cent is left", after(func(q *pricing.Quote) {
			if q.Discount > 0 && q.Total == q.Shipping {
				q.Discount -= max(q.Step, 1)
				q.Total += max(q.Step, 1)
			}
		})},
		{"reused memory makes no difference", "lines of the last cart stay", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			last := slices.Clone(q.Lines)
			err := reprice(q, c, d, eligible)
			if err == nil && len(last) > len(q.Lines) {
				q.Lines = append(q.Lines, last[len(q.Lines):]...)
			}
			return err
		}},
		{"reused memory makes no difference", "the last discount stays on a line", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			last := int64(0)
			if len(q.Lines) > 0 {
				last = q.Lines[0].Discount
			}
			err := reprice(q, c, d, eligible)
			if err == nil && len(q.Lines) > 0 && q.Lines[0].Discount == 0 {
				q.Lines[0].Discount = last
			}
			return err
		}},
		{"reused memory makes no difference", "an error leaves the last quote", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			last := q.Clone()
			err := reprice(q, c, d, eligible)
			if err != nil {
				*q = last
			}
			return err
		}},
		{"the input is left alone", "lines are sorted in place", before(func(c pricing.Cart, _ []bool) {
			slices.SortStableFunc(c.Lines, func(a, b pricing.Line) int { return strings.Compare(a.ItemID, b.ItemID) })
		})},
		{"the input is left alone", "shipping is struck from eligible", before(func(c pricing.Cart, eligible []bool) {
			for i := range eligible {
				eligible[i] = eligible[i] && c.Lines[i].Kind != pricing.Shipping
			}
		})},
		{"the input is left alone", "quotes share their memory", sharing()},
		{"the order of lines decides only ties", "the last line takes the rest", after(func(q *pricing.Quote) {
			rest := q.Discount
			last := -1
			for i := range q.Lines {
				if l := &q.Lines[i]; l.Eligible && l.Subtotal > 0 {
					product := new(big.Int).Mul(big.NewInt(q.Discount), big.NewInt(l.Subtotal))
					l.Discount = product.Quo(product, big.NewInt(q.EligibleSubtotal)).Int64()
					rest, last = rest-l.Discount, i
				}
			}
			if last >= 0 {
				q.Lines[last].Discount += rest
			}
		})},
		{"the order of lines decides only ties", "the first line goes free", after(func(q *pricing.Quote) {
			if len(q.Lines) > 1 {
				q.Total -= q.Lines[0].Total
			}
		})},
		{"the exponent makes no difference", "cents of every currency", after(func(q *pricing.Quote) {
			if q.Currency.Exponent() == 0 {
				q.Total *= 100
			}
		})},
		{"the exponent makes no difference", "fils are rounded to cents", after(func(q *pricing.Quote) {
			if q.Currency.Exponent() == 3 {
				q.Discount -= q.Discount % 10
			}
		})},
		{"a greater discount never raises the total", "an amount above the base takes nothing", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			err := reprice(q, c, d, eligible)
			if err == nil && d.Amount().Minor() > q.EligibleSubtotal {
				return reprice(q, c, pricing.Discount{}, eligible)
			}
			return err
		}},
		{"a greater discount never raises the total", "the fraction of a percentage is lost", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			if d.Percent().Decimal().IsInteger() {
				return reprice(q, c, d, eligible)
			}
			return reprice(q, c, pricing.Discount{}, eligible)
		}},
		{"a step is a currency of coarser minor units", "the step is forgotten", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			c.Step = 0
			return reprice(q, c, d, eligible)
		}},
		{"a step is a currency of coarser minor units", "rounded to a minor unit, then cut to the step", after(func(q *pricing.Quote) {
			if q.Step > 1 && q.Discount > 0 && q.Discount < q.EligibleSubtotal {
				q.Discount -= q.Step
			}
		})},
		{"a step is a currency of coarser minor units", "units a cent apart", after(func(q *pricing.Quote) { q.Step = 0 })},
		{"Price refuses what Validate refuses", "only the first line is looked at", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			if len(c.Lines) > 1 && c.Validate() != nil {
				c.Lines = c.Lines[:1]
				return c.Validate()
			}
			return reprice(q, c, d, eligible)
		}},
		{"Price refuses what Validate refuses", "a price off the step is rounded", func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
			c.Lines = slices.Clone(c.Lines)
			for i := range c.Lines {
				if c.Step > 1 && c.Lines[i].UnitPrice > 0 {
					c.Lines[i].UnitPrice -= c.Lines[i].UnitPrice % c.Step
				}
			}
			return reprice(q, c, d, eligible)
		}},
	} {
		fault := ""
		broken := rapid.Custom(func(t *rapid.T) string { return derived[c.property](t, c.price) })
		for seed := 0; seed < 500 && fault == ""; seed++ {
			fault = broken.Example(seed)
		}
		if fault == "" {
			t.Errorf("%q does not notice that %s", c.property, c.broken)
		}
	}
}

// sharing is pricing whose quotes have their lines in one place.
func sharing() pricer {
	var lines []pricing.QuotedLine
	return after(func(q *pricing.Quote) {
		lines = append(lines[:0], q.Lines...)
		q.Lines = lines
	})
}

// after is pricing whose quote is then changed.
func after(change func(*pricing.Quote)) pricer {
	return func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
		err := reprice(q, c, d, eligible)
		if err == nil {
			change(q)
		}
		return err
	}
}

// before is pricing that changes its input first.
func before(change func(pricing.Cart, []bool)) pricer {
	return func(q *pricing.Quote, c pricing.Cart, d pricing.Discount, eligible []bool) error {
		change(c, eligible)
		return reprice(q, c, d, eligible)
	}
}

// fresh prices into a new quote.
func (p purchase) fresh(t *rapid.T, price pricer) pricing.Quote {
	var q pricing.Quote
	if err := price(&q, p.cart, p.discount, p.eligible); err != nil {
		t.Fatalf("a valid cart is refused: %v", err)
	}
	return q
}

// Contract 2.5: to the customer and on every line.
func hundredPercentFault(t *rapid.T, price pricer) string {
	p := drawPurchase(t, pricingtest.CartOptions{})
	p.discount, p.eligible = pricing.PercentOff(percent(t, "100")), nil
	q := p.fresh(t, price)
	if q.Total != q.Shipping {
		return fmt.Sprintf("total %d, shipping %d", q.Total, q.Shipping)
	}
	for i, l := range q.Lines {
		if l.Kind != pricing.Shipping && l.Total != 0 {
			return fmt.Sprintf("line %d still costs %d", i, l.Total)
		}
	}
	return ""
}

// Reprice into memory that held another cart, or failed on one, is Price.
func reuseFault(t *rapid.T, price pricer) string {
	var reused pricing.Quote
	for range rapid.IntRange(1, 4).Draw(t, "carts before") {
		before := drawPurchase(t, pricingtest.CartOptions{})
		if rapid.Bool().Draw(t, "broken") {
			before.cart.Lines = append(before.cart.Lines, pricing.Line{})
		}
		err := price(&reused, before.cart, before.discount, before.eligible)
		if diff := cmp.Diff(pricing.Quote{}, reused); err != nil && diff != "" {
			return "after an error the quote is not empty (-want +got):\n" + diff
		}
	}
	p := drawPurchase(t, pricingtest.CartOptions{})
	if err := price(&reused, p.cart, p.discount, p.eligible); err != nil {
		return fmt.Sprintf("a valid cart is refused: %v", err)
	}
	if diff := cmp.Diff(p.price(t), reused); diff != "" {
		return "(-Price +Reprice):\n" + diff
	}
	return ""
}

// Pricing neither changes its input nor hands out memory that a later quote writes
// to.
func inputFault(t *rapid.T, price pricer) string {
	p := drawPurchase(t, pricingtest.CartOptions{})
	lines, eligible := slices.Clone(p.cart.Lines), slices.Clone(p.eligible)
	q := p.fresh(t, price)
	kept := q.Clone()
	other := drawPurchase(t, pricingtest.CartOptions{})
	other.fresh(t, price)
	if diff := cmp.Diff(kept, q); diff != "" {
		return "another cart changed the quote (-want +got):\n" + diff
	}
	if err := q.Reprice(pricing.Cart{Currency: pricing.EUR(), Lines: make([]pricing.Line, 1)}, pricing.Terms{}); err == nil {
		return "a line of nothing is accepted"
	}
	if diff := cmp.Diff(p.price(t), kept); diff != "" {
		return "the clone changed (-want +got):\n" + diff
	}
	if diff := cmp.Diff(lines, slices.Clone(p.cart.Lines)); diff != "" {
		return "the cart changed (-before +after):\n" + diff
	}
	if diff := cmp.Diff(eligible, slices.Clone(p.eligible)); diff != "" {
		return "eligible changed (-before +after):\n" + diff
	}
	return ""
}

// In another order the totals are the same, and no line changes by more than one
// step.
func orderFault(t *rapid.T, price pricer) string {
	p := drawPurchase(t, pricingtest.CartOptions{})
	order := make([]int, len(p.cart.Lines))
	for i := range order {
		order[i] = i
	}
	order = rapid.Permutation(order).Draw(t, "order")
	shuffled := purchase{cart: pricing.Cart{Currency: p.cart.Currency, Step: p.cart.Step}, discount: p.discount}
	for _, from := range order {
		shuffled.cart.Lines = append(shuffled.cart.Lines, p.cart.Lines[from])
		if p.eligible != nil {
			shuffled.eligible = append(shuffled.eligible, p.eligible[from])
		}
	}
	q, r := p.fresh(t, price), shuffled.fresh(t, price)
	if q.Discount != r.Discount || q.Total != r.Total || q.Subtotal != r.Subtotal || q.Shipping != r.Shipping {
		return fmt.Sprintf("totals depend on the order: %+v and %+v", q, r)
	}
	claims := make(map[int64]int) // lines of one subtotal have one share
	for _, l := range q.Lines {
		if l.Eligible {
			claims[l.Subtotal]++
		}
	}
	for to, from := range order {
		before, after := q.Lines[from], r.Lines[to]
		off := (before.Discount - after.Discount) / max(q.Step, 1)
		if off != 0 && (off*off > 1 || claims[before.Subtotal] < 2 && !tied(q, from)) {
			return fmt.Sprintf("line %d: discount %d, elsewhere %d", from, before.Discount, after.Discount)
		}
	}
	return ""
}

// tied reports whether another line has the same remainder as the line.
func tied(q pricing.Quote, line int) bool {
	remainder := func(l pricing.QuotedLine) *big.Int {
		product := new(big.Int).Mul(big.NewInt(l.Subtotal), big.NewInt(q.Discount/max(q.Step, 1)))
		return product.Mod(product, big.NewInt(q.EligibleSubtotal))
	}
	for i, l := range q.Lines {
		if i != line && l.Eligible && remainder(l).Cmp(remainder(q.Lines[line])) == 0 {
			return true
		}
	}
	return false
}

// The same integers in a currency of another exponent give the same integers.
func exponentFault(t *rapid.T, price pricer) string {
	p := drawPurchase(t, pricingtest.CartOptions{})
	other := p
	other.cart.Currency = pricingtest.Currency().Draw(t, "other currency")
	other.discount = inMinorUnits(t, p.discount, other.cart.Currency, 1)
	q, r := p.fresh(t, price), other.fresh(t, price)
	r.Currency = q.Currency
	for i := range r.Coupons {
		r.Coupons[i].Terms = q.Coupons[i].Terms
	}
	if diff := cmp.Diff(q, r); diff != "" {
		return fmt.Sprintf("(-%s +%s):\n%s", p.cart.Currency, other.cart.Currency, diff)
	}
	return ""
}

// inMinorUnits is the discount in another currency, a fixed amount divided.
func inMinorUnits(t *rapid.T, d pricing.Discount, c pricing.Currency, divisor int64) pricing.Discount {
	if d.Type() != pricing.FixedAmount {
		return d
	}
	amount, err := pricing.AmountOff(pricing.NewMoney(d.Amount().Minor()/divisor, c))
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// A greater percentage or amount never makes the cart dearer. (A single line may
// become dearer: largest remainder is not monotone per line.)
func greaterDiscountFault(t *rapid.T, price pricer) string {
	p := drawPurchase(t, pricingtest.CartOptions{})
	q := p
	q.discount = pricingtest.SimpleDiscountFor(p.cart).
		Filter(func(d pricing.Discount) bool { return d.Type() == p.discount.Type() }).Draw(t, "other discount")
	if q.discount.Amount().Minor() < p.discount.Amount().Minor() ||
		q.discount.Percent().Decimal().LessThan(p.discount.Percent().Decimal()) {
		p, q = q, p
	}
	if lesser, greater := p.fresh(t, price), q.fresh(t, price); greater.Total > lesser.Total {
		return fmt.Sprintf("%s: %d, %s: %d", p.discount, lesser.Total, q.discount, greater.Total)
	}
	return ""
}

// Contract 2.10: a cart with a step is the cart with all amounts divided by it, in
// minor units that are as coarse.
func stepFault(t *rapid.T, price pricer) string {
	p := drawPurchase(t, pricingtest.CartOptions{})
	step := max(p.cart.Step, 1)
	coarse := p
	coarse.cart.Step, coarse.cart.Lines = 0, slices.Clone(p.cart.Lines)
	for i := range coarse.cart.Lines {
		coarse.cart.Lines[i].UnitPrice /= step
	}
	coarse.discount = inMinorUnits(t, p.discount, p.cart.Currency, step)
	q, want := p.fresh(t, price), coarse.price(t)
	for _, amount := range [...]struct {
		name      string
		got, want int64
	}{
		{"subtotal", q.Subtotal, want.Subtotal},
		{"eligible subtotal", q.EligibleSubtotal, want.EligibleSubtotal},
		{"discount", q.Discount, want.Discount},
		{"shipping", q.Shipping, want.Shipping},
		{"total", q.Total, want.Total},
	} {
		if amount.got != amount.want*step {
			return fmt.Sprintf("%s %d, want %d steps of %d", amount.name, amount.got, amount.want, step)
		}
	}
	for i, l := range q.Lines {
		groups := want.Units(i)
		for j := range groups {
			groups[j].UnitPrice *= step
		}
		if l.Discount != want.Lines[i].Discount*step || l.Total != want.Lines[i].Total*step {
			return fmt.Sprintf("line %d: discount %d, want %d steps of %d", i, l.Discount, want.Lines[i].Discount, step)
		}
		if diff := cmp.Diff(groups, q.Units(i)); diff != "" {
			return fmt.Sprintf("units of line %d (-want +got):\n%s", i, diff)
		}
	}
	return ""
}

// Price refuses exactly what Validate refuses, whatever is wrong with the cart.
func refusalFault(t *rapid.T, price pricer) string {
	cart := pricingtest.Cart(pricingtest.CartOptions{
		MinLines: 1, MaxLines: 5, Step: pricingtest.Step().Draw(t, "step"),
	}).Draw(t, "cart")
	l := &cart.Lines[rapid.IntRange(0, len(cart.Lines)-1).Draw(t, "line")]
	switch rapid.SampledFrom([]string{"kind", "quantity", "price", "recurs", "currency", "step"}).Draw(t, "field") {
	case "kind":
		l.Kind, l.Class = pricing.LineKind(rapid.StringN(0, 3, -1).Draw(t, "kind")), pricing.Class(rapid.Uint8Range(0, 4).Draw(t, "class"))
	case "quantity":
		l.Quantity = rapid.Int64().Draw(t, "quantity")
	case "price":
		l.UnitPrice = rapid.Int64().Draw(t, "price")
	case "recurs":
		l.Recurs = pricing.Interval(rapid.Uint8Range(0, 8).Draw(t, "recurs"))
	case "currency":
		cart.Currency = pricing.Currency{}
	case "step":
		cart.Step = rapid.Int64().Draw(t, "another step")
	}
	var q pricing.Quote
	err := price(&q, cart, pricing.Discount{}, nil)
	if diff := cmp.Diff(fmt.Sprint(cart.Validate()), fmt.Sprint(err)); diff != "" {
		return "(-Validate +Price):\n" + diff
	}
	return ""
}
