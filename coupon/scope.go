package coupon

import (
	"encoding/json"
	"fmt"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Scope defines which lines of a cart a coupon covers (specification 2.2, contract section 3).
// A line must satisfy every part of the scope. An empty set does not restrict the lines, except
// for a [Specific] scope.
type Scope struct {
	// AppliesTo is the kind of scope.
	AppliesTo AppliesTo
	// Plans, Devices and Accessories are the selected items of each kind.
	Plans       Items
	Devices     Items
	Accessories Items
	// Kinds are the kinds of lines that the coupon covers.
	Kinds Items
	// Categories are the categories that the coupon covers. One of the line's categories is
	// enough.
	Categories Items
	// ExcludedItems are the IDs of items of any kind that the coupon does not cover.
	ExcludedItems Items
	// ExcludedCategories are the categories that the coupon does not cover. One of the line's
	// categories is enough.
	ExcludedCategories Items
}

// IsZero reports whether the scope is the zero Scope, which covers nothing.
func (s Scope) IsZero() bool { return s.Equal(Scope{}) }

// Equal reports whether s and t have the same sets in the same order.
func (s Scope) Equal(t Scope) bool {
	return s.AppliesTo == t.AppliesTo && s.Plans.Equal(t.Plans) && s.Devices.Equal(t.Devices) &&
		s.Accessories.Equal(t.Accessories) && s.Kinds.Equal(t.Kinds) && s.Categories.Equal(t.Categories) &&
		s.ExcludedItems.Equal(t.ExcludedItems) && s.ExcludedCategories.Equal(t.ExcludedCategories)
}

// faults checks a scope whose fields begin with the prefix, such as "buys.".
func (s Scope) faults(prefix string, faults *validation.Error) {
	known := s.AppliesTo.String() != ""
	if !known {
		faults.Add(prefix+"appliesTo", validation.Unknown, scopeKinds.Rule())
	}
	selected := 0
	for _, sel := range [...]struct {
		field string
		items Items
		used  bool
	}{
		{"planIds", s.Plans, s.AppliesTo == Subscription || s.AppliesTo == Specific},
		{"deviceIds", s.Devices, s.AppliesTo == Product || s.AppliesTo == Specific},
		{"accessoryIds", s.Accessories, s.AppliesTo == Product || s.AppliesTo == Specific},
	} {
		selected += sel.items.Len()
		if known && !sel.used && sel.items.Len() > 0 {
			faults.Add(prefix+sel.field, validation.NotAllowed, fmt.Sprintf("a coupon for %s takes no such selection", s.AppliesTo))
			continue
		}
		itemFaults(faults, prefix+sel.field, sel.items.list)
	}
	if s.AppliesTo == Specific && selected == 0 {
		faults.Add(prefix+"appliesTo", validation.Required, "a SPECIFIC coupon needs at least one plan, device or accessory")
	}
	s.AppliesTo.kindFaults(faults, prefix+"kinds", s.Kinds.list)
	categoryFaults(faults, prefix+"categories", s.Categories.list)
	itemFaults(faults, prefix+"excludedItemIds", s.ExcludedItems.list)
	categoryFaults(faults, prefix+"excludedCategories", s.ExcludedCategories.list)
	categoriesApart(prefix, s.Categories.list, s.ExcludedCategories.list, faults)
}

// kindFaults reports each kind that is invalid, or that the scope can never cover.
func (a AppliesTo) kindFaults(faults *validation.Error, field string, kinds []string) {
	listFaults(faults, field, kinds, func(text string) error {
		kind, err := pricing.ParseLineKind(text)
		switch {
		case err != nil:
			return err
		case kind == pricing.Shipping:
			return notCovered("shipping is never discounted")
		case a == Subscription && (kind == pricing.Device || kind == pricing.Accessory), a == Product && kind == pricing.Plan:
			return notCovered(fmt.Sprintf("a coupon for %s covers no %s", a, kind))
		}
		return nil
	})
}

func notCovered(message string) error {
	return validation.New("", validation.NotAllowed, message)
}

func categoryFaults(faults *validation.Error, field string, names []string) {
	listFaults(faults, field, names, func(name string) error {
		if err := pricing.CheckCategory(name); err != nil {
			return err
		}
		var own validation.Error
		labelFaults(&own, "", name)
		return own.Err()
	})
}

// itemFaults reports each invalid item ID by its position in the list.
func itemFaults(faults *validation.Error, field string, ids []string) {
	listFaults(faults, field, ids, func(id string) error {
		var own validation.Error
		if id == "" {
			own.Add("", validation.Required, "an ID is not empty")
		}
		textFaults(&own, "", id, MaxItemIDLength, false)
		return own.Err()
	})
}

// listFaults reports each entry that check refuses by its position in the list.
func listFaults(faults *validation.Error, field string, list []string, check func(string) error) {
	if len(list) > MaxSelectedItems {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d items can be selected", MaxSelectedItems))
		return
	}
	for i, entry := range list {
		if err := check(entry); err != nil {
			faults.Merge(fmt.Sprintf("%s[%d]", field, i), err)
		}
	}
}

// bounded returns the set of at most as many entries as a selection can have.
func bounded(list []string) Items { return NewItems(list[:min(len(list), MaxSelectedItems)]...) }

// ScopeDraft describes a [Scope] with lists, as JSON does.
type ScopeDraft struct {
	// AppliesTo is the kind of scope. A zero AppliesTo means [All].
	AppliesTo AppliesTo `json:"appliesTo,omitzero"`
	// PlanIDs, DeviceIDs and AccessoryIDs restrict the scope to selected items.
	PlanIDs      []string `json:"planIds,omitempty"`
	DeviceIDs    []string `json:"deviceIds,omitempty"`
	AccessoryIDs []string `json:"accessoryIds,omitempty"`
	// Kinds and Categories restrict the scope to lines of the given kinds and categories.
	Kinds      []string `json:"kinds,omitempty"`
	Categories []string `json:"categories,omitempty"`
	// ExcludedItemIDs and ExcludedCategories take items and categories out of the scope.
	ExcludedItemIDs    []string `json:"excludedItemIds,omitempty"`
	ExcludedCategories []string `json:"excludedCategories,omitempty"`
}

// scopeDraft returns the scope of the draft.
func (d Draft) scopeDraft() ScopeDraft {
	return ScopeDraft{
		AppliesTo: d.AppliesTo, PlanIDs: d.PlanIDs, DeviceIDs: d.DeviceIDs, AccessoryIDs: d.AccessoryIDs,
		Kinds: d.Kinds, Categories: d.Categories,
		ExcludedItemIDs: d.ExcludedItemIDs, ExcludedCategories: d.ExcludedCategories,
	}
}

// scope returns the scope that the lists describe. It reports invalid entries, whose paths
// begin with the prefix, by their positions in the lists, which may have duplicates. The rules of the
// scope as a whole are those of Scope.faults.
func (d ScopeDraft) scope(prefix string, faults *validation.Error) Scope {
	s := d.sets()
	s.AppliesTo = orDefault(d.AppliesTo, All)
	itemFaults(faults, prefix+"planIds", d.PlanIDs)
	itemFaults(faults, prefix+"deviceIds", d.DeviceIDs)
	itemFaults(faults, prefix+"accessoryIds", d.AccessoryIDs)
	itemFaults(faults, prefix+"excludedItemIds", d.ExcludedItemIDs)
	s.AppliesTo.kindFaults(faults, prefix+"kinds", d.Kinds)
	categoryFaults(faults, prefix+"categories", d.Categories)
	categoryFaults(faults, prefix+"excludedCategories", d.ExcludedCategories)
	categoriesApart(prefix, d.Categories, d.ExcludedCategories, faults)
	return s
}

// sets returns the scope that the lists describe, without checking their entries.
func (d ScopeDraft) sets() Scope {
	return Scope{
		AppliesTo: d.AppliesTo, Plans: bounded(d.PlanIDs), Devices: bounded(d.DeviceIDs), Accessories: bounded(d.AccessoryIDs),
		Kinds: bounded(d.Kinds), Categories: bounded(d.Categories),
		ExcludedItems: bounded(d.ExcludedItemIDs), ExcludedCategories: bounded(d.ExcludedCategories),
	}
}

// UnmarshalJSON reads a scope from a JSON object with the field names of contract section 7.
// If a field is unknown or malformed, UnmarshalJSON returns a [*validation.Error] that
// lists all such fields, and leaves *d unchanged.
func (d *ScopeDraft) UnmarshalJSON(data []byte) error {
	var read ScopeDraft
	if err := scopeReader.Object(data, &read); err != nil {
		return err
	}
	*d = read
	return nil
}

var scopeReader = strictjson.For[ScopeDraft]()

// Draft returns a draft of the scope.
func (s Scope) Draft() ScopeDraft {
	return ScopeDraft{
		AppliesTo: s.AppliesTo, PlanIDs: s.Plans.Slice(), DeviceIDs: s.Devices.Slice(), AccessoryIDs: s.Accessories.Slice(),
		Kinds: s.Kinds.Slice(), Categories: s.Categories.Slice(),
		ExcludedItemIDs: s.ExcludedItems.Slice(), ExcludedCategories: s.ExcludedCategories.Slice(),
	}
}

// MarshalJSON returns the scope as a JSON object with the field names of contract section 7.
// Empty sets are omitted.
func (s Scope) MarshalJSON() ([]byte, error) { return json.Marshal(s.Draft()) }

// UnmarshalJSON reads the JSON that [Scope.MarshalJSON] returns. If a field is invalid,
// UnmarshalJSON returns a [*validation.Error] that lists all such fields, and leaves *s
// unchanged.
func (s *Scope) UnmarshalJSON(data []byte) error {
	var draft ScopeDraft
	if err := draft.UnmarshalJSON(data); err != nil {
		return err
	}
	var faults validation.Error
	read := draft.scope("", &faults)
	if len(faults.Fields) == 0 {
		read.faults("", &faults)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*s = read
	return nil
}

// scopeOf returns the scope of a draft, or the zero Scope if there is no draft. It reports invalid
// entries of lists, whose paths begin with the prefix.
func scopeOf(d *ScopeDraft, prefix string, faults *validation.Error) Scope {
	if d == nil {
		return Scope{}
	}
	return d.scope(prefix, faults)
}
