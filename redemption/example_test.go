package redemption_test

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

// A store applies what the processor says. Deliveries that are repeated or late do no harm: the
// payment stays.
func ExampleOrder_After() {
	at := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	order := redemption.Order{ID: "ord_1", Key: "attempt-1", CustomerID: "ann", State: redemption.OrderOpen, CreatedAt: at, Version: 1}
	use := redemption.Use{ID: "use_1", CouponID: "cpn_summer", CustomerID: "ann", OrderID: "ord_1", State: redemption.Reserved, Origin: redemption.FromCheckout, Version: 1}
	uses := []redemption.Use{use}
	for i, kind := range []redemption.EventKind{redemption.SessionAttached, redemption.Paid, redemption.Paid, redemption.SessionExpired} {
		var err error
		order, uses, err = order.After(redemption.Event{Kind: kind, At: at.Add(time.Duration(i) * time.Minute), OrderID: "ord_1", SessionID: "cs_1"}, uses...)
		fmt.Printf("%s: order %s, use %s, version %d, error %v\n", kind, order.State, uses[0].State, order.Version, err)
	}
	// Output:
	// session_attached: order open, use reserved, version 2, error <nil>
	// paid: order paid, use completed, version 3, error <nil>
	// paid: order paid, use completed, version 3, error <nil>
	// session_expired: order paid, use completed, version 3, error <nil>
}

// Counters change by what records hold after an event, less what they held before it.
func ExampleMoves() {
	order := redemption.Order{ID: "ord_1", State: redemption.OrderOpen}
	use := redemption.Use{State: redemption.Reserved, Claims: []eligibility.Claim{
		{Counter: eligibility.CouponUses("cpn_summer"), Amount: 1, Limit: 500},
		{Counter: eligibility.SharedCounter("budget", "cpn_summer"), Amount: 1250, Limit: 1_000_00},
	}}
	before := redemption.Holdings(order, use)
	use.State = redemption.Completed
	for _, move := range redemption.Moves(before, redemption.Holdings(order, use)) {
		fmt.Printf("%s: reserved %+d, completed %+d\n", move.Counter, move.By.Reserved, move.By.Completed)
	}
	// Output:
	// shared/budget/cpn_summer: reserved -1250, completed +1250
	// shared/uses/cpn_summer: reserved -1, completed +1
}
