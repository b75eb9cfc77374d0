package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// minute is so many minutes after noon, when every order is made.
func minute(n int) time.Time {
	return time.Date(2026, time.November, 20, 12, n, 0, 0, time.UTC)
}

func summer(tb testing.TB) coupon.Coupon {
	tb.Helper()
	code, err := coupon.ParseCode("SUMMER")
	require.NoError(tb, err)
	percent, err := pricing.ParsePercent("33.3333")
	require.NoError(tb, err)
	return coupon.Coupon{
		ID: "cpn_1", Code: code, Name: "Summer", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, MinPurchase: 1999,
		State: coupon.Active, CreatedAt: minute(0), UpdatedAt: minute(0), ExpiresAt: minute(999), Revision: 3,
	}
}

func order(tb testing.TB) store.Order {
	tb.Helper()
	c := summer(tb)
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Plan, ItemID: "basic", Quantity: 1, UnitPrice: 9_007_199_254_740_993, Recurs: pricing.Monthly},
		{ID: "2", Kind: pricing.Shipping, ItemID: "post", Quantity: 1, UnitPrice: 490},
	}}, c.Discount, nil)
	require.NoError(tb, err)
	snapshot := c.Snapshot()
	return store.Order{
		ID: "o1", Key: "key", Fingerprint: "cart", CustomerID: "ann", State: store.OrderOpen,
		CouponID: c.ID, Coupon: &snapshot, ReservationID: "rsv_1", DiscountAmount: quote.Discount, Quote: quote,
		Metadata: map[string]string{"channel": "web"}, Deadline: minute(30), CreatedAt: minute(0), UpdatedAt: minute(0),
	}
}

// orders are all the kinds of orders, by their names in the matrix.
func orders(tb testing.TB) map[string]store.Order {
	tb.Helper()
	in := func(state store.OrderState, session string) store.Order {
		o := order(tb)
		o.State, o.SessionID = state, session
		if o.Ended() {
			o.Deadline = time.Time{}
		}
		return o
	}
	return map[string]store.Order{
		"new": in(store.OrderOpen, ""), "open": in(store.OrderOpen, "s1"), "waits": in(store.OrderAwaitingPayment, "s1"),
		"paid": in(store.OrderPaid, "s1"), "lost": in(store.OrderCancelled, ""), "ended": in(store.OrderCancelled, "s1"),
	}
}

// orderMatrix is the order's half of the machine: what every event makes of every kind
// of order.
//
//	=  nothing   P  paid, with the session if it has none   W  awaits the payment, likewise
//	C  cancelled
const orderMatrix = `
event     session | new open waits paid lost ended
completed s1      | P   P    P     =    P    P
completed s2      | P   P    P     =    P    P
unpaid    s1      | W   W    =     =    =    =
unpaid    s2      | W   =    =     =    =    =
failed    s1      | C   C    C     =    =    =
failed    s2      | C   =    =     =    =    =
expired   s1      | C   C    =     =    =    =
expired   s2      | C   =    =     =    =    =
expired   -       | C   =    =     =    =    =
cancelled -       | C   =    =     =    =    =
cancelled s1      | C   C    C     =    =    =
lapsed    -       | C   =    =     =    =    =
lapsed    s1      | C   C    C     =    =    =
refused   -       | C   =    =     =    =    =
refused   s1      | C   C    C     =    =    =
taken     -       | C   =    =     =    =    =
taken     s1      | C   C    C     =    =    =
exchanged -       | =   =    =     =    =    =
refunded  -       | =   =    =     =    =    =
leaving   -       | =   =    =     =    =    =
leaving   s1      | =   =    =     =    =    =
nothing   -       | =   =    =     =    =    =
`

func kindOf(name string) redemption.EventKind {
	return map[string]redemption.EventKind{
		"exchanged": redemption.PointsExchanged, "taken": redemption.TakenOver, "completed": redemption.SessionCompleted,
		"unpaid": redemption.SessionUnpaid, "failed": redemption.PaymentFailed, "expired": redemption.SessionExpired,
		"cancelled": redemption.Cancelled, "lapsed": redemption.Lapsed, "refunded": redemption.PointsGivenBack,
		"refused": redemption.PointsRefused, "leaving": redemption.Leaving,
	}[name]
}

