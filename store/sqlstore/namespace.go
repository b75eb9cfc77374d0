package sqlstore

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// maxPrefix leaves room for the longest name within the 64 characters of MySQL.
const maxPrefix = 64 - len("coupon_redemptions_created_at_idx")

var (
	namePattern   = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)
	prefixPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// checkPrefix refuses a prefix that would need quotes.
func checkPrefix(prefix string) error {
	var faults pricing.ValidationError
	switch {
	case len(prefix) > maxPrefix:
		faults.Add("tablePrefix", pricing.FieldTooLong, fmt.Sprintf("at most %d characters", maxPrefix))
	case prefix != "" && !prefixPattern.MatchString(prefix):
		faults.Add("tablePrefix", pricing.FieldMalformed, "must be letters, digits and underscores, no digit first")
	}
	return faults.Err()
}

// expand writes names and the words of the dialect into a statement: {coupons}
// becomes shop_coupons, and {for_update} the clause that locks a row.
func (g grammar) expand(statement, prefix string) string {
	return namePattern.ReplaceAllStringFunc(statement, func(found string) string {
		name := strings.Trim(found, "{}")
		if word, ok := g.words[name]; ok {
			return word
		}
		return prefix + name
	})
}
