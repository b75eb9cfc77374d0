package eligibility_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/eligibility"
)

// FuzzEvaluate searches for a coupon, a cart and a customer about which the oracle
// and the package disagree.
func FuzzEvaluate(f *testing.F) {
	// Shorter texts end before a situation is drawn, and their tests are skipped.
	for seed := range byte(4) {
		f.Add(bytes.Repeat([]byte{seed, 0, 11 * seed, 1, 0, 0, 0, 0}, 512))
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s := drawSituation(t)
		got, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, s, got)
	}))
}
