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

// NormalizeEmail trims white space and lower-cases an address. Addresses are stored and
// compared in this form (contract section 4.4). NormalizeEmail does not check the
// address.
//
// The Kelvin sign and the dotted capital I stay unchanged. Their lower case is an ASCII
// letter, which would name another mailbox. A final Greek sigma stays a final sigma.
// Text that is not UTF-8 is only trimmed.
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

// ParseEmail checks an address and returns it normalized. An address has a local part
// and a domain. The domain has at least one dot, and its last label has a letter.
// Display names, quoted local parts, white space, wildcards and invisible characters
// are a [*pricing.ValidationError].
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

// withoutName returns the address in "Name <address>". Other text stays unchanged, and
// so does text whose name may contain another address.
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

// EmailEntries returns the two allow-list entries that match an address: the normalized
// address, and its domain entry such as "*@example.org". domain is empty if a domain
// entry cannot match the address. Stores look for both entries.
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

// domainFault tells why no address can have this domain. "" means no fault.
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

// EmailList is an allow-list as an administrator typed it, not yet checked. Each entry
// is an address ("ann@example.org"), an address with a name ("Ann <ann@example.org>"),
// or a domain entry ("*@example.org"). A domain entry matches every address of exactly
// that domain. No other pattern is accepted. In JSON a list is an array of entries, or
// one string that [SplitEmails] splits.
type EmailList []string

// SplitEmails splits text at commas, semicolons, tabs and new lines. Inside a quoted
// name, as in "Doe, Ann" <ann@example.org>, only a new line separates. Empty entries
// are dropped.
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

// judged returns the set of the addresses. If some are invalid, it returns a set that
// holds no address but has the length of the list. The length can then still be checked
// together with the other fields.
func (l EmailList) judged() (EmailSet, error) {
	emails, err := NewEmailSet(l...)
	if err != nil {
		emails = EmailSet{missing: min(len(l), MaxAllowedEmails)}
	}
	return emails, err
}

// UnmarshalJSON reads an array of entries, or one string. null is the empty list. After
// an error l stays unchanged.
func (l *EmailList) UnmarshalJSON(data []byte) error {
	var read emailsInPart
	if err := read.UnmarshalJSON(data); err != nil {
		return err
	}
	*l = EmailList(read)
	return nil
}

// emailsInPart is an EmailList that after an error keeps the entries that could be
// read. All other entries are empty.
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
