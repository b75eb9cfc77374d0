package coupon

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/internal/strictjson"
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
