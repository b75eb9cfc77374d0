package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// A SQL store keeps in columns what it looks for and what changes. The rest is a JSON
// document, so that a new term changes no table.

// orderDocument is what never changes in an order, except for Claims, Charge, Refunds,
// ExternalRefunds, Disputes and OtherPayments.
type orderDocument struct {
	Fingerprint string              `json:"fingerprint,omitempty"`
	Replaces    string              `json:"replaces,omitempty"`
	Claims      []redemption.Claim  `json:"claims,omitempty"`
	Coupons     []coupon.Snapshot   `json:"coupons,omitempty"`
	Quote       *pricing.Quote      `json:"quote,omitempty"`
	Charge      redemption.Charge   `json:"charge,omitzero"`
	Refunds     []redemption.Refund `json:"refunds,omitempty"`
	Metadata    map[string]string   `json:"metadata,omitempty"`

	ExternalRefunds []redemption.ExternalRefund `json:"externalRefunds,omitempty"`
	Disputes        []redemption.Dispute        `json:"disputes,omitempty"`
	OtherPayments   []redemption.Payment        `json:"otherPayments,omitempty"`
}

// EncodeOrder returns the fields of an order that stores do not keep in columns, as JSON.
func EncodeOrder(o redemption.Order) ([]byte, error) {
	doc := orderDocument{
		Fingerprint: o.Fingerprint, Replaces: o.Replaces, Claims: o.Claims, Coupons: o.Coupons, Metadata: o.Metadata,
		Charge: o.Charge, Refunds: o.Refunds, ExternalRefunds: o.ExternalRefunds, Disputes: o.Disputes, OtherPayments: o.OtherPayments,
	}
	if !o.Quote.Currency.IsZero() {
		doc.Quote = &o.Quote
	}
	return json.Marshal(doc)
}

// DecodeOrder reads the JSON that EncodeOrder returned into an order.
func DecodeOrder(data []byte, o *redemption.Order) error {
	var doc orderDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		return unreadable("order", o.ID, "its document", err)
	}
	o.Fingerprint, o.Replaces, o.Claims, o.Coupons, o.Metadata = doc.Fingerprint, doc.Replaces, orNil(doc.Claims), orNil(doc.Coupons), doc.Metadata
	o.Charge = doc.Charge
	o.Refunds, o.ExternalRefunds, o.Disputes = orNil(doc.Refunds), orNil(doc.ExternalRefunds), orNil(doc.Disputes)
	o.OtherPayments = orNil(doc.OtherPayments)
	if len(o.Metadata) == 0 {
		o.Metadata = nil
	}
	if doc.Quote != nil {
		o.Quote = *doc.Quote
	}
	return nil
}

// ReadOrder completes an order with its state and its document, as a store keeps them.
func ReadOrder(o *redemption.Order, state string, document []byte) (err error) {
	if o.State, err = redemption.ParseOrderState(state); err != nil {
		return unreadable("order", o.ID, "its state", err)
	}
	return DecodeOrder(document, o)
}

// useDocument is what never changes in a use, except for Claims, Returned and RestoredAt. A payment
// may add claims, and a refund gives them back. Stores read Discount, Returned, Currency and
// RestoredAt in SQL, by their JSON names, for [store.Orders].Sums. Discount and Returned have all
// decimals of Currency, so that the text without its point is the number of minor units.
type useDocument struct {
	Code       coupon.Code        `json:"code,omitzero"`
	Origin     redemption.Origin  `json:"origin"`
	Discount   pricing.Number     `json:"discount,omitempty"`
	Returned   pricing.Number     `json:"returned,omitempty"`
	Currency   pricing.Currency   `json:"currency,omitzero"`
	Points     int64              `json:"points,omitempty"`
	Claims     []redemption.Claim `json:"claims,omitempty"`
	Restore    coupon.Restore     `json:"restoreOnRefund,omitzero"`
	RestoredAt time.Time          `json:"restoredAt,omitzero"`
}

// EncodeUse returns as JSON the fields of a use that stores do not keep in columns.
func EncodeUse(u redemption.Use) ([]byte, error) {
	return json.Marshal(useDocument{
		Code: u.Code, Origin: u.Origin, Discount: strictjson.OptionalAmount(u.Currency, u.Discount), Returned: strictjson.OptionalAmount(u.Currency, u.Returned),
		Currency: u.Currency, Points: u.Points, Claims: u.Claims, Restore: u.Restore, RestoredAt: u.RestoredAt,
	})
}

