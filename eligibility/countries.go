package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkCountries compares the country of delivery with the countries of the coupon.
func (d *Decision) checkCountries(c *coupon.Coupon, q *Question) {
	allowed := &c.Conditions.Countries
	if allowed.Len() > 0 && !allowed.Has(q.Facts.Country) && !q.notYet(q.Facts.Country) {
		d.refuse(coupon.CountryNotAllowed, otherCountry{*allowed, q.Facts.Country})
	}
}

type otherCountry struct {
	allowed coupon.Items
	country string
}

func (r otherCountry) params() coupon.Params {
	return coupon.Params{Country: r.country, Countries: r.allowed.Slice()}
}
