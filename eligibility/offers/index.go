package offers

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// These constants are inclusive upper bounds for an [Index].
const (
	// MaxCoupons is the maximum number of coupons of an index. A coupon counts once for each currency of
	// its amounts.
	MaxCoupons = 1 << 24
	// DefaultMaxEntries is the value of [Limits].MaxEntries if it is 0.
	DefaultMaxEntries = 200_000_000
)

// Limits restricts the memory of an [Index]. The zero Limits are the defaults.
type Limits struct {
	// MaxEntries is the maximum number of entries. A coupon has an entry for each target and currency,
	// and a further entry for each minimum. A target is an item, category, kind or class of its scope,
	// or an entry of its allow-list. An entry takes about 20 bytes.
	MaxEntries int
}

// Check returns the [*validation.Error] of [Index.With] if an index with so many coupons and entries exceeds the limits.
func (l Limits) Check(coupons, entries int) error {
	most := cmp.Or(l.MaxEntries, DefaultMaxEntries)
	switch {
	case coupons > MaxCoupons:
		return validation.New("coupons", validation.TooLong, fmt.Sprintf("an index has at most %d coupons", MaxCoupons))
	case entries > most:
		return validation.New("coupons", validation.TooLong, fmt.Sprintf("the index has at most %d entries", most))
	}
	return nil
}

// Index is an immutable set of coupons in memory, which [Search] searches. [Index.With] and
// [Index.Without] return a changed copy. The copy shares nearly all memory with the original. The zero
// Index and the nil *Index are empty.
//
// A reader sees the coupons of its Index, and no later change. A host that changes coupons while others
// search keeps the current Index in an atomic pointer. One goroutine at a time stores the next Index, and
// readers load the pointer without a lock.
type Index struct {
	limits  Limits
	shelves []shelf // sorted by currency
	edit    *edit   // that made the index
}

// New returns an index of the active coupons of a sequence. Of several coupons with the same ID, the last
// one counts. The index keeps the pointers, and nobody may change the coupons afterwards. New returns the
// errors of [Index.With].
func New(coupons iter.Seq[*coupon.Coupon], limits Limits) (*Index, error) {
	b := builder{limits: limits}
	if coupons == nil {
		coupons = func(func(*coupon.Coupon) bool) {}
	}
	for c := range coupons {
		if err := b.add(c); err != nil {
			return nil, err
		}
	}
	return b.build()
}

// Len returns the number of coupons in the index.
func (x *Index) Len() int {
	if x == nil {
		return 0
	}
	n := 0
	for i := range x.shelves {
		n += x.shelves[i].byID.live
	}
	return n
}

// Get returns the coupon with an ID. It returns nil if the index does not have the coupon.
func (x *Index) Get(id string) *coupon.Coupon {
	if x == nil {
		return nil
	}
	for i := range x.shelves {
		if _, slot, ok := x.shelves[i].find(id); ok {
			return x.shelves[i].coupons.at(slot).Coupon
		}
	}
	return nil
}

// With returns the index with further coupons. A coupon replaces the coupon with the same ID. A coupon
// that is not [coupon.Active] is taken out. The index keeps the pointers, and nobody may change the
// coupons afterwards. The coupons must be valid; see [coupon.Coupon.Validate].
//
// With returns a [*validation.Error] in these cases:
//
//   - A coupon is nil, or its ID does not have the form of a coupon ID.
//   - A coupon has a narrowed allow-list; see [coupon.EmailSet].
//   - The index would have more than [MaxCoupons] coupons, or more entries than its [Limits] allow.
func (x *Index) With(coupons ...*coupon.Coupon) (*Index, error) {
	next := x.clone()
	for i, c := range coupons {
		if err := check(c); err != nil {
			var faults validation.Error
			faults.Merge(fmt.Sprintf("coupons[%d]", i), err)
			return nil, faults.Err()
		}
		next.set(c)
	}
	if err := next.check(); err != nil {
		return nil, err
	}
	return next, nil
}

// Without returns the index without the coupons of some IDs. Unknown IDs are ignored.
func (x *Index) Without(ids ...string) *Index {
	next := x.clone()
	for _, id := range ids {
		for i := range next.shelves {
			next.shelves[i].remove(id)
		}
	}
	return next
}

func (x *Index) clone() *Index {
	if x == nil {
		x = new(Index)
	}
	next := *x
	next.shelves, next.edit = slices.Clone(x.shelves), new(edit)
	for i := range next.shelves {
		next.shelves[i].edit = next.edit
	}
	return &next
}

// set adds or replaces a coupon in the shelves of its currencies. It removes the coupon from other
// shelves.
func (x *Index) set(c *coupon.Coupon) {
	in := currenciesOf(c)
	for i := range x.shelves {
		if s := &x.shelves[i]; !slices.Contains(in, s.currency) {
			s.remove(c.ID)
		}
	}
	for _, currency := range in {
		at, found := slices.BinarySearchFunc(x.shelves, currency, compareCurrency)
		if !found {
			x.shelves = slices.Insert(x.shelves, at, shelf{currency: currency, edit: x.edit})
		}
		x.shelves[at].set(c)
	}
}

func compareCurrency(s shelf, c pricing.Currency) int {
	return cmp.Compare(s.currency.Code(), c.Code())
}

// check reports whether the index is within its limits.
func (x *Index) check() error {
	coupons, entries := 0, 0
	for i := range x.shelves {
		coupons += x.shelves[i].byID.live
		entries += x.shelves[i].entries
	}
	return x.limits.Check(coupons, entries)
}

// check reports whether an index can hold the coupon.
func check(c *coupon.Coupon) error {
	switch {
	case c == nil:
		return validation.New("", validation.Required, "a coupon is required")
	case !coupon.IsID(c.ID):
		return validation.New("id", validation.Malformed, "must be the ID of a coupon")
	case c.Distribution == coupon.UserSpecific && c.AllowedUserEmails.Narrowed():
		return validation.New("allowedUserEmails", validation.NotAllowed, "an index needs the whole allow-list")
	}
	return nil
}

// currenciesOf returns the currencies of an active coupon. The zero currency stands for all.
func currenciesOf(c *coupon.Coupon) []pricing.Currency {
	switch {
	case c.State != coupon.Active:
		return nil
	case c.Accepts(pricing.Currency{}):
		return []pricing.Currency{{}}
	}
	var in []pricing.Currency
	add := func(currency pricing.Currency) {
		if c.Accepts(currency) && !slices.Contains(in, currency) {
			in = append(in, currency)
		}
	}
	for _, currency := range c.Discount.Currencies() {
		add(currency)
	}
	for _, amounts := range [...]coupon.MoneySet{
		c.Conditions.MinPurchase, c.Conditions.MaxPurchase, c.Conditions.Contains.MinPurchase, c.Limits.Budget,
	} {
		for m := range amounts.All() {
			add(m.Currency())
		}
	}
	return in
}
