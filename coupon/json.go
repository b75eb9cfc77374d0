package coupon

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// draftDocument is a draft in JSON. Its fields replace fields of Draft with the same JSON name.
type draftDocument struct {
	Draft
	Value           Amounts  `json:"discountValue"`
	MaxUnits        quantity `json:"maxUnits"`
	Units           quantity `json:"units"`
	BuyQuantity     quantity `json:"buyQuantity"`
	GetQuantity     quantity `json:"getQuantity"`
	MaxApplications quantity `json:"maxApplications"`
}

// draftRequest is a draft in JSON that says whether the coupon has a code.
type draftRequest struct {
	draftDocument
	WithoutCode bool `json:"withoutCode"`
}

// draft returns the decoded draft.
func (d *draftDocument) draft() *Draft {
	d.setValue(d.Value)
	d.Draft.MaxUnits, d.Draft.Units, d.Draft.MaxApplications = int64(d.MaxUnits), int64(d.Units), int64(d.MaxApplications)
	d.Draft.BuyQuantity, d.Draft.GetQuantity = int64(d.BuyQuantity), int64(d.GetQuantity)
	return &d.Draft
}

var (
	draftReader = strictjson.For[draftRequest]()
	patchReader = strictjson.For[Patch]()
)

// UnmarshalJSON reads a draft from a JSON object with the field names of contract section 7. A draft has a code, or
// is automatic, or says "withoutCode": true. The caller must limit the length of the JSON text.
//
// If the text is not one JSON object, UnmarshalJSON returns a [*validation.Error], and *d stays unchanged. If only some
// fields are unknown or malformed, UnmarshalJSON succeeds, and [New] reports their faults together with all others.
func (d *Draft) UnmarshalJSON(data []byte) error {
	var read draftRequest
	u, err := unreadMembers(draftReader.Object(data, &read))
	if err != nil {
		return err
	}
	*d = *read.draft()
	d.Unread = d.codeFaults(u, read.WithoutCode)
	return nil
}

// codeFaults adds a fault to the given faults if a draft that is not automatic has no code and does not set withoutCode.
func (d *Draft) codeFaults(known []validation.Field, withoutCode bool) []validation.Field {
	faults := validation.Error{Fields: known}
	switch u := newUnread(known); {
	case u.names("code"), u.names("withoutCode"), u.names("automatic") && d.Code == "":
	case withoutCode && d.Code != "":
		faults.Add("withoutCode", validation.NotAllowed, "a draft has a code, or says that it has none")
	case !withoutCode && d.Code == "" && !d.Automatic:
		faults.At("code", codeFault(validation.Required, "a code is required"))
	}
	return faults.Fields
}

// MarshalJSON returns the JSON that [Draft.UnmarshalJSON] reads. Fields with their default value are omitted. For a
// draft with both a percentage and an amount, MarshalJSON returns a [*validation.Error].
func (d Draft) MarshalJSON() ([]byte, error) {
	if d.Percent != "" && len(d.Amount) > 0 {
		return nil, validation.New("discountValue", validation.Mismatch, "a discount has a percentage or an amount, not both")
	}
	type fields Draft
	return json.Marshal(struct {
		fields
		WithoutCode   bool    `json:"withoutCode,omitzero"`
		DiscountValue Amounts `json:"discountValue,omitzero"`
	}{fields(d), d.Code == "" && !d.Automatic, d.value()})
}

// UnmarshalJSON reads a patch from a JSON object with the field names of contract section 7. If the text is not one
// JSON object, UnmarshalJSON returns a [*validation.Error], and *p stays unchanged. If only some fields are unknown or
// malformed, UnmarshalJSON succeeds, and [Coupon.Apply] reports their faults together with all others.
func (p *Patch) UnmarshalJSON(data []byte) error {
	var read Patch
	u, err := unreadMembers(patchReader.Object(data, &read))
	if err != nil {
		return err
	}
	for i, f := range u {
		if slices.Contains(furtherTerms(), f.Path) { // a patch does not have these terms
			u[i].Code, u[i].Message = validation.Immutable, immutableMessage
		}
	}
	read.Unread = u
	*p = read
	return nil
}

