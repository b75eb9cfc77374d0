package coupon

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/internal/unicode15"
)

// Items is an immutable set of texts, such as IDs of plans, that keeps the order in which they were given. The
// time of a look-up does not depend on the size. The zero Items is the empty set.
type Items struct {
	list  []string
	index map[string]struct{}
}

// NewItems returns the set of the given IDs. Duplicate IDs are ignored.
func NewItems(ids ...string) Items {
	if len(ids) == 0 {
		return Items{}
	}
	s := Items{list: make([]string, 0, len(ids)), index: make(map[string]struct{}, len(ids))}
	for _, id := range ids {
		if _, known := s.index[id]; !known {
			s.index[id] = struct{}{}
			s.list = append(s.list, id)
		}
	}
	return s
}

// GoString formats the set for the messages of failed tests.
func (s Items) GoString() string { return fmt.Sprintf("coupon.Items(%q)", s.list) }

// fewItems is the largest number of entries for which comparing each is faster than hashing.
const fewItems = 8

// Has reports whether the set contains the given ID.
func (s Items) Has(id string) bool {
	if len(s.list) <= fewItems {
		return slices.Contains(s.list, id)
	}
	_, ok := s.index[id]
	return ok
}

// Len returns the number of IDs in the set.
func (s Items) Len() int { return len(s.list) }

// All yields the IDs of the set in the order in which they were added.
func (s Items) All() iter.Seq[string] { return slices.Values(s.list) }

// Slice returns a copy of the IDs in the order in which they were added to the set.
func (s Items) Slice() []string { return slices.Clone(s.list) }

// Equal reports whether s and t contain the same IDs in the same order.
func (s Items) Equal(t Items) bool { return slices.Equal(s.list, t.list) }

// MarshalJSON returns the IDs of the set as a JSON array.
func (s Items) MarshalJSON() ([]byte, error) {
	if len(s.list) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(s.list)
}

// UnmarshalJSON reads a JSON array of IDs. JSON null sets *s to the empty set. The error is a
// [*validation.Error] that names every entry that is not a string by its index.
func (s *Items) UnmarshalJSON(data []byte) error {
	var ids []string
	err := strictjson.Value(data, &ids)
	if err == nil {
		*s = NewItems(ids...)
	}
	return err
}

// EmailSet is an immutable allow-list of normalized e-mail addresses and domain entries; see [EmailList]. Looking
// up an address takes the same time in a set of any size. The zero EmailSet is empty.
//
// A narrowed set holds only the entry that matches one customer, or no entry, and Len still counts the whole
// allow-list. A store that looks up a coupon for one customer returns a set with the matching entry. A store that
// lists coupons returns sets without entries.
type EmailSet struct {
	held    Items
	missing int // entries that a narrowed set does not hold
}

// GoString returns the number of entries for the messages of failed tests. GoString does not
// show the entries themselves.
func (s EmailSet) GoString() string { return fmt.Sprintf("coupon.EmailSet(%d addresses)", s.Len()) }

// NewEmailSet returns the set of the given entries of an [EmailList], normalized and without names of people.
// Duplicate entries are ignored. The error is a [*validation.Error] that names every malformed entry by its index.
func NewEmailSet(entries ...string) (EmailSet, error) {
	normalized, err := normalizeEntries(entries)
	if err != nil {
		return EmailSet{}, err
	}
	return EmailSet{held: NewItems(normalized...)}, nil
}

// StoredEmailSet returns the set of entries that [EmailSet.Slice] returned, for stores. The entries are neither
// checked nor normalized.
func StoredEmailSet(entries ...string) EmailSet { return EmailSet{held: NewItems(entries...)} }

// NarrowedEmailSet returns a set of the given Len that holds only the given entry, or none if it is empty. Stores
// pass an entry that [EmailEntries] returned. The entry is neither checked nor normalized.
func NarrowedEmailSet(total int, entry string) EmailSet {
	if total <= 0 {
		return EmailSet{}
	}
	if entry == "" {
		return EmailSet{missing: total}
	}
	return EmailSet{held: NewItems(entry), missing: total - 1}
}

// Narrow returns a set that holds only the entry that matches the address, or no entry. The returned set has
// the same Len as s.
func (s EmailSet) Narrow(address string) EmailSet {
	own, domain := EmailEntries(address)
	for _, entry := range [...]string{own, domain} {
		if s.held.Has(entry) {
			return NarrowedEmailSet(s.Len(), entry)
		}
	}
	return NarrowedEmailSet(s.Len(), "")
}

// Has reports whether the set has the e-mail address or its domain entry. Letter case and surrounding white
// space do not matter. Has allocates no memory for an ASCII address.
func (s EmailSet) Has(address string) bool {
	address = unicode15.TrimSpace(address)
	if len(address) > MaxEmailLength {
		return s.hasEntry(address)
	}
	var lower [MaxEmailLength]byte
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
	if _, ok := s.held.index[string(lower[:len(address)])]; ok || at < 1 {
		return ok
	}
	lower[at-1] = anyMailbox[0] //nolint:gosec // at is at least 1
	_, ok := s.held.index[string(lower[at-1:len(address)])]
	return ok
}

func (s EmailSet) hasEntry(address string) bool {
	own, domain := EmailEntries(address)
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

// MarshalJSON returns the entries of the set as a JSON array. A narrowed set becomes null,
// because a JSON array always contains the whole list.
func (s EmailSet) MarshalJSON() ([]byte, error) {
	if s.Narrowed() {
		return []byte("null"), nil
	}
	return s.held.MarshalJSON()
}

// UnmarshalJSON reads the JSON form of an [EmailList] and checks the entries like [NewEmailSet].
// JSON null is a narrowed set that holds no entry. If UnmarshalJSON fails, *s stays unchanged.
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
