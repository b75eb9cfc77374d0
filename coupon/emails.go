package coupon

import (
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/validation"
)

// MaxAllowedEmails is the maximum number of entries in an allow-list.
const MaxAllowedEmails = 1_000_000

// EmailList is an allow-list as an administrator typed it, not checked yet. An entry has one of these forms:
//   - an address, such as "ann@example.org"
//   - an address with a name, such as "Ann <ann@example.org>"
//   - a domain entry, such as "*@example.org", which matches every address of exactly that domain
//
// In JSON, an EmailList is an array of entries, or one string that [email.Split] splits.
type EmailList []string

// judged returns the set of the addresses. If some are invalid, the set has only the length of the
// list. That is enough to check the other fields.
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
		*l = email.Split(text)
		return nil
	}
	return strictjson.Value(data, (*[]string)(l))
}

// EmailSet is an immutable allow-list of normalized e-mail addresses and domain entries; see [EmailList]. Looking up an
// address takes the same time in a set of any size. The zero EmailSet is empty.
//
// A narrowed set holds only the entry that matches one customer, or no entry, and Len still counts the whole
// allow-list. A store that looks up a coupon for one customer returns a set with the matching entry. A store that lists
// coupons returns sets without entries.
type EmailSet struct {
	held    Items
	missing int // number of entries that a narrowed set leaves out
}

// GoString returns the number of entries for the messages of failed tests. GoString does not show the entries
// themselves.
func (s EmailSet) GoString() string { return fmt.Sprintf("coupon.EmailSet(%d addresses)", s.Len()) }

// NewEmailSet returns the set of the given entries of an [EmailList], normalized and without names of people. Duplicate
// entries are ignored. The error is a [*validation.Error] that names every malformed entry by its index.
func NewEmailSet(entries ...string) (EmailSet, error) {
	var faults validation.Error
	if len(entries) > MaxAllowedEmails {
		return EmailSet{}, fieldFault(validation.TooLong, tooManyEmails())
	}
	normalized := make([]string, len(entries))
	for i, text := range entries {
		var err error
		normalized[i], err = email.ParseEntry(text)
		faults.Merge(fmt.Sprintf("[%d]", i), err)
	}
	if err := faults.Err(); err != nil {
		return EmailSet{}, err
	}
	return EmailSet{held: NewItems(normalized...)}, nil
}

func tooManyEmails() string { return fmt.Sprintf("at most %d addresses are allowed", MaxAllowedEmails) }

// StoredEmailSet returns the set of entries that [EmailSet.Slice] returned, for stores. The entries are neither checked
// nor normalized.
func StoredEmailSet(entries ...string) EmailSet { return EmailSet{held: NewItems(entries...)} }

// NarrowedEmailSet returns a set of the given Len that holds only the given entry, or none if it is empty. Stores pass
// an entry that [email.Entries] returned. The entry is neither checked nor normalized.
func NarrowedEmailSet(total int, entry string) EmailSet {
	if total <= 0 {
		return EmailSet{}
	}
	if entry == "" {
		return EmailSet{missing: total}
	}
	return EmailSet{held: NewItems(entry), missing: total - 1}
}

// Narrow returns a set that holds only the entry that matches the address, or no entry. The returned set has the same
// Len as s.
func (s EmailSet) Narrow(address string) EmailSet {
	own, domain := email.Entries(address)
	for _, entry := range [...]string{own, domain} {
		if s.held.Has(entry) {
			return NarrowedEmailSet(s.Len(), entry)
		}
	}
	return NarrowedEmailSet(s.Len(), "")
}

// Has reports whether the set has the e-mail address or its domain entry. Letter case and surrounding white space do
// not matter. Has allocates no memory for an ASCII address.
func (s EmailSet) Has(address string) bool {
	address = unicode15.TrimSpace(address)
	if len(address) > email.MaxLength {
		return s.hasEntry(address)
	}
	var lower [email.MaxLength]byte
	at := -1
	for i := range len(address) {
		b := address[i]
		switch {
		case b >= utf8.RuneSelf || b == 0:
			return s.hasEntry(address)
		case b >= 'A' && b <= 'Z':
			b += 'a' - 'A'
		case b == '@':
			at = i
		}
		lower[i] = b
	}
	if s.held.set == nil {
		return false
	}
	if found := s.held.set.has(lower[:len(address)]); found || at < 1 {
		return found
	}
	lower[at-1] = email.AnyMailbox[0] //nolint:gosec // at is at least 1
	return s.held.set.has(lower[at-1 : len(address)])
}

func (s EmailSet) hasEntry(address string) bool {
	own, domain := email.Entries(address)
	return s.held.Has(own) || s.held.Has(domain)
}

// Len returns the number of entries in the allow-list, those included that a narrowed set does not hold.
func (s EmailSet) Len() int { return s.held.Len() + s.missing }

// Narrowed reports whether the set holds only some of the entries of the allow-list.
func (s EmailSet) Narrowed() bool { return s.missing > 0 }

// All yields the entries that the set holds, in the order in which they were added.
func (s EmailSet) All() iter.Seq[string] { return s.held.All() }

// Slice returns a copy of the entries that the set holds, in the order in which they were added.
func (s EmailSet) Slice() []string { return s.held.Slice() }

// Equal reports whether s and t have the same Len and hold the same entries in the same order.
func (s EmailSet) Equal(t EmailSet) bool {
	return s.missing == t.missing && s.held.Equal(t.held)
}

// MarshalJSON returns the entries of the set as a JSON array. A narrowed set becomes null, because a JSON array always
// contains the whole list.
func (s EmailSet) MarshalJSON() ([]byte, error) {
	if s.Narrowed() {
		return []byte("null"), nil
	}
	return s.held.MarshalJSON()
}

// UnmarshalJSON reads the JSON form of an [EmailList] and checks the entries like [NewEmailSet]. JSON null is a
// narrowed set that holds no entry. If UnmarshalJSON fails, *s stays unchanged.
func (s *EmailSet) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*s = EmailSet{missing: 1}
		return nil
	}
	var list EmailList
	if err := list.UnmarshalJSON(data); err != nil {
		return err
	}
	set, err := NewEmailSet(list...)
	if err == nil {
		*s = set
	}
	return err
}
