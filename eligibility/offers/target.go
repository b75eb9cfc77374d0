package offers

import (
	"iter"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// group tells what a target is the name of.
type group uint8

// These constants are the groups of targets. A line of a cart belongs to at most one item, one kind and
// one class, and to any number of categories.
const (
	everything group = iota
	ofClass
	ofKind
	ofItem     // a plan, device or accessory
	ofCategory // one of the categories of a line
	ofCustomer // an entry of an allow-list; no line belongs to it
)

// target is something that a coupon is listed under. A coupon covers a line only if the line belongs to
// a target of the coupon's scope.
type target struct {
	group group
	class pricing.Class
	kind  pricing.LineKind // also of an item
	text  string
}

// hash returns the hash of a target. Its upper 7 bits choose the bit of the target in a hashed set.
func (t *target) hash() uint64 {
	h := hashText(14695981039346656037^uint64(t.group)<<8^uint64(t.class), string(t.kind))
	return mixed(hashText(h, t.text))
}

// hashText adds a text and its end to an FNV-1a hash.
func hashText(h uint64, text string) uint64 {
	const prime = 1099511628211
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return (h ^ 0xff) * prime
}

// mixed spreads the last bytes of a hash to all bits.
func mixed(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

func hashID(id string) uint64 { return mixed(hashText(14695981039346656037, id)) }

// hashedSet is a set of targets with a bit for each hash.
type hashedSet [2]uint64

// wide is the hashed set of a coupon that is listed under everything, a class or kinds.
var wide = hashedSet{1<<64 - 1, 1<<64 - 1} // never changed

// bitOf returns the position of a hash in a hashed set.
func bitOf(hash uint64) int { return int(hash >> 57) }

func (h *hashedSet) add(hash uint64) { h[bitOf(hash)>>6] |= 1 << (bitOf(hash) & 63) }

// targetsOf yields the targets of a scope. If every covered line is one of some items, these are the
// targets, otherwise the categories, the kinds, the class or everything.
func targetsOf(s *coupon.Scope) iter.Seq[target] {
	return func(yield func(target) bool) {
		switch {
		case coversItems(s):
			_ = items(s, pricing.Plan, &s.Plans, yield) && items(s, pricing.Device, &s.Devices, yield) &&
				items(s, pricing.Accessory, &s.Accessories, yield)
		case s.Categories.Len() > 0:
			for name := range s.Categories.All() {
				if !yield(target{group: ofCategory, text: name}) {
					return
				}
			}
		case s.Kinds.Len() > 0:
			for kind := range s.Kinds.All() {
				if !yield(target{group: ofKind, kind: pricing.LineKind(kind)}) {
					return
				}
			}
		case s.AppliesTo == coupon.Subscription:
			yield(target{group: ofClass, class: pricing.SubscriptionClass})
		case s.AppliesTo == coupon.Product:
			yield(target{group: ofClass, class: pricing.ProductClass})
		default:
			yield(target{})
		}
	}
}

// items yields the selected items of a kind if the scope covers the kind.
func items(s *coupon.Scope, kind pricing.LineKind, of *coupon.Items, yield func(target) bool) bool {
	if s.Kinds.Len() > 0 && !s.Kinds.Has(kind.String()) {
		return true
	}
	for id := range of.All() {
		if !yield(target{group: ofItem, kind: kind, text: id}) {
			return false
		}
	}
	return true
}

// coversItems reports whether the scope covers only selected items.
func coversItems(s *coupon.Scope) bool {
	if s.AppliesTo == coupon.Specific {
		return true
	}
	if s.AppliesTo == coupon.All || s.Kinds.Len() == 0 {
		return false
	}
	for kind := range s.Kinds.All() {
		switch pricing.LineKind(kind) { //nolint:exhaustive // no other kind has a selection
		case pricing.Plan:
			if s.Plans.Len() == 0 {
				return false
			}
		case pricing.Device:
			if s.Devices.Len() == 0 {
				return false
			}
		case pricing.Accessory:
			if s.Accessories.Len() == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isNarrow reports whether the targets of the scope are items or categories.
func isNarrow(s *coupon.Scope) bool { return coversItems(s) || s.Categories.Len() > 0 }

// byCategory reports whether the targets of the scope are categories.
func byCategory(s *coupon.Scope) bool { return s.Categories.Len() > 0 && !coversItems(s) }

// restricted is the number of items of a wide scope that does not cover all goods.
const restricted = 2

// scopeSet returns the hashed set of the targets of a scope, and their number. The number of a wide scope is 0
// if the scope covers all goods, otherwise restricted.
func scopeSet(s *coupon.Scope) (set hashedSet, size int) {
	for t := range targetsOf(s) {
		if t.group < ofItem {
			if t.group == everything && s.ExcludedItems.Len()+s.ExcludedCategories.Len() == 0 {
				return wide, 0
			}
			return wide, restricted
		}
		set.add(t.hash())
		size++
	}
	return set, size
}

// listedUnder yields the targets under which a coupon is listed. A coupon for certain customers is listed
// under these customers, and another coupon under its scope. A coupon that customers get for points is
// listed nowhere.
func listedUnder(c *coupon.Coupon) iter.Seq[target] {
	return func(yield func(target) bool) {
		switch c.Distribution {
		case coupon.General:
			targetsOf(&c.Scope)(yield)
		case coupon.UserSpecific:
			for entry := range c.AllowedUserEmails.All() {
				if !yield(target{group: ofCustomer, text: entry}) {
					return
				}
			}
		case coupon.PointsRedeemable:
		}
	}
}

// sameTargets reports whether two coupons are listed under the same targets with the same hashed set.
func sameTargets(a, b *coupon.Coupon) bool {
	return a.Distribution == b.Distribution && a.Scope.Equal(b.Scope) && a.AllowedUserEmails.Equal(b.AllowedUserEmails)
}
