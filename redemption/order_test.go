package redemption_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// TestAnOrderKeepsNoTermsThatCannotBeRead: one order whose document no store can read would
// stop every list that it is in.
func TestAnOrderKeepsNoTermsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	err := redemption.Order{Coupons: []coupon.Snapshot{{ID: "cpn_1"}}}.Validate()
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	var missing []string
	for _, fault := range invalid.Fields {
		if fault.Code == validation.Required {
			missing = append(missing, fault.Path)
		}
	}
	require.Subset(t, missing, []string{
		"coupons[0].discountType", "coupons[0].currency", "coupons[0].appliesTo", "coupons[0].refundPolicy",
	})
}

func TestRefundOf(t *testing.T) {
	t.Parallel()
	o := redemption.Order{Refunds: []redemption.Refund{{Key: "one"}, {Key: "two"}}}
	found, ok := o.RefundOf("two")
	require.True(t, ok)
	require.Equal(t, "two", found.Key)
	_, ok = o.RefundOf("three")
	require.False(t, ok)
}

func TestCheckCustomerID(t *testing.T) {
	t.Parallel()
	for id, stored := range map[string]bool{
		"": true, "ann": true, strings.Repeat("x", redemption.MaxIDLength): true,
		strings.Repeat("x", redemption.MaxIDLength+1): false, "a\x00": false, "\xff": false,
	} {
		err := redemption.CheckCustomerID(id)
		require.Equal(t, stored, err == nil, "%q: %v", id, err)
		require.Equal(t, !stored, errors.Is(err, validation.ErrInvalid), "%q", id)
	}
}