const immutableMessage = "cannot be changed after creation"

// wireTerms are terms with the field names of contract section 7, in the order of encoding. Nil
// pointers are left out.
type wireTerms struct {
	DiscountType    pricing.DiscountType `json:"discountType"`
	DiscountValue   Amounts              `json:"discountValue,omitzero"`
	MaxDiscount     Amounts              `json:"maxDiscount,omitzero"`
	Lane            pricing.Lane         `json:"lane,omitzero"`
	MaxUnits        int64                `json:"maxUnits,omitzero"`
	Units           int64                `json:"units,omitzero"`
	BuyQuantity     int64                `json:"buyQuantity,omitzero"`
	GetQuantity     int64                `json:"getQuantity,omitzero"`
	MaxApplications int64                `json:"maxApplications,omitzero"`
	Buys            Scope                `json:"buys,omitzero"`
	TierBasis       pricing.TierBasis    `json:"tierBasis,omitzero"`
	Tiers           []TierDraft          `json:"tiers,omitempty"`

	Currency           pricing.Currency `json:"currency"`
	Description        *string          `json:"description,omitempty"`
	AppliesTo          AppliesTo        `json:"appliesTo"`
	PlanIDs            Items            `json:"planIds"`
	DeviceIDs          Items            `json:"deviceIds"`
	AccessoryIDs       Items            `json:"accessoryIds"`
	Kinds              Items            `json:"kinds,omitzero"`
	Categories         Items            `json:"categories,omitzero"`
	ExcludedItemIDs    Items            `json:"excludedItemIds,omitzero"`
	ExcludedCategories Items            `json:"excludedCategories,omitzero"`
	Group              string           `json:"group,omitempty"`
	*wireAudience
	wireConditions
	*wireLimits
	RefundPolicy    pricing.RefundPolicy `json:"refundPolicy"`
	RestoreOnRefund Restore              `json:"restoreOnRefund,omitzero"`
	StartsAt        *time.Time           `json:"startsAt"`
	ExpiresAt       *time.Time           `json:"expiresAt"`
}

// wireAudience has the terms for who may use a coupon, by which way, and how often.
type wireAudience struct {
	Automatic         bool         `json:"automatic,omitzero"`
	Distribution      Distribution `json:"distribution"`
	AllowedUserEmails EmailSet     `json:"allowedUserEmails"`
	PointsRequired    *int64       `json:"pointsRequired"`
	MaxUses           *int64       `json:"maxUses"`
	MaxUsesPerUser    *int64       `json:"maxUsesPerUser"`
}

// wireLimits has the limits besides the numbers of uses.
type wireLimits struct {
	Budget       Amounts       `json:"budget,omitzero"`
	PeriodLimits []PeriodLimit `json:"periodLimits,omitempty"`
}

// wire returns all terms.
func (t Terms) wire() wireTerms {
	d := Draft{}.WithDiscount(t.Discount)
	return wireTerms{
		DiscountType: d.DiscountType, DiscountValue: d.value(), MaxDiscount: d.MaxDiscount, Lane: d.Lane,
		MaxUnits: d.MaxUnits, Units: d.Units, BuyQuantity: d.BuyQuantity, GetQuantity: d.GetQuantity,
		MaxApplications: d.MaxApplications, Buys: t.Buys, TierBasis: d.TierBasis, Tiers: d.Tiers,
		Currency: t.Currency, AppliesTo: t.Scope.AppliesTo, PlanIDs: t.Scope.Plans,
		DeviceIDs: t.Scope.Devices, AccessoryIDs: t.Scope.Accessories, Kinds: t.Scope.Kinds, Categories: t.Scope.Categories,
		ExcludedItemIDs: t.Scope.ExcludedItems, ExcludedCategories: t.Scope.ExcludedCategories, Group: t.Group,
		wireAudience: &wireAudience{
			Automatic: t.Automatic, Distribution: t.Distribution, AllowedUserEmails: t.AllowedUserEmails, PointsRequired: orNull(t.PointsRequired),
			MaxUses: orNull(t.Limits.MaxUses), MaxUsesPerUser: orNull(t.Limits.MaxUsesPerUser),
		},
		wireConditions: wireConditions{
			MinPurchase: t.Conditions.MinPurchase.text(t.Currency), MaxPurchase: t.Conditions.MaxPurchase.text(t.Currency), Conditions: t.Conditions,
		},
		wireLimits:   &wireLimits{Budget: t.Limits.Budget.text(t.Currency), PeriodLimits: t.Limits.Periods},
		RefundPolicy: t.RefundPolicy, RestoreOnRefund: t.RestoreOnRefund,
		StartsAt: orNull(t.StartsAt), ExpiresAt: orNull(t.ExpiresAt),
	}
}

