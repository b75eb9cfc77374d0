package coupon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contradictions returns a [*validation.Error] if no cart meets the terms of the coupon. The
// error names the smallest set of fields that contradict each other. The message of each field names
// the other fields. Contradictions also refuses these mistakes:
//
//   - A fixed amount, or the amount of a tier, is above the maximum of the discount.
//   - Such an amount, or the maximum of the discount, is above the budget in its currency.
//
// The coupon must be valid; see [Coupon.Validate], which refuses tags that no customer can have. [New]
// and [Coupon.Apply] refuse contradictions. Contradictions does not compare instants. New also refuses
// terms that no instant after the creation meets.
func (c Coupon) Contradictions() error {
	var faults validation.Error
	c.Scope.contradictions("", &faults)
	if !c.Buys.IsZero() {
		c.Buys.contradictions("buys.", &faults)
	}
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

// contradictions reports a scope that covers no line. The names of its fields begin with the prefix.
func (s Scope) contradictions(prefix string, faults *validation.Error) {
	if _, found := s.Example(); found {
		return
	}
	selects, kinds, excluded := s.selections(prefix), prefix+"kinds", prefix+"excludedItemIds"
	everyKind, everyItem := s, s
	everyKind.Kinds, everyItem.ExcludedItems = Items{}, Items{}
	if _, found := everyItem.Example(); !found {
		contradict(faults, "no selected item is of these kinds", append(selects, kinds)...)
		return
	}
	if _, found := everyKind.Example(); found {
		selects = append(selects, kinds)
	}
	contradict(faults, "every selected item is excluded", append(selects, excluded)...)
}

// selections returns the names of the selections whose kind the scope covers. If it covers none of
// these kinds, it returns all selections.
func (s *Scope) selections(prefix string) (fields []string) {
	for _, all := range [...]bool{false, true} {
		for _, selection := range [...]struct {
			field string
			kind  pricing.LineKind
			items Items
		}{
			{"planIds", pricing.Plan, s.Plans}, {"deviceIds", pricing.Device, s.Devices}, {"accessoryIds", pricing.Accessory, s.Accessories},
		} {
			if ofKind := s.Kinds.Len() == 0 || s.Kinds.Has(selection.kind.String()); selection.items.Len() > 0 && (all || ofKind) {
				fields = append(fields, prefix+selection.field)
			}
		}
		if len(fields) > 0 {
			break
		}
	}
	return fields
}

// categoriesApart reports categories that the scope both covers and excludes.
func (s Scope) categoriesApart(prefix string, faults *validation.Error) {
	position := make(map[string]int, s.ExcludedCategories.Len())
	for i, name := range s.ExcludedCategories.set.list {
		position[name] = i
	}
	for i, name := range s.Categories.set.list {
		if excluded, both := position[name]; both {
			contradict(faults, "a category is covered or excluded, not both",
				fmt.Sprintf("%scategories[%d]", prefix, i), fmt.Sprintf("%sexcludedCategories[%d]", prefix, excluded))
		}
	}
}

// contradictions reports tags that no customer can have. Lists that are too long have a fault of their
// own.
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

// noInstant reports a schedule that allows no instant of the validity after the creation.
func (c Coupon) noInstant() error {
	var faults validation.Error
	schedule := &c.Conditions.Schedule
	switch {
	case c.ExpiresAt.IsZero():
	case !schedule.opens(c.CreatedAt, c.ExpiresAt):
		contradict(&faults, "the coupon expires before the schedule begins", "schedule.hours", "expiresAt")
	case !schedule.opens(c.StartsAt, c.ExpiresAt):
		contradict(&faults, "the schedule allows no instant of the validity", "schedule.hours", "startsAt", "expiresAt")
	}
	return faults.Err()
}

// opens reports whether the schedule allows an instant from an instant, inclusive, until another one,
// exclusive.
func (s *Schedule) opens(from, until time.Time) bool {
	for from.Before(until) {
		next, found := s.Next(from)
		if found {
			return next.Before(until)
		}
		from = from.Add(scheduleHorizon)
	}
	return false
}
