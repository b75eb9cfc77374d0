package stripeprocessor

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Stripe's limits. Lengths are in code points.
const (
	maxStripeName    = 40  // name of a coupon
	maxLineName      = 250 // name of a product
	maxEmail         = 512 // address of a customer
	maxMetadata      = 50  // number of entries
	maxMetadataKey   = 40
	maxMetadataValue = 500
	maxClientRef     = 200
	maxPercentPlaces = 2
	maxPromotionCode = 255 // Stripe allows 500; specification 2.1 allows 255

	// maxStripeAmount is the maximum of every amount, in Stripe's minor units: twelve digits
	// (https://docs.stripe.com/currencies).
	maxStripeAmount = 999_999_999_999
	// maxQuantity is the maximum quantity of a line. Stripe documents this limit for quantities that
	// customers may change.
	maxQuantity = 999_999
	// maxRedemptions is the maximum number of uses of a coupon. Stripe documents no limit. This is the
	// largest number that Stripe is known to have accepted (stripe/stripe-java#77).
	maxRedemptions = 10_000_000_000

	nameMetadataField = "name"
)

var promotionCode = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, maxPromotionCode))

// CanMirror reports whether Stripe can express the discount of a coupon. Stripe has percentages
// and fixed amounts in one currency. Stripe has no maximum of a discount, no tiers and no other
// types of discounts. For a coupon that Stripe cannot express, EnsureMirror returns an unsupported
// mirror and makes no call.
func (p *Processor) CanMirror(c coupon.Coupon) bool {
	return c.Discount.IsZero() || c.Discount.Simple()
}

// CheckCoupon returns nil if Stripe can mirror the coupon, or if [Processor.CanMirror] is false.
// Otherwise it returns a [*validation.Error] that names every faulty field:
//
//   - a code with characters other than letters, digits, dash and underscore
//   - a percentage with more than two decimals
//   - an amount in a currency that Stripe does not charge
//   - an amount that is not a multiple of the currency's step
//   - an amount of more than twelve digits
//   - more than 10,000,000,000 uses
//
// It makes no call.
func (p *Processor) CheckCoupon(c coupon.Coupon) error {
	var faults validation.Error
	if c.ID == "" {
		faults.Add("id", validation.Required, "a coupon has an ID")
	}
	if !p.CanMirror(c) {
		return faults.Err()
	}
	if code := c.Code.String(); !c.Code.IsZero() && !promotionCode.MatchString(code) {
		faults.Add("code", validation.Malformed,
			fmt.Sprintf("Stripe allows letters A to Z, digits, dash and underscore, at most %d", maxPromotionCode))
	}
	if strings.TrimSpace(c.Name) == "" {
		faults.Add("name", validation.Required, "Stripe shows the ID to customers when there is no name")
	}
	discountFaults(&faults, c)
	switch uses := c.Limits.MaxUses; {
	case uses < 0:
		faults.Add("maxUses", validation.TooSmall, "a limit is at least 1")
	case uses > maxRedemptions:
		faults.Add("maxUses", validation.TooLarge, fmt.Sprintf("Stripe takes at most %d uses; leave the limit out for more", int64(maxRedemptions)))
	}
	faults.Merge("metadata", metadataFaults(p.couponMetadata(c)))
	return faults.Err()
}

func discountFaults(faults *validation.Error, c coupon.Coupon) {
	switch kind := c.Discount.Type(); {
	case kind == pricing.Percentage:
		// couponkit keeps four decimals and stripe-go sends four, but Stripe takes two.
		if d := c.Discount.Percent().Decimal(); !d.Equal(d.Truncate(maxPercentPlaces)) {
			faults.Add("discountValue", validation.TooManyDecimals, "Stripe allows two decimals of a percentage")
		}
	case kind == pricing.FixedAmount:
		amount := c.Discount.Amount()
		m, err := moneyOf(amount.Currency())
		if err != nil {
			faults.Merge("", err)
			return
		}
		sent, err := m.toStripe(amount.Minor())
		faults.At("discountValue", err)
		if err == nil && sent > maxStripeAmount {
			faults.Add("discountValue", validation.TooLarge, m.atMost())
		}
	default:
		faults.Add("discountType", validation.Required, "a coupon needs a discount")
	}
}

// metadataFaults checks metadata before it is sent.
func metadataFaults(metadata map[string]string) error {
	var faults validation.Error
	if len(metadata) > maxMetadata {
		faults.Add("", validation.TooLong, fmt.Sprintf("at most %d entries", maxMetadata))
	}
	for key, value := range metadata {
		switch {
		case key == "" || strings.ContainsAny(key, "[]") || !utf8.ValidString(key):
			faults.Add(key, validation.Malformed, "a key is not empty and has no square brackets")
		case utf8.RuneCountInString(key) > maxMetadataKey:
			faults.Add(key, validation.TooLong, fmt.Sprintf("a key has at most %d characters", maxMetadataKey))
		}
		if utf8.RuneCountInString(value) > maxMetadataValue {
			faults.Add(key, validation.TooLong, fmt.Sprintf("a value has at most %d characters", maxMetadataValue))
		}
		if !utf8.ValidString(value) {
			faults.Add(key, validation.Malformed, "a value is valid UTF-8 text")
		}
	}
	return faults.Err()
}

// stripeName shortens the name of a coupon to Stripe's limit. cut is true if the name was shortened.
func stripeName(name string) (short string, cut bool) { return cutName(name, maxStripeName) }

// cutName shortens a name to at most most code points. It does not cut inside a letter with combining
// marks.
func cutName(name string, most int) (short string, cut bool) {
	trimmed := strings.TrimSpace(name)
	if utf8.RuneCountInString(trimmed) <= most {
		return trimmed, trimmed != name
	}
	letters := []rune(trimmed)
	end := most
	for end > 1 && joins(letters[end-1], letters[end]) {
		end--
	}
	if end == 1 { // a single letter with that many marks; half of it is better than nothing
		end = most
	}
	return strings.TrimRightFunc(string(letters[:end]), unicode.IsSpace), true
}

// joins reports whether b belongs to the same displayed letter as a.
func joins(a, b rune) bool {
	const zeroWidthJoiner, firstSkinTone, lastSkinTone = 0x200D, 0x1F3FB, 0x1F3FF
	return unicode.Is(unicode.M, b) || a == zeroWidthJoiner || b == zeroWidthJoiner ||
		b >= firstSkinTone && b <= lastSkinTone
}