// orNull returns nil for the zero value. JSON encodes it as null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// MarshalJSON returns the terms as a JSON object with the field names of contract section 7; see [Coupon.MarshalJSON].
func (t Terms) MarshalJSON() ([]byte, error) { return json.Marshal(t.wire()) }

// UnmarshalJSON reads the JSON that [Terms.MarshalJSON] returns. If a field is unknown or malformed, UnmarshalJSON
// returns a [*validation.Error] that lists all such fields, and *t stays unchanged. The rules of the whole are those of
// [Coupon.Validate].
func (t *Terms) UnmarshalJSON(data []byte) error {
	var d termsDocument
	if err := termsReader.Object(data, &d); err != nil {
		return err
	}
	var faults validation.Error
	before := *t
	d.terms(t, &faults)
	err := faults.Err()
	if err != nil {
		*t = before
	}
	return err
}

// termsDocument are terms in the JSON form that this library writes.
type termsDocument struct {
	draftDocument
	Emails   EmailSet          `json:"allowedUserEmails"`
	Schedule calendar.Schedule `json:"schedule"`
}

// termsReader reads terms. It refuses the fields of a draft that are not terms.
var termsReader = strictjson.For[termsDocument]("code", "name", "description")

// terms converts the decoded terms.
func (d *termsDocument) terms(t *Terms, faults *validation.Error) {
	r := d.draft()
	if r.StartsAt.IsDate() {
		faults.Add("startsAt", validation.Malformed, "must be an RFC 3339 instant")
	}
	if r.ExpiresAt.IsDate() {
		faults.Add("expiresAt", validation.Malformed, "must be an RFC 3339 instant")
	}
	for _, member := range [...]struct {
		field string
		given bool
		rule  func() string
	}{
		{"currency", r.Currency != "", func() string { return "a coupon needs a currency" }},
		{"appliesTo", r.AppliesTo != 0, scopeKinds.Rule},
		{"distribution", r.Distribution != 0, distributions.Rule},
		{"refundPolicy", r.RefundPolicy != 0, func() string { return refundPolicyMessage }},
	} {
		if !member.given {
			faults.Add(member.field, validation.Required, member.rule())
			r.Unread = faults.Fields // amounts then get no fault because of a missing currency
		}
	}
	r.terms(t, r.currency(faults), nil, faults)
	t.Discount, t.RefundPolicy = r.discount(t.Currency, faults), r.RefundPolicy
	t.Scope, t.AllowedUserEmails, t.Conditions.Schedule = r.scopeDraft().sets(), d.Emails, d.Schedule
	if r.Buys != nil {
		t.Buys = r.Buys.sets()
		t.Buys.AppliesTo = orDefault(t.Buys.AppliesTo, All)
	}
}

// wireCoupon is a coupon with the field names of contract section 7.
type wireCoupon struct {
	ID   string `json:"id"`
	Code Code   `json:"code,omitzero"`
	Name string `json:"name"`
	wireTerms
	Active            bool      `json:"active"`
	UsedCount         int64     `json:"usedCount"`
	ReservedCount     int64     `json:"reservedCount"`
	ProcessorCouponID string    `json:"processorCouponId"`
	PromotionCodeID   string    `json:"promotionCodeId"`
	MirrorUnsupported bool      `json:"mirrorUnsupported,omitzero"`
	CreatedAt         time.Time `json:"createdAt,omitzero"`
	UpdatedAt         time.Time `json:"updatedAt,omitzero"`
	Revision          int64     `json:"revision"`
}

