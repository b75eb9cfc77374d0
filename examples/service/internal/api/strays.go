package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// selectionFields are the lists of items in a coupon, with the kinds that each list may have.
var selectionFields = [...]struct {
	field string
	kinds []pricing.LineKind
}{
	{"planIds", goods[:1]},
	{"deviceIds", goods[1:2]},
	{"accessoryIds", goods[2:]},
	{"excludedItemIds", goods[:]},
	{"buys.planIds", goods[:1]},
	{"buys.deviceIds", goods[1:2]},
	{"buys.accessoryIds", goods[2:]},
	{"buys.excludedItemIds", goods[:]},
	{"contains.planIds", goods[:1]},
	{"contains.deviceIds", goods[1:2]},
	{"contains.accessoryIds", goods[2:]},
	{"contains.excludedItemIds", goods[:]},
	{"containsNot.planIds", goods[:1]},
	{"containsNot.deviceIds", goods[1:2]},
	{"containsNot.accessoryIds", goods[2:]},
	{"containsNot.excludedItemIds", goods[:]},
}

// goods are the kinds of items that coupons cover.
var goods = [...]pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory}

// selections has the IDs of each list in selectionFields.
type selections [len(selectionFields)][]string

func selectionsOf(d *coupon.Draft) selections {
	lists := selections{d.PlanIDs, d.DeviceIDs, d.AccessoryIDs, d.ExcludedItemIDs}
	var contains *coupon.ScopeDraft
	if d.Contains != nil {
		contains = &d.Contains.ScopeDraft
	}
	lists.setScopes(d.Buys, contains, d.ContainsNot)
	return lists
}

// setScopes sets the lists of the other scopes of the coupon.
func (lists *selections) setScopes(buys, contains, containsNot *coupon.ScopeDraft) {
	for i, s := range [...]*coupon.ScopeDraft{buys, contains, containsNot} {
		if s != nil {
			copy(lists[4*(i+1):], [][]string{s.PlanIDs, s.DeviceIDs, s.AccessoryIDs, s.ExcludedItemIDs})
		}
	}
}

// strays has a fault for each selected item that is not in the catalog.
type strays struct{ faults validation.Error }

// readCoupon reads a body into a draft or patch, and finds selected items that are not in the catalog.
// If there are any, it replaces the first by an empty ID. The library then reports all other faults,
// and stores nothing.
func (a *API) readCoupon(r *http.Request, target json.Unmarshaler, read func() selections) (strays, error) {
	body, err := readBody(r)
	if err != nil {
		return strays{}, err
	}
	if err := target.UnmarshalJSON(body); err != nil {
		return strays{}, err
	}
	lists := read()
	for i, list := range legible(body) { // also read the lists of objects with faults; the target leaves those out
		if lists[i] == nil {
			lists[i] = list
		}
	}
	found, first := a.straysIn(lists)
	if first != nil {
		*first = ""
	}
	return found, nil
}

// straysIn finds selected items that are not in the catalog. first points to the first of them.
// couponkit accepts any ID, but a coupon for an item that is not sold would refuse every customer.
func (a *API) straysIn(lists selections) (found strays, first *string) {
	for list, selection := range selectionFields {
		ids := lists[list]
		for i, id := range ids[:min(len(ids), coupon.MaxSelectedItems)] {
			if _, known := a.kindOf(id, selection.kinds); known || id == "" { // the library refuses an empty ID itself
				continue
			}
			if first == nil {
				first = &ids[i]
			}
			found.faults.Add(fmt.Sprintf("%s[%d]", selection.field, i), validation.Unknown, a.whyStray(selection.kinds, id))
		}
	}
	return found, first
}

// kindOf returns the first of the kinds for which the catalog has an item with the ID.
func (a *API) kindOf(id string, kinds []pricing.LineKind) (kind pricing.LineKind, known bool) {
	for _, kind := range kinds {
		if _, known := a.Catalog.Find(kind, id); known {
			return kind, true
		}
	}
	return "", false
}

func (a *API) whyStray(kinds []pricing.LineKind, id string) string {
	noun := "item"
	if len(kinds) == 1 {
		noun = kinds[0].String()
	}
	if other, known := a.kindOf(id, goods[:]); known {
		return fmt.Sprintf("the catalogue has no %s of this ID; its kind is %s", noun, other)
	}
	return fmt.Sprintf("the catalogue has no %s of this ID", noun)
}

// beside returns the faults of the library together with the strays. If both have a fault for an entry,
// it keeps the library's. The first stray is the exception, because its empty ID is not the client's
// fault.
func (s strays) beside(err error) error {
	var refused *validation.Error
	if len(s.faults.Fields) == 0 || !errors.As(err, &refused) || slices.ContainsFunc(refused.Fields, func(f validation.Field) bool { return f.Path == "" }) {
		return err
	}
	refusedPaths := map[string]bool{}
	rules, news := *refused, s.faults
	rules.Fields = slices.DeleteFunc(slices.Clone(refused.Fields), func(f validation.Field) bool {
		refusedPaths[f.Path] = true
		return f.Path == s.faults.Fields[0].Path
	})
	delete(refusedPaths, s.faults.Fields[0].Path)
	news.Fields = slices.DeleteFunc(slices.Clone(s.faults.Fields), func(f validation.Field) bool {
		return refusedPaths[f.Path] && f.Code != validation.More
	})
	var all validation.Error
	all.Merge("", &rules)
	all.Merge("", &news)
	return all.Err()
}

// legible returns the readable lists of a JSON text that has faults.
func legible(body []byte) (lists selections) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return lists
	}
	for i, selection := range selectionFields {
		of, name := members, selection.field
		if scope, within, found := strings.Cut(name, "."); found {
			of, name = nil, within
			_ = json.Unmarshal(members[scope], &of) // its faults are already reported
		}
		_ = strictjson.Value(of[name], &lists[i]) // its faults are already reported
	}
	return lists
}
