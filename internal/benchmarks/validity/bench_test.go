package validity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/benchmarks/validity"
	"github.com/couponkit/couponkit/pricing"
)

var listSizes = []int{1, 10, 1000, 100_000}

type measurement struct {
	name      string
	allowed   bool
	situation validity.Situation
}

// measured returns the situations of BenchmarkDecide: allowed with every list size,
// so that every rule is looked at, and refused by the first of them, where who stops
// at the first no has least to do.
func measured(tb testing.TB, sizes []int) []measurement {
	tb.Helper()
	var all []measurement
	cart := tenLines()
	for _, lines := range []int{10, 0} {
		for _, n := range sizes {
			s := sound(tb, n)
			if lines > 0 {
				s.Cart = &cart
			}
			name := fmt.Sprintf("lines=%d/addresses=%d", lines, n)
			all = append(all, measurement{name: name + "/answer=yes", allowed: true, situation: s})
			if n == 1 {
				s.Coupon.State = coupon.Inactive
				all = append(all, measurement{name: name + "/answer=no-at-once", situation: s})
			}
		}
	}
	return all
}

// sound is a coupon of 10 % on two of many devices from 50 EUR, for n customers, in
// its window and with places left; the customer is the last of the list and types
// the address in another letter case.
func sound(tb testing.TB, n int) validity.Situation {
	tb.Helper()
	percent, err := pricing.ParsePercent("10")
	require.NoError(tb, err)
	code, err := coupon.ParseCode("TEN")
	require.NoError(tb, err)
	emails, err := coupon.NewEmailSet(listed(n)...)
	require.NoError(tb, err)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := validity.Situation{
		Coupon: coupon.Coupon{
			ID: "cpn_1", Code: code, Name: "Ten", Terms: coupon.Terms{
				Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
				Scope:        coupon.Scope{AppliesTo: coupon.Product, Devices: coupon.NewItems("device-0", "device-3")},
				Distribution: coupon.UserSpecific, AllowedUserEmails: emails, RefundPolicy: pricing.Keep,
				Limits: coupon.Limits{MaxUses: 1000, MaxUsesPerUser: 2}, Conditions: coupon.Conditions{MinPurchase: coupon.NewMoneySet(pricing.NewMoney(50_00, pricing.EUR()))},
				StartsAt: noon.AddDate(0, -1, 0), ExpiresAt: noon.AddDate(0, 1, 0),
			},
			State: coupon.Active, Revision: 1,
			CreatedAt: noon.AddDate(0, -2, 0), UpdatedAt: noon.AddDate(0, -2, 0),
		},
		Question: eligibility.Question{
			At: noon, Customer: eligibility.Customer{ID: "ann", Email: typed(n - 1)},
			Usage: eligibility.Usage{Completed: 500, Reserved: 40, CompletedByCustomer: 1},
		},
	}
	require.NoError(tb, s.Coupon.Validate())
	return s
}

func listed(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ToLower(typed(i))
	}
	return list
}

func typed(i int) string { return fmt.Sprintf("User-%d@Example.org", i) }

func tenLines() pricing.Cart {
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i := range 9 {
		cart.Lines = append(cart.Lines, pricing.Line{
			ID: fmt.Sprintf("line-%d", i), Kind: pricing.Device, ItemID: fmt.Sprintf("device-%d", i%5),
			Quantity: int64(1 + i%3), UnitPrice: int64(1999 + i*777),
		})
	}
	cart.Lines = append(cart.Lines, pricing.Line{ID: "line-9", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 490})
	return cart
}

func BenchmarkDecide(b *testing.B) {
	for _, m := range measured(b, listSizes) {
		for _, w := range validity.Ways() {
			b.Run(m.name+"/way="+w.Name, func(b *testing.B) {
				d, err := w.Prepare(m.situation)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					if allowed, err := d.Allowed(); err != nil || allowed != m.allowed {
						b.Fatal(allowed, err)
					}
				}
			})
		}
	}
}
