package coupontest_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/pricing"
)

// A property of a host: what it keeps of a coupon comes back. In a host's test the
// coupons are drawn in rapid.Check; here they are the first fifty.
func Example() {
	lost := 0
	for seed := range 50 {
		c := coupontest.Coupon().Example(seed)
		kept, err := json.Marshal(c.Snapshot())
		if err != nil {
			fmt.Println(err)
			return
		}
		var got coupon.Snapshot
		if err := json.Unmarshal(kept, &got); err != nil || !cmp.Equal(c.Snapshot(), got) {
			lost++
		}
	}
	fmt.Println("lost:", lost)
	// Output: lost: 0
}

// However a customer spells it, it is the same code.
func ExampleSpelling() {
	code, err := coupon.ParseCode("DANKEFÜR100")
	if err != nil {
		fmt.Println(err)
		return
	}
	for seed := range 50 {
		typed := coupontest.Spelling(code).Example(seed)
		if got, err := coupon.ParseCode(typed); err != nil || got != code {
			fmt.Printf("%q is another code\n", typed)
		}
	}
	fmt.Println(strings.ToLower(code.String()), "is", code)
	// Output:
	// dankefür100 is DANKEFÜR100
}

func ExampleFor() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "device-1", Quantity: 1, UnitPrice: 9900},
	}}
	c := coupontest.For(cart).Example(1)
	fmt.Println(c.Validate(), c.Active())
	// Output:
	// <nil> true
}
