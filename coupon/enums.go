package coupon

import (
	"strconv"

	"github.com/couponkit/couponkit/pricing"
)

// AppliesTo is the scope of a coupon (specification 2.2).
type AppliesTo uint8

// The scopes.
const (
	All          AppliesTo = iota + 1 // every line but shipping
	Subscription                      // plans
	Product                           // devices and accessories
	Specific                          // only the selected items
)

// String returns the wire name: "ALL", "SUBSCRIPTION", "PRODUCT" or "SPECIFIC".
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

// GoString shows the value in test failures.
func (a AppliesTo) GoString() string { return goString("AppliesTo", a.String(), uint8(a)) }

// ParseAppliesTo returns the scope whose wire name is text. Any other text is a
// [*pricing.ValidationError].
func ParseAppliesTo(text string) (AppliesTo, error) {
	for a := All; a <= Specific; a++ {
		if a.String() == text {
			return a, nil
		}
	}
	return 0, unknown("must be ALL, SUBSCRIPTION, PRODUCT or SPECIFIC")
}

// MarshalText returns the wire name.
func (a AppliesTo) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a wire name as [ParseAppliesTo] does. After an error a is zero.
func (a *AppliesTo) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAppliesTo(string(text))
	return err
}

// Distribution tells who may use a coupon (specification 2.3).
type Distribution uint8

// The distributions.
const (
	General          Distribution = iota + 1 // everybody
	PointsRedeemable                         // customers who have exchanged points for the coupon
	UserSpecific                             // customers whose e-mail address is in the allow-list
)

// String returns the wire name: "GENERAL", "POINTS_REDEEMABLE" or "USER_SPECIFIC".
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

// GoString shows the value in test failures.
func (d Distribution) GoString() string { return goString("Distribution", d.String(), uint8(d)) }

// ParseDistribution returns the distribution whose wire name is text. Any other text is
// a [*pricing.ValidationError].
func ParseDistribution(text string) (Distribution, error) {
	for d := General; d <= UserSpecific; d++ {
		if d.String() == text {
			return d, nil
		}
	}
	return 0, unknown("must be GENERAL, POINTS_REDEEMABLE or USER_SPECIFIC")
}

// MarshalText returns the wire name.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a wire name as [ParseDistribution] does. After an error d is
// zero.
func (d *Distribution) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDistribution(string(text))
	return err
}

// State is the state of a coupon (specification 3.1). Only an active coupon can be
// used. State does not depend on the dates of the coupon.
type State uint8

// The states.
const (
	// Pending means that the mirror at the processor is being made. The code is taken.
	Pending State = iota + 1
	// Active means that the coupon is switched on.
	Active
	// Inactive means that an administrator has switched the coupon off.
	Inactive
	// Deleting means that the mirror is being removed. The code is still taken.
	Deleting
)

// String returns "pending", "active", "inactive" or "deleting".
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

// GoString shows the value in test failures.
func (s State) GoString() string { return goString("State", s.String(), uint8(s)) }

// ParseState returns the state whose name is text. Any other text is a
// [*pricing.ValidationError].
func ParseState(text string) (State, error) {
	for s := Pending; s <= Deleting; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, unknown("must be pending, active, inactive or deleting")
}

// MarshalText returns the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name as [ParseState] does. After an error s is zero.
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

func unknown(message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: pricing.FieldUnknown, Message: message}}}
}

// goString returns an enumeration value by its name, or by its number if it has no
// name.
func goString(name, word string, value uint8) string {
	if word == "" {
		word = strconv.Itoa(int(value))
	}
	return "coupon." + name + "(" + word + ")"
}
