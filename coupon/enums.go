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
	Specific                          // only what is selected
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

// ParseAppliesTo is the inverse of String.
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

// UnmarshalText is [ParseAppliesTo].
func (a *AppliesTo) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAppliesTo(string(text))
	return err
}

// Distribution tells who may use a coupon (specification 2.3).
type Distribution uint8

// The distributions.
const (
	General          Distribution = iota + 1 // everybody
	PointsRedeemable                         // who has exchanged points for it
	UserSpecific                             // whose e-mail address is allowed
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

// ParseDistribution is the inverse of String.
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

// UnmarshalText is [ParseDistribution].
func (d *Distribution) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDistribution(string(text))
	return err
}

// State is where a coupon is in its life (specification 3.1). Only an active
// coupon can be used; whether it also is within its dates is a separate question.
type State uint8

// The states.
const (
	// Pending claims the code while the processor's mirror is being made.
	Pending State = iota + 1
	// Active can be used.
	Active
	// Inactive was switched off by an administrator.
	Inactive
	// Deleting is unusable and keeps the code while the mirror is being removed.
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

// ParseState is the inverse of String.
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

// UnmarshalText is [ParseState].
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

func unknown(message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: pricing.FieldUnknown, Message: message}}}
}

// goString shows a value of an enumeration by its word, or by its number if it has none.
func goString(name, word string, value uint8) string {
	if word == "" {
		word = strconv.Itoa(int(value))
	}
	return "coupon." + name + "(" + word + ")"
}
