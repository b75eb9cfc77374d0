package processor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// gateway is the adapter of a processor that knows payments and no coupons: it has
// sessions to write, and declares what they can do.
type gateway struct {
	processor.NoMirror
	processor.Sessions
}

func (gateway) Abilities() processor.Abilities {
	return processor.Abilities{MinSessionLifetime: 5 * time.Minute}
}

// The mirror of such a processor's coupons is always as it should be.
func ExampleNoMirror() {
	var adapter processor.Processor = gateway{}
	c := coupon.Coupon{ID: "cpn_1", State: coupon.Inactive, Revision: 3}
	mirror, err := adapter.EnsureMirror(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := adapter.VerifyMirror(context.Background(), c)
	fmt.Println(mirror.CouponID, mirror.Revision, status, err)
	// Output: cpn_1 3 invalid <nil>
}
