package validity

import (
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
)

// Lookup is one way to look up an address, as the customer has typed it, in an
// allow-list.
type Lookup struct {
	// Name is what results are recorded under.
	Name string
	// Prepare takes the list, whose addresses are normalised, into the form that the
	// way searches.
	Prepare func(list []string) (func(address string) bool, error)
}

// Lookups returns all of them, this repository's first.
func Lookups() []Lookup {
	return []Lookup{
		{Name: "couponkit", Prepare: emailSet},
		{Name: "map", Prepare: normalisedMap},
		{Name: "sorted", Prepare: sorted},
		{Name: "linear", Prepare: linear},
		{Name: "equal-fold", Prepare: equalFold},
	}
}

func emailSet(list []string) (func(string) bool, error) {
	set, err := coupon.NewEmailSet(list...)
	return set.Has, err
}

func normalise(address string) string { return strings.ToLower(strings.TrimSpace(address)) }

func normalisedMap(list []string) (func(string) bool, error) {
	set := make(map[string]struct{}, len(list))
	for _, address := range list {
		set[address] = struct{}{}
	}
	return func(address string) bool {
		_, found := set[normalise(address)]
		return found
	}, nil
}

func sorted(list []string) (func(string) bool, error) {
	list = slices.Sorted(slices.Values(list))
	return func(address string) bool {
		_, found := slices.BinarySearch(list, normalise(address))
		return found
	}, nil
}

func linear(list []string) (func(string) bool, error) {
	return func(address string) bool { return slices.Contains(list, normalise(address)) }, nil
}

// equalFold searches without normalising first.
func equalFold(list []string) (func(string) bool, error) {
	return func(address string) bool {
		address = strings.TrimSpace(address)
		return slices.ContainsFunc(list, func(listed string) bool { return strings.EqualFold(listed, address) })
	}, nil
}
