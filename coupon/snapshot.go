package coupon

import (
	"time"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Snapshot holds the terms of a coupon at the time of a checkout (specification 2.5). An order
// keeps a Snapshot of its coupon. Editing or deleting the coupon does not change the Snapshot. A
// Snapshot contains no limits, no e-mail address and no customer tags.
type Snapshot struct {
	ID                 string               `json:"id"`
	Code               Code                 `json:"code"`
	Name               string               `json:"name"`
	DiscountType       pricing.DiscountType `json:"discountType"`
	DiscountValue      string               `json:"discountValue,omitempty"`
	Currency           pricing.Currency     `json:"currency"`
	AppliesTo          AppliesTo            `json:"appliesTo"`
	PlanIDs            Items                `json:"planIds"`
	DeviceIDs          Items                `json:"deviceIds"`
	AccessoryIDs       Items                `json:"accessoryIds"`
	Kinds              Items                `json:"kinds,omitzero"`
	Categories         Items                `json:"categories,omitzero"`
	ExcludedItemIDs    Items                `json:"excludedItemIds,omitzero"`
	ExcludedCategories Items                `json:"excludedCategories,omitzero"`
	Distribution       Distribution         `json:"distribution"`
	PointsRequired     int64                `json:"pointsRequired,omitempty"`
	MinPurchase        string               `json:"minPurchase,omitempty"`
	MinQuantity        int64                `json:"minQuantity,omitzero"`
	FirstOrder         bool                 `json:"firstOrder,omitzero"`
	Schedule           Schedule             `json:"schedule,omitzero"`
	StartsAt           time.Time            `json:"startsAt,omitzero"`
	ExpiresAt          time.Time            `json:"expiresAt,omitzero"`
	Revision           int64                `json:"revision"`
	// Terms are the terms of a discount that has more than a type and a value.
	Terms           pricing.Discount     `json:"terms,omitzero"`
	Group           string               `json:"group,omitempty"`
	Buys            Scope                `json:"buys,omitzero"`
	MinPurchases    Amounts              `json:"minPurchases,omitzero"`
	RefundPolicy    pricing.RefundPolicy `json:"refundPolicy,omitzero"`
	RestoreOnRefund Restore              `json:"restoreOnRefund,omitzero"`
}

// Snapshot returns the current terms of the coupon.
func (c Coupon) Snapshot() Snapshot {
	s := Snapshot{
		ID: c.ID, Code: c.Code, Name: c.Name,
		DiscountType: c.Discount.Type(), DiscountValue: c.Discount.Value(), Currency: c.Currency,
		AppliesTo: c.Scope.AppliesTo, PlanIDs: c.Scope.Plans,
		DeviceIDs: c.Scope.Devices, AccessoryIDs: c.Scope.Accessories,
		Kinds: c.Scope.Kinds, Categories: c.Scope.Categories,
		ExcludedItemIDs: c.Scope.ExcludedItems, ExcludedCategories: c.Scope.ExcludedCategories,
		Distribution: c.Distribution, PointsRequired: c.PointsRequired,
		MinQuantity: c.Conditions.MinQuantity, FirstOrder: c.Conditions.FirstOrder, Schedule: c.Conditions.Schedule,
		StartsAt: c.StartsAt, ExpiresAt: c.ExpiresAt, Revision: c.Revision, Group: c.Group, Buys: c.Buys,
		MinPurchases: c.MinPurchases, RefundPolicy: c.RefundPolicy, RestoreOnRefund: c.RestoreOnRefund,
	}
	if !c.Discount.Simple() {
		s.Terms = c.Discount
	}
	if c.MinPurchase != 0 {
		s.MinPurchase = c.Currency.Format(c.MinPurchase)
	}
	return s
}

// UnmarshalJSON reads the JSON form of a Snapshot. Unknown fields are ignored. JSON null leaves *s
// unchanged. The fields appliesTo, discountType, distribution and currency are required.
// UnmarshalJSON returns a [*pricing.ValidationError] that lists every malformed or missing field,
// and leaves *s unchanged.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	type fields Snapshot
	var read fields
	var faults pricing.ValidationError
	faults.Merge("", strictjson.Stored(data, strictjson.Fields(&read)))
	known := map[string]bool{}
	for _, f := range faults.Fields {
		known[f.Field] = true
	}
	for _, member := range [...]struct {
		field string
		given bool
	}{
		{"appliesTo", read.AppliesTo != 0},
		{"discountType", read.DiscountType != 0},
		{"distribution", read.Distribution != 0},
		{"currency", !read.Currency.IsZero()},
	} {
		if !member.given && !known[member.field] && !known[""] {
			faults.Add(member.field, pricing.FieldRequired, "is required")
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*s = Snapshot(read)
	return nil
}
