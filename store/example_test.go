package store_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// A caller may match the specific conflict or the general one.
func ExampleErrConflict() {
	err := fmt.Errorf("update coupon: %w", store.ErrStaleRevision)
	fmt.Println(errors.Is(err, store.ErrStaleRevision), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrKeyReused))
	// Output: true true false
}

// A store decides under its lock whether one more use fits.
func ExampleWithinLimits() {
	limits := coupon.Limits{MaxUses: 100, MaxUsesPerUser: 1}
	fmt.Println(store.WithinLimits("cpn_1", limits, 99, 0))
	fmt.Println(store.WithinLimits("cpn_1", limits, 100, 1))
	// Output:
	// <nil>
	// coupon refused: usage_limit_reached, user_usage_limit_reached
}

// Stores read the bounds of a page from the list that they are given.
func ExampleCouponList_Normalise() {
	list, err := store.CouponList{Search: "summer"}.Normalise()
	fmt.Println(list.Page, list.PageSize, err)
	_, err = store.CouponList{PageSize: 1000}.Normalise()
	fmt.Println(err)
	// Output:
	// 1 20 <nil>
	// invalid input: pageSize: a page has 1 to 100 entries
}

func ExampleRedemptionList_Normalise() {
	list, err := store.RedemptionList{CouponID: "cpn_1"}.Normalise()
	fmt.Println(list.PageSize, err)
	// Output: 20 <nil>
}

// A cursor is the place after the last record of a page.
func ExampleCursor() {
	noon := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	text := store.Cursor{CreatedAt: noon, ID: "cpn_b"}.String()
	cursor, err := store.ParseCursor(text)
	fmt.Println(err)
	fmt.Println(cursor.Before(noon, "cpn_a"), cursor.Before(noon, "cpn_c"), cursor.Before(noon.Add(time.Second), "cpn_a"))
	// Output:
	// <nil>
	// true false false
}

func ExampleParseCursor() {
	_, err := store.ParseCursor("page 2")
	fmt.Println(err)
	// Output: invalid input: after: is no cursor of this list
}

// The order follows what the processor says of its session: a payment always counts.
func ExampleOrder_After() {
	o := store.Order{ID: "ord_1", State: store.OrderOpen, SessionID: "cs_1"}
	for _, kind := range []redemption.EventKind{redemption.SessionExpired, redemption.SessionCompleted, redemption.SessionExpired} {
		o = o.After(redemption.Event{Kind: kind, SessionID: "cs_1", OrderID: "ord_1"})
		fmt.Println(kind, "->", o.State)
	}
	// Output:
	// session expired -> cancelled
	// session completed -> paid
	// session expired -> paid
}

// Attaching a session may be repeated; another session finds the order taken.
func ExampleOrder_Attach() {
	o := store.Order{ID: "ord_1", State: store.OrderOpen}
	for _, session := range []string{"cs_1", "cs_1", "cs_2"} {
		var err error
		o, err = o.Attach(store.Attachment{OrderID: "ord_1", SessionID: session})
		fmt.Println(o.SessionID, err)
	}
	// Output:
	// cs_1 <nil>
	// cs_1 <nil>
	// cs_1 the order was superseded
}

func ExampleOrder_Validate() {
	err := store.Order{ID: "ord_1", Key: "attempt-1", CustomerID: "ann", State: store.OrderOpen, CouponID: "cpn_1"}.Validate()
	fmt.Println(err)
	// Output: invalid input: reservationId: is required
}

func ExampleParseOrderState() {
	state, err := store.ParseOrderState("awaiting_payment")
	fmt.Println(state == store.OrderAwaitingPayment, err)
	// Output: true <nil>
}
