package eligibility

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Claim is the amount that an order or a use takes from one counter. An order or a use is stored
// with its claims. Releasing a claim gives back exactly the amount that was taken.
type Claim struct {
	// Counter is the key of the counter. [SharedCounter] and [CustomerCounter] return such keys.
	Counter string `json:"counter"`
	// Amount is how much is taken from the counter, from 1 to [MaxAmount] inclusive. A claim on
	// a counter of uses takes 1. The Amount of a claim on a budget is in minor units.
	Amount int64 `json:"amount"`
	// Limit is the highest value that the counter may reach with this claim. A Limit of 0 means
	// no limit. A claim without a limit is counted, but never refused.
	Limit int64 `json:"limit,omitempty"`
	// Returned is how much of Amount refunds have given back.
	Returned int64 `json:"returned,omitempty"`
}

// Held returns how much of the claim was not given back.
func (c Claim) Held() int64 { return c.Amount - c.Returned }

// Fits reports whether the claim stays within its Limit if it is added to the given count.
func (c Claim) Fits(count Count) bool {
	taken := count.Taken()
	return c.Limit == 0 || taken <= math.MaxInt64-c.Amount && taken+c.Amount <= c.Limit
}

// OfIdentity returns the same claim on the counter of another identity of the customer. The result is
// false if the counter does not belong to the customer ID.
func (c Claim) OfIdentity(identity, customerID string) (Claim, bool) {
	key, own := strings.CutPrefix(c.Counter, customerPrefix)
	parts := strings.Split(key, "/")
	at := identityPart(parts[0])
	if !own || at == 0 || at >= len(parts) || parts[at] != escaped(customerID) {
		return Claim{}, false
	}
	parts[at] = escaped(identity)
	c.Counter = customerPrefix + strings.Join(parts, "/")
	return c, true
}

// identityPart returns which part of a counter's key is the customer's identity. It returns 0 for
// counters of other kinds.
func identityPart(kind string) int {
	switch kind {
	case customerOrders:
		return 1
	case customerUses, customerPeriod:
		return 2
	}
	return 0
}

// Count is the value of a counter, split into reserved and completed amounts.
type Count struct {
	// Reserved is the amount that unpaid orders and points reservations hold.
	Reserved int64 `json:"reserved"`
	// Completed is the amount that paid orders hold.
	Completed int64 `json:"completed"`
}

// Taken returns the sum of Reserved and Completed. Limits apply to the sum of reserved and
// completed amounts.
func (c Count) Taken() int64 { return c.Reserved + c.Completed }

// Plus returns the sum of c and d.
func (c Count) Plus(d Count) Count {
	return Count{Reserved: c.Reserved + d.Reserved, Completed: c.Completed + d.Completed}
}

// These constants are the inclusive upper bounds of a [Claim].
const (
	// MaxCounterLength is the maximum length of a counter's key, in bytes.
	MaxCounterLength = 1_024
	// MaxAmount is the maximum amount of one claim. The sum of all claims of an order and its
	// uses fits into an int64.
	MaxAmount = 1_000_000_000_000_000
)

// Claimant is a customer who uses a coupon. Its methods return what the customer's use takes from
// counters, and the limits of these counters.
type Claimant struct {
	// Coupon is the coupon. Code is the code by which it came.
	Coupon *coupon.Coupon
	Code   coupon.IssuedCode
	// Identities are the texts by which limits count the customer; see [Customer.Identities].
	Identities []string
	// At is the instant of the reservation. Limits in periods count the use in the periods that
	// contain At.
	At time.Time
}

// Limit is a claim with the reason for which the coupon is refused if the claim does not fit.
type Limit struct {
	Claim
	Reason coupon.RejectionCode

	usage  func(*Usage) *int64 // field of Usage with the counter's value
	budget pricing.Currency    // currency of a budget, which has no field of Usage
	per    coupon.LimitSubject // of a limit in a period
}

// Limits returns the limits that a decision compares with counters. First come the uses of the coupon, of each
// identity, and of a code that is not plain. Each kind of limit has its
// rule and its claim in one file of this package. A limit of 0 is only counted, so that a limit that is
// set later counts the past. The Amount of a budget's limit is 0, because the discount is not known.
func (c Claimant) Limits() []Limit {
	limits := append(c.useLimits(), c.codeLimits()...) // most coupons have no other limits
	limits = append(limits, c.periodLimits()...)
	limits = append(limits, BudgetLimits(c.Coupon)...)
	return append(limits, c.orderLimits()...)
}

// Claims returns what a use of the coupon claims, apart from the budget. See [BudgetClaims].
func (c Claimant) Claims() []Claim {
	return append(claimsOf(slices.Concat(c.useLimits(), c.codeLimits(), c.periodLimits())), c.batchClaims()...)
}

