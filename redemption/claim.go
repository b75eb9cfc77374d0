package redemption

import (
	"cmp"
	"math"
	"slices"
	"strings"
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

// Fits reports whether the claim stays within its Limit if it is added to the given count.
func (c Claim) Fits(count Count) bool {
	taken := count.Taken()
	return c.Limit == 0 || taken <= math.MaxInt64-c.Amount && taken+c.Amount <= c.Limit
}

// These constants are the inclusive upper bounds of a [Claim].
const (
	// MaxCounterLength is the maximum length of a counter's key, in bytes.
	MaxCounterLength = 1_024
	// MaxAmount is the maximum amount of one claim. The sum of all claims of an order and its
	// uses fits into an int64.
	MaxAmount = 1_000_000_000_000_000
)

// These constants are the prefixes of counter keys. The counters of customers sort before the
// shared counters. A store that locks counters in byte order therefore locks shared counters
// last, and holds them for the shortest time.
const (
	customerPrefix = "customer/"
	sharedPrefix   = "shared/"
)

// These constants are the first parts of the keys of customers' counters.
const (
	customerOrders = "orders"
	customerUses   = "uses"
	customerPeriod = "period"
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

// CouponUses returns the key of the counter for all uses of a coupon.
func CouponUses(couponID string) string { return SharedCounter("uses", couponID) }

// CustomerUses returns the key of the counter for one customer's uses of a coupon. Any text that
// identifies the customer is accepted, such as an ID or an e-mail address.
func CustomerUses(couponID, identity string) string {
	return CustomerCounter(customerUses, couponID, identity)
}

// CustomerOrders returns the key of the counter for one customer's orders. Any text that
// identifies the customer is accepted, such as an ID or an e-mail address.
func CustomerOrders(identity string) string { return CustomerCounter(customerOrders, identity) }

func counterKey(prefix string, parts []string) string {
	length := len(prefix) + len(parts)
	for _, part := range parts {
		length += len(part) // most keys have nothing to escape
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

// writeEscaped adds a part to a key. Letters, digits and a few marks stay as they are. All other
// bytes are percent-encoded. Different parts therefore give different keys, and every database
// can store the keys.
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

// Holdings returns how much an order and its uses hold in each counter. The keys of the map are
// counter keys. Cancelled orders and released uses hold nothing. For a points reservation, pass
// the zero Order together with the use.
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
			held[c.Counter] = held[c.Counter].Plus(Count{Reserved: c.Held()})
		case Completed:
			held[c.Counter] = held[c.Counter].Plus(Count{Completed: c.Held()})
		case Released:
		}
	}
}

// Moves compares two results of [Holdings] and returns the change of each counter. The moves are
// sorted by counter key. Unchanged counters are omitted.
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

// Move is a change of one counter. Both amounts in By may be negative.
type Move struct {
	Counter string
	By      Count
}
