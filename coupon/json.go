package coupon

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/internal/appendjson"
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
	u := newUnread(known)
	mayBeAutomatic := u.names("automatic") && d.Distribution != PointsRedeemable // that needs a code
	switch {
	case u.names("code"), u.names("withoutCode"), mayBeAutomatic && d.Code == "":
	case withoutCode && d.Code != "":
		faults.Add("withoutCode", validation.NotAllowed, "a draft has a code, or says that it has none")
	case !withoutCode && d.Code == "" && !d.Automatic:
		faults.At("code", codeFault(validation.Required, "a code is required, or withoutCode or automatic"))
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

// MarshalJSON returns the terms as a JSON object with the field names of contract section 7; see [Coupon.MarshalJSON].
func (t Terms) MarshalJSON() ([]byte, error) {
	text, err := t.appendMembers([]byte{'{'}, nil, true)
	return append(text, '}'), err
}

// appendMembers appends the members of terms. Without audience, it leaves out who may use the coupon, by which way, and
// how often.
func (t *Terms) appendMembers(dst []byte, description *string, audience bool) (_ []byte, err error) {
	dst = appendjson.TextMember(t.appendDiscount(dst), "currency", t.Currency.Code())
	if description != nil {
		dst = appendjson.TextMember(dst, "description", *description)
	}
	dst = appendjson.OptionalText(t.Scope.appendMembers(dst), "group", t.Group)
	if audience {
		dst = t.appendAudience(dst)
	}
	if dst, err = t.Conditions.appendMembers(dst, t.Currency, audience); err != nil {
		return nil, err
	}
	if audience {
		dst = t.Limits.Budget.appendMember(dst, "budget", t.Currency)
		if len(t.Limits.Periods) > 0 {
			dst = appendMember(dst, "periodLimits", t.Limits.Periods)
		}
	}
	if t.RefundPolicy.String() == "" {
		_, err := t.RefundPolicy.MarshalText()
		return nil, err
	}
	dst = appendjson.TextMember(dst, "refundPolicy", t.RefundPolicy.String())
	if t.RestoreOnRefund != 0 {
		dst = appendjson.TextMember(dst, "restoreOnRefund", t.RestoreOnRefund.String())
	}
	if dst, err = appendInstant(dst, "startsAt", t.StartsAt); err != nil {
		return nil, err
	}
	return appendInstant(dst, "expiresAt", t.ExpiresAt)
}

// appendInstant appends a member that is null for the zero time.
func appendInstant(dst []byte, name string, at time.Time) ([]byte, error) {
	dst = appendjson.Name(dst, name)
	if at.IsZero() {
		return append(dst, "null"...), nil
	}
	return appendjson.Value(dst, at)
}

func (t *Terms) appendDiscount(dst []byte) []byte {
	d := t.Discount.Terms()
	dst = appendjson.TextMember(dst, "discountType", d.Type.String())
	if d.Type.HasPercent() {
		dst = appendjson.TextMember(dst, "discountValue", d.Percent.String())
	}
	values, maximums := discountAmounts(&d)
	dst = values.appendMember(dst, "discountValue", d.Currency)
	dst = maximums.appendMember(dst, "maxDiscount", d.Currency)
	if d.Lane != d.Type.DefaultLane() {
		dst = appendjson.OptionalText(dst, "lane", d.Lane.String())
	}
	dst = appendjson.OptionalInt(dst, "maxUnits", d.MaxUnits)
	dst = appendjson.OptionalInt(dst, "units", d.Units)
	dst = appendjson.OptionalInt(dst, "buyQuantity", d.BuyQuantity)
	dst = appendjson.OptionalInt(dst, "getQuantity", d.GetQuantity)
	dst = appendjson.OptionalInt(dst, "maxApplications", d.MaxApplications)
	if !t.Buys.IsZero() {
		dst = appendMember(dst, "buys", t.Buys)
	}
	dst = appendjson.OptionalText(dst, "tierBasis", d.TierBasis.String())
	if len(d.Tiers) > 0 {
		dst = appendMember(dst, "tiers", tierDrafts(&d))
	}
	return dst
}

func (s *Scope) appendMembers(dst []byte) []byte {
	dst = appendjson.TextMember(dst, "appliesTo", s.AppliesTo.String())
	for i, list := range scopeLists {
		if items := list.set(s); i < selectedLists || items.Len() > 0 {
			dst = items.append(appendjson.Name(dst, list.field))
		}
	}
	return dst
}

func (t *Terms) appendAudience(dst []byte) []byte {
	if t.Automatic {
		dst = appendMember(dst, "automatic", true)
	}
	dst = appendjson.TextMember(dst, "distribution", t.Distribution.String())
	dst = appendMember(dst, "allowedUserEmails", t.AllowedUserEmails)
	dst = appendMember(dst, "pointsRequired", orNull(t.PointsRequired))
	dst = appendMember(dst, "maxUses", orNull(t.Limits.MaxUses))
	return appendMember(dst, "maxUsesPerUser", orNull(t.Limits.MaxUsesPerUser))
}

// appendMembers appends the conditions. Without audience, it leaves out the tags of customers.
func (c *Conditions) appendMembers(dst []byte, own pricing.Currency, audience bool) ([]byte, error) {
	if reflect.ValueOf(c).Elem().IsZero() { // most coupons
		return append(appendjson.Name(dst, "minPurchase"), "null"...), nil
	}
	if c.MinPurchase.IsZero() {
		dst = append(appendjson.Name(dst, "minPurchase"), "null"...)
	}
	dst = c.MinPurchase.appendMember(dst, "minPurchase", own)
	dst = c.Contains.appendMember(c.MaxPurchase.appendMember(dst, "maxPurchase", own), own)
	others := *c
	if !audience {
		others.CustomerTags = CustomerTags{}
	}
	return appendjson.Members(dst, others)
}

// appendMember appends a member whose value always has a JSON form.
func appendMember(dst []byte, name string, value any) []byte {
	dst, _ = appendjson.Value(appendjson.Name(dst, name), value)
	return dst
}

// orNull returns nil for the zero value. JSON encodes it as null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

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
	lists := r.scopeDraft()
	t.Scope, t.AllowedUserEmails, t.Conditions.Schedule = lists.sets(), d.Emails, d.Schedule
	if r.Buys != nil {
		t.Buys = r.Buys.sets()
		t.Buys.AppliesTo = cmp.Or(t.Buys.AppliesTo, All)
	}
}

