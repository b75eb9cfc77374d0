package couponkit

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// GuestID returns the customer ID of a guest with the given e-mail address. The ID contains a hash
// of the address and not the address itself. The orders of a guest have this CustomerID. If the
// address is invalid, GuestID returns a [*validation.Error].
func GuestID(address string) (string, error) {
	address, err := email.Parse(address)
	if err != nil {
		return "", err
	}
	return eligibility.EmailIdentity(address), nil
}

// WithGuests lets guests check out. A guest has no customer ID but an e-mail address. By default,
// the service refuses customers without an ID with coupon.ErrUserRequired.
//
// The service identifies a guest by the address; see [GuestID]. The service does not verify the
// address. A guest can use only coupons with the distribution [coupon.General].
func WithGuests() Option { return func(s *Service) { s.guests = true } }

// customer checks the customer of a request and looks them up in the directory, unless they are a guest. The
// result has no ID if there is no such user, or if the customer is anonymous. A directory that returns
// another user is a failure.
func (s *Service) customer(ctx context.Context, c eligibility.Customer) (eligibility.Customer, error) {
	var faults validation.Error
	faults.Merge("customer", c.Validate())
	faults.At("customer.id", redemption.CheckCustomerID(c.ID))
	if eligibility.IsHashed(c.ID) {
		faults.Add("customer.id", validation.Malformed, "has the form of the ID of a guest")
	}
	if s.guests && c.ID == "" && c.Email != "" {
		c.Guest = true
		id, err := GuestID(c.Email)
		faults.At("customer.email", err)
		c.ID = id
	}
	if err := faults.Err(); err != nil {
		return eligibility.Customer{}, err
	}
	if s.users == nil || c.ID == "" || c.Guest {
		return c, nil
	}
	user, err := s.users.User(ctx, c.ID)
	if errors.Is(err, ErrUserNotFound) {
		return eligibility.Customer{}, nil
	}
	if err != nil {
		return eligibility.Customer{}, fmt.Errorf("look up user: %w", err)
	}
	if user.ID != "" && user.ID != c.ID {
		s.logger.ErrorContext(ctx, "the user directory returned another user", "wanted", c.ID, "returned", user.ID)
		return eligibility.Customer{}, fmt.Errorf("look up user: asked for %q, the directory returned %q", c.ID, user.ID)
	}
	c.Email = user.Email
	return c, nil
}
