package pgxstore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/pricing"
)

// DefaultSchema is the schema of a [Namespace] that names none.
const DefaultSchema = "public"

const (
	maxIdentifier = 63 // bytes; PostgreSQL silently cuts longer names
	// longestName is that of the longest name that has to be whole. Four are longer, by up to
	// three bytes: of the key of coupon_allowed_emails to its coupon, and of an index and two
	// checks that later steps drop. Only migrations name them, and cut they are still unlike
	// all others.
	longestName = len("coupon_redemptions_session_key")
)

// Namespace tells where in a database the store's tables, indexes and functions
// are. The zero value is the schema public without a prefix: tables coupons,
// coupon_redemptions, orders and those that begin with coupon_ or couponkit_.
type Namespace struct {
	// Schema holds them all; empty is [DefaultSchema].
	Schema string
	// Prefix begins every name, such as "shop_".
	Prefix string
}

// validate refuses what cannot be quoted: NUL, text that is not UTF-8, a dollar
// sign, which could end the body of a function, and names that PostgreSQL would
// cut so that they are not found again.
func (n Namespace) validate() error {
	var faults pricing.ValidationError
	for _, part := range [...]struct {
		field, text string
		most        int
	}{
		{"schema", n.Schema, maxIdentifier},
		{"prefix", n.Prefix, maxIdentifier - longestName},
	} {
		switch {
		case len(part.text) > part.most:
			faults.Add(part.field, pricing.FieldTooLong, fmt.Sprintf("at most %d bytes", part.most))
		case !utf8.ValidString(part.text) || strings.ContainsAny(part.text, "\x00$"):
			faults.Add(part.field, pricing.FieldMalformed, "must be valid UTF-8 text without NUL and $")
		}
	}
	return faults.Err()
}

func (n Namespace) schema() string {
	if n.Schema == "" {
		return DefaultSchema
	}
	return n.Schema
}

var namePattern = regexp.MustCompile(`\{(=?)([a-z][a-z0-9_]*)\}`)

// expand writes quoted names into a statement: {coupons} becomes
// "public"."coupons", and {=coupons_pkey}, for the places where PostgreSQL takes
// no schema, "coupons_pkey".
func (n Namespace) expand(statement string) string {
	return namePattern.ReplaceAllStringFunc(statement, func(found string) string {
		match := namePattern.FindStringSubmatch(found)
		if match[1] == "=" {
			return pgx.Identifier{n.Prefix + match[2]}.Sanitize()
		}
		return pgx.Identifier{n.schema(), n.Prefix + match[2]}.Sanitize()
	})
}
