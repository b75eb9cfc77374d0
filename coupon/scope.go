package coupon

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Scope defines which lines of a cart a coupon covers (specification 2.2, contract section 3). A line must satisfy
// every part of the scope. An empty set does not restrict the lines, except for a [Specific] scope.
type Scope struct {
	AppliesTo AppliesTo
	// Plans, Devices and Accessories are the selected items of each kind.
	Plans       Items
	Devices     Items
	Accessories Items
	// Kinds and Categories are those that the coupon covers. One of the line's categories is enough.
	Kinds      Items
	Categories Items
	// ExcludedItems and ExcludedCategories are not covered. One of the line's categories is enough.
	ExcludedItems      Items
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

// faults checks a scope. The prefix, such as "buys.", begins the names of its fields.
func (s *Scope) faults(prefix string, faults *validation.Error) {
	known := s.AppliesTo.String() != ""
	if !known {
		faults.Add(prefix+"appliesTo", validation.Unknown, scopeKinds.Rule())
	}
	selected := 0
	for i := range selectedLists {
		n := scopeLists[i].set(s).Len()
		if selected += n; n > 0 && !s.AppliesTo.selects(i) {
			faults.Add(prefix+scopeLists[i].field, validation.NotAllowed, fmt.Sprintf("a coupon for %s takes no such selection; a SPECIFIC coupon does", s.AppliesTo))
		}
	}
	if s.AppliesTo == Specific && selected == 0 {
		faults.Add(prefix+"appliesTo", validation.Required, "a SPECIFIC coupon needs at least one plan, device or accessory")
	}
	for i := range scopeLists {
		if s.AppliesTo.selects(i) {
			scopeLists[i].faults(s.AppliesTo, prefix, scopeLists[i].set(s).entries(), faults)
		}
	}
	categoriesApart(prefix, s.Categories.entries(), s.ExcludedCategories.entries(), faults)
}

// selects reports whether a scope may have entries in one of scopeLists. An unknown kind may have all.
func (a AppliesTo) selects(list int) bool {
	switch a {
	case All:
		return list >= selectedLists
	case Subscription:
		return list == 0 || list >= selectedLists
	case Product:
		return list > 0
	case Specific:
	}
	return true
}

// kindFault checks that a kind is valid and that the scope can cover it.
func (a AppliesTo) kindFault(text string) error {
	kind, err := pricing.ParseLineKind(text)
	switch {
	case err != nil:
		return err
	case kind == pricing.Shipping:
		return fieldFault(validation.NotAllowed, "shipping is never discounted")
	case a == Subscription && (kind == pricing.Device || kind == pricing.Accessory), a == Product && kind == pricing.Plan:
		return fieldFault(validation.NotAllowed, fmt.Sprintf("a coupon for %s covers no %s", a, kind))
	}
	return nil
}

func categoryFault(_ AppliesTo, name string) error {
	if err := pricing.CheckCategory(name); err != nil {
		return err
	}
	return named(name, "")
}

func itemFault(_ AppliesTo, id string) error {
	var faults validation.Error
	if id == "" {
		faults.Add("", validation.Required, "an ID is not empty")
	}
	textFaults(&faults, "", id, MaxItemIDLength, false)
	return faults.Err()
}

// scopeList is a list of a scope, with its JSON name.
type scopeList struct {
	field string
	set   func(*Scope) *Items
	draft func(*ScopeDraft) *[]string
	check func(a AppliesTo, entry string) error
}

// selectedLists is the number of lists of selected items. They come first. The JSON of terms has them even if they
// are empty.
const selectedLists = 3

// scopeLists are all lists of a scope.
var scopeLists = [...]scopeList{
	{"planIds", func(s *Scope) *Items { return &s.Plans }, func(d *ScopeDraft) *[]string { return &d.PlanIDs }, itemFault},
	{"deviceIds", func(s *Scope) *Items { return &s.Devices }, func(d *ScopeDraft) *[]string { return &d.DeviceIDs }, itemFault},
	{"accessoryIds", func(s *Scope) *Items { return &s.Accessories }, func(d *ScopeDraft) *[]string { return &d.AccessoryIDs }, itemFault},
	{"kinds", func(s *Scope) *Items { return &s.Kinds }, func(d *ScopeDraft) *[]string { return &d.Kinds }, AppliesTo.kindFault},
	{"categories", func(s *Scope) *Items { return &s.Categories }, func(d *ScopeDraft) *[]string { return &d.Categories }, categoryFault},
	{
		"excludedItemIds", func(s *Scope) *Items { return &s.ExcludedItems },
		func(d *ScopeDraft) *[]string { return &d.ExcludedItemIDs }, itemFault,
	},
	{
		"excludedCategories", func(s *Scope) *Items { return &s.ExcludedCategories },
		func(d *ScopeDraft) *[]string { return &d.ExcludedCategories }, categoryFault,
	},
}

// selectionFaults checks each list of a scope. The prefix begins the names of the scope's fields.
func (d *ScopeDraft) selectionFaults(prefix string, faults *validation.Error) {
	for i := range scopeLists {
		scopeLists[i].faults(d.AppliesTo, prefix, *scopeLists[i].draft(d), faults)
	}
	categoriesApart(prefix, d.Categories, d.ExcludedCategories, faults)
}

// faults checks the entries of a list.
func (l *scopeList) faults(of AppliesTo, prefix string, entries []string, faults *validation.Error) {
	if len(entries) > 0 {
		listFaults(faults, prefix+l.field, MaxSelectedItems, "items can be selected", entries, func(_ int, entry string) error { return l.check(of, entry) })
	}
}

// listFaults reports a list of more than most entries. It also reports each entry that check refuses,
// with its position.
func listFaults(faults *validation.Error, field string, most int, of string, list []string, check func(i int, entry string) error) {
	if len(list) > most {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d %s", most, of))
		return
	}
	for i, entry := range list {
		if err := check(i, entry); err != nil {
			faults.Merge(fmt.Sprintf("%s[%d]", field, i), err)
		}
	}
}

// ScopeDraft describes a [Scope] with lists, as JSON does. A zero AppliesTo means [All].
type ScopeDraft struct {
	AppliesTo          AppliesTo `json:"appliesTo,omitzero"`
	PlanIDs            []string  `json:"planIds,omitempty"`
	DeviceIDs          []string  `json:"deviceIds,omitempty"`
	AccessoryIDs       []string  `json:"accessoryIds,omitempty"`
	Kinds              []string  `json:"kinds,omitempty"`
	Categories         []string  `json:"categories,omitempty"`
	ExcludedItemIDs    []string  `json:"excludedItemIds,omitempty"`
	ExcludedCategories []string  `json:"excludedCategories,omitempty"`
}

// scopeDraft returns the scope of the draft.
func (d Draft) scopeDraft() ScopeDraft {
	return ScopeDraft{
		AppliesTo: d.AppliesTo, PlanIDs: d.PlanIDs, DeviceIDs: d.DeviceIDs, AccessoryIDs: d.AccessoryIDs,
		Kinds: d.Kinds, Categories: d.Categories,
		ExcludedItemIDs: d.ExcludedItemIDs, ExcludedCategories: d.ExcludedCategories,
	}
}

// scope returns the scope that the lists describe. A nil draft returns the zero scope. It reports
// invalid entries by their positions in the lists, which may have duplicates. Scope.faults checks the
// scope as a whole.
func (d *ScopeDraft) scope(prefix string, faults *validation.Error) Scope {
	if d == nil {
		return Scope{}
	}
	of := *d
	of.AppliesTo = cmp.Or(of.AppliesTo, All)
	of.selectionFaults(prefix, faults)
	return of.sets()
}

// sets returns the scope that the lists describe, without checking their entries. It drops entries
// beyond the maximum.
func (d *ScopeDraft) sets() Scope {
	set := func(entries []string) Items { return NewItems(entries[:min(len(entries), MaxSelectedItems)]...) }
	return Scope{
		AppliesTo: d.AppliesTo, Plans: set(d.PlanIDs), Devices: set(d.DeviceIDs), Accessories: set(d.AccessoryIDs),
		Kinds: set(d.Kinds), Categories: set(d.Categories),
		ExcludedItems: set(d.ExcludedItemIDs), ExcludedCategories: set(d.ExcludedCategories),
	}
}

var scopeReader = strictjson.For[ScopeDraft]()

// Draft returns a draft of the scope.
func (s Scope) Draft() ScopeDraft {
	d := ScopeDraft{AppliesTo: s.AppliesTo}
	for _, list := range scopeLists {
		*list.draft(&d) = list.set(&s).Slice()
	}
	return d
}

// MarshalJSON returns the scope as a JSON object with the field names of contract section 7. Empty sets are omitted.
func (s Scope) MarshalJSON() ([]byte, error) { return json.Marshal(s.Draft()) }

// UnmarshalJSON reads the JSON that [Scope.MarshalJSON] returns. The error is a [*validation.Error] that lists all
// invalid fields, and *s stays unchanged.
func (s *Scope) UnmarshalJSON(data []byte) error {
	var draft ScopeDraft
	if err := scopeReader.Object(data, &draft); err != nil {
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
