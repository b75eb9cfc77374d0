package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// operation is one call of a history, and what is needed to make it again.
type operation struct {
	Call     string // reserve, takeOver, attach, settle, transition, lookUp or read
	Coupon   string
	Limits   coupon.Limits
	Customer string
	Key      string
	ID       string // the redemption's
	Order    string
	Session  string
	Event    redemption.EventKind
	NewID    string
}

// outcome is what a call has told.
type outcome struct {
	Err       string
	Replayed  bool
	Changed   bool
	State     string
	OverLimit bool
	Order     string
	Session   string

	OrderState string

	Used, Reserved                     int64
	UsedByCustomer, ReservedByCustomer int64
}

// call is an operation with its outcome and when it was made, as nanoseconds of the
// machine's clock, which all processes share.
type call struct {
	Operation operation
	Outcome   outcome
	// Lost is when it was made before, each time that the answer was lost: whether that
	// had an effect is not known.
	Lost []int64 `json:",omitempty"`
	// Failure is the last error that was no answer.
	Failure      string `json:",omitempty"`
	Began, Ended int64
}

// String shows a call in a line, without what is zero.
func (c call) String() string {
	o := c.Operation
	text := fmt.Sprintf("%d-%d %s %s", c.Began/1000%1e9, c.Ended/1000%1e9, o.Call, strings.TrimPrefix(o.ID, redemption.IDPrefix))
	if o.Event != 0 {
		text += fmt.Sprintf(" %q", o.Event)
	}
	second := strings.HasSuffix(o.Order, "-second")
	text += fmt.Sprintf(" second=%t session=%t", second, o.Session != "")
	for _, began := range c.Lost {
		text += fmt.Sprintf(" lost=%d", began/1000%1e9)
	}
	text += ":"
	return text + strings.ReplaceAll(fmt.Sprintf(" %+v", c.Outcome), o.ID, "_")
}

var (
	epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	later = epoch.Add(2 * time.Hour)
)

func redemptionID(couponID, customer, key string) string {
	return fmt.Sprintf("%s%s-%s-%s", redemption.IDPrefix, couponID, customer, key)
}

// reservation is what a reserve operation asks for; every process makes the same of
// the same operation.
func (o operation) reservation(quote pricing.Quote) store.Reservation {
	return store.Reservation{
		Redemption: redemption.Redemption{
			ID: o.ID, Key: o.Key, CouponID: o.Coupon, CustomerID: o.Customer, State: redemption.Reserved,
			Origin: redemption.FromCheckout, OrderID: o.Order, Deadline: epoch.Add(time.Hour), CreatedAt: epoch, UpdatedAt: epoch,
		},
		Order: o.order(quote),
	}
}

func (o operation) order(quote pricing.Quote) *store.Order {
	return &store.Order{
		ID: o.Order, Key: o.Key, Fingerprint: "f", CustomerID: o.Customer, State: store.OrderOpen, CouponID: o.Coupon,
		ReservationID: o.ID, DiscountAmount: quote.Discount, Quote: quote, Deadline: epoch.Add(time.Hour),
		CreatedAt: epoch, UpdatedAt: epoch,
	}
}

func (o operation) event() redemption.Event {
	at := epoch
	if o.Event == redemption.Lapsed {
		at = later
	}
	return redemption.Event{Kind: o.Event, At: at, SessionID: o.Session, OrderID: o.Order, Deadline: epoch.Add(time.Hour)}
}

func (o operation) settlement() store.Settlement {
	return store.Settlement{
		Event: o.event(), ReservationID: o.ID, CouponID: o.Coupon, CustomerID: o.Customer, NewID: o.NewID,
	}
}

// make makes the call. An error of the contract is an outcome; any other is
// returned: nobody knows whether the call had an effect.
func (o operation) make(ctx context.Context, s store.Store, quote pricing.Quote) (outcome, error) {
	var out outcome
	var err error
	switch o.Call {
	case "reserve":
		var reserved store.Reserved
		reserved, err = s.Reserve(ctx, o.reservation(quote))
		out = reservedOutcome(reserved)
	case "takeOver":
		var reserved store.Reserved
		reserved, err = s.TakeOver(ctx, store.TakeOver{
			ReservationID: o.ID, FromSessionID: o.Session, Order: *o.order(quote), Deadline: epoch.Add(time.Hour), At: epoch,
		})
		out = reservedOutcome(reserved)
	case "attach":
		var order store.Order
		order, err = s.AttachSession(ctx, store.Attachment{
			OrderID: o.Order, SessionID: o.Session, SessionURL: "u", Deadline: epoch.Add(time.Hour), At: epoch,
		})
		out = outcome{Session: order.SessionID, OrderState: order.State.String()}
	case "settle":
		var settled store.Settled
		settled, err = s.Settle(ctx, o.settlement())
		out = recordOutcome(settled.Redemption)
		out.Changed, out.OrderState = settled.Changed, settled.Order.State.String()
	case "transition":
		var r redemption.Redemption
		r, err = s.Transition(ctx, o.ID, o.event())
		out = recordOutcome(r)
	case "lookUp":
		var found store.Found
		found, err = s.LookUp(ctx, store.LookUp{CouponID: o.Coupon, CustomerID: o.Customer})
		out = outcome{
			Used: found.Coupon.UsedCount, Reserved: found.Coupon.ReservedCount,
			UsedByCustomer: found.CompletedByCustomer, ReservedByCustomer: found.ReservedByCustomer,
		}
	case "read":
		var r redemption.Redemption
		r, err = s.Redemption(ctx, o.ID)
		out = recordOutcome(r)
	}
	if err == nil {
		return out, nil
	}
	if name := refusal(err); name != "" {
		return outcome{Err: name}, nil
	}
	return outcome{}, err
}

func recordOutcome(r redemption.Redemption) outcome {
	return outcome{State: r.State.String(), OverLimit: r.OverLimit, Order: r.OrderID, Session: r.SessionID}
}

func reservedOutcome(r store.Reserved) outcome {
	out := recordOutcome(r.Redemption)
	out.Replayed, out.OrderState = r.Replayed, r.Order.State.String()
	return out
}

// refusal names an error of the contract, "" for a failure.
func refusal(err error) string {
	if rejection := (*coupon.Rejection)(nil); errors.As(err, &rejection) {
		return rejection.Error()
	}
	for _, sentinel := range []error{
		store.ErrNotFound, store.ErrSuperseded, store.ErrKeyReused, store.ErrStaleRevision, redemption.ErrIllegal,
	} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return ""
}
