package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/appendjson"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// A SQL store keeps searched and changing fields in columns. All other fields are in a JSON document,
// so that a new field needs no new column. Claims have a column of their own, so that a database can
// recount them without reading documents.

// orderDocument has the fields of an order that never change. The exceptions are Charge, Refunds,
// ExternalRefunds, Disputes, OtherPayments, Kept, BegunAt and Asks.
type orderDocument struct {
	Fingerprint string            `json:"fingerprint,omitempty"`
	Replaces    string            `json:"replaces,omitempty"`
	Awaits      string            `json:"awaits,omitempty"`
	Kept        int               `json:"kept,omitempty"`
	Coupons     []coupon.Snapshot `json:"coupons,omitempty"`
	Quote       *pricing.Quote    `json:"quote,omitempty"`
	laterDocument
}

// laterDocument has the fields that are empty in most new orders. encoding/json writes them.
type laterDocument struct {
	BegunAt  time.Time           `json:"begunAt,omitzero"`
	Asks     int64               `json:"asks,omitempty"`
	Charge   redemption.Charge   `json:"charge,omitzero"`
	Refunds  []redemption.Refund `json:"refunds,omitempty"`
	Metadata map[string]string   `json:"metadata,omitempty"`

	ExternalRefunds []redemption.ExternalRefund `json:"externalRefunds,omitempty"`
	Disputes        []redemption.Dispute        `json:"disputes,omitempty"`
	OtherPayments   []redemption.Payment        `json:"otherPayments,omitempty"`
}

// AppendOrder appends the fields of an order that stores do not keep in columns, as JSON. The columns are ID,
// Key, CustomerID, State, SessionID, SessionURL, ReplacedBy, Deadline, CreatedAt, UpdatedAt, Version and Claims.
// AppendOrder writes an orderDocument member by member.
func AppendOrder(dst []byte, o *redemption.Order) (_ []byte, err error) {
	dst = appendjson.OptionalText(append(dst, '{'), "fingerprint", o.Fingerprint)
	dst = appendjson.OptionalText(dst, "replaces", o.Replaces)
	dst = appendjson.OptionalText(dst, "awaits", o.Awaits)
	dst = appendjson.OptionalInt(dst, "kept", int64(o.Kept))
	if len(o.Coupons) > 0 {
		dst = append(appendjson.Name(dst, "coupons"), '[')
		for i := range o.Coupons {
			if dst, err = o.Coupons[i].AppendJSON(appendjson.Next(dst)); err != nil {
				return nil, err
			}
		}
		dst = append(dst, ']')
	}
	if !o.Quote.Currency.IsZero() {
		if dst, err = o.Quote.AppendJSON(appendjson.Name(dst, "quote")); err != nil {
			return nil, err
		}
	}
	if !o.BegunAt.IsZero() || o.Asks > 0 || !o.Charge.IsZero() || len(o.Refunds)+len(o.Metadata)+len(o.ExternalRefunds)+len(o.Disputes)+len(o.OtherPayments) > 0 {
		dst, err = appendjson.Members(dst, laterDocument{
			BegunAt: o.BegunAt, Asks: o.Asks, Charge: o.Charge, Refunds: o.Refunds, Metadata: o.Metadata,
			ExternalRefunds: o.ExternalRefunds, Disputes: o.Disputes, OtherPayments: o.OtherPayments,
		})
	}
	return append(dst, '}'), err
}

// AppendClaims appends claims as a JSON array in the format of encoding/json.
func AppendClaims(dst []byte, claims []eligibility.Claim) []byte {
	dst = append(dst, '[')
	for i := range claims {
		c := &claims[i]
		dst = appendjson.TextMember(append(appendjson.Next(dst), '{'), "counter", c.Counter)
		dst = appendjson.IntMember(dst, "amount", c.Amount)
		dst = appendjson.OptionalInt(dst, "limit", c.Limit)
		dst = append(appendjson.OptionalInt(dst, "returned", c.Returned), '}')
	}
	return append(dst, ']')
}

