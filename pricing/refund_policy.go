package pricing

import (
	"encoding/json"
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// RefundPolicy tells what a refund does if the rest of an order no longer meets a threshold of a
// coupon. The thresholds are the minimum purchase, the minimum quantity, the tiers of a [Tiered]
// discount and the units to buy of a [BuyXGetY] discount.
//
// The zero RefundPolicy is unset. [RefundPolicy.For] replaces it by the usual policy of a discount.
type RefundPolicy uint8

// These constants are the refund policies.
const (
	// Keep keeps the discount of the units that are not returned.
	Keep RefundPolicy = iota + 1
	// Rebill lowers the refund by the discount that the rest of the order no longer earns.
	Rebill
)

const refundPolicyMessage = "must be keep or rebill"

// For returns the policy itself, or the usual policy of a discount if the policy is unset. The usual
// policy of a [BuyXGetY] discount is [Rebill]. The usual policy of all other discounts is [Keep].
func (p RefundPolicy) For(discount DiscountType) RefundPolicy {
	switch {
	case p != 0:
		return p
	case discount == BuyXGetY:
		return Rebill
	}
	return Keep
}

// String returns the JSON name of the policy: "keep" or "rebill". For an unset or unknown policy,
// String returns the empty string.
func (p RefundPolicy) String() string {
	switch p {
	case Keep:
		return "keep"
	case Rebill:
		return "rebill"
	}
	return ""
}

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.RefundPolicy(keep)".
func (p RefundPolicy) GoString() string { return goString("RefundPolicy", p.String(), uint8(p)) }

// ParseRefundPolicy returns the policy with the given JSON name. The name is case-sensitive.
// ParseRefundPolicy returns a [*validation.Error] for an unknown or empty name.
func ParseRefundPolicy(text string) (RefundPolicy, error) {
	for p := Keep; p <= Rebill; p++ {
		if p.String() == text {
			return p, nil
		}
	}
	return 0, validation.New("", validation.Unknown, refundPolicyMessage)
}

// MarshalText returns the JSON name of the policy. For an unset or unknown policy, MarshalText
// returns a [*validation.Error].
func (p RefundPolicy) MarshalText() ([]byte, error) {
	if p.String() == "" {
		return nil, validation.New("", validation.Unknown, fmt.Sprintf("%d is no refund policy", p))
	}
	return []byte(p.String()), nil
}

// UnmarshalText parses the JSON name of a policy, like [ParseRefundPolicy]. On error, the
// policy becomes unset.
func (p *RefundPolicy) UnmarshalText(text []byte) (err error) {
	*p, err = ParseRefundPolicy(string(text))
	return err
}

// RefundTerms are the terms of a coupon that a refund needs. The discount of the coupon has the
// other thresholds.
type RefundTerms struct {
	// Policy tells what a refund does if the rest of the order no longer meets a threshold. In a
	// [QuotedCoupon], the Policy is never unset, because [Price] replaces an unset one; see
	// [RefundPolicy.For].
	Policy RefundPolicy
	// MinPurchase is the least list price of the lines that the coupon covers, in minor units. A
	// MinPurchase of 0 means that there is no minimum.
	MinPurchase int64
	// MinQuantity is the least number of units in the lines that the coupon covers. Units with a
	// list price of 0 do not count. A MinQuantity of 0 means that there is no minimum.
	MinQuantity int64
}

// valid makes the checks of faults without messages, for the hot path.
func (t *RefundTerms) valid() bool {
	return t.Policy <= Rebill && t.MinPurchase >= 0 && t.MinQuantity >= 0
}

// faults adds the faults of the terms.
func (t *RefundTerms) faults(faults *validation.Error) {
	if t.Policy > Rebill {
		faults.Add("refund.policy", validation.Unknown, refundPolicyMessage)
	}
	if t.MinPurchase < 0 {
		faults.Add("refund.minPurchase", validation.TooSmall, "a minimum purchase is not negative")
	}
	if t.MinQuantity < 0 {
		faults.Add("refund.minQuantity", validation.TooSmall, "a minimum quantity is not negative")
	}
}

// refundTerms is the JSON form of a coupon's refund terms. A nil pointer means the policy keep without
// thresholds.
type refundTerms struct {
	Policy      string      `json:"policy"`
	MinPurchase Number      `json:"minPurchase,omitempty"`
	MinQuantity json.Number `json:"minQuantity,omitempty"`
}

func (q Quote) refundTerms(t RefundTerms) *refundTerms {
	if t == (RefundTerms{Policy: Keep}) {
		return nil
	}
	d := refundTerms{Policy: t.Policy.String()}
	if t.MinPurchase != 0 {
		d.MinPurchase = q.Currency.Number(t.MinPurchase)
	}
	if t.MinQuantity != 0 {
		d.MinQuantity = integer(t.MinQuantity)
	}
	return &d
}

// refund reads the terms of a refund, which may be absent.
func (r *reader) refund(d *refundTerms) (t RefundTerms) {
	if d == nil {
		return RefundTerms{Policy: Keep}
	}
	err := t.Policy.UnmarshalText([]byte(d.Policy))
	r.faults.At("refund.policy", err)
	if d.MinPurchase != "" {
		t.MinPurchase = r.amount("refund.minPurchase", d.MinPurchase)
	}
	if d.MinQuantity != "" {
		t.MinQuantity = r.integer("refund.minQuantity", d.MinQuantity)
	}
	return t
}
