package stripeprocessor

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// Stripe's limits for the lines of a session.
const (
	maxPaymentLines   = 100
	maxRecurringLines = 20
	maxOneTimeLines   = 20 // in a session that also has recurring lines
)

// sale is one line of the cart, with the price of all its units.
type sale struct {
	id       string
	name     string
	recurs   pricing.Interval
	shipping bool
	quantity int64
	total    int64
}

// line is one line of a session, in Stripe's minor units. A line that combines several lines of the
// cart has no ID.
type line struct {
	id         string
	name       string
	recurs     pricing.Interval
	quantity   int64
	unitAmount int64
}

// sessionLines converts the lines of a request to lines of a session with exactly the same sum. A line
// of the cart may have two unit prices; these are joined and split again. Lines are merged if there are
// more than Stripe takes. Amounts that were priced without Stripe's steps are rounded to them, with the
// same sum.
func (m money) sessionLines(r processor.SessionRequest) ([]line, error) {
	sales, err := m.sales(r.Lines)
	if err != nil {
		return nil, err
	}
	m.settle(sales)
	lines := make([]line, 0, 2*len(sales))
	for _, s := range sales {
		lines = append(lines, m.split(s)...)
	}
	if fitsStripe(lines, r.Mode) {
		return lines, nil
	}
	return m.merged(sales, r.Mode)
}

// sales joins the request lines of each line of the cart.
func (m money) sales(lines []processor.SessionLine) ([]sale, error) {
	joined := make([]sale, 0, len(lines))
	var faults validation.Error
	for i, l := range lines {
		total, ok := multiply(l.UnitAmount, l.Quantity)
		if !ok {
			faults.Add(fmt.Sprintf("lines[%d].unitAmount", i), validation.Overflow, "amount times quantity is too large")
			continue
		}
		if last := len(joined) - 1; i > 0 && last >= 0 && m.sameSale(lines[i-1], l) {
			if joined[last].total > math.MaxInt64-total || joined[last].quantity > math.MaxInt64-l.Quantity {
				faults.Add(fmt.Sprintf("lines[%d].unitAmount", i), validation.Overflow, "the sum of the lines is too large")
				continue
			}
			joined[last].total += total
			joined[last].quantity += l.Quantity
			continue
		}
		joined = append(joined, sale{
			id: l.LineID, name: lineName(l), recurs: l.Recurs,
			shipping: l.ClassOf() == pricing.ShippingClass, quantity: l.Quantity, total: total,
		})
	}
	return joined, faults.Err()
}

// lineName returns the first name of a line that is not only white space.
func lineName(l processor.SessionLine) string {
	trim := strings.TrimSpace
	return cmp.Or(trim(l.Name), trim(l.ItemID), trim(l.LineID), l.Kind.String(), "item")
}

// sameSale reports whether two adjacent request lines are the two unit prices of one line of the cart.
// The more expensive units come first. The prices differ by one step, or by one minor unit if the
// request was priced without steps.
func (m money) sameSale(a, b processor.SessionLine) bool {
	apart := a.UnitAmount - b.UnitAmount
	return a.LineID != "" && a.LineID == b.LineID && a.Kind == b.Kind && a.ItemID == b.ItemID &&
		a.Name == b.Name && a.Recurs == b.Recurs && (apart == 1 || apart == m.step())
}

// multiply multiplies two numbers of at least 0.
func multiply(a, b int64) (product int64, ok bool) {
	if a < 0 || b < 0 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	return int64(low), high == 0 && low <= math.MaxInt64 //nolint:gosec // checked beside
}

// settle rounds every total to a multiple of the currency's step. Their sum is already a multiple and
// does not change. Steps go to the greatest remainders, and ties to the earlier line. A total that is a
// multiple does not change.
func (m money) settle(sales []sale) {
	step := m.step()
	if step == 1 {
		return
	}
	var loose []int // lines whose total is not a multiple of the step
	var rest int64
	remainder := make([]int64, len(sales))
	for i := range sales {
		if remainder[i] = sales[i].total % step; remainder[i] > 0 {
			loose = append(loose, i)
			sales[i].total -= remainder[i]
			rest += remainder[i]
		}
	}
	slices.SortStableFunc(loose, func(a, b int) int { return cmp.Compare(remainder[b], remainder[a]) })
	for _, i := range loose {
		if rest < step {
			return
		}
		sales[i].total += step
		rest -= step
	}
}

