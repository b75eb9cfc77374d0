package validation_test

import (
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// A caller that checks several fields collects the faults with their paths.
func Example() {
	var faults validation.Error
	_, err := pricing.ParsePercent("120")
	faults.At("discountValue", err)
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, UnitPrice: 1}}}
	faults.Merge("cart", cart.Validate())
	for _, fault := range faults.Fields {
		fmt.Println(fault.Path, fault.Code)
	}
	fmt.Println(errors.Is(faults.Err(), validation.ErrInvalid))
	// Output:
	// discountValue too_large
	// cart.lines[0].quantity too_small
	// true
}
