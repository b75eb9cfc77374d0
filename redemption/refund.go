package redemption

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxRefunds is the maximum number of refunds of an order. A refund of everything that is left is
// always possible.
const MaxRefunds = 100

// RefundIDPrefix is the prefix of all refund IDs.
const RefundIDPrefix = "rfd_"

// RefundID returns the ID of the refund with the given key in an order. It has 30 letters, digits
// and underscores. The same order and key always have the same ID, so that a refund that a rollback
// has forgotten gets its ID again.
func RefundID(orderID, key string) string {
	const size = 16                                      // in bytes
	sum := sha256.Sum256([]byte(orderID + "\x00" + key)) // IDs contain no NUL
	return RefundIDPrefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:size]))
}

// ErrOtherRefund means that the idempotency key was used for another refund of the order.
// ErrOtherRefund matches ErrIllegal, too.
var ErrOtherRefund = fmt.Errorf("%w: the key was used for another refund", ErrIllegal)

// RefundRequest asks for a refund of an order.
type RefundRequest struct {
	// Key is the idempotency key. No two refunds of an order have the same key.
	Key string
	// Returns tells what is returned.
	Returns pricing.Returns
	// Elsewhere tells that the host returns the money without the service. Repeated requests with the
	// same key may have different values of Elsewhere and By.
	Elsewhere bool
	// By names who asks for the refund. It is empty for the system.
	By string
}

// isZero reports whether no field is set.
func (r RefundRequest) isZero() bool {
	return r.Key == "" && !r.Elsewhere && r.By == "" && sameReturns(r.Returns, pricing.Returns{})
}

// sorted returns a copy of the returns with sorted lines.
func sorted(r pricing.Returns) pricing.Returns {
	r.Lines = append([]pricing.LineReturn(nil), r.Lines...)
	slices.SortStableFunc(r.Lines, func(a, b pricing.LineReturn) int { return a.Line - b.Line })
	return r
}

func sameReturns(a, b pricing.Returns) bool {
	return a.Shipping == b.Shipping && a.All == b.All && slices.Equal(a.Lines, b.Lines)
}

// Refund is a recorded refund of an order.
type Refund struct {
	// ID is the ID of the refund; see [RefundID].
	ID string `json:"id"`
	// Key is the idempotency key. A repeated request with the same key must have the same Returns.
	Key string `json:"key"`
	// Returns is what the request returned, sorted by line.
	Returns pricing.Returns `json:"returns"`
	// By names who made the first request. It is empty for the system.
	By string `json:"by,omitempty"`
	// Result is what is refunded of the prices, without the tax that the processor has added to them.
	Result pricing.Refund `json:"result"`
	// Tax is the refunded part of the tax that the processor has added, in minor units of
	// Result.Currency.
	Tax int64 `json:"-"`
	// Repayment tells how the money goes back to the customer.
	Repayment Repayment `json:"repayment,omitzero"`
	// FailedIDs are the processor's IDs of earlier attempts that failed, the oldest first. Later reports of them
	// change nothing. Above MaxFailedIDs, the oldest IDs are dropped.
	FailedIDs []string `json:"failedIds,omitempty"`
	// At is when the refund was recorded.
	At time.Time `json:"at"`
}

// Amount returns what is refunded, including the tax, in minor units.
func (r Refund) Amount() int64 {
	if r.Tax > math.MaxInt64-r.Result.Amount {
		return math.MaxInt64
	}
	return r.Result.Amount + r.Tax
}

// RefundedTax returns the tax that was refunded, in minor units. It counts the refunds of the order,
// and the external refunds whose tax the processor has reported.
func (o Order) RefundedTax() (sum int64) {
	add := func(tax int64) { sum += min(max(tax, 0), math.MaxInt64-sum) }
	for i := range o.Refunds {
		add(o.Refunds[i].Tax)
	}
	for _, r := range o.ExternalRefunds {
		if r.State != RepaymentFailed {
			add(r.Tax)
		}
	}
	return sum
}

// Refunded returns the sum of the order's refunds, without taxes.
func (o Order) Refunded() (sum pricing.Refunded) {
	for i := range o.Refunds {
		sum.Add(o.Refunds[i].Result)
	}
	return sum
}

// RefundOf returns the refund with the given key, and whether there is one.
func (o Order) RefundOf(key string) (Refund, bool) {
	for i := range o.Refunds {
		if o.Refunds[i].Key == key {
			return o.Refunds[i], true
		}
	}
	return Refund{}, false
}

