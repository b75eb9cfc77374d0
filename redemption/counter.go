package redemption

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// CouponPeriodUses returns the key of the counter for all uses of a coupon within one period. The
// period is a name such as "DAY", and first is the first day of the period.
func CouponPeriodUses(couponID, period, first string) string {
	return SharedCounter("period", couponID, period, first)
}

// CodePeriodUses returns the key of the counter for all uses of a code within one period. Coupons
// that had the same code one after the other share the counter.
func CodePeriodUses(code, period, first string) string {
	return SharedCounter("code", code, period, first)
}

// CodeUses returns the key of the counter for all uses of a coupon by one of its codes. A long code
// is in the key as its SHA-256 hash.
func CodeUses(couponID, code string) string {
	const longest = 128 // bytes
	if len(code) > longest {
		code = "long:" + hashed("code", code)
	}
	return SharedCounter("by-code", couponID, code)
}

// CustomerPeriodUses returns the key of the counter for one customer's uses of a coupon within one
// period. Any text that identifies the customer is accepted.
func CustomerPeriodUses(couponID, identity, period, first string) string {
	return CustomerCounter(customerPeriod, couponID, identity, period, first)
}

// Budget returns the key of the counter for the sum of a coupon's discounts in one currency, in
// minor units.
func Budget(couponID, currency string) string {
	return SharedCounter(sharedBudget, couponID, currency)
}

const sharedBudget = "budget"

// These constants are the prefixes of identities that hide personal data.
const (
	emailPrefix = "email:"
	aliasPrefix = "alias:"
)

// EmailIdentity returns a text that identifies a customer by an e-mail address. The text contains
// a SHA-256 hash of the address and not the address itself. The address must be normalized.
func EmailIdentity(address string) string { return emailPrefix + hashed(emailPrefix, address) }

// AliasIdentity returns a text that identifies a customer by an alias, such as the fingerprint of a
// payment card. The text contains a SHA-256 hash of the alias and not the alias itself.
func AliasIdentity(alias string) string { return aliasPrefix + hashed(aliasPrefix, alias) }

// IsHashed reports whether text has the form of an identity that [EmailIdentity] or
// [AliasIdentity] returned. A customer's ID must not have this form.
func IsHashed(text string) bool {
	for _, prefix := range [...]string{emailPrefix, aliasPrefix} {
		digits, found := strings.CutPrefix(text, prefix)
		if sum, err := hex.DecodeString(digits); found && err == nil && len(sum) == sha256.Size {
			return true
		}
	}
	return false
}

func hashed(prefix, text string) string {
	sum := sha256.Sum256([]byte("couponkit " + prefix + "\x00" + text))
	return hex.EncodeToString(sum[:])
}
