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

// Such a processor has no mirrors, and its coupons can be used without one.
func ExampleNoMirror() {
	var adapter processor.Processor = gateway{}
	c := coupon.Coupon{ID: "cpn_1", State: coupon.Inactive, Revision: 3}
	mirror, err := adapter.EnsureMirror(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := adapter.VerifyMirror(context.Background(), c)
	fmt.Println(mirror.Unsupported, mirror.Revision, status, err)
	// Output: true 3 unsupported <nil>
}