func orderOutcome(letter string, o store.Order, e redemption.Event) store.Order {
	if letter == "=" {
		return o
	}
	o.UpdatedAt = e.At
	if letter == "C" {
		o.State, o.Deadline = store.OrderCancelled, time.Time{}
		return o
	}
	if o.SessionID == "" {
		o.SessionID = e.SessionID
	}
	if letter == "P" {
		o.State, o.Deadline = store.OrderPaid, time.Time{}
	} else {
		o.State = store.OrderAwaitingPayment
	}
	return o
}

func TestEveryEventOnEveryOrder(t *testing.T) {
	t.Parallel()
	rows := strings.Split(strings.TrimSpace(orderMatrix), "\n")
	header := strings.Fields(strings.ReplaceAll(rows[0], "|", ""))[2:]
	kinds := orders(t)
	require.Len(t, header, len(kinds))
	for _, line := range rows[1:] {
		row := strings.Fields(strings.ReplaceAll(line, "|", ""))
		require.Len(t, row, 2+len(header), line)
		e := redemption.Event{Kind: kindOf(row[0]), At: minute(9), SessionID: strings.Trim(row[1], "-"), OrderID: "o1", Deadline: minute(30)}
		for i, name := range header {
			t.Run(fmt.Sprintf("%s %s on %s", row[0], row[1], name), func(t *testing.T) {
				t.Parallel()
				want := orderOutcome(row[2+i], kinds[name], e)
				got := kinds[name].After(e)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the order differs (-want +got):\n%s", diff)
				}
				later := e
				later.At = minute(10)
				if diff := cmp.Diff(want, got.After(later)); diff != "" {
					t.Errorf("the event, repeated, changed the order (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestOrderFollowsItsRedemption applies every event to both halves of the machine: an
// order and its redemption never disagree.
func TestOrderFollowsItsRedemption(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"", "s1"} {
		for _, first := range []string{"completed", "unpaid", "failed", "expired", "cancelled", "lapsed"} {
			for _, second := range []string{"completed", "unpaid", "failed", "expired"} {
				o := order(t)
				o.SessionID = session
				r := redemption.Redemption{
					ID: "rsv_1", State: redemption.Reserved, OrderID: o.ID, SessionID: session, Deadline: o.Deadline,
				}
				for i, name := range []string{first, second} {
					e := redemption.Event{Kind: kindOf(name), At: minute(40 + i), SessionID: "s1", OrderID: "o1", Deadline: minute(90)}
					if e.Kind == redemption.Cancelled || e.Kind == redemption.Lapsed {
						e.SessionID = session
					}
					next, err := redemption.Apply(r, e)
					if err != nil {
						continue // nothing of it is stored
					}
					r, o = next, o.After(e)
				}
				if got, want := o.State, stateFor(r); got != want {
					t.Errorf("%s and %s with session %q: the order is %s and the redemption %s", first, second, session, got, r.State)
				}
				if !o.Deadline.Equal(r.Deadline) {
					t.Errorf("%s and %s with session %q: the deadlines are %s and %s", first, second, session, o.Deadline, r.Deadline)
				}
			}
		}
	}
}

func stateFor(r redemption.Redemption) store.OrderState {
	switch {
	case r.State == redemption.Completed:
		return store.OrderPaid
	case r.State == redemption.Released:
		return store.OrderCancelled
	case r.AwaitingPayment:
		return store.OrderAwaitingPayment
	}
	return store.OrderOpen
}

func TestDelayedPaymentExtendsTheOrdersDeadline(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"new", "open", "waits"} {
		for given, want := range map[time.Time]time.Time{minute(40): minute(40), minute(20): minute(30), {}: minute(30)} {
			o := orders(t)[name].After(redemption.Event{Kind: redemption.SessionUnpaid, At: minute(9), SessionID: "s1", Deadline: given})
			if !o.Deadline.Equal(want) {
				t.Errorf("the deadline of %s is %s, want %s", name, o.Deadline, want)
			}
			if changed := name != "waits" || want.Equal(minute(40)); o.UpdatedAt.Equal(minute(9)) != changed {
				t.Errorf("UpdatedAt of %s with the deadline %s is %s", name, given, o.UpdatedAt)
			}
		}
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, session string
		want          string // "new session", "same" or "superseded"
	}{
		{"new", "s1", "new session"},
		{"open", "s1", "same"},
		{"open", "s2", "superseded"},
		{"waits", "s1", "same"},
		{"waits", "s2", "superseded"},
		{"paid", "s1", "same"},
		{"paid", "s2", "superseded"},
		{"lost", "s1", "superseded"},
		{"ended", "s1", "superseded"},
		{"ended", "s2", "superseded"},
	} {
		o := orders(t)[test.name]
		got, err := o.Attach(store.Attachment{
			OrderID: o.ID, SessionID: test.session, SessionURL: "https://pay.example/1", Deadline: minute(70), At: minute(9),
		})
		want := o
		switch test.want {
		case "new session":
			want.SessionID, want.SessionURL, want.Deadline, want.UpdatedAt = test.session, "https://pay.example/1", minute(70), minute(9)
		case "same":
			want.SessionURL = "https://pay.example/1"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s with %s differs (-want +got):\n%s", test.name, test.session, diff)
		}
		if superseded := errors.Is(err, store.ErrSuperseded); superseded != (test.want == "superseded") || !superseded && err != nil {
			t.Errorf("%s with %s: %v", test.name, test.session, err)
		}
	}
}

func TestValidateOrderNamesEveryFault(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", redemption.MaxIDLength)
	many := make(map[string]string)
	for i := range store.MaxMetadata {
		many[fmt.Sprintf("key-%d", i)] = ""
	}
	for _, test := range []struct {
		name   string
		change func(*store.Order)
		want   []string
	}{
		{"nothing", func(o *store.Order) { *o = store.Order{} }, []string{"id required", "key required", "customerId required", "state unknown"}},
		{"the greatest lengths", func(o *store.Order) {
			o.ID, o.Key, o.CustomerID, o.Fingerprint, o.CouponID, o.ReservationID, o.SessionID = long, long, long, long, long, long, long
			o.SessionURL = strings.Repeat("x", store.MaxMetadataLength)
			o.Metadata = map[string]string{long: strings.Repeat("x", store.MaxMetadataLength)}
		}, nil},
		{"one byte more", func(o *store.Order) {
			o.ID, o.Key, o.CustomerID, o.Fingerprint = long+"x", long+"x", long+"x", long+"x"
			o.CouponID, o.ReservationID, o.SessionID = long+"x", long+"x", long+"x"
			o.SessionURL = strings.Repeat("x", store.MaxMetadataLength+1)
			o.Metadata = map[string]string{"a": strings.Repeat("x", store.MaxMetadataLength+1), long + "x": ""}
		}, []string{
			"id too_long", "key too_long", "customerId too_long", "fingerprint too_long", "couponId too_long",
			"reservationId too_long", "sessionId too_long", "sessionUrl too_long", "metadata.a too_long", "metadata too_long",
		}},
		{"NUL and no UTF-8", func(o *store.Order) {
			o.ID, o.Fingerprint, o.SessionURL = "a\x00", "\xff", "\x00"
			o.Metadata = map[string]string{"a": "\xff", "b\x00": "c"}
		}, []string{"id malformed", "fingerprint malformed", "sessionUrl malformed", "metadata.a malformed", "metadata malformed"}},
		{"a quote of hostile texts", func(o *store.Order) { o.Quote.Lines[0].ItemID, o.Quote.Lines[1].ID = "\xff", "\x00" }, []string{
			"quote.lines[0].itemId malformed", "quote.lines[1].id malformed",
		}},
		{"a snapshot of hostile texts", func(o *store.Order) { o.Coupon.Name = "\x00" }, []string{"coupon.name malformed"}},
		{"a quote of long texts", func(o *store.Order) { o.Quote.Lines[0].ItemID, o.Quote.Lines[1].ID = long+"x", long+"x" }, []string{
			"quote.lines[0].itemId too_long", "quote.lines[1].id too_long",
		}},
		{"a quote that does not add up", func(o *store.Order) { o.Quote.Total++ }, []string{"quote.total mismatch"}},
		{"another discount", func(o *store.Order) { o.DiscountAmount-- }, []string{"discountAmount mismatch"}},
		{"a snapshot without a coupon", func(o *store.Order) { o.CouponID = "" }, []string{"couponId required"}},
		{"a coupon without a reservation", func(o *store.Order) { o.ReservationID = "" }, []string{"reservationId required"}},
		{"a coupon without a snapshot", func(o *store.Order) { o.Coupon = nil }, nil},
		{"no such state", func(o *store.Order) { o.State = store.OrderCancelled + 1 }, []string{"state unknown"}},
		{"as much metadata as there may be", func(o *store.Order) { o.Metadata = many }, nil},
		{"more metadata", func(o *store.Order) {
			o.Metadata = map[string]string{"one more": ""}
			for k := range many {
				o.Metadata[k] = ""
			}
		}, []string{"metadata too_long"}},
	} {
		o := order(t)
		test.change(&o)
		if diff := cmp.Diff(test.want, faultsIn(o.Validate())); diff != "" {
			t.Errorf("%s: faults differ (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestAnOrderIsValidAllItsLife: whatever events have made of an order, it can be kept.
func TestAnOrderIsValidAllItsLife(t *testing.T) {
	t.Parallel()
	for name, o := range orders(t) {
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// faultsIn lists field and code of every fault.
func faultsIn(err error) []string {
	var faults *pricing.ValidationError
	if !errors.As(err, &faults) {
		return nil
	}
	var list []string
	for _, f := range faults.Fields {
		list = append(list, f.Field+" "+string(f.Code))
	}
	return list
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	o, want := order(t), order(t)
	c := o.Clone()
	if diff := cmp.Diff(o, c); diff != "" {
		t.Errorf("the clone differs (-want +got):\n%s", diff)
	}
	c.Metadata["channel"], c.Coupon.Name, c.Quote.Lines[0].Total = "shop", "Winter", 1
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("a change of the clone changed the order (-want +got):\n%s", diff)
	}
	empty := store.Order{}.Clone()
	if !reflect.DeepEqual(empty, store.Order{}) {
		t.Errorf("the clone of no order is %+v", empty)
	}
}

func TestOrderThroughJSON(t *testing.T) {
	t.Parallel()
	for name, o := range orders(t) {
		data, err := json.Marshal(o)
		require.NoError(t, err)
		var back store.Order
		require.NoError(t, json.Unmarshal(data, &back), "%s", data)
		if diff := cmp.Diff(o, back); diff != "" {
			t.Errorf("%s comes back as another (-want +got):\n%s", name, diff)
		}
	}
	plain := order(t)
	plain.CouponID, plain.Coupon, plain.ReservationID, plain.Metadata = "", nil, "", nil
	data, err := json.Marshal(plain)
	require.NoError(t, err)
	for _, absent := range []string{"coupon", "reservationId", "metadata", "sessionId", "sessionUrl"} {
		if strings.Contains(string(data), `"`+absent) {
			t.Errorf("an order without %s names it: %s", absent, data)
		}
	}
}

func TestOrderStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[store.OrderState]string{
		store.OrderOpen: "open", store.OrderAwaitingPayment: "awaiting_payment", store.OrderPaid: "paid",
		store.OrderCancelled: "cancelled", 0: "", store.OrderCancelled + 1: "",
	} {
		text, err := state.MarshalText()
		if err != nil || string(text) != want || state.String() != want {
			t.Errorf("the state %d is written %q (%v) and called %q, want %q", state, text, err, state, want)
		}
		if want == "" {
			continue
		}
		var back store.OrderState
		if err := back.UnmarshalText([]byte(want)); err != nil || back != state {
			t.Errorf("%q is read as %v: %v", want, back, err)
		}
		if ended := state == store.OrderPaid || state == store.OrderCancelled; (store.Order{State: state}).Ended() != ended {
			t.Errorf("Ended of %s is %t", state, !ended)
		}
	}
	for _, text := range []string{"", "Open", "open ", "payd"} {
		if state, err := store.ParseOrderState(text); !errors.Is(err, pricing.ErrInvalid) || state != 0 {
			t.Errorf("%q is read as %v: %v", text, state, err)
		}
	}
	if !(store.Order{}).IsZero() || order(t).IsZero() {
		t.Error("IsZero is not about having an ID")
	}
}
