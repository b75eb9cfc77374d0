package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// selectionFields are the lists of items that a coupon has, in the order in which this
// package passes them.
var selectionFields = [...]struct {
	field string
	kind  pricing.LineKind
}{{"planIds", pricing.Plan}, {"deviceIds", pricing.Device}, {"accessoryIds", pricing.Accessory}}

// strays are the entries of a coupon's lists that name nothing of their kind in the
// catalogue.
type strays struct {
	faults      pricing.ValidationError
	list, entry int // of the first
}

// catalogFaults finds the strays. couponkit takes any ID; a coupon for an item that is not
// for sale would refuse everybody.
func (a *API) catalogFaults(lists ...[]string) (found strays) {
	for list, ids := range lists {
		selection := selectionFields[list]
		for i, id := range ids[:min(len(ids), coupon.MaxSelectedItems)] {
			if _, known := a.Catalog.Find(selection.kind, id); known || id == "" { // which the library refuses
				continue
			}
			if len(found.faults.Fields) == 0 {
				found.list, found.entry = list, i
			}
			found.faults.Add(fmt.Sprintf("%s[%d]", selection.field, i), pricing.FieldUnknown, a.whyStray(selection.kind, id))
		}
	}
	return found
}

func (a *API) whyStray(kind pricing.LineKind, id string) string {
	for _, other := range selectionFields {
		if _, known := a.Catalog.Find(other.kind, id); known {
			return fmt.Sprintf("the catalogue has no %s of this ID; its kind is %s", kind, other.kind)
		}
	}
	return fmt.Sprintf("the catalogue has no %s of this ID", kind)
}

// spoil empties the first stray in the lists, so that the library names every other fault
// and stores nothing.
func (s strays) spoil(lists ...[]string) {
	if len(s.faults.Fields) > 0 {
		lists[s.list][s.entry] = ""
	}
}

// beside is what the library refuses together with the strays. Of an entry that both
// refuse, the library's fault is told, but for the one that spoil has made.
func (s strays) beside(err error) error {
	var refused *pricing.ValidationError
	if len(s.faults.Fields) == 0 || !errors.As(err, &refused) || slices.ContainsFunc(refused.Fields, func(f pricing.FieldError) bool { return f.Field == "" }) {
		return err
	}
	rules, told := *refused, map[string]bool{}
	rules.Fields = slices.DeleteFunc(slices.Clone(refused.Fields), func(f pricing.FieldError) bool { return f.Field == s.faults.Fields[0].Field })
	for _, f := range rules.Fields {
		told[f.Field] = true
	}
	news := s.faults
	news.Fields = slices.DeleteFunc(slices.Clone(s.faults.Fields), func(f pricing.FieldError) bool {
		return told[f.Field] && f.Code != pricing.FieldMore
	})
	var all pricing.ValidationError
	all.Merge("", &rules)
	all.Merge("", &news)
	return all.Err()
}

// selectionsOf reads what it can of the lists of a coupon that could not be read as a
// whole.
func selectionsOf(body []byte) (plans, devices, accessories []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil, nil, nil
	}
	var lists [len(selectionFields)][]string
	for i, selection := range selectionFields {
		_ = strictjson.Value(members[selection.field], &lists[i]) // what cannot be read is told already
	}
	return lists[0], lists[1], lists[2]
}
