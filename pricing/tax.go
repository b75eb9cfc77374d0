package pricing

import (
	"fmt"
	"slices"
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

// CheckTax checks whether the tax belongs to the quote. CheckTax returns a [*ValidationError] that
// names every invalid field in these cases:
//
//   - An amount is negative (amount, lines[1].amount).
//   - The quote has no line with the ID, or the ID occurs twice (lines[1].lineId).
//   - There are more than [MaxLines] lines (lines).
//   - The lines do not sum to the amount (lines).
func (q Quote) CheckTax(t Tax) error {
	var faults ValidationError
	if t.Amount < 0 {
		faults.Add("amount", FieldTooSmall, "a tax is not negative")
	}
	if len(t.Lines) > MaxLines {
		faults.Add("lines", FieldTooLong, tooManyLines())
		return faults.Err()
	}
	told := make(map[string]bool, len(q.Lines)) // by ID, whether the tax was told
	for i := range q.Lines {
		told[q.Lines[i].ID] = false
	}
	sum := int64(0)
	for i, l := range t.Lines {
		switch twice, known := told[l.LineID]; {
		case !known:
			faults.Add(linePath(i, "lineId"), FieldUnknown, fmt.Sprintf("the quote has no line %q", l.LineID))
		case twice:
			faults.Add(linePath(i, "lineId"), FieldMismatch, fmt.Sprintf("the line %q occurs twice", l.LineID))
		default:
			told[l.LineID] = true
		}
		if l.Amount < 0 {
			faults.Add(linePath(i, "amount"), FieldTooSmall, "a tax is not negative")
		}
		sum = saturated(sum, l.Amount)
	}
	if len(t.Lines) > 0 && len(faults.Fields) == 0 && sum != t.Amount {
		faults.Add("lines", FieldMismatch, "the taxes of the lines do not sum to the amount")
	}
	return faults.Err()
}
