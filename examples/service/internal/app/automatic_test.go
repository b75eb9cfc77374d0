package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// TestAnAutomaticCoupon: the cart gets the coupon without a code as soon as the index has it, and so does the order.
func TestAnAutomaticCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Follow = 10 * time.Millisecond })
	w.ownCoupons(t, coupon.Draft{Automatic: true}, coupon.Draft{Code: "EIGHT", Amount: coupon.Amounts{"": "8"}})
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("accessory", "charger", 1)}}
	eventually(t, "the index has the coupon", func() bool { return ann.post("/payment/quote", cart).value("automatic") != nil })
	quoted := ann.post("/payment/quote", cart).is(http.StatusOK)
	require.Len(t, quoted.list("automatic"), 1)
	require.Equal(t, "5.00", quoted.text("quote.discount"))
	require.Equal(t, "Test", quoted.text("automatic.0.terms.name"))
	require.Empty(t, quoted.list("coupons"))
	require.Nil(t, quoted.value("coupon"))

	cart["couponCode"] = "EIGHT" // excludes the automatic one
	quoted = ann.post("/payment/quote", cart).is(http.StatusOK)
	require.Equal(t, "8.00", quoted.text("quote.discount"))
	require.Nil(t, quoted.value("automatic"))
	require.Equal(t, "EIGHT", quoted.text("coupon.code"))
}
