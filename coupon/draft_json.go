package coupon

import (
	"encoding/json"
	"maps"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// UnmarshalJSON reads a draft from a JSON object. Contract section 7 lists the field names.
// Amounts and percentages may be JSON strings or numbers. Numbers are read exactly, without
// floating point. UnmarshalJSON accepts a draft without its required fields, but [New] refuses
// such a draft. The caller must limit the length of the JSON text.
//
// If a field is unknown or malformed, UnmarshalJSON returns a [*pricing.ValidationError]. The
// error lists all unknown and malformed fields. The error also lists every other field that New
// is certain to refuse. A refusal is certain if no correction of the malformed fields can avoid
// it. If UnmarshalJSON fails, *d stays unchanged.
func (d *Draft) UnmarshalJSON(data []byte) error {
	var draft Draft
	targets := draft.DiscountDraft.targets()
	maps.Copy(targets, map[string]any{
		"code": &draft.Code, "name": &draft.Name,
		"discountType": &draft.DiscountType, "discountValue": (*exact)(&draft.DiscountValue),
		"currency": &draft.Currency, "description": &draft.Description,
		"appliesTo": &draft.AppliesTo, "planIds": &draft.PlanIDs,
		"deviceIds": &draft.DeviceIDs, "accessoryIds": &draft.AccessoryIDs,
		"kinds": &draft.Kinds, "categories": &draft.Categories,
		"excludedItemIds": &draft.ExcludedItemIDs, "excludedCategories": &draft.ExcludedCategories,
		"distribution": &draft.Distribution, "allowedUserEmails": (*emailsInPart)(&draft.AllowedUserEmails),
		"pointsRequired": &draft.PointsRequired, "maxUses": &draft.MaxUses,
		"maxUsesPerUser": &draft.MaxUsesPerUser, "minPurchase": (*exact)(&draft.MinPurchase),
		"minQuantity": &draft.MinQuantity, "customerTags": &draft.CustomerTags, "firstOrder": &draft.FirstOrder,
		"schedule": &draft.Schedule, "budget": (*amountsInPart)(&draft.Budget), "periodLimits": (*limitList)(&draft.PeriodLimits),
		"minPurchases": (*amountsInPart)(&draft.MinPurchases), "group": &draft.Group,
		"refundPolicy": &draft.RefundPolicy, "restoreOnRefund": &draft.RestoreOnRefund,
		"startsAt": &draft.StartsAt, "expiresAt": &draft.ExpiresAt,
	})
	if err := strictjson.Object(data, targets); err != nil {
		return draft.refusedBeside(err)
	}
	*d = draft
	return nil
}

// MarshalJSON returns the JSON body of a request that creates the coupon. Fields with their
// default value are omitted. [Draft.UnmarshalJSON] can read the returned JSON. If an amount is
// too long for UnmarshalJSON, or a currency of [Amounts] is missing or given twice, MarshalJSON
// returns a [*pricing.ValidationError].
func (d Draft) MarshalJSON() ([]byte, error) {
	var faults pricing.ValidationError
	value := decimalText(d.DiscountValue, given(d.DiscountValue), "discountValue", &faults)
	minimum := decimalText(d.MinPurchase, !d.MinPurchase.IsZero(), "minPurchase", &faults)
	maximum := decimalText(d.MaxDiscount, given(d.MaxDiscount), "maxDiscount", &faults)
	d.MinPurchases.currencyFaults(&faults, "minPurchases")
	d.DiscountValues.currencyFaults(&faults, "discountValues")
	d.MaxDiscounts.currencyFaults(&faults, "maxDiscounts")
	d.Budget.currencyFaults(&faults, "budget")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Code          string               `json:"code"`
		Name          string               `json:"name"`
		DiscountType  pricing.DiscountType `json:"discountType,omitzero"`
		DiscountValue string               `json:"discountValue,omitzero"`
		MaxDiscount   string               `json:"maxDiscount,omitzero"`
		DiscountDraft
		Currency           string               `json:"currency,omitzero"`
		Description        string               `json:"description,omitzero"`
		AppliesTo          AppliesTo            `json:"appliesTo,omitzero"`
		PlanIDs            []string             `json:"planIds,omitempty"`
		DeviceIDs          []string             `json:"deviceIds,omitempty"`
		AccessoryIDs       []string             `json:"accessoryIds,omitempty"`
		Kinds              []string             `json:"kinds,omitempty"`
		Categories         []string             `json:"categories,omitempty"`
		ExcludedItemIDs    []string             `json:"excludedItemIds,omitempty"`
		ExcludedCategories []string             `json:"excludedCategories,omitempty"`
		Group              string               `json:"group,omitzero"`
		Distribution       Distribution         `json:"distribution,omitzero"`
		AllowedUserEmails  []string             `json:"allowedUserEmails,omitempty"`
		PointsRequired     int64                `json:"pointsRequired,omitzero"`
		MaxUses            Optional[int]        `json:"maxUses,omitzero"`
		MaxUsesPerUser     Optional[int]        `json:"maxUsesPerUser,omitzero"`
		MinPurchase        string               `json:"minPurchase,omitzero"`
		MinPurchases       Amounts              `json:"minPurchases,omitzero"`
		MinQuantity        Optional[int]        `json:"minQuantity,omitzero"`
		CustomerTags       CustomerTags         `json:"customerTags,omitzero"`
		FirstOrder         bool                 `json:"firstOrder,omitzero"`
		Schedule           Schedule             `json:"schedule,omitzero"`
		Budget             Amounts              `json:"budget,omitzero"`
		PeriodLimits       []PeriodLimit        `json:"periodLimits,omitempty"`
		StartsAt           Moment               `json:"startsAt,omitzero"`
		ExpiresAt          Moment               `json:"expiresAt,omitzero"`
		RefundPolicy       pricing.RefundPolicy `json:"refundPolicy,omitzero"`
		RestoreOnRefund    Restore              `json:"restoreOnRefund,omitzero"`
	}{
		d.Code, d.Name, d.DiscountType, value, maximum, d.DiscountDraft, d.Currency, d.Description,
		d.AppliesTo, d.PlanIDs, d.DeviceIDs, d.AccessoryIDs,
		d.Kinds, d.Categories, d.ExcludedItemIDs, d.ExcludedCategories, d.Group, d.Distribution, d.AllowedUserEmails,
		d.PointsRequired, d.MaxUses, d.MaxUsesPerUser, minimum, d.MinPurchases,
		d.MinQuantity, d.CustomerTags, d.FirstOrder, d.Schedule, d.Budget, d.PeriodLimits, d.StartsAt, d.ExpiresAt,
		d.RefundPolicy, d.RestoreOnRefund,
	})
}

