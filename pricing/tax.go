package pricing

import (
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/validation"
)

// Tax is the tax that a payment processor has added to the total of an order. A tax that the
// prices include is not part of it. All amounts are in minor units.
type Tax struct {
	// Amount is the whole tax.
	Amount int64
	// Lines tells the tax by line. A line without an entry has no tax. Lines is empty if the
	// processor does not tell the tax by line.
	Lines []LineTax
}

// LineTax is the tax of one line. If several lines of a quote have the same ID, LineTax is the tax
// of all of them together.
type LineTax struct {
	LineID string
	Amount int64
}

// IsZero reports whether there is no tax.
func (t Tax) IsZero() bool { return t.Amount == 0 && len(t.Lines) == 0 }

// Equal reports whether t and u are the same tax. Equal treats a nil slice like an empty slice.
func (t Tax) Equal(u Tax) bool { return t.Amount == u.Amount && slices.Equal(t.Lines, u.Lines) }

// Clone returns a copy of the tax that shares no memory with the original.
func (t Tax) Clone() Tax {
	t.Lines = slices.Clone(t.Lines)
	return t
}

// CheckTax checks whether the tax belongs to the quote. CheckTax returns a [*validation.Error] that
// names every invalid field in these cases:
//
//   - An amount is negative (amount, lines[1].amount).
//   - The quote has no line with the ID, or the ID occurs twice (lines[1].lineId).
//   - There are more than [MaxLines] lines (lines).
//   - The lines do not sum to the amount (lines).
func (q Quote) CheckTax(t Tax) error {
	var faults validation.Error
	if t.Amount < 0 {
		faults.Add("amount", validation.TooSmall, "a tax is not negative")
	}
	if len(t.Lines) > MaxLines {
		faults.Add("lines", validation.TooLong, tooManyLines())
		return faults.Err()
	}
	listed := make(map[string]bool, len(q.Lines)) // by line ID: true if the tax has an entry for the line
	for i := range q.Lines {
		listed[q.Lines[i].ID] = false
	}
	sum := int64(0)
	for i, l := range t.Lines {
		switch twice, known := listed[l.LineID]; {
		case !known:
			faults.Add(linePath(i, "lineId"), validation.Unknown, fmt.Sprintf("the quote has no line %q", l.LineID))
		case twice:
			faults.Add(linePath(i, "lineId"), validation.Mismatch, fmt.Sprintf("the line %q occurs twice", l.LineID))
		default:
			listed[l.LineID] = true
		}
		if l.Amount < 0 {
			faults.Add(linePath(i, "amount"), validation.TooSmall, "a tax is not negative")
		}
		sum = saturated(sum, l.Amount)
	}
	if len(t.Lines) > 0 && len(faults.Fields) == 0 && sum != t.Amount {
		faults.Add("lines", validation.Mismatch, "the taxes of the lines do not sum to the amount")
	}
	return faults.Err()
}

// TaxOf returns the part of a tax that belongs to everything that was returned of the quote, in
// minor units. The tax of a refund is the TaxOf all refunds including it, less the taxes of the
// refunds before. docs/refunds.md has the arithmetic:
//
//   - Every line keeps its tax: the returned units of a line have the part of its tax that they
//     have of its total.
//   - If the tax does not tell the lines, or does not belong to the quote ([Quote.CheckTax]), the
//     refunded amount has the part of the tax that it has of the total of the quote.
//   - If refunds are lower than what was paid for the returned units, as with the policy [Rebill],
//     the tax is lower in the same proportion.
//
// Each part is rounded half-up, in multiples of the step of the quote. TaxOf is at least 0 and at
// most the amount of the tax. If everything is returned, it is the amount of the tax.
//
// TaxOf returns a [*validation.Error] if returned is not the sum of refunds of the quote
// (before.units[2]).
func (q Quote) TaxOf(t Tax, returned Refunded) (int64, error) {
	var faults validation.Error
	if !q.explained() {
		faults.Add("quote", validation.Mismatch, "the units are not those of the coupons")
	}
	returned.faults(&q, &faults)
	if returned.Amount < 0 || returned.Amount > q.Total {
		faults.Add("before.amount", validation.Mismatch, "must be at least 0 and at most the total of the quote")
	}
	if err := faults.Err(); err != nil {
		return 0, err
	}
	all := true
	for i := range q.Lines {
		all = all && returned.units(i) == q.Lines[i].Quantity
	}
	switch {
	case t.Amount <= 0:
		return 0, nil
	case all:
		return t.Amount, nil
	case len(t.Lines) == 0 || q.CheckTax(t) != nil:
		return portion(t.Amount, returned.Amount, q.Total, q.Step), nil
	}
	paid, tax := q.taxByLine(t, &returned)
	return portion(tax, min(returned.Amount, paid), paid, q.Step), nil
}

// taxByLine returns the price paid for the returned units, and their tax.
func (q *Quote) taxByLine(t Tax, returned *Refunded) (paid, tax int64) {
	type part struct {
		paid, total int64
		all         bool
	}
	parts, work := make(map[string]part, len(q.Lines)), refundWork{}
	for i := range q.Lines {
		l := &q.Lines[i]
		p, found := parts[l.ID]
		units := returned.units(i)
		work.load(q, i)
		of := work.paidFor(units)
		p.paid, p.total, p.all = p.paid+of, p.total+l.Total, (p.all || !found) && units == l.Quantity
		parts[l.ID] = p
		paid += of
	}
	for _, l := range t.Lines {
		if p := parts[l.LineID]; p.all {
			tax += l.Amount
		} else {
			tax += portion(l.Amount, p.paid, p.total, q.Step)
		}
	}
	return paid, tax
}

// paidFor returns the price of the given number of units of the loaded line, the most expensive first.
func (w *refundWork) paidFor(units int64) (paid int64) {
	for _, g := range w.rows {
		n := min(units, g.quantity)
		paid, units = paid+n*g.price, units-n
	}
	return paid
}

// portion returns amount * part / whole in multiples of the step, rounded half up. part must be at most
// whole. If part equals whole, portion returns the whole amount. If part is 0, it returns 0.
func portion(amount, part, whole, step int64) int64 {
	switch {
	case part == 0:
		return 0
	case part == whole:
		return amount
	}
	step = max(step, 1)
	return step * mulDivRound(uint64(amount/step), uint64(part), uint64(whole)) //nolint:gosec // not negative
}
