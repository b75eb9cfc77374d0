package redemption_test

import (
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
