package codes_test

import (
	"fmt"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
)

// A mailing has the numbers 0 to 999, and the next one begins at 1,000. A run that was stopped goes on after its last
// number.
func ExampleGenerator_Codes() {
	key := []byte("32 secret bytes of crypto/rand.Read") // from the secrets of the shop
	g, err := codes.NewGenerator(key, coupon.CodeShape{Prefix: "spring", Pattern: "XXXX-XXXX-XXXX"})
	if err != nil {
		panic(err)
	}
	for _, numbers := range [][2]uint64{{0, 3}, {2, 4}} {
		sequence, err := g.Codes(numbers[0], numbers[1])
		if err != nil {
			panic(err)
		}
		for code := range sequence {
			fmt.Println(code)
		}
		fmt.Println()
	}
	// Output:
	// SPRING-TRP6-456X-RMJK
	// SPRING-5612-W1FP-14J8
	// SPRING-T4V8-MWP6-R475
	//
	// SPRING-T4V8-MWP6-R475
	// SPRING-5511-V9FJ-99R3
}

// A customer types letters for digits. One wrong symbol is refused before a database is asked.
func ExampleForm_Read() {
	form, err := codes.NewForm(coupon.CodeShape{Prefix: "SPRING", Pattern: "XXXX-XXXX-XXXX"})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"spring-5612-wIfp-i4jb", "SPRING-5612-W1FP-14J9", "SPRING-5612-1WFP-14J8"} {
		code, err := coupon.TypedCode(text)
		if err != nil {
			panic(err)
		}
		read, ok := form.Read(code)
		fmt.Printf("%t %q\n", ok, read)
	}
	// Output:
	// true "SPRING-5612-W1FP-14J8"
	// false ""
	// false ""
}

// The shop issues 10,000,000 codes, and its limiter allows ten guesses a second.
func ExamplePolicy_Check() {
	fmt.Println(codes.Policy{}.Check(coupon.CodeShape{Symbols: 12}, 10_000_000))
	fmt.Println(codes.Policy{}.Check(coupon.CodeShape{Symbols: 14}, 10_000_000))
	// Output:
	// invalid input: symbols: 315,360,000 guesses find one of 10,000,000 codes with odds of 1 in 3; allowed are 1 in 1,000; 14 random symbols are enough
	// <nil>
}
