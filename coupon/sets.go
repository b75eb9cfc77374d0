package coupon

import (
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/internal/appendjson"
	"github.com/couponkit/couponkit/internal/strictjson"
)

// Items is an immutable set of texts, such as IDs of plans, that keeps the order in which they were given. The
// time of a look-up does not depend on the size. The zero Items is the empty set.
type Items struct{ set *itemSet }

// itemSet is a set with at least one entry. A small set has no index.
type itemSet struct {
	list  []string
	index map[string]struct{}
}

// fewItems is the largest size for which a linear search is faster than hashing.
const fewItems = 8

// NewItems returns the set of the given IDs. Duplicate IDs are ignored.
func NewItems(ids ...string) Items {
	if len(ids) == 0 {
		return Items{}
	}
	s := &itemSet{list: make([]string, 0, len(ids))}
	if len(ids) > fewItems {
		s.index = make(map[string]struct{}, len(ids))
	}
	for _, id := range ids {
		if (Items{s}).Has(id) {
			continue
		}
		s.list = append(s.list, id)
		if s.index != nil {
			s.index[id] = struct{}{}
		}
	}
	return Items{s}
}

func (s *itemSet) has(id []byte) bool {
	if s.index == nil {
		return slices.ContainsFunc(s.list, func(entry string) bool { return entry == string(id) })
	}
	_, found := s.index[string(id)]
	return found
}

// GoString formats the set for the messages of failed tests.
func (s Items) GoString() string { return fmt.Sprintf("coupon.Items(%q)", s.entries()) }

// entries returns the IDs. The caller must not modify them.
func (s Items) entries() []string {
	if s.set == nil {
		return nil
	}
	return s.set.list
}

// Has reports whether the set contains the given ID.
func (s Items) Has(id string) bool {
	if s.set == nil || s.set.index == nil {
		return slices.Contains(s.entries(), id)
	}
	_, ok := s.set.index[id]
	return ok
}

// Len returns the number of IDs in the set.
func (s Items) Len() int { return len(s.entries()) }

// All yields the IDs of the set in the order in which they were added.
func (s Items) All() iter.Seq[string] { return slices.Values(s.entries()) }

// Slice returns a copy of the IDs in the order in which they were added to the set.
func (s Items) Slice() []string { return slices.Clone(s.entries()) }

// Equal reports whether s and t contain the same IDs in the same order.
func (s Items) Equal(t Items) bool { return s.set == t.set || slices.Equal(s.entries(), t.entries()) }

// MarshalJSON returns the IDs of the set as a JSON array.
func (s Items) MarshalJSON() ([]byte, error) { return s.append(nil), nil }

func (s Items) append(dst []byte) []byte {
	dst = append(dst, '[')
	for _, id := range s.entries() {
		dst = appendjson.Text(appendjson.Next(dst), id)
	}
	return append(dst, ']')
}

// UnmarshalJSON reads a JSON array of IDs. JSON null sets *s to the empty set. The error is a [*validation.Error] that
// names every entry that is not a string by its index.
func (s *Items) UnmarshalJSON(data []byte) error {
	var ids []string
	err := strictjson.Value(data, &ids)
	if err == nil {
		*s = NewItems(ids...)
	}
	return err
}
