package eligibility_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// listed is the sound situation with an allow-list of n addresses, of which the
// customer's is the last.
func listed(tb testing.TB, n int) situation {
	tb.Helper()
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("user-%d@example.org", i)
	}
	s := sound()
	var err error
	s.coupon.AllowedUserEmails, err = coupon.NewEmailSet(addresses...)
	require.NoError(tb, err)
	s.question.Customer.Email = fmt.Sprintf("USER-%d@Example.org", n-1)
	return s
}

// filled is the situation with a cart of n lines, every other of them covered.
func filled(s situation, n int) situation {
	s.cart.Lines = nil
	for i := range n {
		item := [...]string{"phone", "tablet"}[i%2]
		s.cart.Lines = append(s.cart.Lines, pricing.Line{Kind: pricing.Device, ItemID: item, Quantity: 1, UnitPrice: int64(9999 + i)})
	}
	return s
}

// Deciding that a coupon applies costs no memory, however long the list.
func TestDecidingAllocatesNothing(t *testing.T) {
	for name, s := range map[string]situation{
		"1 address": filled(listed(t, 1), 10), "100,000 addresses": filled(listed(t, 100_000), 10),
	} {
		var d eligibility.Decision
		if n := testing.AllocsPerRun(100, func() { d = eligibility.Check(&s.coupon, s.question) }); n != 0 {
			t.Errorf("Check, %s: %v allocations", name, n)
		}
		if n := testing.AllocsPerRun(100, func() { d.Has(d.Headline()) }); n != 0 {
			t.Errorf("reading a decision, %s: %v allocations", name, n)
		}
		set, result := s.set(), eligibility.SetResult{}
		require.NoError(t, result.Reevaluate(set, s.cart, s.question))
		require.NoError(t, result.Err(), name)
		n := testing.AllocsPerRun(100, func() {
			if err := result.Reevaluate(set, s.cart, s.question); err != nil {
				t.Error(err)
			}
		})
		if n != 0 {
			t.Errorf("Reevaluate, %s: %v allocations", name, n)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d addresses", n), func(b *testing.B) {
			s := listed(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if !eligibility.Check(&s.coupon, s.question).Allowed() {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, lines := range []int{1, 10, 100} {
		s := filled(listed(b, 100_000), lines)
		b.Run(fmt.Sprintf("%d lines", lines), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := eligibility.Evaluate(&s.coupon, s.cart, s.question); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d lines reused", lines), func(b *testing.B) {
			set, r := s.set(), eligibility.SetResult{}
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Reevaluate(set, s.cart, s.question); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
