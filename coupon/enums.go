package coupon

import "github.com/couponkit/couponkit/internal/enum"

// AppliesTo is the kind of scope that a coupon has (specification 2.2).
type AppliesTo uint8

// These constants are the kinds of scope.
const (
	All          AppliesTo = iota + 1 // the coupon covers every line of the cart except shipping
	Subscription                      // the coupon covers plans
	Product                           // the coupon covers devices and accessories
	Specific                          // the coupon covers only the selected items
)

var scopeKinds = enum.Names{All: "ALL", Subscription: "SUBSCRIPTION", Product: "PRODUCT", Specific: "SPECIFIC"}

// String returns the JSON name, such as "ALL".
func (a AppliesTo) String() string { return scopeKinds.Of(uint8(a)) }

// GoString formats the value for the messages of failed tests.
func (a AppliesTo) GoString() string { return scopeKinds.GoString("coupon.AppliesTo", uint8(a)) }

// MarshalText returns the same name as String.
func (a AppliesTo) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a JSON name. For another text, *a becomes zero, and the error is a [*validation.Error].
func (a *AppliesTo) UnmarshalText(text []byte) error { return scopeKinds.Parse(text, (*uint8)(a)) }

// Distribution defines who may use a coupon (specification 2.3).
type Distribution uint8

// These constants are the possible distributions of a coupon.
const (
	General          Distribution = iota + 1 // everybody may use the coupon
	PointsRedeemable                         // only customers who exchanged points for the coupon may use the coupon
	UserSpecific                             // only customers whose e-mail address is in the allow-list may use the coupon
)

var distributions = enum.Names{General: "GENERAL", PointsRedeemable: "POINTS_REDEEMABLE", UserSpecific: "USER_SPECIFIC"}

// String returns the JSON name, such as "GENERAL".
func (d Distribution) String() string { return distributions.Of(uint8(d)) }

// GoString formats the value for the messages of failed tests.
func (d Distribution) GoString() string {
	return distributions.GoString("coupon.Distribution", uint8(d))
}

// MarshalText returns the same name as String.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a JSON name. For another text, *d becomes zero, and the error is a [*validation.Error].
func (d *Distribution) UnmarshalText(text []byte) error {
	return distributions.Parse(text, (*uint8)(d))
}

// State shows whether a coupon is switched on, switched off, being created or being deleted (specification 3.1).
// Customers can use only an [Active] coupon. The state does not depend on dates, so an expired coupon may be Active.
type State uint8

// These constants are the possible states of a coupon. A coupon that is pending or being deleted has its code.
const (
	Pending  State = iota + 1 // the coupon's copy at the payment processor is being created
	Active                    // the coupon is switched on
	Inactive                  // an administrator has switched the coupon off
	Deleting                  // the coupon's copy at the payment processor is being removed
)

var states = enum.Names{Pending: "pending", Active: "active", Inactive: "inactive", Deleting: "deleting"}

// String returns the name of the state, such as "pending".
func (s State) String() string { return states.Of(uint8(s)) }

// GoString formats the value for the messages of failed tests.
func (s State) GoString() string { return states.GoString("coupon.State", uint8(s)) }

// ParseState returns the State with the given name. For an unknown name, ParseState returns a [*validation.Error].
func ParseState(text string) (s State, err error) {
	err = s.UnmarshalText([]byte(text))
	return s, err
}

// MarshalText returns the same name as String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText works like [ParseState]. If UnmarshalText fails, *s becomes zero.
func (s *State) UnmarshalText(text []byte) error { return states.Parse(text, (*uint8)(s)) }

// Restore tells when a refund gives a use of a coupon back.
type Restore uint8

// These constants are the values of Restore.
const (
	// RestoreFull gives the use and the budget back when everything is refunded. It is the default.
	RestoreFull Restore = iota
	// RestoreAlways gives the use back at the first refund. Each refund gives back the part of the budget that its
	// discount has spent.
	RestoreAlways
	// RestoreNever gives nothing back.
	RestoreNever
)

var restores = enum.Names{RestoreFull: "full", RestoreAlways: "always", RestoreNever: "never"}

// String returns the JSON name, such as "full".
func (r Restore) String() string { return restores.Of(uint8(r)) }

// GoString formats the value for the messages of failed tests.
func (r Restore) GoString() string { return restores.GoString("coupon.Restore", uint8(r)) }

// MarshalText returns the same name as String.
func (r Restore) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a JSON name. For another text, *r becomes zero, and the error is a [*validation.Error].
func (r *Restore) UnmarshalText(text []byte) error { return restores.Parse(text, (*uint8)(r)) }

// LimitSubject is what a [PeriodLimit] counts the uses of.
type LimitSubject uint8

// These constants are the subjects of a limit.
const (
	PerCustomer LimitSubject = iota + 1 // counts the uses of the coupon by one customer
	PerCoupon                           // counts the uses of the coupon by all customers
	PerCode                             // counts the uses of the code by all customers, also with a deleted coupon that had it
)

var limitSubjects = enum.Names{PerCustomer: "CUSTOMER", PerCoupon: "COUPON", PerCode: "CODE"}

// String returns the JSON name, such as "CUSTOMER".
func (s LimitSubject) String() string { return limitSubjects.Of(uint8(s)) }

// GoString formats the value for the messages of failed tests.
func (s LimitSubject) GoString() string {
	return limitSubjects.GoString("coupon.LimitSubject", uint8(s))
}

// MarshalText returns the same name as String.
func (s LimitSubject) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a JSON name. For another text, *s becomes zero, and the error is a [*validation.Error].
func (s *LimitSubject) UnmarshalText(text []byte) error {
	return limitSubjects.Parse(text, (*uint8)(s))
}
