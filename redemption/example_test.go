package redemption_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/redemption"
)

// A store applies what the processor says. Deliveries that are repeated or late do no
// harm: the payment stays.
func ExampleApply() {
	at := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	r := redemption.Redemption{
		ID: "rsv_1", Key: "attempt-1", CouponID: "cpn_summer", CustomerID: "ann", OrderID: "ord_1",
		State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at, UpdatedAt: at,
	}
	for i, kind := range []redemption.EventKind{
		redemption.SessionAttached, redemption.SessionCompleted, redemption.SessionCompleted, redemption.SessionExpired,
	} {
		var err error
		r, err = redemption.Apply(r, redemption.Event{
			Kind: kind, At: at.Add(time.Duration(i+1) * time.Minute), SessionID: "cs_1", OrderID: "ord_1",
		})
		fmt.Printf("%s: %s, changed at %s, error %v\n", kind, r.State, r.UpdatedAt.Format("15:04"), err)
	}
	// Output:
	// session attached: reserved, changed at 12:01, error <nil>
	// session completed: completed, changed at 12:02, error <nil>
	// session completed: completed, changed at 12:02, error <nil>
	// session expired: completed, changed at 12:02, error <nil>
}

// A customer tries again. The checkout says that it is about to take the reservation out of
// its session, so that the end of the session, whoever hears of it first, does not give the
// place away.
func ExampleApply_leaving() {
	at := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	r := redemption.Redemption{
		ID: "rsv_1", Key: "attempt-1", CouponID: "cpn_summer", CustomerID: "ann", OrderID: "ord_1", SessionID: "cs_1",
		State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at, UpdatedAt: at, Deadline: at.Add(time.Hour),
	}
	for _, e := range []redemption.Event{
		{Kind: redemption.Leaving, At: at, SessionID: "cs_1", Deadline: at.Add(5 * time.Minute)},
		{Kind: redemption.SessionExpired, At: at.Add(time.Second), SessionID: "cs_1", OrderID: "ord_1"},
		{Kind: redemption.TakenOver, At: at.Add(2 * time.Second), SessionID: "cs_1", OrderID: "ord_2", Deadline: at.Add(2 * time.Hour)},
		{Kind: redemption.SessionAttached, At: at.Add(3 * time.Second), SessionID: "cs_2", OrderID: "ord_2", Deadline: at.Add(2 * time.Hour)},
	} {
		var err error
		r, err = redemption.Apply(r, e)
		fmt.Printf("%s: %s for %s until %s, error %v\n", e.Kind, r.State, r.OrderID, r.Deadline.Format("15:04"), err)
	}
	// Output:
	// leaving: reserved for ord_1 until 13:00, error <nil>
	// session expired: reserved for ord_1 until 12:05, error <nil>
	// taken over: reserved for ord_2 until 14:00, error <nil>
	// session attached: reserved for ord_2 until 14:00, error <nil>
}

// What must not happen is refused with a typed error, and the record stays.
func ExampleTransitionError() {
	paid := redemption.Redemption{ID: "rsv_1", State: redemption.Completed, SessionID: "cs_1"}
	_, err := redemption.Apply(paid, redemption.Event{Kind: redemption.Cancelled, SessionID: "cs_1"})
	fmt.Println(err)
	fmt.Println(errors.Is(err, redemption.ErrIllegal))
	var refused *redemption.TransitionError
	if errors.As(err, &refused) {
		fmt.Println(refused.State, "cannot be", refused.Kind)
	}
	// Output:
	// redemption rsv_1 is completed, event "cancelled": illegal transition
	// true
	// completed cannot be cancelled
}

// What the processor says of a session is settled; what the host does is not.
func ExampleEvent_OfSession() {
	for _, e := range []redemption.Event{
		{Kind: redemption.SessionCompleted, SessionID: "cs_1"},
		{Kind: redemption.SessionCompleted},
		{Kind: redemption.SessionExpired, OrderID: "ord_1"},
		{Kind: redemption.Cancelled, SessionID: "cs_1"},
	} {
		fmt.Printf("%s, session %q: %t\n", e.Kind, e.SessionID, e.OfSession())
	}
	// Output:
	// session completed, session "cs_1": true
	// session completed, session "": false
	// session expired, session "": true
	// cancelled, session "cs_1": false
}

