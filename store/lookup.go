package store

import (
	"context"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// These constants limit a [LookUp] and its answer.
const (
	// MaxNames is the maximum number of names of one LookUp. A request has at most
	// [pricing.MaxCoupons] codes, and a code that a customer typed has at most 3 readings.
	MaxNames = 3 * pricing.MaxCoupons
	// MaxHeld is the maximum number of reserved uses in a [Found], and the maximum number of
	// open orders in a [LookedUp].
	MaxHeld = 16
)

// Name selects a coupon by its ID, or by its code if CouponID is empty.
type Name struct {
	CouponID string
	Code     coupon.Code
}

// ByID returns the names of coupons with these IDs.
func ByID(ids ...string) []Name {
	names := make([]Name, len(ids))
	for i, id := range ids {
		names[i].CouponID = id
	}
	return names
}

// ByCode returns the names of coupons with these codes.
func ByCode(codes ...coupon.Code) []Name {
	names := make([]Name, len(codes))
	for i, code := range codes {
		names[i].Code = code
	}
	return names
}

// LookUp selects the coupons of one request and the customer who wants to use them.
type LookUp struct {
	// Names select the coupons, at most [MaxNames].
	Names []Name
	// Counters are the keys of further counters to read.
	Counters []string
	// CustomerID selects the customer whose reserved uses are returned. If CustomerID is
	// empty, no reserved uses and no orders are returned.
	CustomerID string
	// Orders is how many of the customer's open orders are returned, from 0 to [MaxHeld].
	Orders int
	// Identities are the ID, the e-mail address and the aliases of the customer. LookUp
	// counts the uses of each identity.
	Identities []string
	// Email is the only address in the returned allow-lists, if it is on them.
	Email string
	// If Whole is true, the returned allow-lists have all addresses.
	Whole bool
}

// Validate checks the bounds of a LookUp. It returns a [*validation.Error] that lists
// every field that is out of bounds.
func (by LookUp) Validate() error {
	var faults validation.Error
	if len(by.Names) > MaxNames {
		faults.Add("names", validation.TooLong, fmt.Sprintf("at most %d names", MaxNames))
	}
	if by.Orders < 0 || by.Orders > MaxHeld {
		faults.Add("orders", validation.TooLarge, fmt.Sprintf("0 to %d orders", MaxHeld))
	}
	return faults.Err()
}

// LookedUp is the answer to a [LookUp].
type LookedUp struct {
	// Coupons has one entry for each of [LookUp].Names, in order. The entry of an unknown
	// coupon is nil. Two names of one coupon have an entry each.
	Coupons []*Found
	// Counts has one entry for each of [LookUp].Counters, in order.
	Counts []eligibility.Count
	// Orders are the customer's open orders, newest first.
	Orders []Settled
	// Unreadable names those of the open orders that cannot be read. They are not in Orders.
	Unreadable []*UnreadableError
}

// Found is a coupon with the counts that a decision about one customer needs.
type Found struct {
	// Unreadable tells that the coupon, or one of the customer's reserved uses of it, cannot be
	// read. Of the other fields, only Coupon.ID is then valid. Unreadable is nil otherwise.
	Unreadable *UnreadableError
	// Coupon is the stored coupon with its counts. Its allow-list may be narrowed to
	// [LookUp].Email.
	Coupon coupon.Coupon
	// Code is the code that the name had, with its counts. It is zero for a name that is an ID.
	Code coupon.IssuedCode
	// ByCustomer contains the number of uses of each identity, in the order of
	// [LookUp].Identities.
	ByCustomer []eligibility.Count
	// Held are the customer's reserved uses of the coupon, newest first. It has at most
	// [MaxHeld] entries.
	Held []redemption.Use
}

// Find returns the coupon of the first name that a coupon has. If no coupon has one of the names, Find
// returns coupon.ErrNotFound. For a coupon that cannot be read, Find returns the [*UnreadableError]. All
// other errors are those of [Coupons].LookUp.
func Find(ctx context.Context, s Coupons, by LookUp) (Found, error) {
	answer, err := s.LookUp(ctx, by)
	if err != nil {
		return Found{}, err
	}
	for _, found := range answer.Coupons {
		switch {
		case found == nil:
		case found.Unreadable != nil:
			return Found{}, found.Unreadable
		default:
			return *found, nil
		}
	}
	return Found{}, coupon.Reject("", coupon.CouponNotFound, coupon.Params{})
}
