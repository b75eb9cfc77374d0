package eligibility

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/email"
)

// Identities returns the texts by which limits count the customer: the ID, if the customer has one,
// the hashed address and the hashed aliases. Invalid addresses, empty aliases and repetitions are left
// out.
func (c Customer) Identities() []string {
	var list []string
	add := func(identity string) {
		if !slices.Contains(list, identity) {
			list = append(list, identity)
		}
	}
	if c.ID != "" {
		add(c.ID)
	}
	if c.Email != "" {
		if address, err := email.Parse(c.Email); err == nil {
			add(EmailIdentity(address))
		}
	}
	for _, alias := range c.Aliases {
		if alias != "" {
			add(AliasIdentity(alias))
		}
	}
	return list
}

// Prefixes of identities that hide personal data.
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
