package eligibility

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/pricing"
)

// maxKeepChoices is the number of choices that KeepBest compares at most. A set with more choices gets the
// best choice that exchanging one coupon at a time finds.
const maxKeepChoices = 1_000

// keeping finds the coupons that KeepBest keeps. A choice has one coupon of each group, or one exclusive
// coupon. A keeping has copies, so that decisions with other policies need no memory for it.
type keeping struct {
	cart     pricing.Cart
	question Question
	all      []Candidate              // sorted by ID
	choices  [pricing.MaxCoupons]bool // coupons of which some have to be excluded
	alone    [pricing.MaxCoupons]int64
	groups   [][]int                  // choices with a group, group by group
	kept     [pricing.MaxCoupons]bool // the choice that is tried
	set      []Candidate
	trial    SetResult
	best     choice
	instead  [pricing.MaxCoupons]int64
}

// choice is a choice with its result.
type choice struct {
	coupons  [pricing.MaxCoupons]bool
	discount int64
	applied  []string // IDs of the coupons that apply
}

// compare orders choices: the greatest discount first, then the fewest coupons, then the least IDs.
func (c *choice) compare(d *choice) int {
	return cmp.Or(cmp.Compare(d.discount, c.discount), cmp.Compare(len(c.applied), len(d.applied)), slices.Compare(c.applied, d.applied))
}

// keepBest applies the policy KeepBest. It computes Instead of the coupons that are not kept.
func (e *evaluation) keepBest(q *Question) error {
	k := keeping{cart: *e.cart, question: *q, all: make([]Candidate, len(e.members))}
	k.question.Conflicts = RefuseAll
	for i := range e.members {
		m := &e.members[i]
		k.all[i], k.alone[i] = e.set[m.at], m.alone
		k.choices[i] = m.conflicts && e.Coupons[i].Decision.Allowed() && m.beyond == 0
	}
	k.best.discount = -1
	if err := k.chooseExclusive(); err != nil {
		return err
	}
	if err := k.chooseGroups(); err != nil {
		return err
	}
	kept := k.best.coupons
	for i := range e.members {
		if k.choices[i] && !kept[i] {
			e.Coupons[i].Instead = k.instead[i]
		}
	}
	e.excludeBy(&kept)
	return nil
}

// chooseExclusive tries each exclusive coupon, and finds the groups of the other choices.
func (k *keeping) chooseExclusive() error {
	byGroup := map[string]int{}
	for i := range k.all {
		if !k.choices[i] {
			continue
		}
		group := k.all[i].Coupon.Group
		if group == "" {
			k.kept = [pricing.MaxCoupons]bool{}
			k.kept[i] = true
			if err := k.try(); err != nil {
				return err
			}
			continue
		}
		at, known := byGroup[group]
		if !known {
			at = len(k.groups)
			byGroup[group] = at
			k.groups = append(k.groups, nil)
		}
		k.groups[at] = append(k.groups[at], i)
	}
	return nil
}

// chooseGroups tries one coupon of each group. It tries all choices if they are not too many.
func (k *keeping) chooseGroups() error {
	if len(k.groups) == 0 {
		return nil
	}
	choices := 1
	for _, g := range k.groups {
		choices = min(choices*len(g), maxKeepChoices+1)
	}
	if choices <= maxKeepChoices {
		k.kept = [pricing.MaxCoupons]bool{}
		return k.tryAll(0)
	}
	return k.exchange()
}

// tryAll tries all choices of the groups from first on.
func (k *keeping) tryAll(first int) error {
	if first == len(k.groups) {
		return k.try()
	}
	for _, i := range k.groups[first] {
		k.kept[i] = true
		if err := k.tryAll(first + 1); err != nil {
			return err
		}
		k.kept[i] = false
	}
	return nil
}

// exchange starts with the coupon of each group that takes most alone, and exchanges one coupon while that
// is better.
func (k *keeping) exchange() error {
	k.kept = [pricing.MaxCoupons]bool{}
	for _, g := range k.groups {
		most := slices.MaxFunc(g, func(i, j int) int { return cmp.Compare(k.alone[i], k.alone[j]) })
		k.kept[most] = true
	}
	if err := k.try(); err != nil {
		return err
	}
	for better := true; better; {
		before := k.best.coupons
		for _, g := range k.groups {
			for _, i := range g {
				k.kept = k.best.coupons
				for _, j := range g {
					k.kept[j] = i == j
				}
				if err := k.try(); err != nil {
					return err
				}
			}
		}
		better = k.best.coupons != before
	}
	return nil
}

// evaluate prices the cart with the kept choices and all coupons that are no choices.
func (k *keeping) evaluate() error {
	k.set = k.set[:0]
	for i := range k.all {
		if !k.choices[i] || k.kept[i] {
			k.set = append(k.set, k.all[i])
		}
	}
	q := k.question
	trial := evaluation{&k.trial, k.set, &k.cart}
	err := trial.begin(&q)
	if err == nil {
		err = trial.refuseAlone()
	}
	if err == nil {
		trial.exclude(RefuseAll)
		err = trial.price()
	}
	return err
}

// try evaluates a choice and keeps it if it is the best. It notes the discount of the best choice
// with each coupon.
func (k *keeping) try() error {
	if err := k.evaluate(); err != nil {
		return err
	}
	tried := choice{coupons: k.kept, discount: k.trial.Quote.Discount}
	for i := range k.trial.Coupons {
		if k.trial.Coupons[i].Decision.Allowed() {
			tried.applied = append(tried.applied, k.trial.Coupons[i].CouponID)
		}
	}
	for i := range k.all {
		if k.kept[i] {
			k.instead[i] = max(k.instead[i], tried.discount)
		}
	}
	if tried.compare(&k.best) < 0 {
		k.best = tried
	}
	return nil
}
