package couponkit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// GuestID returns the customer ID of a guest with the given e-mail address. The ID contains a hash
// of the address and not the address itself. The orders of a guest have this CustomerID. If the
// address is invalid, GuestID returns a [*validation.Error].
func GuestID(email string) (string, error) {
	address, err := coupon.ParseEmail(email)
	if err != nil {
		return "", err
	}
	return redemption.EmailIdentity(address), nil
}

// WithGuests lets guests check out. A guest has no customer ID but an e-mail address. By default,
// the service refuses customers without an ID with coupon.ErrUserRequired.
//
// The service identifies a guest by the address; see [GuestID]. The service does not verify the
// address. A guest can use only coupons with the distribution [coupon.General].
func WithGuests() Option { return func(s *Service) { s.guests = true } }

// customer checks the customer of a request and looks them up in the directory. The result has
// no ID if there is no such user, or if the customer is anonymous. A directory that returns another
// user is a failure.
func (s *Service) customer(ctx context.Context, c eligibility.Customer) (eligibility.Customer, error) {
	var faults validation.Error
	faults.Merge("customer", c.Validate())
	if redemption.IsHashed(c.ID) {
		faults.Add("customer.id", validation.Malformed, "has the form of the ID of a guest")
	}
	c.Guest = s.guests && c.ID == "" && c.Email != ""
	if c.Guest {
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

// identities are the texts by which limits count the customer: first the ID, which is the hashed
// address of a guest, then the hashed address and aliases.
func identities(c eligibility.Customer) []string {
	if c.ID == "" {
		return nil
	}
	list := []string{c.ID}
	if address, err := coupon.ParseEmail(c.Email); err == nil {
		list = append(list, redemption.EmailIdentity(address))
	}
	for _, alias := range c.Aliases {
		list = append(list, redemption.AliasIdentity(alias))
	}
	return withoutRepeats(list)
}

// learned are the identities of a payer. Texts that cannot be an identity are left out: a payment
// is recorded in any case.
func learned(p processor.Payer) []string {
	var list []string
	if address, err := coupon.ParseEmail(p.Email); err == nil {
		list = append(list, redemption.EmailIdentity(address))
	}
	for _, alias := range p.Aliases[:min(len(p.Aliases), eligibility.MaxAliases)] {
		if alias != "" {
			list = append(list, redemption.AliasIdentity(alias))
		}
	}
	return withoutRepeats(list)
}

func withoutRepeats(list []string) []string {
	var unique []string
	for _, text := range list {
		if !slices.Contains(unique, text) {
			unique = append(unique, text)
		}
	}
	return unique
}