// MarshalJSON returns the coupon as JSON with the field names of contract section 7. Instants are in RFC 3339 format. A
// missing limit, minimum purchase, price in points, start or expiry is null, and so is a narrowed allow-list. A missing
// plain code, condition, budget, period limit or instant of creation and change is omitted. The JSON does not show the
// revision of the mirror.
func (c Coupon) MarshalJSON() ([]byte, error) {
	dst := appendjson.TextMember([]byte{'{'}, "id", c.ID)
	dst = appendjson.OptionalText(dst, "code", c.Code.String())
	dst, err := c.appendMembers(appendjson.TextMember(dst, "name", c.Name), &c.Description, true)
	if err != nil {
		return nil, err
	}
	dst, err = appendjson.Members(dst, struct {
		Active            bool      `json:"active"`
		UsedCount         int64     `json:"usedCount"`
		ReservedCount     int64     `json:"reservedCount"`
		ProcessorCouponID string    `json:"processorCouponId"`
		PromotionCodeID   string    `json:"promotionCodeId"`
		MirrorUnsupported bool      `json:"mirrorUnsupported,omitzero"`
		CreatedAt         time.Time `json:"createdAt,omitzero"`
		UpdatedAt         time.Time `json:"updatedAt,omitzero"`
		Revision          int64     `json:"revision"`
	}{
		c.Active(), c.UsedCount, c.ReservedCount, c.Mirror.CouponID, c.Mirror.PromotionCodeID, c.Mirror.Unsupported,
		c.CreatedAt, c.UpdatedAt, c.Revision,
	})
	return append(dst, '}'), err
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
