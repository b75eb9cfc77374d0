package coupon

import (
	"encoding/json"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// wireCoupon is a coupon by the names of contract section 7.
type wireCoupon struct {
	ID                string               `json:"id"`
	Code              Code                 `json:"code"`
	Name              string               `json:"name"`
	DiscountType      pricing.DiscountType `json:"discountType"`
	DiscountValue     string               `json:"discountValue"`
	Currency          pricing.Currency     `json:"currency"`
	Description       string               `json:"description"`
	AppliesTo         AppliesTo            `json:"appliesTo"`
	PlanIDs           Items                `json:"planIds"`
	DeviceIDs         Items                `json:"deviceIds"`
	AccessoryIDs      Items                `json:"accessoryIds"`
	Distribution      Distribution         `json:"distribution"`
	AllowedUserEmails EmailSet             `json:"allowedUserEmails"`
	PointsRequired    *int64               `json:"pointsRequired"`
	MaxUses           *int64               `json:"maxUses"`
	MaxUsesPerUser    *int64               `json:"maxUsesPerUser"`
	MinPurchase       *pricing.Money       `json:"minPurchase"`
	StartsAt          *time.Time           `json:"startsAt"`
	ExpiresAt         *time.Time           `json:"expiresAt"`
	Active            bool                 `json:"active"`
	UsedCount         int64                `json:"usedCount"`
	ReservedCount     int64                `json:"reservedCount"`
	ProcessorCouponID string               `json:"processorCouponId"`
	PromotionCodeID   string               `json:"promotionCodeId"`
	CreatedAt         time.Time            `json:"createdAt"`
	UpdatedAt         time.Time            `json:"updatedAt"`
	Revision          int64                `json:"revision"`
}

// MarshalJSON returns the coupon by the names of contract section 7: money and
// percentages as decimal strings, instants in RFC 3339, null where there is no
// limit, minimum, price in points or date.
func (c Coupon) MarshalJSON() ([]byte, error) {
	w := wireCoupon{
		ID: c.ID, Code: c.Code, Name: c.Name, Description: c.Description,
		DiscountType: c.Discount.Type(), DiscountValue: c.Discount.Value(), Currency: c.Currency,
		AppliesTo: c.Scope.AppliesTo, PlanIDs: c.Scope.Plans,
		DeviceIDs: c.Scope.Devices, AccessoryIDs: c.Scope.Accessories,
		Distribution: c.Distribution, AllowedUserEmails: c.AllowedUserEmails,
		PointsRequired: orNull(c.PointsRequired), MaxUses: orNull(c.Limits.MaxUses),
		MaxUsesPerUser: orNull(c.Limits.MaxUsesPerUser),
		StartsAt:       orNull(c.StartsAt), ExpiresAt: orNull(c.ExpiresAt),
		Active: c.Active(), UsedCount: c.UsedCount, ReservedCount: c.ReservedCount,
		ProcessorCouponID: c.Mirror.CouponID, PromotionCodeID: c.Mirror.PromotionCodeID,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, Revision: c.Revision,
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