// MarshalJSON returns the coupon as JSON with the field names of contract section 7. Instants are in RFC 3339 format. A
// missing limit, minimum purchase, price in points, start or expiry is null, and so is a narrowed allow-list. A missing
// plain code, condition, budget, period limit or instant of creation and change is omitted. The JSON does not show the
// revision of the mirror.
func (c Coupon) MarshalJSON() ([]byte, error) {
	w := wireCoupon{
		ID: c.ID, Code: c.Code, Name: c.Name, wireTerms: c.wire(),
		Active: c.Active(), UsedCount: c.UsedCount, ReservedCount: c.ReservedCount,
		ProcessorCouponID: c.Mirror.CouponID, PromotionCodeID: c.Mirror.PromotionCodeID,
		MirrorUnsupported: c.Mirror.Unsupported,
		CreatedAt:         c.CreatedAt, UpdatedAt: c.UpdatedAt, Revision: c.Revision,
	}
	w.Description = &c.Description
	return json.Marshal(w)
}

// UnmarshalJSON reads the JSON that [Coupon.MarshalJSON] returns, for API clients. If a field is unknown or malformed,
// UnmarshalJSON returns a [*validation.Error] that lists all such fields, else the error of [Coupon.Validate]. If
// UnmarshalJSON fails, *c stays unchanged. The State becomes [Active] or [Inactive], and Mirror.Revision becomes 0.
func (c *Coupon) UnmarshalJSON(data []byte) error {
	var d couponDocument
	if err := couponReader.Object(data, &d); err != nil {
		return err
	}
	var faults validation.Error
	read := Coupon{
		ID: d.ID, Code: d.Code, Name: d.Name, Description: d.Description, State: Inactive,
		UsedCount: d.UsedCount, ReservedCount: d.ReservedCount,
		Mirror:    Mirror{CouponID: d.ProcessorCouponID, PromotionCodeID: d.PromotionCodeID, Unsupported: d.MirrorUnsupported},
		CreatedAt: time.Time(d.CreatedAt), UpdatedAt: time.Time(d.UpdatedAt),
	}
	d.terms(&read.Terms, &faults)
	if d.Revision != nil {
		read.Revision = *d.Revision
	} else {
		faults.Add("revision", validation.Required, "a revision is required")
	}
	switch {
	case d.Active == nil:
		faults.Add("active", validation.Required, "must be true or false")
	case *d.Active:
		read.State = Active
	}
	if read.ID == "" {
		faults.Add("id", validation.Required, "an ID is required")
	}
	if err := read.judge(newUnread(nil), faults); err != nil {
		return err
	}
	*c = read
	return nil
}

// couponDocument is a coupon in JSON, for decoding.
type couponDocument struct {
	ID   string `json:"id"`
	Code Code   `json:"code"`
	termsDocument
	Active            *bool        `json:"active"`
	UsedCount         int64        `json:"usedCount"`
	ReservedCount     int64        `json:"reservedCount"`
	ProcessorCouponID string       `json:"processorCouponId"`
	PromotionCodeID   string       `json:"promotionCodeId"`
	MirrorUnsupported bool         `json:"mirrorUnsupported"`
	CreatedAt         optionalTime `json:"createdAt"`
	UpdatedAt         optionalTime `json:"updatedAt"`
	Revision          *int64       `json:"revision"`
}

var couponReader = strictjson.For[couponDocument]()

// optionalTime is an instant in JSON that may be null.
type optionalTime time.Time

func (t *optionalTime) UnmarshalJSON(data []byte) error {
	var m calendar.Moment
	if err := strictjson.Value(data, &m); err != nil {
		return err
	}
	if m.IsDate() {
		return fieldFault(validation.Malformed, "must be an RFC 3339 instant")
	}
	at, err := m.Start(nil)
	*t = optionalTime(at)
	return err
}
