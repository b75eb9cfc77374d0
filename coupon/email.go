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

// NormalizeEmail trims white space and lower-cases an address. Addresses are stored
// and compared in this form (contract section 4.4). It does not check the address.
//
// The Kelvin sign and the dotted capital I stay as they are: their lower case is a
// letter of ASCII, and so of another mailbox. A letter with two lower cases keeps the
// one that it has, such as the Greek sigma at the end of a word. Text that is not
// UTF-8 is only trimmed.
func NormalizeEmail(address string) string {
	address = trimSpace(address)
	if !utf8.ValidString(address) {
		return address
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

// ParseEmail normalizes an address and checks that it is one: a local part and a
// domain. The domain has at least one dot, and its last label has a letter. Display
// names, quoted local parts, white space, wildcards and invisible characters are a
// [*pricing.ValidationError].
func ParseEmail(text string) (string, error) {
	address := NormalizeEmail(text)
	if code, fault := emailFault(address); fault != "" {
		return "", notAnEmail(text, code, fault)
	}
	return address, nil
}

func notAnEmail(text string, code pricing.FieldCode, fault string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{
		Code: code, Message: fmt.Sprintf("%.40q is no e-mail address: %s", text, fault),
	}}}
}

const (
	// anyMailbox is the local part of a domain entry.
	anyMailbox = "*"

	wildcardRule  = "a wildcard is accepted only as in *@example.org, for all addresses of exactly that domain"
	separatorRule = "addresses are separated by commas, semicolons, tabs or new lines"
)

// parseEntry reads an entry of an allow-list and returns it normalized.
func parseEntry(text string) (string, error) {
	entry := NormalizeEmail(withoutName(trimSpace(text)))
	code, fault := emailFault(entry)
	if domain, covered := strings.CutPrefix(entry, anyMailbox+"@"); covered && len(entry) <= MaxEmailLength {
		code, fault = pricing.FieldMalformed, domainFault(domain)
	}
	switch {
	case fault == "":
		return entry, nil
	case strings.ContainsFunc(entry, unicode.IsSpace) || strings.ContainsAny(entry, ",;") || strings.Count(entry, "@") > 1:
		fault = separatorRule
	}
	return "", notAnEmail(text, code, fault)
}

// withoutName returns the address in "Name <address>", and every other text as it is:
// also one whose name may hold an address that would get lost.
func withoutName(entry string) string {
	open := strings.LastIndexByte(entry, '<')
	if open < 0 || entry[len(entry)-1] != '>' {
		return entry
	}
	name, address := trimSpace(entry[:open]), entry[open+1:len(entry)-1]
	bare, isQuoted := unquoted(name)
	switch {
	case strings.ContainsAny(name, "<>\r\n"), !isQuoted && strings.ContainsAny(name, ",;\t"):
		return entry
	case strings.Contains(name, "@") && NormalizeEmail(bare) != NormalizeEmail(address):
		return entry
	}
	return address
}

// unquoted takes the quotation marks off a name.
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

// EmailEntries returns the two entries of an allow-list that let the customer with
// this address in: the normalized address and the entry of its domain, such as
// "*@example.org". domain is empty where no such entry can be. Stores look for both.
func EmailEntries(address string) (own, domain string) {
	own = NormalizeEmail(address)
	at := strings.LastIndexByte(own, '@')
	if at < 1 || len(own) > MaxEmailLength || !utf8.ValidString(own) || strings.IndexByte(own, 0) >= 0 {
		return own, ""
	}
	return own, anyMailbox + own[at:]
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
	case strings.Contains(address, anyMailbox):
		return pricing.FieldMalformed, wildcardRule
	case at < 0:
		return pricing.FieldMalformed, "the @ is missing"
	case at == 0 || at > maxLocalPart:
		return pricing.FieldMalformed, fmt.Sprintf("the part before the @ has 1 to %d characters", maxLocalPart)
	case !isLocalPart(address[:at]):
		return pricing.FieldMalformed, "the part before the @ is malformed"
	}
	return pricing.FieldMalformed, domainFault(address[at+1:])
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

// domainFault tells why nobody has an address of this domain, or nothing.
func domainFault(domain string) string {
	if strings.Contains(domain, anyMailbox) {
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
		if r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.Nd) || !visible(r) {
			return false
		}
	}
	return true
}

// normalizeEntries returns the entries normalized, duplicates included.
func normalizeEntries(entries []string) ([]string, error) {
	var faults pricing.ValidationError
	if len(entries) > MaxAllowedEmails {
		faults.Add("", pricing.FieldTooLong, tooManyEmails())
		return nil, faults.Err()
	}
	normalized := make([]string, len(entries))
	for i, text := range entries {
		entry, err := parseEntry(text)
		if err != nil {
			faults.At(fmt.Sprintf("[%d]", i), err)
		}
		normalized[i] = entry
	}
	return normalized, faults.Err()
}

func tooManyEmails() string { return fmt.Sprintf("at most %d addresses are allowed", MaxAllowedEmails) }

// EmailList is an allow-list as an administrator gives it: not yet checked. Each entry
// is an address ("ann@example.org"), an address with a name ("Ann <ann@example.org>"),
// or a domain entry ("*@example.org"). A domain entry lets in every address of exactly
// that domain. No other pattern is accepted. In JSON a list is an array of entries, or
// one text that [SplitEmails] reads.
type EmailList []string

// SplitEmails splits text at commas, semicolons, tabs and new lines. Between the
// quotation marks of a name, as in "Doe, Ann" <ann@example.org>, only a new line
// separates. Empty entries are left out.
func SplitEmails(text string) EmailList {
	var list EmailList
	start, quoted := 0, false
	end := func(at int) {
		if entry := trimSpace(text[start:at]); entry != "" {
			list = append(list, entry)
		}
		start, quoted = at+1, false
	}
	for i := range len(text) { // all that matters is ASCII
		switch b := text[i]; {
		case b == '\n' || b == '\r' || !quoted && (b == ',' || b == ';' || b == '\t'):
			end(i)
		case b == '"':
			quoted = !quoted && trimSpace(text[start:i]) == ""
		}
	}
	end(len(text))
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
