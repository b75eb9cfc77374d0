package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// checkMirrorable refuses a coupon that the processor would refuse. It also refuses amounts that the
// processor cannot charge; see OnStep. The maximum of a discount may be any amount.
func (cat *Catalog) checkMirrorable(c coupon.Coupon) error {
	var faults validation.Error
	if check := cat.Abilities.CheckCoupon; check != nil {
		err := check(c)
		if err != nil && !errors.Is(err, validation.ErrInvalid) {
			return err
		}
		faults.Merge("", err)
	}
	checkStep := func(path string, amount pricing.Money) {
		if !slices.ContainsFunc(faults.Fields, func(known validation.Field) bool { return known.Path == path }) {
			faults.Merge("", OnStep(cat.Abilities, path, amount))
		}
	}
	terms := c.Discount.Terms()
	checkStep("discountValue", c.Discount.Amount())
	for _, o := range terms.Others {
		checkStep("discountValue."+o.Currency.Code(), pricing.NewMoney(o.Amount, o.Currency))
	}
	for i, tier := range terms.Tiers {
		checkStep(fmt.Sprintf("tiers[%d].amount", i), pricing.NewMoney(tier.Amount, terms.Currency))
	}
	return faults.Err()
}

// OnStep refuses an amount of money that is off the step in which the processor charges its currency.
func OnStep(a processor.Abilities, field string, amount pricing.Money) error {
	currency := amount.Currency()
	step := a.AmountStep[currency]
	if step == 0 || amount.Minor()%step == 0 {
		return nil
	}
	return validation.New(field, validation.TooManyDecimals, fmt.Sprintf(
		"the processor charges %s in steps of %s", currency, currency.Format(step)))
}

// addMirrorFaults adds the processor's faults to the faults of an invalid draft. For that, it builds a
// valid coupon from the valid fields of the draft: code, name, discount and limit.
func (cat *Catalog) addMirrorFaults(d coupon.Draft, by coupon.Creation, err error) error {
	var faults, further *validation.Error
	if !errors.As(err, &faults) {
		return err
	}
	valid := func(fields ...string) bool {
		return !slices.ContainsFunc(faults.Fields, func(f validation.Field) bool { return slices.Contains(fields, fieldOf(f.Path)) })
	}
	sample := coupon.Draft{Code: "CODE", Name: "Name", DiscountType: pricing.Percentage, Percent: "1"}
	var checked []string
	if valid("code") {
		sample.Code, checked = d.Code, append(checked, "code")
	}
	if valid("name") {
		sample.Name, checked = d.Name, append(checked, "name")
	}
	discount := []string{"discountType", "discountValue", "currency"}
	switch {
	case valid(append(discount, furtherTerms()...)...):
		setDiscount(&sample, d)
		checked = append(checked, discount...)
	case d.DiscountType > pricing.FixedAmount || hasFurtherTerms(d):
		return err // the processor may make no mirror of such a discount, and then refuses nothing
	}
	if valid("maxUses") {
		sample.MaxUses, checked = d.MaxUses, append(checked, "maxUses")
	}
	c, invalid := coupon.New(sample, by)
	if invalid != nil || !errors.As(cat.checkMirrorable(c), &further) {
		return err
	}
	for _, f := range further.Fields {
		if slices.Contains(checked, f.Path) {
			faults.Fields = append(faults.Fields, f)
		}
	}
	return faults.Err()
}

// setDiscount copies the discount of another draft into a draft.
func setDiscount(to *coupon.Draft, d coupon.Draft) {
	to.DiscountType, to.Percent, to.Amount, to.Currency, to.Lane, to.MaxDiscount = d.DiscountType, d.Percent, d.Amount, d.Currency, d.Lane, d.MaxDiscount
	to.MaxUnits, to.Units, to.BuyQuantity, to.GetQuantity = d.MaxUnits, d.Units, d.BuyQuantity, d.GetQuantity
	to.MaxApplications, to.Buys, to.TierBasis, to.Tiers = d.MaxApplications, d.Buys, d.TierBasis, d.Tiers
}

// hasFurtherTerms reports whether the discount of a draft has terms besides its type, value and
// currency.
func hasFurtherTerms(d coupon.Draft) bool {
	return d.Lane != 0 || len(d.MaxDiscount) > 0 || len(d.Amount) > 1 || d.MaxUnits != 0 || d.Units != 0 || d.BuyQuantity != 0 ||
		d.GetQuantity != 0 || d.MaxApplications != 0 || d.Buys != nil || d.TierBasis != 0 || len(d.Tiers) > 0
}

// furtherTerms returns the fields of a draft's discount besides its type, value and currency.
func furtherTerms() []string {
	return []string{
		"lane", "maxDiscount", "maxUnits", "units", "buyQuantity", "getQuantity",
		"maxApplications", "buys", "tierBasis", "tiers",
	}
}

// fieldOf returns the field of a draft at the beginning of a path: "tiers" for "tiers[0].from".
func fieldOf(path string) string {
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}
