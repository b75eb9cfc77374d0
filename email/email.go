// Package email normalizes and checks e-mail addresses, and entries of allow-lists: an address, such as
// "ann@example.org", or a domain entry, such as "*@example.org", which matches every address of exactly that domain.
package email

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/validation"
)

// These constants are the upper bounds for e-mail addresses (RFC 5321).
const (
	// MaxLength is the maximum length of an e-mail address, in bytes.
	MaxLength = 254
	// maxLocalPart and maxLabel are the maximum lengths of parts of an address, in bytes.
	maxLocalPart = 64
	maxLabel     = 63
)

// Normalize trims white space around an e-mail address and converts the address to the lower
// case of Unicode 15.0. E-mail addresses are stored and compared in this form (contract section 4.4).
// Normalize does not check whether the address is valid.
//
// The Kelvin sign and the dotted capital I stay, because their ASCII letters would name a different mailbox.
// Text that is not valid UTF-8 is trimmed but not converted to lower case.
func Normalize(address string) string {
	address = unicode15.TrimSpace(address)
	if !utf8.ValidString(address) {
		return address
	}
	return strings.Map(lower, address)
}

func lower(r rune) rune {
	lower := unicode15.ToLower(r)
	if r >= utf8.RuneSelf && lower < utf8.RuneSelf {
		return r
	}
	return lower
}

// Parse checks an e-mail address and returns the address in normalized form. The domain of a valid
// address has a dot, and a letter after its last dot. Display names, quoted local parts, white space, wildcards,
// invisible characters and characters that Unicode 15.0 does not assign are invalid. The error is a
// [*validation.Error].
func Parse(text string) (string, error) {
	address := Normalize(text)
	if code, fault := addressFault(address); fault != "" {
		return "", refused(text, code, fault)
	}
	return address, nil
}

func refused(text string, code validation.Code, fault string) error {
	return &validation.Error{Fields: []validation.Field{{
		Code: code, Message: fmt.Sprintf("%.40q is no e-mail address: %s", text, fault),
	}}}
}

const (
	// AnyMailbox is the local part of a domain entry.
	AnyMailbox = "*"

	wildcardRule  = "a wildcard is accepted only as in *@example.org, for all addresses of exactly that domain"
	separatorRule = "addresses are separated by commas, semicolons, tabs or new lines"
)

// ParseEntry reads an entry of an allow-list and returns it normalized. An address may have a name, as in
// "Ann <ann@example.org>". The error is a [*validation.Error].
func ParseEntry(text string) (string, error) {
	entry := Normalize(withoutName(unicode15.TrimSpace(text)))
	code, fault := addressFault(entry)
	if domain, covered := strings.CutPrefix(entry, AnyMailbox+"@"); covered && len(entry) <= MaxLength {
		code, fault = validation.Malformed, domainFault(domain)
	}
	switch {
	case fault == "":
		return entry, nil
	case strings.ContainsFunc(entry, unicode15.IsSpace) || strings.ContainsAny(entry, ",;") || strings.Count(entry, "@") > 1:
		fault = separatorRule
	}
	return "", refused(text, code, fault)
}

// withoutName returns the address in "Name <address>". It returns other text unchanged. It also returns
// text unchanged if its name may contain another address.
func withoutName(entry string) string {
	open := strings.LastIndexByte(entry, '<')
	if open < 0 || entry[len(entry)-1] != '>' {
		return entry
	}
	name, address := unicode15.TrimSpace(entry[:open]), entry[open+1:len(entry)-1]
	bare, isQuoted := unquoted(name)
	switch {
	case strings.ContainsAny(name, "<>\r\n"), !isQuoted && strings.ContainsAny(name, ",;\t"):
		return entry
	case strings.Contains(name, "@") && Normalize(bare) != Normalize(address):
		return entry
	}
	return address
}

// unquoted removes the quotation marks around a name.
func unquoted(name string) (bare string, isQuoted bool) {
	for _, mark := range [...]string{`"`, "'"} {
		if rest, opened := strings.CutPrefix(name, mark); opened {
			if bare, closed := strings.CutSuffix(rest, mark); closed && !strings.Contains(bare, mark) {
				return bare, mark == `"`
			}
		}
	}
	return name, false
}

// Entries returns the two allow-list entries that match an address: the normalized address, and the domain
// entry, such as "*@example.org". If no domain entry can match the address, domain is empty.
func Entries(address string) (own, domain string) {
	own = Normalize(address)
	at := strings.LastIndexByte(own, '@')
	if at < 1 || len(own) > MaxLength || !utf8.ValidString(own) || strings.IndexByte(own, 0) >= 0 {
		return own, ""
	}
	return own, AnyMailbox + own[at:]
}

func addressFault(address string) (code validation.Code, fault string) {
	at := strings.LastIndexByte(address, '@')
	switch {
	case address == "":
		return validation.Required, "it is empty"
	case len(address) > MaxLength:
		return validation.TooLong, fmt.Sprintf("it has more than %d characters", MaxLength)
	case !utf8.ValidString(address):
		return validation.Malformed, "it is not valid UTF-8"
	case strings.Contains(address, AnyMailbox):
		return validation.Malformed, wildcardRule
	case at < 0:
		return validation.Malformed, "the @ is missing"
	case at == 0 || at > maxLocalPart:
		return validation.Malformed, fmt.Sprintf("the part before the @ has 1 to %d characters", maxLocalPart)
	case !isLocalPart(address[:at]):
		return validation.Malformed, "the part before the @ is malformed"
	}
	return validation.Malformed, domainFault(address[at+1:])
}

func isLocalPart(local string) bool {
	if local[0] == '.' || local[len(local)-1] == '.' || strings.Contains(local, "..") {
		return false
	}
	for _, r := range local {
		if unicode15.IsSpace(r) || !unicode15.Visible(r) || strings.ContainsRune(`@<>()[]\,;:"`, r) {
			return false
		}
	}
	return true
}

// domainFault returns why no address can have this domain, or "".
func domainFault(domain string) string {
	if strings.Contains(domain, AnyMailbox) {
		return wildcardRule
	}
	last := ""
	for label := range strings.SplitSeq(domain, ".") {
		if !isLabel(label) {
			return "the part after the @ is no domain"
		}
		last = label
	}
	switch {
	case last == domain:
		return "the domain has no dot"
	case !strings.ContainsFunc(last, unicode.IsLetter):
		return "the domain ends in a number"
	}
	return ""
}

func isLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, r := range label {
		if r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.Nd) || !unicode15.Visible(r) {
			return false
		}
	}
	return true
}

// Split splits text into entries at line breaks, and at commas, semicolons and tabs outside a quoted name
// such as "Doe, Ann" <ann@example.org>. Empty entries are dropped.
func Split(text string) []string {
	var list []string
	start, quoted := 0, false
	end := func(at int) {
		if entry := unicode15.TrimSpace(text[start:at]); entry != "" {
			list = append(list, entry)
		}
		start, quoted = at+1, false
	}
	for i := range len(text) { // all relevant characters are ASCII
		switch b := text[i]; {
		case b == '\n' || b == '\r' || !quoted && (b == ',' || b == ';' || b == '\t'):
			end(i)
		case b == '"':
			quoted = !quoted && unicode15.TrimSpace(text[start:i]) == ""
		}
	}
	end(len(text))
	return list
}
