package scale

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Size of a shop. The zero value of a field but Seed means none.
type Size struct {
	Coupons     int
	Redemptions int
	Seed        uint64
}

// Numbers that do not depend on the size.
const (
	// RareMatches is how many coupons have [RareWord] in their name.
	RareMatches = 25
	// Lapsed is how many live reservations are due at [Now].
	Lapsed = 100
	// RefundsDue is how many redemptions have points to be given back.
	RefundsDue = 20
	// PlainOrders is how many open orders have no coupon; all are due at [Now].
	PlainOrders = 50
	// MaxAddresses bounds the longest allow-list, which has a tenth as many addresses
	// as there are coupons.
	MaxAddresses = 100_000
)

// Words that are searched for.
const (
	// RareWord is in the names of [RareMatches] coupons.
	RareWord = "Zanzibar"
	// FrequentWord is in the name of every eighth coupon.
	FrequentWord = "summer"
)

// Roles of the coupons that are used most, the first of them most of all.
const (
	HotLimited   = iota // both limits, both far away
	HotUnlimited        // no limit
	HotOnce             // once per customer
	HotPoints           // exchanged for points
	HotListed           // the longest allow-list, once per customer
	hotCoupons
)

const (
	history = 2 * 365 * 24 * time.Hour // in which the redemptions were made
	stride  = 7919                     // between the customers who use a coupon once
	skew    = 4                        // the share of the first n of N coupons is (n/N)^(1/skew)
)

// Now is the instant at which the shop was filled.
func Now() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// Customers is how many customers the shop has: more than use any one coupon.
func (s Size) Customers() int {
	n := s.Redemptions / 4
	if n%stride == 0 {
		n++
	}
	return n
}

// CustomerID returns customer n, counted from 0.
func CustomerID(n int) string { return fmt.Sprintf("user-%08d", n) }

// CouponID returns coupon n, counted from 0 in the order of creation.
func CouponID(n int) string { return fmt.Sprintf("cpn_%010d", n) }

// Code returns the code of coupon n: a campaign and what nobody can guess.
func Code(n int) string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	suffix, x := make([]byte, 9), mix(0, uint64(n)+1)
	for i := range suffix {
		suffix[i] = alphabet[x>>(5*i)&31]
	}
	return campaigns[n%len(campaigns)] + "-" + string(suffix)
}

// Email returns address n of an allow-list, counted from 0.
func Email(n int) string { return fmt.Sprintf("customer%06d@example.org", n) }

// Hot returns the number of the coupon in that role.
func (s Size) Hot(role int) int { return s.ranked(role) }

// Addresses is how long the longest allow-list is.
func (s Size) Addresses() int { return max(1, min(s.Coupons/10, MaxAddresses)) }

// ranked returns the coupon that is used most but rank. The popular ones are
// scattered over the years.
func (s Size) ranked(rank int) int {
	step := stride
	for s.Coupons%step == 0 {
		step += 2
	}
	return int((uint64(rank)*uint64(step) + uint64(s.Coupons)/3) % uint64(s.Coupons))
}

// draw returns a coupon: few are drawn often.
func (s Size) draw(random *rand.Rand) int {
	u := random.Float64()
	rank := int(u * u * u * u * float64(s.Coupons))
	return s.ranked(min(rank, s.Coupons-1))
}

func (s Size) validate() error {
	if s.Coupons < 500 || s.Redemptions < 4*s.Coupons {
		return fmt.Errorf("a shop of %d coupons and %d redemptions: at least 500 coupons, and four times as many redemptions", s.Coupons, s.Redemptions)
	}
	return nil
}
