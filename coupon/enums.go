package coupon

import (
	"strconv"

	"github.com/couponkit/couponkit/validation"
)

// AppliesTo is the kind of scope that a coupon has (specification 2.2).
type AppliesTo uint8

// These constants are the kinds of scope.
const (
	// All means that the coupon covers every line of the cart except shipping.
	All AppliesTo = iota + 1
	// Subscription means that the coupon covers plans.
	Subscription
	// Product means that the coupon covers devices and accessories.
	Product
	// Specific means that the coupon covers only the selected items.
	Specific
)

// String returns the JSON name: "ALL", "SUBSCRIPTION", "PRODUCT" or "SPECIFIC".
func (a AppliesTo) String() string {
	switch a {
	case All:
		return "ALL"
	case Subscription:
		return "SUBSCRIPTION"
	case Product:
		return "PRODUCT"
	case Specific:
		return "SPECIFIC"
	}
	return ""
}

// GoString formats the value for the messages of failed tests.
func (a AppliesTo) GoString() string { return goString("AppliesTo", a.String(), uint8(a)) }

// ParseAppliesTo returns the AppliesTo with the given name. For an unknown name, ParseAppliesTo
// returns a [*validation.Error].
func ParseAppliesTo(text string) (AppliesTo, error) {
	for a := All; a <= Specific; a++ {
		if a.String() == text {
			return a, nil
		}
	}
	return 0, unknown("must be ALL, SUBSCRIPTION, PRODUCT or SPECIFIC")
}

// MarshalText returns the same name as String.
func (a AppliesTo) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText works like [ParseAppliesTo]. If UnmarshalText fails, *a becomes zero.
func (a *AppliesTo) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAppliesTo(string(text))
	return err
}

// Distribution defines who may use a coupon (specification 2.3).
type Distribution uint8

// These constants are the possible distributions of a coupon.
const (
	// General means that everybody may use the coupon.
	General Distribution = iota + 1
	// PointsRedeemable means that only customers who exchanged points for the coupon may use the
	// coupon.
	PointsRedeemable
	// UserSpecific means that only customers whose e-mail address is in the allow-list may use
	// the coupon.
	UserSpecific
)

// String returns the JSON name: "GENERAL", "POINTS_REDEEMABLE" or "USER_SPECIFIC".
func (d Distribution) String() string {
	switch d {
	case General:
		return "GENERAL"
	case PointsRedeemable:
		return "POINTS_REDEEMABLE"
	case UserSpecific:
		return "USER_SPECIFIC"
	}
	return ""
}

// GoString formats the value for the messages of failed tests.
func (d Distribution) GoString() string { return goString("Distribution", d.String(), uint8(d)) }

// ParseDistribution returns the Distribution with the given name. For an unknown name,
// ParseDistribution returns a [*validation.Error].
func ParseDistribution(text string) (Distribution, error) {
	for d := General; d <= UserSpecific; d++ {
		if d.String() == text {
			return d, nil
		}
	}
	return 0, unknown("must be GENERAL, POINTS_REDEEMABLE or USER_SPECIFIC")
}

// MarshalText returns the same name as String.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText works like [ParseDistribution]. If UnmarshalText fails, *d becomes
// zero.
func (d *Distribution) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDistribution(string(text))
	return err
}

// State shows whether a coupon is switched on, switched off, being created or being deleted
// (specification 3.1). Customers can use only an [Active] coupon. The state does not depend on
// dates, so an expired coupon may be Active.
type State uint8

// These constants are the possible states of a coupon.
const (
	// Pending means that the coupon's copy at the payment processor is being created. The code
	// of a pending coupon is already taken.
	Pending State = iota + 1
	// Active means that the coupon is switched on.
	Active
	// Inactive means that an administrator has switched the coupon off.
	Inactive
	// Deleting means that the coupon's copy at the payment processor is being removed. The code
	// of the coupon is still taken during the deletion.
	Deleting
)

// String returns the name of the state: "pending", "active", "inactive" or "deleting".
func (s State) String() string {
	switch s {
	case Pending:
		return "pending"
	case Active:
		return "active"
	case Inactive:
		return "inactive"
	case Deleting:
		return "deleting"
	}
	return ""
}

// GoString formats the value for the messages of failed tests.
func (s State) GoString() string { return goString("State", s.String(), uint8(s)) }

// ParseState returns the State with the given name. For an unknown name, ParseState returns a
// [*validation.Error].
func ParseState(text string) (State, error) {
	for s := Pending; s <= Deleting; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, unknown("must be pending, active, inactive or deleting")
}

// MarshalText returns the same name as String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText works like [ParseState]. If UnmarshalText fails, *s becomes zero.
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

func unknown(message string) error {
	return validation.New("", validation.Unknown, message)
}

// goString returns an enumeration value by its name, or by its number if it has no
// name.
func goString(name, word string, value uint8) string {
	if word == "" {
		word = strconv.Itoa(int(value))
	}
	return "coupon." + name + "(" + word + ")"
}