// DecodeClaims reads the JSON that AppendClaims appended for a record. The kind of the record is "order" or "use".
// The error is a [*store.UnreadableError].
func DecodeClaims(kind, id string, data []byte) (claims []eligibility.Claim, err error) {
	if err := json.Unmarshal(data, &claims); err != nil {
		return nil, unreadable(kind, id, "its claims", err)
	}
	if slices.ContainsFunc(claims, func(c eligibility.Claim) bool { return c.Counter == "" || c.Amount == 0 }) {
		return nil, unreadable(kind, id, "its claims", errIncomplete)
	}
	return orNil(claims), nil
}

// ReadOrder completes an order with its state and with the JSON that AppendOrder appended, as a store keeps them. The
// order's claims stay as they are.
func ReadOrder(o *redemption.Order, state string, document []byte) (err error) {
	if o.State, err = redemption.ParseOrderState(state); err != nil {
		return unreadable("order", o.ID, "its state", err)
	}
	var doc orderDocument
	if err := json.Unmarshal(document, &doc); err != nil {
		return unreadable("order", o.ID, "its document", err)
	}
	o.Fingerprint, o.Replaces, o.Coupons, o.Metadata = doc.Fingerprint, doc.Replaces, orNil(doc.Coupons), doc.Metadata
	o.Charge, o.Awaits, o.Kept, o.BegunAt, o.Asks = doc.Charge, doc.Awaits, doc.Kept, doc.BegunAt, doc.Asks
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

// useDocument has the fields of a use that never change. The exceptions are Returned and
// RestoredAt, which a refund changes. Stores read Discount, Returned,
// Currency and RestoredAt in SQL, by their JSON names, for [store.Orders].Sums. Discount and Returned
// have all decimals of Currency. Without the point, their text is the number of minor units.
type useDocument struct {
	Code       coupon.Code       `json:"code,omitzero"`
	Origin     redemption.Origin `json:"origin"`
	Discount   pricing.Number    `json:"discount,omitempty"`
	Returned   pricing.Number    `json:"returned,omitempty"`
	Currency   pricing.Currency  `json:"currency,omitzero"`
	Points     int64             `json:"points,omitempty"`
	Restore    coupon.Restore    `json:"restoreOnRefund,omitzero"`
	RestoredAt time.Time         `json:"restoredAt,omitzero"`
}

// AppendUse appends the fields of a use that stores do not keep in columns, as JSON. The columns are ID,
// CouponID, CustomerID, OrderID, Key, ExchangeID, State, PointsState, OverLimit, Deadline, CreatedAt, UpdatedAt,
// CompletedAt, ReleasedAt, Version and Claims. AppendUse writes a useDocument member by member.
func AppendUse(dst []byte, u *redemption.Use) (_ []byte, err error) {
	dst = appendjson.OptionalText(append(dst, '{'), "code", u.Code.String())
	dst = appendjson.TextMember(dst, "origin", u.Origin.String())
	dst = appendjson.OptionalText(dst, "discount", string(u.Currency.OptionalNumber(u.Discount)))
	dst = appendjson.OptionalText(dst, "returned", string(u.Currency.OptionalNumber(u.Returned)))
	dst = appendjson.OptionalText(dst, "currency", u.Currency.Code())
	dst = appendjson.OptionalInt(dst, "points", u.Points)
	if u.Restore != coupon.RestoreFull {
		dst = appendjson.TextMember(dst, "restoreOnRefund", u.Restore.String())
	}
	if !u.RestoredAt.IsZero() {
		dst, err = appendjson.Value(appendjson.Name(dst, "restoredAt"), u.RestoredAt)
	}
	return append(dst, '}'), err
}

// ReadUse completes a use with its states and with the JSON that AppendUse appended, as a store keeps them. The use's
// claims stay as they are.
func ReadUse(u *redemption.Use, state, points string, document []byte) (err error) {
	if u.State, err = redemption.ParseState(state); err == nil {
		u.PointsState, err = redemption.ParsePointsState(points)
	}
	if err != nil {
		return unreadable("use", u.ID, "its state", err)
	}
	var doc useDocument
	if err := json.Unmarshal(document, &doc); err != nil {
		return unreadable("use", u.ID, "its document", err)
	}
	if doc.Origin == 0 {
		return unreadable("use", u.ID, "its document", errIncomplete)
	}
	discount, err := doc.Discount.Minor(doc.Currency)
	if err != nil {
		return unreadable("use", u.ID, "its discount", err)
	}
	returned, err := doc.Returned.Minor(doc.Currency)
	if err != nil {
		return unreadable("use", u.ID, "its returned discount", err)
	}
	u.Code = doc.Code
	u.Origin, u.Discount, u.Points = doc.Origin, discount, doc.Points
	u.Returned, u.Currency, u.Restore, u.RestoredAt = returned, doc.Currency, doc.Restore, doc.RestoredAt
	return nil
}

// couponDocument is the name, the terms and the mirror of a coupon.
type couponDocument struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Version     int           `json:"termsVersion"` // version of the program that wrote the document
	Terms       *coupon.Terms `json:"terms"`
	Mirror      coupon.Mirror `json:"mirror"`
}

