package redemption

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Claim is what an order or a use takes from one counter. It stays with the record, so
// that giving it back needs no rule.
type Claim struct {
	// Counter is the counter's key; see [SharedCounter] and [CustomerCounter].
	Counter string `json:"counter"`
	// Amount is what is taken: 1 for a use, minor units for a budget. It is 1 to
	// [MaxAmount].
	Amount int64 `json:"amount"`
	// Limit is the most that the counter may hold when the claim is taken, inclusive.
	// 0 is no limit: the claim is counted and never refused.
	Limit int64 `json:"limit,omitempty"`
}

// Count is what records hold in a counter.
type Count struct {
	// Reserved is held by orders that are not paid yet, and by points reservations.
	Reserved int64 `json:"reserved"`
	// Completed is held by paid orders.
	Completed int64 `json:"completed"`
}

// Taken returns the sum of both, the figure that a limit bounds.
func (c Count) Taken() int64 { return c.Reserved + c.Completed }

// Plus returns the sum of two counts.
func (c Count) Plus(d Count) Count {
	return Count{Reserved: c.Reserved + d.Reserved, Completed: c.Completed + d.Completed}
}

// Fits reports whether the counter may hold the claim beside count.
func (c Claim) Fits(count Count) bool {
	taken := count.Taken()
	return c.Limit == 0 || taken <= math.MaxInt64-c.Amount && taken+c.Amount <= c.Limit
}

// Bounds of a claim.
const (
	MaxCounterLength = 1_024                 // bytes of a counter's key
	MaxAmount        = 1_000_000_000_000_000 // the claims of an order never overflow a counter
)

// Prefixes of counter keys. Customers' counters sort before shared ones, so that whoever
// locks keys in byte order holds a shared counter for the shortest time.
const (
	customerPrefix = "customer/"
	sharedPrefix   = "shared/"
)

// SharedCounter returns the key of a counter that all customers share. The parts say what
// is counted, from the general to the particular. They may hold any text.
func SharedCounter(parts ...string) string { return counterKey(sharedPrefix, parts) }

// CustomerCounter returns the key of a counter of one customer.
func CustomerCounter(parts ...string) string { return counterKey(customerPrefix, parts) }

// IsShared reports whether the key is one of [SharedCounter].
func IsShared(counter string) bool { return strings.HasPrefix(counter, sharedPrefix) }

// CouponUses is the counter of all uses of a coupon.
func CouponUses(couponID string) string { return SharedCounter("uses", couponID) }

// CustomerUses is the counter of one customer's uses of a coupon. The customer is named by
// any identity: an ID, an address, an alias.
func CustomerUses(couponID, identity string) string {
	return CustomerCounter("uses", couponID, identity)
}

// CustomerOrders is the counter of one customer's orders.
func CustomerOrders(identity string) string { return CustomerCounter("orders", identity) }

func counterKey(prefix string, parts []string) string {
	var key strings.Builder
	key.WriteString(prefix)
	for i, part := range parts {
		if i > 0 {
			key.WriteByte('/')
		}
		writeEscaped(&key, part)
	}
	return key.String()
}

// writeEscaped writes every other byte than letters, digits and a few marks in hexadecimal
// digits, so that no two lists of parts have one key, and every database keeps it.
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

// Holdings returns what the order and the uses hold in each counter.
func Holdings(o Order, uses ...Use) map[string]Count {
	held := map[string]Count{}
	addHoldings(held, o.State.holds(), o.Claims)
	for i := range uses {
		addHoldings(held, uses[i].State, uses[i].Claims)
	}
	return held
}

func addHoldings(held map[string]Count, s State, claims []Claim) {
	for _, c := range claims {
		switch s {
		case Reserved:
			held[c.Counter] = held[c.Counter].Plus(Count{Reserved: c.Amount})
		case Completed:
			held[c.Counter] = held[c.Counter].Plus(Count{Completed: c.Amount})
		case Released:
		}
	}
}

// Moves returns what has to be added to counters when holdings change from before to
// after, sorted by key. Counters that do not change are left out.
func Moves(before, after map[string]Count) []Move {
	var moves []Move
	for key, count := range after {
		if was := before[key]; count != was {
			moves = append(moves, Move{key, Count{count.Reserved - was.Reserved, count.Completed - was.Completed}})
		}
	}
	for key, was := range before {
		if _, still := after[key]; !still && was != (Count{}) {
			moves = append(moves, Move{key, Count{-was.Reserved, -was.Completed}})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int { return cmp.Compare(a.Counter, b.Counter) })
	return moves
}

// Move is a change of one counter; both figures may be negative.
type Move struct {
	Counter string
	By      Count
}
