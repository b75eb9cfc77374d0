package coupon

import (
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// unread has the faults of fields that could not be decoded from JSON. [New] and [Coupon.Apply] report
// them together with all other faults.
type unread struct {
	faults []validation.Field
	paths  map[string]bool // paths of the faults, and of the objects and lists around them
}

// newUnread returns the given faults with their paths. "list[" is the path of the entries of a list.
func newUnread(faults []validation.Field) unread {
	if len(faults) == 0 {
		return unread{}
	}
	u := unread{faults: faults, paths: make(map[string]bool, 2*len(faults))}
	for _, f := range faults {
		u.paths[f.Path] = true
		for i := range len(f.Path) {
			switch f.Path[i] {
			case '.':
				u.paths[f.Path[:i]] = true
			case '[':
				u.paths[f.Path[:i+1]] = true
			}
		}
	}
	return u
}

// unreadMembers returns the faults of single fields from an error of package strictjson. Other errors
// stay errors, such as text that is not one JSON object.
func unreadMembers(err error) ([]validation.Field, error) {
	var faults *validation.Error
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &faults), slices.ContainsFunc(faults.Fields, func(f validation.Field) bool { return f.Path == "" }):
		return nil, err
	}
	return faults.Fields, nil
}

// names reports whether the field or a part of it has a fault.
func (u unread) names(field string) bool { return u.paths[field] || u.paths[field+"["] }

// explains reports whether a fault of a whole field can follow from the known faults. A part of the
// field may have a fault, or the field is an amount beside another amount with a fault. If the entries
// of a list were checked, they are not checked again.
func (u unread) explains(field string) bool {
	if u.paths[field] {
		return true
	}
	if strings.HasSuffix(field, "]") {
		list := field[:strings.LastIndexByte(field, '[')]
		return u.paths[list] || u.paths[list+"["]
	}
	object := objectOf(field)
	return hasAmounts(object) && u.paths[object]
}

// hasAmounts reports whether the value of a field has an amount for each currency.
func hasAmounts(field string) bool {
	switch field {
	case "discountValue", "maxDiscount", "budget", "contains.minPurchase":
		return true
	}
	return slices.ContainsFunc(conditions[:], func(c condition) bool { return c.byCurrency && c.field == field })
}

// hasSibling reports whether a fault is in the object that contains the field.
func (u unread) hasSibling(field string) bool { return u.paths[objectOf(field)] }

// objectOf returns the path of the object that contains the field. The path is empty for a top-level
// field.
func objectOf(field string) string { return field[:max(strings.LastIndexByte(field, '.'), 0)] }

// beside returns the decoding faults together with the given faults of other fields. A given fault
// may count further faults of a list. It counts all entries, so beside drops the decoding faults of
// that list.
func (u unread) beside(values []validation.Field) validation.Error {
	counted := map[string]bool{}
	for _, f := range values {
		if f.Code == validation.More {
			counted[f.Path] = true
		}
	}
	inCounted := func(f validation.Field) bool {
		list, _, _ := strings.Cut(f.Path, "[")
		return counted[list]
	}
	all := validation.Error{Fields: slices.DeleteFunc(slices.Clone(u.faults), inCounted)}
	for _, f := range values {
		inUnreadEntry := strings.Contains(f.Path, "].") && u.hasSibling(f.Path)
		if inCounted(f) || !u.paths[f.Path] && !inUnreadEntry {
			all.Fields = append(all.Fields, f)
		}
	}
	return all
}

// judge returns all faults of a coupon as one error. These are the decoding faults, the faults of
// values, and the faults of [Coupon.Validate] that do not follow from the others.
func (c *Coupon) judge(u unread, values validation.Error) error {
	all := u.beside(values.Fields)
	known := newUnread(all.Fields)
	if u.paths["appliesTo"] {
		c.Scope.AppliesTo = 0 // the selections are then not checked against it
	}
	if u.paths["distribution"] {
		c.Distribution = 0
	}
	var whole validation.Error
	whole.Merge("", c.Validate())
	for _, f := range whole.Fields {
		noDiscount := f.Path == "discountValue" && c.Discount.IsZero()
		noItems := f.Path == "appliesTo" && (u.paths["planIds"] || u.paths["deviceIds"] || u.paths["accessoryIds"])
		if !noDiscount && !noItems && !known.explains(f.Path) && !u.hasSibling(f.Path) {
			all.Fields = append(all.Fields, f)
		}
	}
	return all.Err()
}