// DecodeUse reads the JSON that EncodeUse returned into a use.
func DecodeUse(data []byte, u *redemption.Use) error {
	var doc useDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		return unreadable("use", u.ID, "its document", err)
	}
	if doc.Origin == 0 {
		return unreadable("use", u.ID, "its document", errIncomplete)
	}
	discount, err := strictjson.Minor(doc.Currency, doc.Discount)
	if err != nil {
		return unreadable("use", u.ID, "its discount", err)
	}
	returned, err := strictjson.Minor(doc.Currency, doc.Returned)
	if err != nil {
		return unreadable("use", u.ID, "its returned discount", err)
	}
	u.Code = doc.Code
	u.Origin, u.Discount, u.Points, u.Claims = doc.Origin, discount, doc.Points, orNil(doc.Claims)
	u.Returned, u.Currency, u.Restore, u.RestoredAt = returned, doc.Currency, doc.Restore, doc.RestoredAt
	return nil
}

// ReadUse completes a use with its states and its document, as a store keeps them.
func ReadUse(u *redemption.Use, state, points string, document []byte) (err error) {
	if u.State, err = redemption.ParseState(state); err == nil {
		u.PointsState, err = redemption.ParsePointsState(points)
	}
	if err != nil {
		return unreadable("use", u.ID, "its state", err)
	}
	return DecodeUse(document, u)
}

// couponDocument is a coupon's terms and mirror.
type couponDocument struct {
	Name               string              `json:"name"`
	Description        string              `json:"description,omitempty"`
	Discount           pricing.Discount    `json:"discount"`
	Currency           pricing.Currency    `json:"currency"`
	AppliesTo          coupon.AppliesTo    `json:"appliesTo"`
	Plans              coupon.Items        `json:"plans"`
	Devices            coupon.Items        `json:"devices"`
	Accessories        coupon.Items        `json:"accessories"`
	Kinds              coupon.Items        `json:"kinds,omitzero"`
	Categories         coupon.Items        `json:"categories,omitzero"`
	ExcludedItems      coupon.Items        `json:"excludedItems,omitzero"`
	ExcludedCategories coupon.Items        `json:"excludedCategories,omitzero"`
	Buys               coupon.Scope        `json:"buys,omitzero"`
	Group              string              `json:"group,omitempty"`
	MinPurchases       coupon.Amounts      `json:"minPurchases,omitzero"`
	Distribution       coupon.Distribution `json:"distribution"`
	PointsRequired     int64               `json:"pointsRequired,omitempty"`
	MaxUses            int64               `json:"maxUses,omitempty"`
	MaxUsesPerUser     int64               `json:"maxUsesPerUser,omitempty"`
	MinPurchase        int64               `json:"minPurchase,omitempty"`
	Mirror             coupon.Mirror       `json:"mirror"`

	MinQuantity  int64                `json:"minQuantity,omitempty"`
	CustomerTags coupon.CustomerTags  `json:"customerTags,omitzero"`
	FirstOrder   bool                 `json:"firstOrder,omitempty"`
	Schedule     coupon.Schedule      `json:"schedule,omitzero"`
	Budget       coupon.Amounts       `json:"budget,omitzero"`
	PeriodLimits []coupon.PeriodLimit `json:"periodLimits,omitempty"`

	RefundPolicy    pricing.RefundPolicy `json:"refundPolicy,omitzero"`
	RestoreOnRefund coupon.Restore       `json:"restoreOnRefund,omitzero"`
}

// EncodeCoupon returns a coupon as JSON, without the ID, code, state, revision, times, counts
// and allow-list.
func EncodeCoupon(c coupon.Coupon) ([]byte, error) {
	return json.Marshal(couponDocument{
		Buys: c.Buys, Group: c.Group, MinPurchases: c.MinPurchases, RefundPolicy: c.RefundPolicy, RestoreOnRefund: c.RestoreOnRefund,
		Name: c.Name, Description: c.Description, Discount: c.Discount, Currency: c.Currency,
		AppliesTo: c.Scope.AppliesTo, Plans: c.Scope.Plans, Devices: c.Scope.Devices, Accessories: c.Scope.Accessories,
		Kinds: c.Scope.Kinds, Categories: c.Scope.Categories,
		ExcludedItems: c.Scope.ExcludedItems, ExcludedCategories: c.Scope.ExcludedCategories,
		Distribution: c.Distribution, PointsRequired: c.PointsRequired,
		MaxUses: c.Limits.MaxUses, MaxUsesPerUser: c.Limits.MaxUsesPerUser, MinPurchase: c.MinPurchase, Mirror: c.Mirror,
		MinQuantity: c.Conditions.MinQuantity, CustomerTags: c.Conditions.CustomerTags, FirstOrder: c.Conditions.FirstOrder,
		Schedule: c.Conditions.Schedule, Budget: c.Limits.Budget, PeriodLimits: c.Limits.Periods,
	})
}