var couponReader = strictjson.For[couponDocument]()

// EncodeCoupon returns a coupon as JSON, without the ID, code, state, revision, times, counts
// and allow-list.
func EncodeCoupon(c coupon.Coupon) ([]byte, error) {
	c.AllowedUserEmails = coupon.NarrowedEmailSet(1, "") // null, because the allow-list has its own table
	return json.Marshal(couponDocument{Name: c.Name, Description: c.Description, Version: coupon.TermsVersion, Terms: &c.Terms, Mirror: c.Mirror})
}

// ReadCoupon completes a coupon with its code, its state, its number of addresses and the JSON that EncodeCoupon
// returned, as a store keeps them. The allow-list tells the number alone. After an error, only the terms may have changed.
func ReadCoupon(c *coupon.Coupon, code, state string, emails int, document []byte) error {
	read, err := ReadCouponState(c.ID, state)
	if err != nil {
		return err
	}
	doc := couponDocument{Terms: &c.Terms} // terms are large, so decode them in place
	if err := couponReader.Object(document, &doc); err != nil {
		part := fmt.Sprintf("its document at revision %d", c.Revision)
		if doc.Version > coupon.TermsVersion {
			part += fmt.Sprintf(", of version %d while this program reads version %d", doc.Version, coupon.TermsVersion)
		}
		if name := strictjson.UnknownMember(err); name != "" {
			err = fmt.Errorf("this version does not know its member %q", name)
		}
		return unreadable("coupon", c.ID, part, err)
	}
	if doc.Terms == nil || c.Discount.IsZero() {
		return unreadable("coupon", c.ID, "its document", errIncomplete)
	}
	c.Code, c.State, c.AllowedUserEmails = coupon.StoredCode(code), read, coupon.NarrowedEmailSet(emails, "")
	c.Name, c.Description, c.Mirror = doc.Name, doc.Description, doc.Mirror
	return nil
}

// SearchText returns the text in which a store looks for [store.CouponList].Search, folded. No
// text that is looked for is found across two fields.
func SearchText(c coupon.Coupon) string {
	return strings.Join([]string{store.Fold(c.Name), store.Fold(c.Code.String()), store.Fold(c.Description)}, "\x1f")
}

// orNil replaces an empty list by nil.
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

var errIncomplete = errors.New("a required field is missing")

// unreadable returns the error for a record that cannot be read. It does not match the cause, because a
// damaged record is not invalid input.
func unreadable(kind, id, part string, cause error) error {
	return &store.UnreadableError{Kind: kind, ID: id, Reason: part + ": " + cause.Error()}
}
