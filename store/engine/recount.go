package engine

import (
	"strings"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

// HeldStates returns the names of the states in which a record holds its claims: as reserved, and as completed. Each
// result is a list of SQL literals, such as 'open', 'ending'. Stores recount their counters with them.
func HeldStates(orders bool) (reserved, completed string) {
	claims := []eligibility.Claim{{Counter: "c", Amount: 1}}
	var asReserved, asCompleted []string
	for state := 1; ; state++ {
		held, name := redemption.Holdings(redemption.Order{}, redemption.Use{State: redemption.State(state), Claims: claims}), redemption.State(state).String()
		if orders {
			held, name = redemption.Holdings(redemption.Order{State: redemption.OrderState(state), Claims: claims}), redemption.OrderState(state).String()
		}
		switch {
		case name == "":
			return strings.Join(asReserved, ", "), strings.Join(asCompleted, ", ")
		case held["c"].Reserved > 0:
			asReserved = append(asReserved, "'"+name+"'")
		case held["c"].Completed > 0:
			asCompleted = append(asCompleted, "'"+name+"'")
		}
	}
}