// decimalText returns a decimal as text, or "" if no decimal is given.
func decimalText(d decimal.Decimal, given bool, field string, faults *pricing.ValidationError) string {
	if !given {
		return ""
	}
	text, err := pricing.DecimalText(d)
	faults.At(field, err)
	return text
}

// UnmarshalJSON reads a patch from a JSON object. Contract section 7 lists the field names. If a
// field is unknown or malformed, UnmarshalJSON returns a [*pricing.ValidationError]. The error
// lists all unknown and malformed fields. The error also lists every other field that
// [Coupon.Apply] is certain to refuse for every coupon. A refusal is certain if no correction of
// the malformed fields can avoid it. If UnmarshalJSON fails, *p stays unchanged.
func (p *Patch) UnmarshalJSON(data []byte) error {
	var patch Patch
	targets := make(map[string]any)
	for field := range new(DiscountDraft).targets() {
		targets[field] = &immutableTerm{}
	}
	maps.Copy(targets, map[string]any{
		"group": &patch.Group, "minPurchases": (*inPart[Amounts])(&patch.MinPurchases),
		"name": &patch.Name, "description": &patch.Description,
		"appliesTo": &patch.AppliesTo, "planIds": (*inPart[[]string])(&patch.PlanIDs),
		"deviceIds": (*inPart[[]string])(&patch.DeviceIDs), "accessoryIds": (*inPart[[]string])(&patch.AccessoryIDs),
		"kinds": (*inPart[[]string])(&patch.Kinds), "categories": (*inPart[[]string])(&patch.Categories),
		"excludedItemIds":    (*inPart[[]string])(&patch.ExcludedItemIDs),
		"excludedCategories": (*inPart[[]string])(&patch.ExcludedCategories),
		"distribution":       &patch.Distribution, "allowedUserEmails": (*inPart[EmailList])(&patch.AllowedUserEmails),
		"pointsRequired": &patch.PointsRequired, "maxUses": &patch.MaxUses,
		"maxUsesPerUser": &patch.MaxUsesPerUser, "minPurchase": &patch.MinPurchase,
		"minQuantity": &patch.MinQuantity, "customerTags": &patch.CustomerTags, "firstOrder": &patch.FirstOrder,
		"schedule": &patch.Schedule, "budget": (*inPart[Amounts])(&patch.Budget), "periodLimits": &patch.PeriodLimits,
		"startsAt": &patch.StartsAt, "expiresAt": &patch.ExpiresAt, "revision": &patch.Revision,
		"refundPolicy": &patch.RefundPolicy, "restoreOnRefund": &patch.RestoreOnRefund,
		"code": &patch.Code, "discountType": &patch.DiscountType,
		"discountValue": &patch.DiscountValue, "currency": &patch.Currency,
	})
	if err := strictjson.Object(data, targets); err != nil {
		return patch.refusedBeside(err)
	}
	*p = patch
	return nil
}

