package quote

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// signedIn refuses an anonymous customer unless the request allows it. Package eligibility makes the
// same check for each coupon.
func signedIn(r Request) error {
	if r.Customer.ID != "" || r.AllowAnonymous {
		return nil
	}
	return coupon.Reject("", coupon.UserRequired, coupon.Params{})
}

// chargeable refuses a total that the processor cannot charge.
func (q *Quoter) chargeable(p pricing.Quote) error {
	minimum := q.Abilities.MinimumCharge[p.Currency]
	if p.Total == 0 && !q.Abilities.NoZeroTotal || p.Total > 0 && p.Total >= minimum {
		return nil
	}
	return coupon.Reject("", coupon.BelowMinimumCharge, coupon.Params{
		Total:   coupon.Amount{Money: pricing.NewMoney(p.Total, p.Currency)},
		Minimum: coupon.Amount{Money: pricing.NewMoney(max(minimum, q.Abilities.AmountStep[p.Currency], 1), p.Currency)},
	})
}

// refuseAnonymous adds a reason to the refusals of all codes: the customer must sign in.
func (d *Decision) refuseAnonymous() {
	if signedIn(d.Request) == nil {
		return
	}
	for i := range d.Codes {
		r := d.Codes[i].Refused
		if r.Has(coupon.UserRequired) {
			continue
		}
		r.Reasons = append(r.Reasons, coupon.Reason{Code: coupon.UserRequired})
		slices.SortStableFunc(r.Reasons, coupon.CompareReasons)
	}
}

// Refuse returns one error for the refusals of several rules, in the order of the codes of the request. A
// refusal of the whole request comes first, or belongs to the only code. An error that is no refusal comes
// before all. The reasons of each code are in the order of their ranks.
func (d *Decision) Refuse(errs ...error) error {
	var all coupon.Rejections
	for _, err := range errs {
		if err == nil {
			continue
		}
		refused := coupon.RejectionsOf(err)
		if refused == nil {
			return err
		}
		for _, r := range refused {
			if len(d.Codes) == 1 {
				r = &coupon.Rejection{CouponID: cmp.Or(d.Codes[0].Coupon.ID, r.CouponID), Code: d.Codes[0].Typed, Reasons: r.Reasons}
			}
			all = addRefusal(all, r)
		}
	}
	for _, r := range all {
		slices.SortStableFunc(r.Reasons, coupon.CompareReasons)
		r.Reasons = slices.CompactFunc(r.Reasons, func(a, b coupon.Reason) bool { return a.Code == b.Code && a.Code == coupon.UserRequired })
	}
	index := func(r *coupon.Rejection) int {
		return slices.IndexFunc(d.Codes, func(c Code) bool { return r.Code != "" && c.Typed == r.Code })
	}
	slices.SortStableFunc(all, func(a, b *coupon.Rejection) int { return cmp.Compare(index(a), index(b)) })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// addRefusal adds a refusal. Reasons for the same code are joined.
func addRefusal(all coupon.Rejections, r *coupon.Rejection) coupon.Rejections {
	for _, known := range all {
		if known.CouponID == r.CouponID && known.Code == r.Code {
			known.Reasons = append(known.Reasons, r.Reasons...)
			return all
		}
	}
	return append(all, &coupon.Rejection{CouponID: r.CouponID, Code: r.Code, Reasons: slices.Clone(r.Reasons)})
}
