package coupon

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contradictions returns a [*validation.Error] if no cart meets the terms of the coupon. The error names the smallest
// set of fields that contradict each other. The message of each field names the other fields. Contradictions also
// refuses these mistakes:
//
//   - A fixed amount, or the amount of a tier, is above the maximum of the discount.
//   - Such an amount, or the maximum of the discount, is above the budget in its currency.
//
// Contradictions misses one kind: the required units cost an amount, and of a BUY_X_GET_Y discount, they are discounted
// and never bought.
//
// The coupon must be valid; see [Coupon.Validate], which refuses tags that no customer can have. [New] and
// [Coupon.Apply] refuse contradictions. Contradictions does not compare instants. New also refuses terms that no
// instant after the creation meets.
func (c Coupon) Contradictions() error {
	var faults validation.Error
	c.Scope.contradictions("", &faults)
	if !c.Buys.IsZero() {
		c.Buys.contradictions("buys.", &faults)
	}
	c.Conditions.Contains.contradictions(&faults)
	c.excludedContents(&faults)
	if !c.mistakenAmounts(&faults) {
		c.impossiblePurchase(&faults)
	}
	return faults.Err()
}

// contradict adds a fault to each of the fields.
func contradict(faults *validation.Error, reason string, fields ...string) {
	for i, field := range fields {
		message := reason
		if others := slices.Concat(fields[:i], fields[i+1:]); len(others) > 0 {
			message = "contradicts " + strings.Join(others, " and ") + ": " + reason
		}
		faults.Add(field, validation.Mismatch, message)
	}
}

// contradictions reports a scope that covers no line. The prefix begins the names of the scope's
// fields.
func (s Scope) contradictions(prefix string, faults *validation.Error) {
	fields := contradicting(s, s.terms(prefix), func(s *Scope) bool {
		_, found := s.Example()
		return found
	})
	reason := "no selected item is of these kinds"
	if slices.Contains(fields, prefix+"excludedItemIds") {
		reason = "every selected item is excluded"
	}
	contradict(faults, reason, fields...)
}

// contradictions reports contents that no cart can have.
func (c Contents) contradictions(faults *validation.Error) {
	if !c.IsZero() {
		c.Scope.contradictions("contains.", faults)
	}
}

// excludedContents reports a coupon that needs items in the cart and also forbids them.
func (c *Coupon) excludedContents(faults *validation.Error) {
	excluded := c.Conditions.ContainsNot
	if excluded.IsZero() {
		return
	}
	allExcluded := func(s Scope) bool {
		_, exists := s.Example()
		_, remains := s.Example(excluded)
		return exists && !remains
	}
	if allExcluded(c.Scope) {
		contradict(faults, "every line that the coupon covers is excluded", append(c.Scope.within(excluded), "containsNot")...)
	}
	if allExcluded(c.Buys) {
		contradict(faults, "everything that can be bought is excluded", "buys", "containsNot")
	}
	if allExcluded(c.Conditions.Contains.Scope) {
		contradict(faults, "everything that is required is excluded", "contains", "containsNot")
	}
}

// within returns the smallest set of fields that keep the scope inside another scope. It returns nil if
// the scope covers more than the other.
func (s Scope) within(other Scope) (fields []string) {
	return contradicting(s, s.terms(""), func(s *Scope) bool {
		_, found := s.Example(other)
		return found
	})
}

// terms returns the given parts of the scope. The prefix begins the names of their fields.
func (s Scope) terms(prefix string) (all []term[Scope]) {
	add := func(given bool, relax func(*Scope), fields ...string) {
		if given {
			all = append(all, term[Scope]{fields, relax})
		}
	}
	everyItem := func(s *Scope) { s.Plans, s.Devices, s.Accessories = Items{}, Items{}, Items{} }
	everything := func(s *Scope) {
		s.AppliesTo = All
		everyItem(s)
	}
	selected := s.selections(prefix)
	if s.AppliesTo == Specific {
		add(true, everything, selected...)
	} else {
		add(len(selected) > 0, everyItem, selected...)
		add(s.AppliesTo != All, func(s *Scope) {
			if s.Plans.Len()+s.Devices.Len()+s.Accessories.Len() == 0 {
				s.AppliesTo = All
			}
		}, prefix+"appliesTo")
	}
	for _, list := range scopeLists[3:] {
		add(list.set(&s).Len() > 0, func(s *Scope) { *list.set(s) = Items{} }, prefix+list.field)
	}
	return all
}

