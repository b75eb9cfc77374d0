package eligibility

import (
	"fmt"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// These constants are inclusive upper bounds for a [Customer].
const (
	// MaxTags is the maximum number of tags of a customer.
	MaxTags = 100
	// MaxAliases is the maximum number of aliases of a customer.
	MaxAliases = 6
	// MaxAliasLength is the maximum length of an alias, in bytes.
	MaxAliasLength = 255
)

// Customer is the person who wants to use the coupon. A customer without an ID is anonymous.
type Customer struct {
	// ID is the customer's user ID. The coupon's limits per customer apply to this ID.
	ID string
	// Email is the customer's e-mail address. The host has verified it, unless Guest is set: allow-lists
	// and personal codes go by it. Letter case is ignored. The coupon's limits per customer also apply to
	// the address. A text that is no address is on no list.
	Email string
	// Aliases are further texts that identify the customer, such as the fingerprint of a payment
	// card. The coupon's limits per customer also apply to each alias. Aliases has at most
	// [MaxAliases] entries.
	Aliases []string
	// Guest tells that the customer is not signed in, so that the e-mail address is not verified.
	// A guest can use only a [coupon.General] coupon, and no personal code. A guest may have an ID, such as
	// that of a browser's session.
	Guest bool
	// Tags are the tags that the host has given to the customer, at most [MaxTags]. Tags are
	// compared with the coupon's [coupon.CustomerTags].
	Tags []string
	// EarlierOrders is the number of the customer's orders that are not in the store, for example
	// because the host had another system before. A customer with an EarlierOrders above 0 cannot
	// use a coupon for first orders.
	EarlierOrders int64
}

// known reports whether the customer is not anonymous.
func (c Customer) known() bool { return c.ID != "" }

// Validate checks the bounds of the customer's aliases, tags and earlier orders. The error is a
// [*validation.Error] that lists every invalid field.
func (c Customer) Validate() error {
	var faults validation.Error
	listFaults(&faults, "aliases", c.Aliases, MaxAliases, func(alias string) bool { return len(alias) <= MaxAliasLength })
	listFaults(&faults, "tags", c.Tags, MaxTags, func(tag string) bool { return utf8.RuneCountInString(tag) <= coupon.MaxTagLength })
	if c.EarlierOrders < 0 {
		faults.Add("earlierOrders", validation.TooSmall, "a number of orders is not negative")
	}
	return faults.Err()
}

func listFaults(faults *validation.Error, field string, list []string, most int, fits func(string) bool) {
	if len(list) > most {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d entries", most))
		return
	}
	for i, text := range list {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case text == "":
			faults.Add(path, validation.Required, "an entry is not empty")
		case !fits(text):
			faults.Add(path, validation.TooLong, "the entry is too long")
		case !utf8.ValidString(text):
			faults.Add(path, validation.Malformed, "must be valid UTF-8 text")
		}
	}
}