// immutableTerm is a term that a patch cannot have.
type immutableTerm struct{}

func (*immutableTerm) UnmarshalJSON([]byte) error {
	return fieldFault(pricing.FieldImmutable, "cannot be changed after creation")
}

// MarshalJSON returns the given fields of the patch as a JSON object. A cleared field becomes
// null. [Patch.UnmarshalJSON] can read the returned JSON. If an amount is too long for
// UnmarshalJSON, or a currency of [Amounts] is missing or given twice, MarshalJSON returns a
// [*pricing.ValidationError].
func (p Patch) MarshalJSON() ([]byte, error) {
	var faults pricing.ValidationError
	decimalText(p.MinPurchase.value, p.MinPurchase.given, "minPurchase", &faults)
	decimalText(p.DiscountValue.value, p.DiscountValue.given, "discountValue", &faults)
	p.MinPurchases.value.currencyFaults(&faults, "minPurchases")
	p.Budget.value.currencyFaults(&faults, "budget")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Name               Optional[string]               `json:"name,omitzero"`
		Description        Optional[string]               `json:"description,omitzero"`
		AppliesTo          Optional[AppliesTo]            `json:"appliesTo,omitzero"`
		PlanIDs            Optional[[]string]             `json:"planIds,omitzero"`
		DeviceIDs          Optional[[]string]             `json:"deviceIds,omitzero"`
		AccessoryIDs       Optional[[]string]             `json:"accessoryIds,omitzero"`
		Kinds              Optional[[]string]             `json:"kinds,omitzero"`
		Categories         Optional[[]string]             `json:"categories,omitzero"`
		ExcludedItemIDs    Optional[[]string]             `json:"excludedItemIds,omitzero"`
		ExcludedCategories Optional[[]string]             `json:"excludedCategories,omitzero"`
		Group              Optional[string]               `json:"group,omitzero"`
		Distribution       Optional[Distribution]         `json:"distribution,omitzero"`
		AllowedUserEmails  Optional[EmailList]            `json:"allowedUserEmails,omitzero"`
		PointsRequired     Optional[int]                  `json:"pointsRequired,omitzero"`
		MaxUses            Optional[int]                  `json:"maxUses,omitzero"`
		MaxUsesPerUser     Optional[int]                  `json:"maxUsesPerUser,omitzero"`
		MinPurchase        Optional[decimal.Decimal]      `json:"minPurchase,omitzero"`
		MinQuantity        Optional[int]                  `json:"minQuantity,omitzero"`
		CustomerTags       Optional[CustomerTags]         `json:"customerTags,omitzero"`
		FirstOrder         Optional[bool]                 `json:"firstOrder,omitzero"`
		Schedule           Optional[Schedule]             `json:"schedule,omitzero"`
		Budget             Optional[Amounts]              `json:"budget,omitzero"`
		PeriodLimits       Optional[[]PeriodLimit]        `json:"periodLimits,omitzero"`
		MinPurchases       Optional[Amounts]              `json:"minPurchases,omitzero"`
		StartsAt           Optional[Moment]               `json:"startsAt,omitzero"`
		ExpiresAt          Optional[Moment]               `json:"expiresAt,omitzero"`
		RestoreOnRefund    Optional[Restore]              `json:"restoreOnRefund,omitzero"`
		Revision           Optional[int64]                `json:"revision,omitzero"`
		Code               Optional[string]               `json:"code,omitzero"`
		DiscountType       Optional[pricing.DiscountType] `json:"discountType,omitzero"`
		DiscountValue      Optional[decimal.Decimal]      `json:"discountValue,omitzero"`
		Currency           Optional[string]               `json:"currency,omitzero"`
		RefundPolicy       Optional[pricing.RefundPolicy] `json:"refundPolicy,omitzero"`
	}(p))
}