// term is a part of a whole. It has the names of its fields, and a function that removes the part from
// the whole.
type term[T any] struct {
	fields []string
	relax  func(*T)
}

// contradicting returns the fields of the smallest set of terms that makes the whole impossible. It
// returns nil if the whole is possible.
func contradicting[T any](whole T, terms []term[T], possible func(*T) bool) (fields []string) {
	if possible(&whole) {
		return nil
	}
	best := uint(1)<<len(terms) - 1
	for set := range best {
		relaxed := whole
		for i, term := range terms {
			if set&(1<<i) == 0 {
				term.relax(&relaxed)
			}
		}
		if bits.OnesCount(set) < bits.OnesCount(best) && !possible(&relaxed) {
			best = set
		}
	}
	for i, term := range terms {
		if best&(1<<i) != 0 {
			fields = append(fields, term.fields...)
		}
	}
	return fields
}

// selections returns the names of the selections for the kinds that the scope covers. It returns the
// names of all selections if the scope covers none of these kinds.
func (s *Scope) selections(prefix string) (fields []string) {
	for _, all := range [...]bool{false, true} {
		for i, kind := range [...]pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory} {
			if ofKind := s.Kinds.Len() == 0 || s.Kinds.Has(kind.String()); s.selection(kind).Len() > 0 && (all || ofKind) {
				fields = append(fields, prefix+scopeLists[i].field)
			}
		}
		if len(fields) > 0 {
			break
		}
	}
	return fields
}

// categoriesApart reports names that are in both lists, each at its first position.
func categoriesApart(prefix string, covered, excluded []string, faults *validation.Error) {
	if max(len(covered), len(excluded)) > MaxSelectedItems {
		return // the length is a separate fault
	}
	position := make(map[string]int, len(excluded))
	for i, name := range slices.Backward(excluded) {
		position[name] = i
	}
	delete(position, "") // ignore empty names
	for i, name := range covered {
		if at, both := position[name]; both {
			contradict(faults, "a category is covered or excluded, not both",
				fmt.Sprintf("%scategories[%d]", prefix, i), fmt.Sprintf("%sexcludedCategories[%d]", prefix, at))
			delete(position, name)
		}
	}
}

// contradictions reports conditions on tags that no customer can meet. Lists that are too long have
// another fault.
func (t CustomerTags) contradictions(faults *validation.Error) {
	if max(len(t.Any), len(t.All), len(t.None)) > MaxTags {
		return
	}
	for i, tag := range t.None {
		if required := slices.Index(t.All, tag); required >= 0 {
			contradict(faults, "nobody has a tag and lacks it", fmt.Sprintf("customerTags.all[%d]", required), fmt.Sprintf("customerTags.none[%d]", i))
		}
	}
	allowed := func(tag string) bool { return !slices.Contains(t.None, tag) }
	if len(t.Any) > 0 && !slices.ContainsFunc(t.Any, allowed) {
		contradict(faults, "all these tags are excluded", "customerTags.any", "customerTags.none")
	}
}

// noInstant reports a schedule without an open instant between creation and expiry.
func (c Coupon) noInstant() error {
	var faults validation.Error
	schedule := &c.Conditions.Schedule
	switch {
	case c.ExpiresAt.IsZero():
	case !schedule.Opens(c.CreatedAt, c.ExpiresAt):
		contradict(&faults, "the coupon expires before the schedule begins", "schedule.hours", "expiresAt")
	case !schedule.Opens(c.StartsAt, c.ExpiresAt):
		contradict(&faults, "the schedule allows no instant of the validity", "schedule.hours", "startsAt", "expiresAt")
	}
	return faults.Err()
}
