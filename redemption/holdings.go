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
