package coupontest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/pricing"
)

// A property test of a host: what it keeps of a coupon comes back. In a host,
// rapid.Check(t, comesBack) is the body of a test.
func Example() {
	comesBack := func(t *rapid.T) {
		c := coupontest.Coupon().Draw(t, "coupon")
		kept, err := json.Marshal(c.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		var got coupon.Snapshot
		if err := json.Unmarshal(kept, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Snapshot(), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	test := testing.InternalTest{Name: "TestOurCache", F: rapid.MakeCheck(comesBack)}
	all := func(string, string) (bool, error) { return true, nil }
	fmt.Println(testing.RunTests(all, []testing.InternalTest{test}))
	// Output:
	// true
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
