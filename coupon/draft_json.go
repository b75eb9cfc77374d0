package coupon

import (
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// UnmarshalJSON reads the fields by their names in contract section 7. Amounts and
// percentages are JSON strings or numbers, read exactly. Unknown and malformed
// fields are all named in one [*pricing.ValidationError], and beside them what [New]
// would refuse in the other fields; after an error d is as it was. A required field
// that is absent or null is left for New to refuse. The text is read field by field, so
// that its length is the caller's to bound.
func (d *Draft) UnmarshalJSON(data []byte) error {
	var draft Draft
	err := strictjson.Object(data, map[string]any{
		"code": &draft.Code, "name": &draft.Name,
		"discountType": &draft.DiscountType, "discountValue": (*exact)(&draft.DiscountValue),
		"currency": &draft.Currency, "description": &draft.Description,
		"appliesTo": &draft.AppliesTo, "planIds": &draft.PlanIDs,
		"deviceIds": &draft.DeviceIDs, "accessoryIds": &draft.AccessoryIDs,
		"distribution": &draft.Distribution, "allowedUserEmails": &draft.AllowedUserEmails,
		"pointsRequired": &draft.PointsRequired, "maxUses": &draft.MaxUses,
		"maxUsesPerUser": &draft.MaxUsesPerUser, "minPurchase": (*exact)(&draft.MinPurchase),
		"startsAt": &draft.StartsAt, "expiresAt": &draft.ExpiresAt,
	})
	if err != nil {
		return draft.refusedBeside(err)
	}
	*d = draft
	return nil
}

// refusedBeside adds to the faults of a text what [New] finds in the fields that could
// be read, so that whoever mends the text need not come back for it. What may only seem
// so is not told: what depends on a field that could not be read, on the currency of the
// catalogue, or on where its dates are.
func (d Draft) refusedBeside(unread error) error {
	var faults pricing.ValidationError
	faults.Merge("", unread)
	skip := map[string]bool{"currency": d.Currency == "", "startsAt": true, "expiresAt": true}
	for _, f := range faults.Fields {
		if f.Field == "" { // there are no fields
			return unread
		}
		for _, field := range judgedWith(rootField(f.Field)) {
			skip[field] = true
		}
	}
	if d.Currency == "" {
		d.Currency = "?" // amounts are judged by their sign
	}
	_, err := New(d, Creation{ID: IDPrefix + "draft", At: time.Unix(0, 0)})
	addUnskipped(&faults, err, skip)
	return faults.Err()
}

// judgedWith returns the fields of a draft that cannot be judged without this one.
func judgedWith(field string) []string {
	switch field {
	case "discountType":
		return []string{field, "discountValue"}
	case "appliesTo", "planIds", "deviceIds", "accessoryIds":
		return []string{"appliesTo", "planIds", "deviceIds", "accessoryIds"}
	case "distribution", "pointsRequired", "allowedUserEmails":
		return []string{"distribution", "pointsRequired", "allowedUserEmails"}
	}
	return []string{field}
}

// MarshalJSON returns what UnmarshalJSON reads, without the fields that have their
// default: the body of a request that creates the coupon.
func (d Draft) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code              string               `json:"code"`
		Name              string               `json:"name"`
		DiscountType      pricing.DiscountType `json:"discountType,omitzero"`
		DiscountValue     string               `json:"discountValue,omitzero"`
		Currency          string               `json:"currency,omitzero"`
		Description       string               `json:"description,omitzero"`
		AppliesTo         AppliesTo            `json:"appliesTo,omitzero"`
		PlanIDs           []string             `json:"planIds,omitempty"`
		DeviceIDs         []string             `json:"deviceIds,omitempty"`
		AccessoryIDs      []string             `json:"accessoryIds,omitempty"`
		Distribution      Distribution         `json:"distribution,omitzero"`
		AllowedUserEmails []string             `json:"allowedUserEmails,omitempty"`
		PointsRequired    int64                `json:"pointsRequired,omitzero"`
		MaxUses           Optional[int64]      `json:"maxUses,omitzero"`
		MaxUsesPerUser    Optional[int64]      `json:"maxUsesPerUser,omitzero"`
		MinPurchase       string               `json:"minPurchase,omitzero"`
		StartsAt          Moment               `json:"startsAt,omitzero"`
		ExpiresAt         Moment               `json:"expiresAt,omitzero"`
	}{
		d.Code, d.Name, d.DiscountType, orAbsent(d.DiscountValue), d.Currency, d.Description,
		d.AppliesTo, d.PlanIDs, d.DeviceIDs, d.AccessoryIDs, d.Distribution, d.AllowedUserEmails,
		d.PointsRequired, d.MaxUses, d.MaxUsesPerUser, orEmpty(d.MinPurchase), d.StartsAt, d.ExpiresAt,
	})
}

