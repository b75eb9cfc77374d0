package couponkit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// mirrorable refuses a coupon that the processor refuses, and amounts that the processor cannot
// take off because it charges in steps.
func (s *Service) mirrorable(c coupon.Coupon) error {
	var mirrorErr error
	if check := s.abilities.CheckCoupon; check != nil {
		mirrorErr = check(c)
	}
	offStep := s.offStep(c)
	var faults, further *validation.Error
	if !errors.As(offStep, &further) {
		return mirrorErr
	}
	if mirrorErr == nil || !errors.As(mirrorErr, &faults) {
		return cmp.Or(mirrorErr, offStep)
	}
	both := validation.Error{Fields: slices.Clone(faults.Fields)}
	for _, f := range further.Fields {
		if !slices.ContainsFunc(faults.Fields, func(known validation.Field) bool { return known.Path == f.Path }) {
			both.Fields = append(both.Fields, f)
		}
	}
	return both.Err()
}

// offStep names the amounts of a discount that are off the steps in which the processor charges.
// A maximum of a discount may be off the step.
func (s *Service) offStep(c coupon.Coupon) error {
	var faults validation.Error
	terms := c.Discount.Terms()
	faults.Merge("", s.onStep("discountValue", c.Discount.Amount()))
	for _, o := range terms.Others {
		faults.Merge("", s.onStep("discountValue."+o.Currency.Code(), pricing.NewMoney(o.Amount, o.Currency)))
	}
	for i, tier := range terms.Tiers {
		faults.Merge("", s.onStep(fmt.Sprintf("tiers[%d].amount", i), pricing.NewMoney(tier.Amount, terms.Currency)))
	}
	return faults.Err()
}

// addMirrorFaults adds the processor's faults to the faults of an invalid draft. The processor checks a
// valid coupon that has the valid fields of the draft: its code, name, discount and limit.
func (s *Service) addMirrorFaults(d coupon.Draft, by coupon.Creation, err error) error {
	var faults, further *validation.Error
	if !errors.As(err, &faults) {
		return err
	}
	sound := func(fields ...string) bool {
		return !slices.ContainsFunc(faults.Fields, func(f validation.Field) bool { return slices.Contains(fields, rootOf(f.Path)) })
	}
	legible := coupon.Draft{Code: "CODE", Name: "Name", DiscountType: pricing.Percentage, Percent: "1"}
	var judged []string
	if sound("code") {
		legible.Code, judged = d.Code, append(judged, "code")
	}
	if sound("name") {
		legible.Name, judged = d.Name, append(judged, "name")
	}
	discount := []string{"discountType", "discountValue", "currency"}
	switch {
	case sound(append(discount, furtherTerms()...)...):
		setDiscount(&legible, d)
		judged = append(judged, discount...)
	case d.DiscountType > pricing.FixedAmount || hasFurtherTerms(d):
		return err // the processor perhaps makes no mirror of such a discount, and refuses nothing then
	}
	if sound("maxUses") {
		legible.MaxUses, judged = d.MaxUses, append(judged, "maxUses")
	}
	c, illegible := coupon.New(legible, by)
	if illegible != nil || !errors.As(s.mirrorable(c), &further) {
		return err
	}
	for _, f := range further.Fields {
		if slices.Contains(judged, f.Path) {
			faults.Fields = append(faults.Fields, f)
		}
	}
	return faults.Err()
}

// setDiscount gives a draft the discount of another draft.
func setDiscount(to *coupon.Draft, d coupon.Draft) {
	to.DiscountType, to.Percent, to.Amount, to.Currency, to.Lane, to.MaxDiscount = d.DiscountType, d.Percent, d.Amount, d.Currency, d.Lane, d.MaxDiscount
	to.MaxUnits, to.Units, to.BuyQuantity, to.GetQuantity = d.MaxUnits, d.Units, d.BuyQuantity, d.GetQuantity
	to.MaxApplications, to.Buys, to.TierBasis, to.Tiers = d.MaxApplications, d.Buys, d.TierBasis, d.Tiers
}

// hasFurtherTerms reports whether the discount of a draft has terms beside its type, value and currency.
func hasFurtherTerms(d coupon.Draft) bool {
	return d.Lane != 0 || len(d.MaxDiscount) > 0 || len(d.Amount) > 1 || d.MaxUnits != 0 || d.Units != 0 || d.BuyQuantity != 0 ||
		d.GetQuantity != 0 || d.MaxApplications != 0 || d.Buys != nil || d.TierBasis != 0 || len(d.Tiers) > 0
}

// furtherTerms are the fields of a draft's discount beside its type, value and currency.
func furtherTerms() []string {
	return []string{
		"lane", "maxDiscount", "maxUnits", "units", "buyQuantity", "getQuantity",
		"maxApplications", "buys", "tierBasis", "tiers",
	}
}

// rootOf is the field of a draft to which a path leads: "tiers" for "tiers[0].from".
func rootOf(path string) string {
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}

// onStep refuses an amount of money that is off the step in which the processor
// charges its currency.
func (s *Service) onStep(field string, amount pricing.Money) error {
	currency := amount.Currency()
	step := s.abilities.AmountStep[currency]
	if step == 0 || amount.Minor()%step == 0 {
		return nil
	}
	var faults validation.Error
	faults.Add(field, validation.TooManyDecimals, fmt.Sprintf(
		"the processor charges %s in steps of %s", currency, currency.Format(step)))
	return faults.Err()
}
