package couponkit_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

// directoryFunc is a function as a user directory.
type directoryFunc func(id string) (couponkit.User, error)

func (f directoryFunc) User(_ context.Context, id string) (couponkit.User, error) { return f(id) }

// A directory need not repeat the ID. Uses are counted by the ID of the request, and the address is
// that of the directory.
func TestADirectoryThatLeavesTheIDEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(directoryFunc(func(string) (couponkit.User, error) {
		return couponkit.User{Email: "ann@example.org"}, nil
	})))
	d := tenOff()
	d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"ann@example.org"}
	w.create(t, d)
	r := w.request("TEN")
	r.Customer.Email = "somebody@example.net"
	bought := w.checkout(t, r)
	require.Equal(t, ann.ID, bought.Order.CustomerID)
	w.pay(t, bought)
	_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached)
}

// A directory that mixes users up would let one use the coupons of another. It is a failure, and
// no refusal.
func TestADirectoryThatReturnsAnotherUser(t *testing.T) {
	t.Parallel()
	log := &messages{}
	w := newWorld(t, couponkit.WithLogger(slog.New(log)), couponkit.WithUsers(directoryFunc(func(string) (couponkit.User, error) {
		return couponkit.User{ID: bob.ID, Email: bob.Email}, nil
	})))
	w.create(t, tenOff())
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.EqualError(t, err, `look up user: asked for "ann", the directory returned "bob"`)
	var rejection *coupon.Rejection
	require.NotErrorAs(t, err, &rejection)
	require.Equal(t, []string{"the user directory returned another user"}, log.lines)
	w.checkout(t, couponkit.CheckoutRequest{Cart: phones(), Customer: bob})
}

func TestAUserWhoIsNotInTheDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(directoryFunc(func(string) (couponkit.User, error) {
		return couponkit.User{}, couponkit.ErrUserNotFound
	})))
	w.create(t, tenOff())
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrUserRequired)
}

// TestACustomerIDThatNoStoreCanKeep is refused by its path, before anything is looked up.
func TestACustomerIDThatNoStoreCanKeep(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	for name, id := range map[string]string{"long": strings.Repeat("i", redemption.MaxIDLength+1), "no UTF-8": "\xff", "NUL": "a\x00"} {
		r := wants("1", eligibility.Customer{ID: id})
		_, err := s.Reserve(t.Context(), r)
		require.Equal(t, []string{"customer.id"}, faultyFields(t, err), name)
		_, err = s.Quote(t.Context(), r.QuoteRequest)
		require.Equal(t, []string{"customer.id"}, faultyFields(t, err), name)
		_, err = s.Validate(t.Context(), couponkit.ValidateRequest{Code: "ONE", Customer: r.Customer})
		require.Equal(t, []string{"customer.id"}, faultyFields(t, err), name)
	}
	_, err := s.Reserve(t.Context(), wants("1", eligibility.Customer{ID: strings.Repeat("i", redemption.MaxIDLength)}))
	require.NoError(t, err)
}
