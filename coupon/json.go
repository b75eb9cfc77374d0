package coupon

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// wireCoupon is a coupon with the field names of contract section 7.
type wireCoupon struct {
	ID            string               `json:"id"`
	Code          Code                 `json:"code"`
	Name          string               `json:"name"`
	DiscountType  pricing.DiscountType `json:"discountType"`
	DiscountValue string               `json:"discountValue,omitempty"`
	MaxDiscount   string               `json:"maxDiscount,omitempty"`
	DiscountDraft
	Currency           pricing.Currency     `json:"currency"`
	Description        string               `json:"description"`
	AppliesTo          AppliesTo            `json:"appliesTo"`
	PlanIDs            Items                `json:"planIds"`
	DeviceIDs          Items                `json:"deviceIds"`
	AccessoryIDs       Items                `json:"accessoryIds"`
	Kinds              Items                `json:"kinds,omitzero"`
	Categories         Items                `json:"categories,omitzero"`
	ExcludedItemIDs    Items                `json:"excludedItemIds,omitzero"`
	ExcludedCategories Items                `json:"excludedCategories,omitzero"`
	Group              string               `json:"group,omitempty"`
	Distribution       Distribution         `json:"distribution"`
	AllowedUserEmails  EmailSet             `json:"allowedUserEmails"`
	PointsRequired     *int64               `json:"pointsRequired"`
	MaxUses            *int64               `json:"maxUses"`
	MaxUsesPerUser     *int64               `json:"maxUsesPerUser"`
	MinPurchase        *pricing.Money       `json:"minPurchase"`
	MinQuantity        int64                `json:"minQuantity,omitzero"`
	CustomerTags       CustomerTags         `json:"customerTags,omitzero"`
	FirstOrder         bool                 `json:"firstOrder,omitzero"`
	Schedule           Schedule             `json:"schedule,omitzero"`
	Budget             Amounts              `json:"budget,omitzero"`
	PeriodLimits       []PeriodLimit        `json:"periodLimits,omitempty"`
	MinPurchases       Amounts              `json:"minPurchases,omitzero"`
	RefundPolicy       pricing.RefundPolicy `json:"refundPolicy,omitzero"`
	RestoreOnRefund    Restore              `json:"restoreOnRefund,omitzero"`
	StartsAt           *time.Time           `json:"startsAt"`
	ExpiresAt          *time.Time           `json:"expiresAt"`
	Active             bool                 `json:"active"`
	UsedCount          int64                `json:"usedCount"`
	ReservedCount      int64                `json:"reservedCount"`
	ProcessorCouponID  string               `json:"processorCouponId"`
	PromotionCodeID    string               `json:"promotionCodeId"`
	MirrorUnsupported  bool                 `json:"mirrorUnsupported,omitzero"`
	CreatedAt          time.Time            `json:"createdAt,omitzero"`
	UpdatedAt          time.Time            `json:"updatedAt,omitzero"`
	Revision           int64                `json:"revision"`
}

