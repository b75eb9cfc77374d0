package redemption

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
)

// Holdings returns how much an order and its uses hold in each counter. The keys of the map are
// counter keys. Cancelled orders and released uses hold nothing. For a points reservation, pass
// the zero Order together with the use.
func Holdings(o Order, uses ...Use) map[string]eligibility.Count {
	held := map[string]eligibility.Count{}
	addHoldings(held, o.State.holds(), o.Claims)
	for i := range uses {
		addHoldings(held, uses[i].State, uses[i].Claims)
	}
	return held
}

func addHoldings(held map[string]eligibility.Count, s State, claims []eligibility.Claim) {
	for _, c := range claims {
		switch s {
		case Reserved:
			held[c.Counter] = held[c.Counter].Plus(eligibility.Count{Reserved: c.Held()})
		case Completed:
			held[c.Counter] = held[c.Counter].Plus(eligibility.Count{Completed: c.Held()})
		case Released:
		}
	}
}

// Keep adds to a new order what a late payment of the awaited order needs beyond the claims of the new order
// and its uses. Claims without a limit are left out, because they refuse nobody. See [Order.Kept].
func (o Order) Keep(uses []Use, awaited Order, awaitedUses ...Use) Order {
	needed, taken := map[string]eligibility.Count{}, Holdings(o, uses...)
	addHoldings(needed, Reserved, awaited.Claims)
	for _, u := range awaitedUses {
		addHoldings(needed, Reserved, u.Claims)
	}
	o.Claims = slices.Clip(o.Claims)
	keep := func(claims []eligibility.Claim) {
		for _, c := range claims {
			more := needed[c.Counter].Taken() - taken[c.Counter].Taken()
			if c.Limit == 0 || more <= 0 {
				continue
			}
			o.Claims, o.Kept = append(o.Claims, eligibility.Claim{Counter: c.Counter, Amount: more, Limit: c.Limit}), o.Kept+1
			delete(needed, c.Counter)
		}
	}
	keep(awaited.Claims)
	for _, u := range awaitedUses {
		keep(u.Claims)
	}
	return o
}

// withoutKept drops the claims that the order keeps for a replaced order.
func (o Order) withoutKept() Order {
	o.Claims, o.Kept = o.OwnClaims(), 0
	return o
}

// OwnClaims returns the claims of the order without those that it keeps for a replaced order; see
// [Order.Kept].
func (o Order) OwnClaims() []eligibility.Claim {
	own := len(o.Claims) - min(max(o.Kept, 0), len(o.Claims)) // a damaged record can have any number
	return o.Claims[:own:own]
}

// Moves compares two results of [Holdings] and returns the change of each counter. The moves are
// sorted by counter key. Unchanged counters are omitted.
func Moves(before, after map[string]eligibility.Count) []Move {
	moves := make([]Move, 0, len(after))
	for key, count := range after {
		if was := before[key]; count != was {
			moves = append(moves, Move{key, eligibility.Count{Reserved: count.Reserved - was.Reserved, Completed: count.Completed - was.Completed}})
		}
	}
	for key, was := range before {
		if _, still := after[key]; !still && was != (eligibility.Count{}) {
			moves = append(moves, Move{key, eligibility.Count{Reserved: -was.Reserved, Completed: -was.Completed}})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int { return cmp.Compare(a.Counter, b.Counter) })
	return moves
}

// Move is a change of one counter. Both amounts in By may be negative.
type Move struct {
	Counter string
	By      eligibility.Count
}
