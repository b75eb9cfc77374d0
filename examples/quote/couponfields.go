package main

import (
	"encoding/json"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// storedFields are fields of a stored coupon that a draft does not have. Most of them do not change any
// answer.
var storedFields = []string{
	"id", "active", "usedCount", "reservedCount", "processorCouponId", "promotionCodeId", "mirrorUnsupported",
	"createdAt", "updatedAt", "revision",
}

// documentCouponID is used as the ID of the coupon. No answer contains it.
const documentCouponID = coupon.IDPrefix + "document"

// decodeCoupon reads the terms of a coupon. It makes the same checks as the library makes for a new
// coupon.
func decodeCoupon(raw []byte) (coupon.Coupon, error) {
	if raw[0] != '{' {
		return coupon.Coupon{}, errNoObject
	}
	stored, terms := []byte{'{'}, []byte{'{'}
	for name, value := range members(raw) {
		to := &terms
		if slices.Contains(storedFields, name) {
			to = &stored
		}
		if len(*to) > 1 {
			*to = append(*to, ',')
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return coupon.Coupon{}, err
		}
		*to = append(append(append(*to, quoted...), ':'), value...)
	}
	f, err := split(append(stored, '}'), storedFields)
	if err != nil {
		return coupon.Coupon{}, err
	}
	var draft coupon.Draft
	if err := draft.UnmarshalJSON(append(terms, '}')); err != nil {
		return coupon.Coupon{}, err
	}
	if !draft.MaxUsesPerUser.Given() {
		draft.MaxUsesPerUser = coupon.Clear[int]()
	}
	made, err := coupon.New(draft, coupon.Creation{ID: documentCouponID})
	active := f.flag("active", true)
	f.checkStored()
	f.faults.Merge("", err)
	if err == nil && made.Code.IsZero() {
		f.faults.Add("withoutCode", validation.NotAllowed, "a document names coupons by their codes")
	}
	if !active {
		made.State = coupon.Inactive
	}
	return made, f.err()
}

// checkStored checks only the form of stored fields that do not change any answer.
func (f *fields) checkStored() {
	for _, name := range [...]string{"id", "processorCouponId", "promotionCodeId"} {
		f.text(name)
	}
	f.flag("mirrorUnsupported", false)
	for _, name := range [...]string{"usedCount", "reservedCount", "revision"} {
		f.count(name)
	}
	for _, name := range [...]string{"createdAt", "updatedAt"} {
		parsed(f, name, parseInstant)
	}
}
