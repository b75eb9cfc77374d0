package store

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxSumDays is the maximum number of days of a [SumList].
const MaxSumDays = 400

// SumList selects the days for which the uses of one coupon are summed up.
type SumList struct {
	// CouponID is the ID of the coupon. It is required. The coupon may be deleted.
	CouponID string
	// From is an instant of the first day. The location of From tells when days begin.
	From time.Time
	// Days is the number of days, from 1 to [MaxSumDays].
	Days int
}

// DaySum contains the sums of the uses that were made on one day. Released uses do not count.
type DaySum struct {
	// Start is the first instant of the day.
	Start time.Time
	// Reserved and Completed count the uses in these states. Restored counts those of Completed
	// that a refund has given back.
	Reserved, Completed, Restored int64
	// Amounts are the discounts of the completed uses, sorted by currency. Uses without a
	// currency have no amount.
	Amounts []AmountSum
}

// AmountSum is a sum of discounts in one currency, in minor units.
type AmountSum struct {
	Currency pricing.Currency
	// Discount is what the coupon took off. Returned is the part that refunds took back.
	Discount, Returned int64
}

// Starts returns the first instant of each day, and of the day after the last one.
func (l SumList) Starts() []time.Time {
	starts := make([]time.Time, l.Days+1)
	year, month, day := l.From.Date()
	for i := range starts {
		start, _ := calendar.On(year, month, day+i).Start(l.From.Location()) // no error: Validate limits the year
		starts[i] = start.In(l.From.Location())
	}
	return starts
}

// Validate checks the bounds of all fields. It returns a [*validation.Error].
func (l SumList) Validate() error {
	var faults validation.Error
	if l.CouponID == "" {
		faults.Add("couponId", validation.Required, "is required")
	}
	if year := l.From.Year(); l.From.IsZero() || year < 2 || year > maxYear-2 {
		faults.Add("from", validation.Required, fmt.Sprintf("must be in the years 2 to %d", maxYear-2))
	}
	if l.Days < 1 {
		faults.Add("days", validation.TooSmall, "at least 1 day")
	}
	if l.Days > MaxSumDays {
		faults.Add("days", validation.TooLarge, fmt.Sprintf("at most %d days", MaxSumDays))
	}
	return faults.Err()
}
