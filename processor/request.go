package processor

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxKeyLength is the maximum length of [SessionRequest].Key, in bytes.
const MaxKeyLength = 255

// Validate returns nil or a [*validation.Error] that lists every invalid field. Validate
// includes the checks of [SessionRequest.ValidateTerms]. Validate also reports an ExpiresAt that
// is too early or too late. Adapters return the error together with [ErrRejected].
//
// An ExpiresAt in the past is invalid. A repeated CreateSession call must nevertheless succeed
// after ExpiresAt. The adapter must therefore look up the request's Key before it calls Validate.
func (r SessionRequest) Validate(a Abilities, now time.Time) error {
	var faults validation.Error
	faults.Merge("", r.ValidateTerms(a))
	lifetimeFaults(r.ExpiresAt.Sub(now), a, &faults)
	return faults.Err()
}

// BelowMinimum reports whether the total is too small to be charged. The total is then at least 0
// and below the minimum of the currency, or 0 if the processor cannot charge 0. Adapters return
// [ErrBelowMinimum] for such a request.
func (r SessionRequest) BelowMinimum(a Abilities) bool {
	return r.Total == 0 && a.NoZeroTotal || r.Total > 0 && r.Total < a.MinimumCharge[r.Currency]
}

// ValidateTerms checks the request but ignores ExpiresAt. ValidateTerms returns nil or a
// [*validation.Error] that lists every invalid field. A request is invalid in these cases:
//
//   - The key is missing or too long.
//   - The currency or a required SuccessURL is missing.
//   - The sum of the lines is not Total + FirstPeriodDiscount.
//   - The mode does not match the lines.
//   - A line or an amount is out of bounds or exceeds a limit in [Abilities].
//
// Except for a missing SuccessURL, ValidateTerms does not check addresses, names or metadata.
func (r SessionRequest) ValidateTerms(a Abilities) error {
	var faults validation.Error
	if r.Key == "" {
		faults.Add("key", validation.Required, "a key is required")
	}
	if len(r.Key) > MaxKeyLength {
		faults.Add("key", validation.TooLong, fmt.Sprintf("a key has at most %d bytes", MaxKeyLength))
	}
	if r.Currency.IsZero() {
		faults.Add("currency", validation.Required, "a session needs a currency")
	}
	if a.NeedsSuccessURL && r.SuccessURL == "" {
		faults.Add("successUrl", validation.Required, "an address to return to is required")
	}
	r.lineFaults(a, &faults)
	if a.OneInterval {
		faults.Merge("", CheckIntervals(len(r.Lines), func(i int) pricing.Interval { return r.Lines[i].Recurs }))
	}
	r.modeFaults(&faults)
	r.amountFaults(a, &faults)
	return faults.Err()
}

func (r SessionRequest) lineFaults(a Abilities, faults *validation.Error) {
	if len(r.Lines) == 0 {
		faults.Add("lines", validation.Required, "a session has at least one line")
	}
	if a.MaxLines > 0 && len(r.Lines) > a.MaxLines {
		faults.Add("lines", validation.TooLong, fmt.Sprintf("at most %d lines are allowed", a.MaxLines))
	}
	for i, l := range r.Lines {
		at := func(field string) string { return fmt.Sprintf("lines[%d].%s", i, field) }
		_, err := pricing.ParseLineKind(l.Kind.String())
		faults.At(at("kind"), err)
		if l.Class > pricing.ShippingClass {
			faults.Add(at("class"), validation.Unknown, "must be subscription, product or shipping")
		}
		if l.Quantity < 1 {
			faults.Add(at("quantity"), validation.TooSmall, "a quantity is at least 1")
		}
		if l.UnitAmount < 0 {
			faults.Add(at("unitAmount"), validation.TooSmall, "an amount is not negative")
		}
		if l.Recurs > pricing.Yearly {
			faults.Add(at("recurs"), validation.Unknown, "must be day, week, month or year")
		}
		stepFault(faults, at("unitAmount"), l.UnitAmount, r.Currency, a)
	}
}

func (r SessionRequest) modeFaults(faults *validation.Error) {
	want := Payment
	for _, l := range r.Lines {
		if l.Recurs != pricing.Once {
			want = Subscription
		}
	}
	if r.Mode != want {
		faults.Add("mode", validation.Mismatch, fmt.Sprintf("these lines need the mode %s", want))
	}
	if r.FirstPeriodDiscount != 0 && want == Payment {
		faults.Add("firstPeriodDiscount", validation.NotAllowed, "only a subscription has a first period")
	}
}

func (r SessionRequest) amountFaults(a Abilities, faults *validation.Error) {
	if r.FirstPeriodDiscount < 0 {
		faults.Add("firstPeriodDiscount", validation.TooSmall, "a discount is not negative")
	}
	stepFault(faults, "firstPeriodDiscount", r.FirstPeriodDiscount, r.Currency, a)
	switch least := a.MinimumCharge[r.Currency]; {
	case r.Total < 0:
		faults.Add("total", validation.TooSmall, "a total is not negative")
	case r.Total == 0 && r.BelowMinimum(a):
		faults.Add("total", validation.TooSmall, "a total of 0 cannot be charged")
	case r.BelowMinimum(a):
		faults.Add("total", validation.TooSmall, fmt.Sprintf("the least charge is %s %s", r.Currency.Format(least), r.Currency))
	}
	sum, ok := sumOf(r.Lines)
	if !ok {
		faults.Add("lines", validation.Overflow, "the sum of the lines is too large")
	} else if sum-r.FirstPeriodDiscount != r.Total {
		faults.Add("total", validation.Mismatch, fmt.Sprintf(
			"the lines sum to %d, less %d for the first period, which is not %d", sum, r.FirstPeriodDiscount, r.Total))
	}
}

// sumOf adds up lines. Lines out of bounds count as 0, because they have their own faults.
func sumOf(lines []SessionLine) (sum int64, ok bool) {
	for _, l := range lines {
		if l.Quantity < 1 || l.UnitAmount < 0 {
			continue
		}
		high, low := bits.Mul64(uint64(l.Quantity), uint64(l.UnitAmount))
		if high != 0 || low > uint64(math.MaxInt64-sum) {
			return 0, false
		}
		sum += int64(low) //nolint:gosec // checked above
	}
	return sum, true
}

func stepFault(faults *validation.Error, field string, amount int64, c pricing.Currency, a Abilities) {
	if step := a.AmountStep[c]; step > 1 && amount%step != 0 {
		faults.Add(field, validation.TooManyDecimals, fmt.Sprintf("amounts in %s are multiples of %s", c, c.Format(step)))
	}
}

func lifetimeFaults(lifetime time.Duration, a Abilities, faults *validation.Error) {
	switch {
	case lifetime <= 0:
		faults.Add("expiresAt", validation.TooSmall, "a session ends in the future")
	case lifetime < a.MinSessionLifetime:
		faults.Add("expiresAt", validation.TooSmall, fmt.Sprintf("a session lives at least %s", a.MinSessionLifetime))
	case a.MaxSessionLifetime > 0 && lifetime > a.MaxSessionLifetime:
		faults.Add("expiresAt", validation.TooLarge, fmt.Sprintf("a session lives at most %s", a.MaxSessionLifetime))
	}
}
