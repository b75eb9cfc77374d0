package fakeprocessor

import (
	"math"
	"math/bits"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// TaxByLine returns a function for [Options].Tax that adds a tax to the amount of each line, and
// tells it by line. percent returns the tax rate of a line, from 0 to 100. Each tax is rounded
// half-up. A discount of the first period lowers no tax.
func TaxByLine(percent func(processor.SessionLine) int64) func(processor.SessionRequest) pricing.Tax {
	return func(r processor.SessionRequest) (tax pricing.Tax) {
		amounts, at := make(map[string]int64, len(r.Lines)), make(map[string]int, len(r.Lines))
		for _, l := range r.Lines {
			if _, known := at[l.LineID]; !known {
				at[l.LineID] = len(tax.Lines)
				tax.Lines = append(tax.Lines, pricing.LineTax{LineID: l.LineID})
			}
			amounts[l.LineID] += l.Quantity * l.UnitAmount
			tax.Lines[at[l.LineID]].Amount = rate(amounts[l.LineID], percent(l))
		}
		for _, l := range tax.Lines {
			tax.Amount += l.Amount
		}
		return tax
	}
}

// TaxOfTotal returns a function for [Options].Tax that adds a tax to the total of a session, and does
// not tell it by line. percent is from 0 to 100.
func TaxOfTotal(percent int64) func(processor.SessionRequest) pricing.Tax {
	return func(r processor.SessionRequest) pricing.Tax { return pricing.Tax{Amount: rate(r.Total, percent)} }
}

// rate returns a percentage of an amount, rounded half-up.
func rate(amount, percent int64) int64 {
	high, low := bits.Mul64(uint64(max(amount, 0)), uint64(max(percent, 0)))
	low, carry := bits.Add64(low, 50, 0)
	quotient, _ := bits.Div64(high+carry, low, 100)
	return int64(min(quotient, math.MaxInt64))
}

// paid returns the amount that the customer pays for a session, with tax.
func (s *session) paid() int64 { return s.Total + s.Tax.Amount }

// tax adds the tax to a session when the customer pays.
func (p *Processor) tax(s *session) {
	if p.options.Tax != nil {
		s.Tax = p.options.Tax(cloneRequest(s.request)).Clone()
	}
}
