package coupon

import "github.com/couponkit/couponkit/validation"

// MaxCountries is the maximum number of countries of a coupon.
const MaxCountries = 250

func countryFault(country string) error {
	if IsCountry(country) {
		return nil
	}
	return fieldFault(validation.Malformed, "a country is an ISO 3166-1 code of two upper-case letters")
}

// IsCountry reports whether text has the form of an ISO 3166-1 code: two upper-case letters.
func IsCountry(text string) bool {
	return len(text) == 2 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'A' && text[1] <= 'Z'
}