// MarshalJSON returns the coupon as JSON with the field names of contract section 7. Amounts of
// money and percentages are decimal strings. Instants are in RFC 3339 format. A missing limit,
// minimum purchase, price in points, start or expiry is null. MarshalJSON omits conditions, budgets
// and period limits that the coupon does not have. A narrowed allow-list is also
// null; see [EmailSet]. MarshalJSON omits CreatedAt and UpdatedAt if they are zero. The returned
// JSON does not show whether the copy at the payment processor is up to date. The field
// mirrorUnsupported is true if the processor cannot express the coupon, and is omitted otherwise.
func (c Coupon) MarshalJSON() ([]byte, error) {
	w := wireCoupon{
		ID: c.ID, Code: c.Code, Name: c.Name, Description: c.Description,
		DiscountType: c.Discount.Type(), DiscountValue: c.Discount.Value(), Currency: c.Currency,
		AppliesTo: c.Scope.AppliesTo, PlanIDs: c.Scope.Plans,
		DeviceIDs: c.Scope.Devices, AccessoryIDs: c.Scope.Accessories,
		Kinds: c.Scope.Kinds, Categories: c.Scope.Categories,
		ExcludedItemIDs: c.Scope.ExcludedItems, ExcludedCategories: c.Scope.ExcludedCategories,
		Distribution: c.Distribution, AllowedUserEmails: c.AllowedUserEmails,
		PointsRequired: orNull(c.PointsRequired), MaxUses: orNull(c.Limits.MaxUses),
		MaxUsesPerUser: orNull(c.Limits.MaxUsesPerUser),
		MinQuantity:    c.Conditions.MinQuantity, CustomerTags: c.Conditions.CustomerTags,
		FirstOrder: c.Conditions.FirstOrder, Schedule: c.Conditions.Schedule,
		Budget: c.Limits.Budget, PeriodLimits: c.Limits.Periods,
		StartsAt: orNull(c.StartsAt), ExpiresAt: orNull(c.ExpiresAt),
		Active: c.Active(), UsedCount: c.UsedCount, ReservedCount: c.ReservedCount,
		ProcessorCouponID: c.Mirror.CouponID, PromotionCodeID: c.Mirror.PromotionCodeID,
		MirrorUnsupported: c.Mirror.Unsupported, RefundPolicy: c.RefundPolicy, RestoreOnRefund: c.RestoreOnRefund,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, Revision: c.Revision,
	}
	w.DiscountDraft, w.Group, w.MinPurchases = discountDraft(c.Discount, c.Buys), c.Group, c.MinPurchases
	if given(w.DiscountDraft.MaxDiscount) {
		w.MaxDiscount = c.Currency.Format(c.Discount.Terms().MaxDiscount)
	}
	if c.MinPurchase != 0 {
		minimum := pricing.NewMoney(c.MinPurchase, c.Currency)
		w.MinPurchase = &minimum
	}
	return json.Marshal(w)
}

// orNull returns nil, which JSON writes as null, for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// UnmarshalJSON reads the JSON that [Coupon.MarshalJSON] returns. API clients use UnmarshalJSON
// to read coupons from responses. If a field is unknown or malformed, UnmarshalJSON returns a
// [*pricing.ValidationError] that lists all such fields. If all fields are well-formed,
// UnmarshalJSON applies the rules of [Coupon.Validate].
//
// The State becomes [Active] or [Inactive], because the JSON shows only whether the coupon is
// active. Mirror.Revision becomes 0, because the JSON does not contain the revision of the
// mirror. If UnmarshalJSON fails, *c stays unchanged.
func (c *Coupon) UnmarshalJSON(data []byte) error {
	var r couponReader
	if err := strictjson.Object(data, r.targets()); err != nil {
		return err
	}
	var faults pricing.ValidationError
	read := r.coupon(&faults)
	read.addFaults(&faults, "state", "discountValue")
	if err := faults.Err(); err != nil {
		return err
	}
	*c = read
	return nil
}

// couponReader holds the JSON fields that have another form in Coupon.
type couponReader struct {
	Coupon
	discountType         pricing.DiscountType
	discountValue        decimal.Decimal
	minPurchase          decimal.Decimal
	further              DiscountDraft
	maxUses, perUser     Optional[int]
	minQuantity          Optional[int]
	startsAt, expiresAt  Moment
	createdAt, updatedAt Moment
	active               Optional[bool]
	revision             Optional[int64]
	scope                ScopeDraft
}