// orAbsent returns the decimal as text, and nothing for one that is not given.
func orAbsent(d decimal.Decimal) string {
	if !given(d) {
		return ""
	}
	return d.String()
}

// orEmpty returns the decimal as text, and nothing for 0.
func orEmpty(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// UnmarshalJSON reads the fields by their names in contract section 7. Unknown and
// malformed fields are all named in one [*pricing.ValidationError], and beside them what
// [Coupon.Apply] would refuse in another field of any coupon; after an error p is as it
// was.
func (p *Patch) UnmarshalJSON(data []byte) error {
	var patch Patch
	err := strictjson.Object(data, map[string]any{
		"name": &patch.Name, "description": &patch.Description,
		"appliesTo": &patch.AppliesTo, "planIds": &patch.PlanIDs,
		"deviceIds": &patch.DeviceIDs, "accessoryIds": &patch.AccessoryIDs,
		"distribution": &patch.Distribution, "allowedUserEmails": &patch.AllowedUserEmails,
		"pointsRequired": &patch.PointsRequired, "maxUses": &patch.MaxUses,
		"maxUsesPerUser": &patch.MaxUsesPerUser, "minPurchase": &patch.MinPurchase,
		"startsAt": &patch.StartsAt, "expiresAt": &patch.ExpiresAt, "revision": &patch.Revision,
		"code": &patch.Code, "discountType": &patch.DiscountType,
		"discountValue": &patch.DiscountValue, "currency": &patch.Currency,
	})
	if err != nil {
		return patch.refusedBeside(err)
	}
	*p = patch
	return nil
}

// refusedBeside adds to the faults of a text what can be told of the fields that could be
// read: whatever depends on the coupon waits until all of them can be.
func (p Patch) refusedBeside(unread error) error {
	var faults, more pricing.ValidationError
	faults.Merge("", unread)
	skip := make(map[string]bool, len(faults.Fields))
	for _, f := range faults.Fields {
		if f.Field == "" { // there are no fields
			return unread
		}
		skip[rootField(f.Field)] = true
	}
	wordFaults(&more, p.Name.orZero("a name"), p.Description.orZero(""))
	p.scope(Scope{}, &more)
	limit(p.MaxUses, 0, "maxUses", &more)
	limit(p.MaxUsesPerUser, 0, "maxUsesPerUser", &more)
	p.emails(EmailSet{}, &more)
	minimum(p.MinPurchase.value, pricing.Currency{}, &more)
	addUnskipped(&faults, more.Err(), skip)
	return faults.Err()
}

// MarshalJSON returns what UnmarshalJSON reads: the fields that are given, null
// for those that are cleared, and nothing for those that are left alone.
func (p Patch) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name              Optional[string]               `json:"name,omitzero"`
		Description       Optional[string]               `json:"description,omitzero"`
		AppliesTo         Optional[AppliesTo]            `json:"appliesTo,omitzero"`
		PlanIDs           Optional[[]string]             `json:"planIds,omitzero"`
		DeviceIDs         Optional[[]string]             `json:"deviceIds,omitzero"`
		AccessoryIDs      Optional[[]string]             `json:"accessoryIds,omitzero"`
		Distribution      Optional[Distribution]         `json:"distribution,omitzero"`
		AllowedUserEmails Optional[EmailList]            `json:"allowedUserEmails,omitzero"`
		PointsRequired    Optional[int64]                `json:"pointsRequired,omitzero"`
		MaxUses           Optional[int64]                `json:"maxUses,omitzero"`
		MaxUsesPerUser    Optional[int64]                `json:"maxUsesPerUser,omitzero"`
		MinPurchase       Optional[decimal.Decimal]      `json:"minPurchase,omitzero"`
		StartsAt          Optional[Moment]               `json:"startsAt,omitzero"`
		ExpiresAt         Optional[Moment]               `json:"expiresAt,omitzero"`
		Revision          Optional[int64]                `json:"revision,omitzero"`
		Code              Optional[string]               `json:"code,omitzero"`
		DiscountType      Optional[pricing.DiscountType] `json:"discountType,omitzero"`
		DiscountValue     Optional[decimal.Decimal]      `json:"discountValue,omitzero"`
		Currency          Optional[string]               `json:"currency,omitzero"`
	}(p))
}