// refunded records a refund. The new state shows whether everything is refunded. The processor is asked
// for the money later, because that step cannot be undone.
func (o Order) refunded(e Event) (Order, error) {
	if i := slices.IndexFunc(o.Refunds, func(r Refund) bool { return r.Key == e.Refund.Key }); i >= 0 {
		if !sameReturns(o.Refunds[i].Returns, sorted(e.Refund.Returns)) {
			return o, ErrOtherRefund
		}
		return o.repeated(i, e), nil
	}
	if !o.State.Paid() {
		return o, ErrIllegal
	}
	made, err := o.NewRefund(e.Refund.Returns, e.Refund.Elsewhere)
	if err != nil {
		return o, err
	}
	sum := o.Refunded()
	sum.Add(made.Result)
	o.State = OrderRefunded
	for i := range o.Quote.Lines {
		if i >= len(sum.Units) || sum.Units[i] < o.Quote.Lines[i].Quantity {
			o.State = OrderPartlyRefunded
			break
		}
	}
	if o.State == OrderPartlyRefunded && len(o.Refunds) >= MaxRefunds {
		var faults validation.Error
		faults.Add("returns", validation.TooLong, fmt.Sprintf("after %d refunds, only everything that is left is refunded", MaxRefunds))
		return o, faults.Err()
	}
	made.ID, made.Key, made.By, made.At = RefundID(o.ID, e.Refund.Key), e.Refund.Key, e.Refund.By, e.At
	o.Refunds = append(slices.Clip(o.Refunds), made)
	return o.due(e.At), nil
}

// NewRefund computes a refund of the order without recording it. If elsewhere is true, the host returns
// the money without the service. NewRefund does not look at the state of the order. It returns the
// [*validation.Error] of [pricing.Quote.Refund].
func (o Order) NewRefund(returns pricing.Returns, elsewhere bool) (Refund, error) {
	sum, charged := o.Refunded(), o.Charge.Tax
	before := sum.Amount
	result, err := o.Quote.Refund(sum, returns)
	if err != nil {
		return Refund{}, err
	}
	sum.Add(result)
	if o.PaidCurrency() != o.Quote.Currency {
		charged = pricing.Tax{} // the repayment is a part of all that was paid
	}
	tax, err := o.Quote.TaxOf(charged, sum)
	if err != nil {
		return Refund{}, err
	}
	made := Refund{Returns: sorted(returns), Result: result, Tax: max(0, tax-o.RefundedTax())}
	made.Repayment = o.repayment(o.worth(before, &made), 1, elsewhere)
	return made, nil
}

// refund returns the claims that the last refund of the order restores.
func (u Use) refund(o Order, at time.Time) Use {
	last, whole := &o.Refunds[len(o.Refunds)-1], o.State == OrderRefunded
	if u.State != Completed {
		return u
	}
	discount := int64(0)
	for _, c := range last.Result.Coupons {
		if c.ID == u.CouponID {
			discount = c.Discount
		}
	}
	u.Returned += discount
	if u.Restore == coupon.RestoreNever || u.Restore == coupon.RestoreFull && !whole {
		if discount == 0 {
			return u
		}
		return u.changed(at)
	}
	claims, changed := slices.Clone(u.Claims), discount != 0 || u.RestoredAt.IsZero()
	for i := range claims {
		back := claims[i].Held()
		if eligibility.IsBudget(claims[i].Counter) && !whole {
			back = min(back, discount)
		}
		claims[i].Returned += back
		changed = changed || back > 0
	}
	if !changed {
		return u
	}
	u.Claims = claims
	if u.RestoredAt.IsZero() {
		u.RestoredAt = at
		if u.PointsState == PointsDebited {
			u.PointsState = PointsRefundDue
		}
	}
	return u.changed(at)
}

func (e Event) refundFaults(faults *validation.Error) {
	if e.Kind != Refunded {
		if !e.Refund.isZero() {
			faults.Add("refund", validation.NotAllowed, "the event is no refund")
		}
		return
	}
	textFault(faults, "refund.key", e.Refund.Key, MaxIDLength, true)
	textFault(faults, "refund.by", e.Refund.By, MaxIDLength, false)
}

// CheckRefundKey checks whether the idempotency key of a refund can be stored. The error is a
// [*validation.Error].
func CheckRefundKey(key string) error {
	var faults validation.Error
	textFault(&faults, "key", key, MaxIDLength, true)
	return faults.Err()
}

// invalidRefund reports whether the input is wrong, not the order's state.
func invalidRefund(err error) bool { return errors.Is(err, validation.ErrInvalid) }
