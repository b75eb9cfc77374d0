package coupon

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/validation"
)

// These constants are the upper bounds for e-mail addresses (RFC 5321) and allow-lists.
const (
	// MaxEmailLength is the maximum length of an e-mail address, in bytes.
	MaxEmailLength = 254
	// maxLocalPart and maxLabel are the maximum lengths of parts of an address, in bytes.
	maxLocalPart = 64
	maxLabel     = 63
	// MaxAllowedEmails is the maximum number of entries in an allow-list.
	MaxAllowedEmails = 1_000_000
)

// NormalizeEmail trims white space around an e-mail address and converts the address to the lower
// case of Unicode 15.0. E-mail addresses are stored and compared in this form (contract section 4.4).
// NormalizeEmail does not check whether the address is valid.
//
// The Kelvin sign and the dotted capital I stay, because their ASCII letters would name a different mailbox.
// Text that is not valid UTF-8 is trimmed but not converted to lower case.
func NormalizeEmail(address string) string {
	address = unicode15.TrimSpace(address)
	if !utf8.ValidString(address) {
		return address
	}
	return strings.Map(lowerEmail, address)
}

func lowerEmail(r rune) rune {
	lower := unicode15.ToLower(r)
	if r >= utf8.RuneSelf && lower < utf8.RuneSelf {
		return r
	}
	return lower
}

// ParseEmail checks an e-mail address and returns the address in normalized form. The domain of a valid
// address has a dot, and a letter after its last dot. Display names, quoted local parts, white space, wildcards,
// invisible characters and characters that Unicode 15.0 does not assign are invalid. The error is a
// [*validation.Error].
func ParseEmail(text string) (string, error) {
	address := NormalizeEmail(text)
	if code, fault := emailFault(address); fault != "" {
		return "", notAnEmail(text, code, fault)
	}
	return address, nil
}

func notAnEmail(text string, code validation.Code, fault string) error {
	return &validation.Error{Fields: []validation.Field{{
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
	entry := NormalizeEmail(withoutName(unicode15.TrimSpace(text)))
	code, fault := emailFault(entry)
	if domain, covered := strings.CutPrefix(entry, anyMailbox+"@"); covered && len(entry) <= MaxEmailLength {
		code, fault = validation.Malformed, domainFault(domain)
	}
	switch {
	case fault == "":
		return entry, nil
	case strings.ContainsFunc(entry, unicode15.IsSpace) || strings.ContainsAny(entry, ",;") || strings.Count(entry, "@") > 1:
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
	name, address := unicode15.TrimSpace(entry[:open]), entry[open+1:len(entry)-1]
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

// EmailEntries returns the two allow-list entries that match an address: the normalized address, and the domain
// entry, such as "*@example.org". If no domain entry can match the address, domain is empty.
func EmailEntries(address string) (own, domain string) {
	own = NormalizeEmail(address)
	at := strings.LastIndexByte(own, '@')
	if at < 1 || len(own) > MaxEmailLength || !utf8.ValidString(own) || strings.IndexByte(own, 0) >= 0 {
		return own, ""
	}
	return own, anyMailbox + own[at:]
}

func emailFault(address string) (code validation.Code, fault string) {
	at := strings.LastIndexByte(address, '@')
	switch {
	case address == "":
		return validation.Required, "it is empty"
	case len(address) > MaxEmailLength:
		return validation.TooLong, fmt.Sprintf("it has more than %d characters", MaxEmailLength)
	case !utf8.ValidString(address):
		return validation.Malformed, "it is not valid UTF-8"
	case strings.Contains(address, anyMailbox):
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
		if unicode15.IsSpace(r) || !visible(r) || strings.ContainsRune(`@<>()[]\,;:"`, r) {
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
	var faults validation.Error
	if len(entries) > MaxAllowedEmails {
		faults.Add("", validation.TooLong, tooManyEmails())
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

// EmailList is an allow-list as an administrator typed it, not checked yet. An entry has one of these forms:
//   - an address, such as "ann@example.org"
//   - an address with a name, such as "Ann <ann@example.org>"
//   - a domain entry, such as "*@example.org", which matches every address of exactly that domain
//
// In JSON, an EmailList is an array of entries, or one string that [SplitEmails] splits.
type EmailList []string

// SplitEmails splits text into entries at line breaks, and at commas, semicolons and tabs outside a quoted name
// such as "Doe, Ann" <ann@example.org>. Empty entries are dropped.
func SplitEmails(text string) EmailList {
	var list EmailList
	start, quoted := 0, false
	end := func(at int) {
		if entry := unicode15.TrimSpace(text[start:at]); entry != "" {
			list = append(list, entry)
		}
		start, quoted = at+1, false
	}
	for i := range len(text) { // all that matters is ASCII
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

// judged returns the set of the addresses. If some are invalid, the set only has the length of the list, which
// is checked together with the other fields.
func (l EmailList) judged() (EmailSet, error) {
	emails, err := NewEmailSet(l...)
	if err != nil {
		emails = EmailSet{missing: min(len(l), MaxAllowedEmails)}
	}
	return emails, err
}

// UnmarshalJSON reads the JSON form. JSON null sets *l to the empty list. If entries are not text, UnmarshalJSON
// returns a [*validation.Error] that names each of them, and they are empty in *l.
func (l *EmailList) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := strictjson.Value(data, &text); err != nil {
			return err
		}
		*l = SplitEmails(text)
		return nil
	}
	return strictjson.Value(data, (*[]string)(l))
}