// DecodeCoupon reads the JSON that EncodeCoupon returned into a coupon.
func DecodeCoupon(data []byte, c *coupon.Coupon) error {
	var doc couponDocument
	if err := decodeKnown(data, &doc, couponMembers); err != nil {
		return unreadable("coupon", c.ID, fmt.Sprintf("its document at revision %d", c.Revision), err)
	}
	if doc.Discount.IsZero() || doc.Currency.IsZero() || doc.AppliesTo == 0 || doc.Distribution == 0 {
		return unreadable("coupon", c.ID, "its document", errIncomplete)
	}
	c.Name, c.Description, c.Discount, c.Currency = doc.Name, doc.Description, doc.Discount, doc.Currency
	c.Scope = coupon.Scope{
		AppliesTo: doc.AppliesTo, Plans: doc.Plans, Devices: doc.Devices, Accessories: doc.Accessories,
		Kinds: doc.Kinds, Categories: doc.Categories,
		ExcludedItems: doc.ExcludedItems, ExcludedCategories: doc.ExcludedCategories,
	}
	c.Distribution, c.PointsRequired = doc.Distribution, doc.PointsRequired
	c.Limits = coupon.Limits{
		MaxUses: doc.MaxUses, MaxUsesPerUser: doc.MaxUsesPerUser, Budget: doc.Budget, Periods: orNil(doc.PeriodLimits),
	}
	c.Conditions = coupon.Conditions{
		MinQuantity: doc.MinQuantity, CustomerTags: doc.CustomerTags, FirstOrder: doc.FirstOrder, Schedule: doc.Schedule,
	}
	c.MinPurchase, c.MinPurchases, c.Mirror, c.Buys, c.Group = doc.MinPurchase, doc.MinPurchases, doc.Mirror, doc.Buys, doc.Group
	c.RefundPolicy, c.RestoreOnRefund = doc.RefundPolicy, doc.RestoreOnRefund
	return nil
}

// ReadCoupon completes a coupon with its code, its state, its number of addresses and its
// document, as a store keeps them. The allow-list tells the number alone.
func ReadCoupon(c *coupon.Coupon, code, state string, emails int, document []byte) (err error) {
	c.Code = coupon.StoredCode(code)
	if c.State, err = ReadCouponState(c.ID, state); err != nil {
		return err
	}
	c.AllowedUserEmails = coupon.NarrowedEmailSet(emails, "")
	return DecodeCoupon(document, c)
}

// SearchText returns the text in which a store looks for [store.CouponList].Search, folded. No
// text that is looked for is found across two fields.
func SearchText(c coupon.Coupon) string {
	return strings.Join([]string{store.Fold(c.Name), store.Fold(c.Code.String()), store.Fold(c.Description)}, "\x1f")
}

// orNil gives the empty list one form.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// ReadCouponState returns the state of a coupon, as a store keeps it.
func ReadCouponState(id, state string) (coupon.State, error) {
	read, err := coupon.ParseState(state)
	if err != nil {
		return 0, unreadable("coupon", id, "its state", err)
	}
	return read, nil
}

// decodeKnown reads a JSON document and refuses members that are not among the fields of the
// document. Terms that this version does not know would otherwise be ignored.
func decodeKnown(data []byte, into any, fields map[string]bool) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	unknown := ""
	if err := jsonobject.Members(data, func(name string, _ json.RawMessage) {
		if !fields[name] {
			unknown = name
		}
	}); err != nil {
		return err
	}
	if unknown != "" {
		return fmt.Errorf("this version does not know its member %q", jsonobject.Shown(unknown))
	}
	return nil
}

var errIncomplete = errors.New("a required field is missing")

// unreadable returns the error for a record that cannot be read. It does not match the cause: a
// damaged record is not invalid input.
func unreadable(kind, id, part string, cause error) error {
	return &store.UnreadableError{Kind: kind, ID: id, Reason: part + ": " + cause.Error()}
}

// couponMembers are the names of the members of a couponDocument.
var couponMembers = func() map[string]bool {
	names := map[string]bool{}
	for field := range reflect.TypeFor[couponDocument]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()
