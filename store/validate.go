package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// Validate checks that the order and its uses are new and belong together. It returns a
// [*validation.Error] that lists every invalid field.
func (r Reservation) Validate() error {
	var faults validation.Error
	points := r.Order.IsZero()
	switch {
	case points && len(r.Uses) != 1:
		faults.Add("uses", validation.Required, "a points reservation is one use")
		return faults.Err()
	case len(r.Uses) > redemption.MaxUses:
		faults.Add("uses", validation.TooLong, fmt.Sprintf("at most %d uses", redemption.MaxUses))
		return faults.Err()
	case !points:
		r.orderFaults(&faults)
	}
	for i := range r.Uses {
		r.useFaults(&faults, "uses["+strconv.Itoa(i)+"]", &r.Uses[i])
	}
	idFaults(&faults, "uses", r.Uses)
	r.couponFaults(&faults)
	actorFault(&faults, r.By)
	return faults.Err()
}

func idFaults(faults *validation.Error, field string, uses []redemption.Use) {
	for i := range uses {
		if slices.ContainsFunc(uses[:i], func(u redemption.Use) bool { return u.ID == uses[i].ID }) {
			faults.Add(fmt.Sprintf("%s[%d].id", field, i), validation.Mismatch, "each use has an ID of its own")
		}
	}
}

func actorFault(faults *validation.Error, by string) {
	switch {
	case len(by) > redemption.MaxIDLength:
		faults.Add("by", validation.TooLong, fmt.Sprintf("at most %d bytes", redemption.MaxIDLength))
	case !IsText(by):
		faults.Add("by", validation.Malformed, "must be valid UTF-8 text without NUL")
	}
}

func (r Reservation) orderFaults(faults *validation.Error) {
	o := r.Order
	faults.Merge("order", o.Validate())
	if o.Key == "" {
		faults.Add("order.key", validation.Required, "is required")
	}
	if o.State != redemption.OrderOpen || o.SessionID != "" || o.ReplacedBy != "" {
		faults.Add("order.state", validation.Mismatch, "an order begins open, without a session")
	}
	if o.Awaits != "" || o.Asks != 0 {
		faults.Add("order.awaits", validation.NotAllowed, "the store sets what an order waits for")
	}
	refundFaults(faults, "order", o.Refunds, o.Claims)
	otherPaymentFaults(faults, "order", o)
}

// otherPaymentFaults reports other payments in a new order.
func otherPaymentFaults(faults *validation.Error, field string, o redemption.Order) {
	if len(o.OtherPayments) > 0 {
		faults.Add(field+".otherPayments", validation.NotAllowed, "a new order has no other payments")
	}
}

// refundFaults reports refunds in a new record.
func refundFaults(faults *validation.Error, field string, refunds []redemption.Refund, claims []eligibility.Claim) {
	if len(refunds) > 0 {
		faults.Add(field+".refunds", validation.NotAllowed, "nothing of a new order is refunded")
	}
	for i, c := range claims {
		if c.Returned != 0 {
			faults.Add(fmt.Sprintf("%s.claims[%d].returned", field, i), validation.NotAllowed, "nothing of a new claim is given back")
		}
	}
}

func (r Reservation) useFaults(faults *validation.Error, field string, u *redemption.Use) {
	faults.Merge(field, u.Validate())
	if u.State != redemption.Reserved || u.OverLimit || !u.CompletedAt.IsZero() || !u.ReleasedAt.IsZero() || !u.RestoredAt.IsZero() || u.Returned != 0 {
		faults.Add(field+".state", validation.Mismatch, "a use begins reserved")
	}
	refundFaults(faults, field, nil, u.Claims)
	taken := !r.Order.IsZero()
	if u.OrderID != r.Order.ID || taken && u.CustomerID != r.Order.CustomerID {
		faults.Add(field+".orderId", validation.Mismatch, "the use is not that of the order")
	}
	switch {
	case u.Origin == redemption.FromPayment:
		faults.Add(field+".origin", validation.Mismatch, "a payment is settled, not reserved")
	case !taken && (u.Origin != redemption.FromPoints || u.PointsState != redemption.PointsPending || u.ExchangeID != u.ID):
		faults.Add(field+".pointsState", validation.Mismatch, "a points reservation begins with points to be debited")
	case taken && u.Origin == redemption.FromPoints && u.PointsState != redemption.PointsDebited:
		faults.Add(field+".pointsState", validation.Mismatch, "a checkout takes points that are debited")
	case !taken && u.Key == "":
		faults.Add(field+".key", validation.Required, "is required")
	}
}