// ClaimsAfterExchange is like Claims for a use that the customer has bought with points. The use keeps
// the periods in which the exchange was counted. An identity or a code that was not known at the exchange
// is counted in the current periods. The given claims are those of the exchange.
func (c Claimant) ClaimsAfterExchange(exchange []Claim) []Claim {
	claims := append(claimsOf(slices.Concat(c.useLimits(), c.codeLimits())), c.batchClaims()...)
	unknown := c
	unknown.Identities = slices.DeleteFunc(slices.Clone(c.Identities), func(identity string) bool {
		return onCounter(exchange, CustomerUses(c.Coupon.ID, identity))
	})
	for _, l := range unknown.periodLimits() {
		if l.per == coupon.PerCustomer || l.per == coupon.PerCode && !c.knows(exchange) {
			claims = append(claims, l.Claim)
		}
	}
	for _, claim := range exchange {
		if !onCounter(claims, claim.Counter) && !IsBudget(claim.Counter) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// knows reports whether the exchange was counted for the code of the claimant. Claims of an exchange by the
// plain code name no code.
func (c *Claimant) knows(exchange []Claim) bool {
	byCode, periods := CodeUses(c.Coupon.ID, ""), SharedCounter("code", c.Coupon.Code.String(), "")
	other := false
	for _, claim := range exchange {
		if strings.HasPrefix(claim.Counter, periods) {
			return true
		}
		other = other || strings.HasPrefix(claim.Counter, byCode)
	}
	if c.Code.Plain() {
		return !other
	}
	return onCounter(exchange, CodeUses(c.Coupon.ID, c.Code.Code.String()))
}

func claimsOf(limits []Limit) []Claim {
	claims := make([]Claim, len(limits))
	for i, l := range limits {
		claims[i] = l.Claim
	}
	return claims
}

// onCounter reports whether one of the claims is on the counter.
func onCounter(claims []Claim, counter string) bool {
	return slices.ContainsFunc(claims, func(c Claim) bool { return c.Counter == counter })
}

// UsageOf returns the usage that a decision compares with the limits. The function taken returns how
// much is taken of a counter. All uses are in Usage.Reserved and Usage.ReservedByCustomer, because
// limits apply to the sum of reserved and completed uses. Of the customer's identities, the one with
// the most uses counts.
func UsageOf(limits []Limit, taken func(counter string) int64) Usage {
	var u Usage
	var spent []pricing.Money
	for _, l := range limits {
		n := taken(l.Counter)
		if l.Reason == coupon.BudgetExhausted {
			spent = append(spent, pricing.NewMoney(n, l.budget))
		} else {
			place := l.usage(&u)
			*place = max(*place, n)
		}
	}
	u.Spent = coupon.NewMoneySet(spent...)
	return u
}

// Prefixes of counter keys. The counters of customers sort before the shared counters. A store that
// locks counters in byte order therefore locks shared counters last, and holds them for the shortest
// time.
const (
	customerPrefix = "customer/"
	sharedPrefix   = "shared/"
)

// SharedCounter returns the key of a counter that all customers share. The parts of the key say
// what is counted, from general to specific. A part of the key may be any text.
func SharedCounter(parts ...string) string { return counterKey(sharedPrefix, parts) }

// CustomerCounter returns the key of a counter that belongs to one customer. The parts of the
// key say what is counted, from general to specific. One of the parts must identify the
// customer.
func CustomerCounter(parts ...string) string { return counterKey(customerPrefix, parts) }

// IsShared reports whether [SharedCounter] returned the given key.
func IsShared(counter string) bool { return strings.HasPrefix(counter, sharedPrefix) }

func counterKey(prefix string, parts []string) string {
	length := len(prefix) + len(parts)
	for _, part := range parts {
		length += len(part) // most keys need no escapes
	}
	var key strings.Builder
	key.Grow(length)
	key.WriteString(prefix)
	for i, part := range parts {
		if i > 0 {
			key.WriteByte('/')
		}
		writeEscaped(&key, part)
	}
	return key.String()
}

func escaped(part string) string { return counterKey("", []string{part}) }

// writeEscaped adds a part to a key. It keeps letters, digits and a few marks, and percent-encodes all
// other bytes. Different parts therefore give different keys, and every database can store the keys.
func writeEscaped(key *strings.Builder, part string) {
	const digits = "0123456789ABCDEF"
	for _, b := range []byte(part) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', strings.IndexByte("-_.~@+:", b) >= 0:
			key.WriteByte(b)
		default:
			key.Write([]byte{'%', digits[b>>4], digits[b&15]})
		}
	}
}
