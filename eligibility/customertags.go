package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkTags compares the customer's tags with the required tags.
func (d *Decision) checkTags(c *coupon.Coupon, q *Question) {
	if required := c.Conditions.CustomerTags; !required.Match(q.Customer.Tags) {
		d.refuse(coupon.CustomerTagsNotMet, otherTags{required, q.Customer.Tags})
	}
}

type otherTags struct {
	required coupon.CustomerTags
	tags     []string
}

func (r otherTags) params() (p coupon.Params) {
	p.AnyOfTags, p.MissingTags, p.HasExcludedTag = r.required.Missing(r.tags)
	return p
}