func (r Reservation) couponFaults(faults *validation.Error) {
	priced := map[string]bool{}
	for _, c := range r.Coupons {
		priced[c.ID] = true
		if c.Code.IsZero() {
			continue
		}
		if key, _ := coupon.ParseCode(c.Code.String()); key != c.Code {
			faults.Add("coupons", validation.Malformed, "a code must be one that coupon.ParseCode returned")
		}
	}
	used := map[string]bool{}
	for i := range r.Uses {
		if id := r.Uses[i].CouponID; !priced[id] || used[id] {
			faults.Add(fmt.Sprintf("uses[%d].couponId", i), validation.Mismatch, "each use has a coupon of its own")
		}
		used[r.Uses[i].CouponID] = true
	}
	if len(priced) != len(used) || len(priced) != len(r.Coupons) {
		faults.Add("coupons", validation.Mismatch, "each coupon has one use")
	}
}

// Validate checks the event and the records of an unknown payment. It returns a
// [*validation.Error] that lists every invalid field.
func (s Settlement) Validate() error {
	var faults validation.Error
	faults.Merge("event", s.Event.Validate())
	actorFault(&faults, s.By)
	if o := s.Unknown.Order; !o.IsZero() {
		s.unknownFaults(&faults)
	}
	return faults.Err()
}

func (s Settlement) unknownFaults(faults *validation.Error) {
	o := s.Unknown.Order
	faults.Merge("unknown.order", o.Validate())
	if o.State != redemption.OrderPaid || o.SessionID != s.Event.SessionID || o.ReplacedBy != "" || len(o.Due()) > 0 || !o.Deadline.IsZero() {
		faults.Add("unknown.order.state", validation.Mismatch, "an unknown payment is paid, in its session")
	}
	refundFaults(faults, "unknown.order", o.Refunds, o.Claims)
	otherPaymentFaults(faults, "unknown.order", o)
	if o.Key != "" {
		faults.Add("unknown.order.key", validation.NotAllowed, "an unknown payment has no key")
	}
	if len(s.Unknown.Uses) > redemption.MaxUses {
		faults.Add("unknown.uses", validation.TooLong, fmt.Sprintf("at most %d uses", redemption.MaxUses))
		return
	}
	idFaults(faults, "unknown.uses", s.Unknown.Uses)
	used := map[string]bool{}
	for i, u := range s.Unknown.Uses {
		field := fmt.Sprintf("unknown.uses[%d]", i)
		faults.Merge(field, u.Validate())
		refundFaults(faults, field, nil, u.Claims)
		if u.State != redemption.Completed || u.Origin != redemption.FromPayment || !u.ReleasedAt.IsZero() || !u.RestoredAt.IsZero() {
			faults.Add(field+".state", validation.Mismatch, "a use of an unknown payment is completed")
		}
		if u.OrderID != o.ID || u.CustomerID != o.CustomerID || u.Key != "" {
			faults.Add(field+".orderId", validation.Mismatch, "the use is not that of the order")
		}
		if used[u.CouponID] {
			faults.Add(field+".couponId", validation.Mismatch, "each use has a coupon of its own")
		}
		used[u.CouponID] = true
	}
}

// Validate checks the fields of a change that do not depend on the stored coupon. It returns
// a [*validation.Error] that lists every invalid field.
func (c CouponChange) Validate() error {
	var faults validation.Error
	if c.Kind < CreateCoupon || c.Kind > DeleteCoupon {
		faults.Add("kind", validation.Unknown, "is no change of a coupon")
	}
	changeFaults(&faults, c.At, c.By)
	if c.Kind == CreateCoupon {
		faults.Merge("", c.Coupon.Validate())
		if key, _ := coupon.ParseCode(c.Coupon.Code.String()); key != c.Coupon.Code {
			faults.Add("code", validation.Malformed, "must be a code that coupon.ParseCode returned")
		}
		if c.Coupon.AllowedUserEmails.Narrowed() {
			faults.Add("allowedUserEmails", validation.Mismatch, "the whole allow-list is stored")
		}
		if c.Coupon.Revision != 1 {
			faults.Add("revision", validation.Mismatch, "a new coupon has revision 1")
		}
	}
	return faults.Err()
}

func changeFaults(faults *validation.Error, at time.Time, by string) {
	switch year := at.Year(); {
	case at.IsZero():
		faults.Add("at", validation.Required, "a change has an instant")
	case year < 1 || year > 9999:
		faults.Add("at", validation.Malformed, "must be in the years 1 to 9999")
	}
	actorFault(faults, by)
}

func invalidField(field string, code validation.Code, message string) error {
	return validation.New(field, code, message)
}

// IsText reports whether every database can store the text unchanged. The text must be valid
// UTF-8 without NUL characters. Stores find nothing for any other text, without asking the
// database.
func IsText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsRune(value, 0)
}
