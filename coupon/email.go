package coupon

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Bounds of addresses (RFC 5321, in bytes) and of an allow-list.
const (
	MaxEmailLength   = 254
	maxLocalPart     = 64
	maxLabel         = 63
	MaxAllowedEmails = 1_000_000
)

// NormaliseEmail trims white space and lower-cases an address: the form in which
// addresses are stored and compared (contract section 4.4). It does not check the
// address.
//
// Two letters outside ASCII have a lower case inside it, the Kelvin sign and the
// dotted capital I. They stay as they are: an address with one of them is another
// mailbox than the one that it looks like. A letter with two lower cases stays the one that
// it is, such as the Greek sigma at the end of a word: in capitals an address with ς is that
// with σ. Stores hold addresses in this form.
func NormaliseEmail(address string) string {
	address = trimSpace(address)
	if !utf8.ValidString(address) {
		return address // no address, and no other text either
	}
	return strings.Map(lowerEmail, address)
}

func lowerEmail(r rune) rune {
	lower := unicode.ToLower(r)
	if r >= utf8.RuneSelf && lower < utf8.RuneSelf {
		return r
	}
	return lower
}

// ParseEmail normalises an address and checks that it is one: a local part and a
// domain, no display name, no quoted local part, no white space or invisible
// characters. Anything else is a [*pricing.ValidationError].
func ParseEmail(text string) (string, error) {
	address := NormaliseEmail(text)
	if code, fault := emailFault(address); fault != "" {
		return "", &pricing.ValidationError{Fields: []pricing.FieldError{{
			Code: code, Message: fmt.Sprintf("%.80q is no e-mail address: %s", text, fault),
		}}}
	}
	return address, nil
}

func emailFault(address string) (code pricing.FieldCode, fault string) {
	at := strings.LastIndexByte(address, '@')
	switch {
	case address == "":
		return pricing.FieldRequired, "it is empty"
	case len(address) > MaxEmailLength:
		return pricing.FieldTooLong, fmt.Sprintf("it has more than %d characters", MaxEmailLength)
	case !utf8.ValidString(address):
		return pricing.FieldMalformed, "it is not valid UTF-8"
	case at < 0:
		return pricing.FieldMalformed, "the @ is missing"
	case at == 0 || at > maxLocalPart:
		return pricing.FieldMalformed, fmt.Sprintf("the part before the @ has 1 to %d characters", maxLocalPart)
	case !isLocalPart(address[:at]):
		return pricing.FieldMalformed, "the part before the @ is malformed"
	case !isDomain(address[at+1:]):
		return pricing.FieldMalformed, "the part after the @ is no domain"
	}
	return "", ""
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
			if r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.Nd) || !visible(r) {
				return false
			}
		}
	}
	return true
}

// normaliseEmails returns the addresses normalised, duplicates included.
func normaliseEmails(addresses []string) ([]string, error) {
	var faults pricing.ValidationError
	if len(addresses) > MaxAllowedEmails {
		faults.Add("", pricing.FieldTooLong, fmt.Sprintf("at most %d addresses are allowed", MaxAllowedEmails))
		return nil, faults.Err()
	}
	normalised := make([]string, len(addresses))
	for i, a := range addresses {
		address, err := ParseEmail(a)
		if err != nil {
			faults.At(fmt.Sprintf("[%d]", i), err)
		}
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
		if entry = trimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}

// judged returns the set of the addresses. Where some are none, one that holds nothing stands
// for as many, so that whether there may be any can be judged beside them.
func (l EmailList) judged() (EmailSet, error) {
	emails, err := NewEmailSet(l...)
	if err != nil {
		emails = EmailSet{missing: min(len(l), MaxAllowedEmails)}
	}
	return emails, err
}

// UnmarshalJSON reads a list of addresses, or one text. null is the empty list. After an
// error l is as it was.
func (l *EmailList) UnmarshalJSON(data []byte) error {
	var read emailsInPart
	if err := read.UnmarshalJSON(data); err != nil {
		return err
	}
	*l = EmailList(read)
	return nil
}

// emailsInPart is an EmailList that keeps what could be read of it beside an error, with
// empty entries in the places of the others.
type emailsInPart EmailList

func (l *emailsInPart) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := strictjson.Value(data, &text); err != nil {
			return err
		}
		*l = emailsInPart(SplitEmails(text))
		return nil
	}
	var list []string
	err := strictjson.Value(data, &list)
	*l = list
	return err
}
