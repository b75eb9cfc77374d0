package stripeprocessor

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Stripe's bounds.
const (
	maxStripeName     = 40 // code points of a coupon's name
	maxMetadata       = 50
	maxMetadataKey    = 40
	maxMetadataValue  = 500
	maxClientRef      = 200
	maxStripeAmount   = 999_999_999_999 // twelve digits
	maxPercentPlaces  = 2
	maxPromotionCode  = 255 // Stripe allows 500; specification 2.1 does not
	nameMetadataField = "name"
)

var promotionCode = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, maxPromotionCode))

// CheckCoupon returns nil if Stripe can mirror the coupon. Otherwise it returns a
// [*pricing.ValidationError] that names every faulty field:
//
//   - a code with characters other than letters, digits, dash and underscore
//   - a percentage with more than two decimals
//   - an amount in a currency that Stripe does not charge
//   - an amount that is not a multiple of the currency's step
//
// It makes no call.
func (p *Processor) CheckCoupon(c coupon.Coupon) error {
	var faults pricing.ValidationError
	if c.ID == "" {
		faults.Add("id", pricing.FieldRequired, "a coupon has an ID")
	}
	if code := c.Code.String(); !promotionCode.MatchString(code) {
		faults.Add("code", pricing.FieldMalformed,
			fmt.Sprintf("Stripe allows letters A to Z, digits, dash and underscore, at most %d", maxPromotionCode))
	}
	if strings.TrimSpace(c.Name) == "" {
		faults.Add("name", pricing.FieldRequired, "Stripe shows the ID to customers when there is no name")
	}
	discountFaults(&faults, c)
	if c.Limits.MaxUses < 0 {
		faults.Add("maxUses", pricing.FieldTooSmall, "a limit is at least 1")
	}
	faults.Merge("metadata", metadataFaults(p.couponMetadata(c)))
	return faults.Err()
}

func discountFaults(faults *pricing.ValidationError, c coupon.Coupon) {
	switch c.Discount.Type() {
	case pricing.Percentage:
		// couponkit keeps four decimals, stripe-go sends four, Stripe takes two.
		if d := c.Discount.Percent().Decimal(); !d.Equal(d.Truncate(maxPercentPlaces)) {
			faults.Add("discountValue", pricing.FieldTooManyDecimals, "Stripe allows two decimals of a percentage")
		}
	case pricing.FixedAmount:
		amount := c.Discount.Amount()
		m, err := moneyOf(amount.Currency())
		if err != nil {
			faults.Merge("", err)
			return
		}
		_, err = m.toStripe(amount.Minor())
		faults.At("discountValue", err)
	default:
		faults.Add("discountType", pricing.FieldRequired, "a coupon needs a discount")
	}
}

// metadataFaults checks what is sent as metadata.
func metadataFaults(metadata map[string]string) error {
	var faults pricing.ValidationError
	if len(metadata) > maxMetadata {
		faults.Add("", pricing.FieldTooLong, fmt.Sprintf("at most %d entries", maxMetadata))
	}
	for key, value := range metadata {
		switch {
		case key == "" || strings.ContainsAny(key, "[]") || !utf8.ValidString(key):
			faults.Add(key, pricing.FieldMalformed, "a key is not empty and has no square brackets")
		case utf8.RuneCountInString(key) > maxMetadataKey:
			faults.Add(key, pricing.FieldTooLong, fmt.Sprintf("a key has at most %d characters", maxMetadataKey))
		}
		if utf8.RuneCountInString(value) > maxMetadataValue {
			faults.Add(key, pricing.FieldTooLong, fmt.Sprintf("a value has at most %d characters", maxMetadataValue))
		}
		if !utf8.ValidString(value) {
			faults.Add(key, pricing.FieldMalformed, "a value is valid UTF-8 text")
		}
	}
	return faults.Err()
}

// stripeName cuts a name to what Stripe takes, between two letters as people see
// them. cut tells that something is missing.
func stripeName(name string) (short string, cut bool) {
	trimmed := strings.TrimSpace(name)
	if utf8.RuneCountInString(trimmed) <= maxStripeName {
		return trimmed, trimmed != name
	}
	letters := []rune(trimmed)
	end := maxStripeName
	for end > 1 && joins(letters[end-1], letters[end]) {
		end--
	}
	if end == 1 { // one letter with forty marks: better half of it than nothing
		end = maxStripeName
	}
	return strings.TrimRightFunc(string(letters[:end]), unicode.IsSpace), true
}

// joins reports whether b continues the letter that a ends.
func joins(a, b rune) bool {
	const zeroWidthJoiner, firstSkinTone, lastSkinTone = 0x200D, 0x1F3FB, 0x1F3FF
	return unicode.Is(unicode.M, b) || a == zeroWidthJoiner || b == zeroWidthJoiner ||
		b >= firstSkinTone && b <= lastSkinTone
}
