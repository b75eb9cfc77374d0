package coupon

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/pricing"
)

// Bounds of addresses (RFC 5321) and of an allow-list.
const (
	MaxEmailLength   = 254
	maxLocalPart     = 64
	maxLabel         = 63
	MaxAllowedEmails = 1_000_000
)

// NormaliseEmail trims white space and lower-cases an address: the form in which
// addresses are stored and compared. It does not check the address.
func NormaliseEmail(address string) string {
	return strings.ToLower(strings.TrimFunc(address, unicode.IsSpace))
}

// ParseEmail normalises an address and checks that it is one: a local part and a
// domain, no display name, no white space or invisible characters. Anything else
// is a [*pricing.ValidationError].
func ParseEmail(text string) (string, error) {
	address := NormaliseEmail(text)
	if fault := emailFault(address); fault != "" {
		return "", &pricing.ValidationError{Fields: []pricing.FieldError{{
			Code: pricing.FieldMalformed, Message: fmt.Sprintf("%.80q is no e-mail address: %s", text, fault),
		}}}
	}
	return address, nil
}

func emailFault(address string) string {
	at := strings.LastIndexByte(address, '@')
	switch {
	case len(address) > MaxEmailLength:
		return fmt.Sprintf("it has more than %d characters", MaxEmailLength)
	case !utf8.ValidString(address):
		return "it is not valid UTF-8"
	case at < 0:
		return "the @ is missing"
	case at == 0 || at > maxLocalPart:
		return fmt.Sprintf("the part before the @ has 1 to %d characters", maxLocalPart)
	case !isLocalPart(address[:at]):
		return "the part before the @ has a character that is not allowed"
	case !isDomain(address[at+1:]):
		return "the part after the @ is no domain"
	}
	return ""
}

func isLocalPart(local string) bool {
	if local[0] == '.' || local[len(local)-1] == '.' || strings.Contains(local, "..") {
		return false
	}
	for _, r := range local {
		if unicode.IsSpace(r) || !visible(r) || strings.ContainsRune(`@<>()[]\,;:"`, r) {
			return false
		}
	}
	return true
}

func isDomain(domain string) bool {
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
				return false
			}
		}
	}
	return true
}

func normaliseEmails(addresses []string) ([]string, error) {
	var faults pricing.ValidationError
	if len(addresses) > MaxAllowedEmails {
		faults.Add("", pricing.FieldTooLong, fmt.Sprintf("at most %d addresses are allowed", MaxAllowedEmails))
		return nil, faults.Err()
	}
	normalised := make([]string, len(addresses))
	for i, a := range addresses {
		address, err := ParseEmail(a)
		faults.At(fmt.Sprintf("[%d]", i), err)
		normalised[i] = address
	}
	return normalised, faults.Err()
}

// EmailList is addresses as an administrator gives them: not yet checked. In JSON
// it is a list, or one text with commas or newlines between the addresses.
type EmailList []string

// SplitEmails splits text at commas and newlines; empty entries are left out.
func SplitEmails(text string) EmailList {
	var list EmailList
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if entry = strings.TrimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}

// UnmarshalJSON reads a list of addresses, or one text.
func (l *EmailList) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*l = SplitEmails(text)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}