// split converts a sale to one or two lines with exactly the same sum. The more expensive units come
// first and cost one step more. A sale with more units than Stripe takes becomes one line of quantity
// 1.
func (m money) split(s sale) []line {
	if s.quantity > maxQuantity {
		return []line{m.single(s)}
	}
	steps := s.total / m.step()
	base, dearer := steps/s.quantity, steps%s.quantity
	lines := make([]line, 0, 2)
	if dearer > 0 {
		lines = append(lines, m.line(s, dearer, base+1))
	}
	return append(lines, m.line(s, s.quantity-dearer, base))
}

func (m money) line(s sale, quantity, steps int64) line {
	amount, _ := m.toStripe(steps * m.step()) // a multiple of the step, at most the session's total
	return line{id: s.id, name: s.name, recurs: s.recurs, quantity: quantity, unitAmount: amount}
}

// merged converts the sales of a cart that has more lines than Stripe takes. Every sale becomes one
// line of quantity 1, with the quantity in its name. If there are still too many, the last line has the
// sum of the rest. Shipping and goods are never combined.
func (m money) merged(sales []sale, mode processor.Mode) ([]line, error) {
	most := maxPaymentLines
	if mode == processor.Subscription {
		most = maxOneTimeLines
	}
	var subscribed []sale
	var goods, shipping []line
	for _, s := range sales {
		switch {
		case s.recurs != pricing.Once:
			subscribed = append(subscribed, s)
		case s.shipping:
			shipping = append(shipping, m.single(s))
		default:
			goods = append(goods, m.single(s))
		}
	}
	recurring, err := m.recurring(subscribed)
	if err != nil {
		return nil, err
	}
	shipping = summed(shipping, max(most-len(goods), most/2), "shipping")
	goods = summed(goods, most-len(shipping), "more items")
	return slices.Concat(recurring, goods, shipping), nil
}

// recurring makes the recurring lines of a merged cart. They keep their quantity, which is the number
// of seats. If there are too many lines, a sale with two unit prices becomes one line of quantity 1.
func (m money) recurring(sales []sale) ([]line, error) {
	var all, fewest []line
	for _, s := range sales {
		split := m.split(s)
		all = append(all, split...)
		if len(split) > 1 {
			split = []line{m.single(s)}
		}
		fewest = append(fewest, split...)
	}
	switch {
	case len(all) <= maxRecurringLines:
		return all, nil
	case len(fewest) <= maxRecurringLines:
		return fewest, nil
	}
	var faults validation.Error
	faults.Add("lines", validation.TooLong, fmt.Sprintf("Stripe takes at most %d recurring lines", maxRecurringLines))
	return nil, faults.Err()
}

func (m money) single(s sale) line {
	name := s.name
	if s.quantity > 1 {
		name = fmt.Sprintf("%d × %s", s.quantity, s.name)
	}
	amount, _ := m.toStripe(s.total) // a multiple of the step, at most the session's total
	return line{id: s.id, name: name, recurs: s.recurs, quantity: 1, unitAmount: amount}
}

// summed shortens lines to the allowed number. The last line then has the sum of the rest.
func summed(lines []line, most int, what string) []line {
	if len(lines) <= most {
		return lines
	}
	rest := line{name: fmt.Sprintf("%d %s", len(lines)-most+1, what), quantity: 1}
	for _, l := range lines[most-1:] {
		rest.unitAmount += l.unitAmount
	}
	return append(slices.Clone(lines[:most-1]), rest)
}

func fitsStripe(lines []line, mode processor.Mode) bool {
	recurring := 0
	for _, l := range lines {
		if l.recurs != pricing.Once {
			recurring++
		}
	}
	if mode == processor.Subscription {
		return recurring <= maxRecurringLines && len(lines)-recurring <= maxOneTimeLines
	}
	return len(lines) <= maxPaymentLines
}