// Points are debited and refunded by the host's ledger. Released, the reservation says
// that they are to be given back, until the ledger has answered.
func ExampleRedemption_RefundDue() {
	r := redemption.Redemption{
		ID: "rsv_1", State: redemption.Reserved, Origin: redemption.FromPoints,
		Points: 500, PointsState: redemption.PointsPending,
	}
	for _, kind := range []redemption.EventKind{
		redemption.PointsExchanged, redemption.Cancelled, redemption.PointsGivenBack, redemption.PointsGivenBack,
	} {
		r, _ = redemption.Apply(r, redemption.Event{Kind: kind})
		fmt.Printf("%s: %s, points %s, refund due %t\n", kind, r.State, r.PointsState, r.RefundDue())
	}
	// Output:
	// points exchanged: reserved, points debited, refund due false
	// cancelled: released, points refund_due, refund due true
	// points given back: released, points refunded, refund due false
	// points given back: released, points refunded, refund due false
}

// A coupon's counts are the sum of what its records add to them.
func ExampleRedemption_Counts() {
	var used, reserved int64
	for _, state := range []redemption.State{redemption.Reserved, redemption.Completed, redemption.Released, redemption.Completed} {
		completed, live := redemption.Redemption{State: state}.Counts()
		used, reserved = used+completed, reserved+live
	}
	fmt.Println(used, "used,", reserved, "reserved")
	// Output: 2 used, 1 reserved
}

func ExampleRedemption_Usable() {
	r := redemption.Redemption{State: redemption.Reserved, Points: 500, PointsState: redemption.PointsPending}
	fmt.Println(r.Live(), r.Usable())
	r.PointsState = redemption.PointsDebited
	fmt.Println(r.Live(), r.Usable())
	// Output:
	// true false
	// true true
}

func ExampleRedemption_Validate() {
	err := redemption.Redemption{ID: "rsv_1", State: redemption.Reserved, Origin: redemption.FromPayment}.Validate()
	fmt.Println(err)
	// Output:
	// invalid input: key: an ID is required; couponId: an ID is required; createdAt: a record has an instant of creation
}

func ExampleRedemption() {
	r := redemption.Redemption{
		ID: "rsv_1", Key: "attempt-1", CouponID: "cpn_summer", CustomerID: "ann", OrderID: "ord_1", SessionID: "cs_1",
		State: redemption.Completed, Origin: redemption.FromCheckout,
		CreatedAt:   time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC),
		UpdatedAt:   time.Date(2026, time.November, 20, 12, 5, 0, 0, time.UTC),
		CompletedAt: time.Date(2026, time.November, 20, 12, 5, 0, 0, time.UTC),
	}
	text, err := json.MarshalIndent(r, "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "id": "rsv_1",
	//   "key": "attempt-1",
	//   "couponId": "cpn_summer",
	//   "customerId": "ann",
	//   "state": "completed",
	//   "origin": "checkout",
	//   "orderId": "ord_1",
	//   "sessionId": "cs_1",
	//   "pointsState": "none",
	//   "createdAt": "2026-11-20T12:00:00Z",
	//   "updatedAt": "2026-11-20T12:05:00Z",
	//   "completedAt": "2026-11-20T12:05:00Z"
	// } <nil>
}

func ExampleParseState() {
	for _, text := range []string{"released", "Released"} {
		state, err := redemption.ParseState(text)
		fmt.Println(state == redemption.Released, err)
	}
	// Output:
	// true <nil>
	// false invalid input: must be reserved, completed or released
}

func ExampleParseOrigin() {
	origin, err := redemption.ParseOrigin("points")
	fmt.Println(origin == redemption.FromPoints, err)
	// Output: true <nil>
}

func ExampleParsePointsState() {
	points, err := redemption.ParsePointsState("refund_due")
	fmt.Println(points == redemption.PointsRefundDue, err)
	// Output: true <nil>
}
