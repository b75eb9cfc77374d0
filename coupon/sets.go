package coupon

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/strictjson"
)

// stringSet is an immutable set that keeps the order in which it was given.
// Look-up takes the same time whatever the size.
type stringSet struct {
	list  []string
	index map[string]struct{}
}

func newStringSet(values []string) stringSet {
	if len(values) == 0 {
		return stringSet{}
	}
	s := stringSet{list: make([]string, 0, len(values)), index: make(map[string]struct{}, len(values))}
	for _, v := range values {
		if _, known := s.index[v]; !known {
			s.index[v] = struct{}{}
			s.list = append(s.list, v)
		}
	}
	return s
}

// fewStrings is up to how many strings a look at each is quicker than a hash.
const fewStrings = 8

func (s stringSet) has(v string) bool {
	if len(s.list) <= fewStrings {
		return slices.Contains(s.list, v)
	}
	_, ok := s.index[v]
	return ok
}

func (s stringSet) marshal() ([]byte, error) {
	if len(s.list) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(s.list)
}

// Items is an immutable set of plan, device or accessory IDs. The zero value is
// empty.
type Items struct{ set stringSet }

// NewItems returns the set of these IDs; duplicates collapse.
func NewItems(ids ...string) Items { return Items{set: newStringSet(ids)} }

// GoString shows the value in test failures.
func (s Items) GoString() string { return fmt.Sprintf("coupon.Items(%q)", s.Slice()) }

// Has reports whether the set holds the ID.
func (s Items) Has(id string) bool { return s.set.has(id) }

// Len returns how many IDs the set holds.
func (s Items) Len() int { return len(s.set.list) }

// All yields the IDs in the order in which they were given.
func (s Items) All() iter.Seq[string] { return slices.Values(s.set.list) }

// Slice returns a copy of the IDs in the order in which they were given.
func (s Items) Slice() []string { return slices.Clone(s.set.list) }

// Equal reports whether both hold the same IDs in the same order.
func (s Items) Equal(t Items) bool { return slices.Equal(s.set.list, t.set.list) }

// MarshalJSON returns the IDs as a JSON array.
func (s Items) MarshalJSON() ([]byte, error) { return s.set.marshal() }

// UnmarshalJSON reads a JSON array of IDs; null is the empty set. An entry that is
// no text is named in a [*pricing.ValidationError] by its position.
func (s *Items) UnmarshalJSON(data []byte) error {
	var ids []string
	if err := strictjson.Value(data, &ids); err != nil {
		return err
	}
	*s = NewItems(ids...)
	return nil
}

// EmailSet is an immutable set of normalised e-mail addresses, with a look-up
// that does not depend on its size. The zero value is empty.
//
// A set can be narrowed to one address: it then still tells how many addresses
// there are in all and whether that one is among them, but holds no other. Stores
// return narrowed sets where they answer for one customer, so that a list of a
// hundred thousand addresses is not moved for one look-up, and sets narrowed to no
// address in lists of coupons.
type EmailSet struct {
	set     stringSet
	missing int // addresses that a narrowed set does not hold
}

// GoString shows in test failures how many addresses there are, and none of them.
func (s EmailSet) GoString() string { return fmt.Sprintf("coupon.EmailSet(%d addresses)", s.Len()) }

// NewEmailSet returns the set of these addresses. Each is normalised; every one
// that is no address is listed in a [*pricing.ValidationError] by its position.
// Duplicates collapse.
func NewEmailSet(addresses ...string) (EmailSet, error) {
	normalised, err := normaliseEmails(addresses)
	if err != nil {
		return EmailSet{}, err
	}
	return EmailSet{set: newStringSet(normalised)}, nil
}

// NarrowedEmailSet returns a set of total addresses of which only this one is
// known to be a member; an empty address means that none is. It is for stores.
func NarrowedEmailSet(total int, address string) EmailSet {
	address = NormaliseEmail(address)
	if total <= 0 {
		return EmailSet{}
	}
	if address == "" {
		return EmailSet{missing: total}
	}
	return EmailSet{set: newStringSet([]string{address}), missing: total - 1}
}

// Narrow returns the set narrowed to one address.
func (s EmailSet) Narrow(address string) EmailSet {
	if !s.Has(address) {
		address = ""
	}
	return NarrowedEmailSet(s.Len(), address)
}

// Has reports whether the set holds the address, whatever its letter case and
// surrounding white space. For an address in ASCII it allocates nothing.
func (s EmailSet) Has(address string) bool {
	address = trimSpace(address)
	if len(address) > MaxEmailLength {
		return s.set.has(NormaliseEmail(address))
	}
	var lower [MaxEmailLength]byte
	for i := range len(address) {
		switch b := address[i]; {
		case b >= utf8.RuneSelf:
			return s.set.has(NormaliseEmail(address))
		case b >= 'A' && b <= 'Z':
			lower[i] = b + ('a' - 'A')
		default:
			lower[i] = b
		}
	}
	_, ok := s.set.index[string(lower[:len(address)])]
	return ok
}

// Len returns how many addresses the set has, those included that a narrowed set
// does not hold.
func (s EmailSet) Len() int { return len(s.set.list) + s.missing }

// Narrowed reports whether the set holds only some of its addresses.
func (s EmailSet) Narrowed() bool { return s.missing > 0 }

// All yields the addresses that the set holds, in the order given.
func (s EmailSet) All() iter.Seq[string] { return slices.Values(s.set.list) }

// Slice returns a copy of the addresses that the set holds, in the order given.
func (s EmailSet) Slice() []string { return slices.Clone(s.set.list) }

// Equal reports whether both hold the same addresses in the same order.
func (s EmailSet) Equal(t EmailSet) bool {
	return s.missing == t.missing && slices.Equal(s.set.list, t.set.list)
}

// MarshalJSON returns the addresses as a JSON array. A narrowed set is null, "not
// told here": what looks like the whole list is the whole list.
func (s EmailSet) MarshalJSON() ([]byte, error) {
	if s.Narrowed() {
		return []byte("null"), nil
	}
	return s.set.marshal()
}

// UnmarshalJSON reads what an [EmailList] has in JSON and makes a set of it as
// [NewEmailSet] does. null is a narrowed set that holds no address.
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
	if err != nil {
		return err
	}
	*s = set
	return nil
}