func (r *couponReader) targets() map[string]any {
	targets := r.further.targets()
	maps.Copy(targets, map[string]any{
		"group": &r.Group, "minPurchases": &r.MinPurchases, "refundPolicy": &r.RefundPolicy, "restoreOnRefund": &r.RestoreOnRefund,
		"id": &r.ID, "code": &r.Code, "name": &r.Name, "description": &r.Description,
		"discountType": &r.discountType, "discountValue": (*exact)(&r.discountValue), "currency": &r.Currency,
		"appliesTo": &r.scope.AppliesTo, "planIds": &r.scope.PlanIDs, "deviceIds": &r.scope.DeviceIDs,
		"accessoryIds": &r.scope.AccessoryIDs, "kinds": &r.scope.Kinds, "categories": &r.scope.Categories,
		"excludedItemIds": &r.scope.ExcludedItemIDs, "excludedCategories": &r.scope.ExcludedCategories,
		"distribution": &r.Distribution, "allowedUserEmails": &r.AllowedUserEmails,
		"pointsRequired": &r.PointsRequired, "maxUses": &r.maxUses, "maxUsesPerUser": &r.perUser,
		"minPurchase": (*exact)(&r.minPurchase), "minQuantity": &r.minQuantity,
		"customerTags": &r.Conditions.CustomerTags, "firstOrder": &r.Conditions.FirstOrder, "schedule": &r.Conditions.Schedule,
		"budget": &r.Limits.Budget, "periodLimits": (*limitList)(&r.Limits.Periods), "startsAt": &r.startsAt, "expiresAt": &r.expiresAt,
		"active": &r.active, "usedCount": &r.UsedCount, "reservedCount": &r.ReservedCount,
		"processorCouponId": &r.Mirror.CouponID, "promotionCodeId": &r.Mirror.PromotionCodeID,
		"mirrorUnsupported": &r.Mirror.Unsupported,
		"createdAt":         &r.createdAt, "updatedAt": &r.updatedAt, "revision": &r.revision,
	})
	return targets
}

func (r *couponReader) coupon(faults *pricing.ValidationError) Coupon {
	c := r.Coupon
	c.Discount = r.further.discount(r.discountType, r.discountValue, c.Currency, faults)
	if r.further.Buys != nil {
		c.Buys = r.further.Buys.scope("buys.", faults)
	}
	c.MinPurchase = minimum(r.minPurchase, c.Currency, faults)
	c.Limits.MaxUses = limit(r.maxUses, 0, "maxUses", faults)
	c.Limits.MaxUsesPerUser = limit(r.perUser, 0, "maxUsesPerUser", faults)
	c.Conditions.MinQuantity = limit(r.minQuantity, 0, "minQuantity", faults)
	c.Scope = r.scope.scope("", faults)
	c.Scope.AppliesTo = r.scope.AppliesTo
	for _, at := range []struct {
		field string
		from  Moment
		to    *time.Time
	}{
		{"startsAt", r.startsAt, &c.StartsAt},
		{"expiresAt", r.expiresAt, &c.ExpiresAt},
		{"createdAt", r.createdAt, &c.CreatedAt},
		{"updatedAt", r.updatedAt, &c.UpdatedAt},
	} {
		if at.from.form == isDate {
			faults.Add(at.field, pricing.FieldMalformed, "must be an RFC 3339 instant")
		}
		*at.to = at.from.Start(nil)
	}
	r.required(faults)
	c.Revision, _ = r.revision.Value()
	c.State = Inactive
	if active, _ := r.active.Value(); active {
		c.State = Active
	}
	return c
}

// required reports missing fields that would otherwise be reported as wrong values.
func (r *couponReader) required(faults *pricing.ValidationError) {
	_, activity := r.active.Value()
	_, revised := r.revision.Value()
	for _, member := range [...]struct {
		field   string
		given   bool
		message string
	}{
		{"id", r.ID != "", "an ID is required"},
		{"appliesTo", r.scope.AppliesTo != 0, "must be ALL, SUBSCRIPTION, PRODUCT or SPECIFIC"},
		{"distribution", r.Distribution != 0, "must be GENERAL, POINTS_REDEEMABLE or USER_SPECIFIC"},
		{"active", activity, "must be true or false"},
		{"revision", revised, "a revision is required"},
	} {
		if !member.given {
			faults.Add(member.field, pricing.FieldRequired, member.message)
		}
	}
}
