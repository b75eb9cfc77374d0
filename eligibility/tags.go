package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkTags compares the tags that the host gave to the customer.
func (d *Decision) checkTags(c *coupon.Coupon, q *Question) {
	d.facts.required, d.facts.tags = c.Conditions.CustomerTags, q.Customer.Tags
	if !c.Conditions.CustomerTags.Match(q.Customer.Tags) {
		d.refuse(coupon.CustomerTagsNotMet)
	}
}

func (f *facts) tagParams() (p coupon.Params) {
	p.AnyOfTags, p.MissingTags, p.HasExcludedTag = f.required.Missing(f.tags)
	return p
}
