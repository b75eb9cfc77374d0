package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// The kinds of calls.
const (
	reserve = "reserve"
	apply   = "apply"
	count   = "count"
	read    = "read"
)

// operation is one call of a history, and what is needed to make it again.
type operation struct {
	Call     string
	Part     string        // of the history; parts share no customer and no coupon
	Coupons  []roundCoupon // of the order, or those that are counted
	Customer string
	Key      string
	Order    string
	Replaces string
	Session  string
	Event    event
	Bare     bool   // the event does not name its order
	Begins   bool   // the payment begins with the order
	Over     bool   // an order is given up whose payment is over
	BegunBy  int    // what is told of a payment without a session, in microseconds after the epoch
	AskedAt  int64  // of a payment that is on its way
	NewID    string // of the record of an unknown payment; the named order's, if its reservation may adopt the payment
}

// event is an event's kind. It is a number in JSON, where the kind cannot be read.
type event uint8

func (e event) kind() redemption.EventKind { return redemption.EventKind(e) }

// roundCoupon is a coupon of a round.
type roundCoupon struct {
	ID     string
	Limits coupon.Limits
}

// outcome is what a call has told.
type outcome struct {
	Err  string
	Did  bool // something was stored, or has changed
	View string
}

// call is an operation with its outcome and when it was made, as nanoseconds of the
// machine's clock, which all processes share.
type call struct {
	Operation operation
	Outcome   outcome
	// Lost is when it was made before, each time that the answer was lost: nobody knows
	// whether that had an effect.
	Lost []int64 `json:",omitempty"`
	// Failure is the last error that was no answer.
	Failure      string `json:",omitempty"`
	Began, Ended int64
}

// adopted reports whether a reservation found its payment.
func (c call) adopted() bool {
	return c.Operation.Call == reserve && c.Outcome.Did && strings.Contains(c.Outcome.View, " "+redemption.OrderPaid.String()+" ")
}

// String shows a call in a line.
func (c call) String() string {
	o := c.Operation
	text := fmt.Sprintf("%d-%d %s %s replaces=%q session=%q bare=%t begins=%t over=%t by=%d asked=%d",
		c.Began/1000%1e9, c.Ended/1000%1e9, o.Call, o.Order, o.Replaces, o.Session, o.Bare, o.Begins, o.Over, o.BegunBy, o.AskedAt)
	if o.Event != 0 {
		text += " " + o.Event.kind().String()
	}
	for _, began := range c.Lost {
		text += fmt.Sprintf(" lost=%d", began/1000%1e9)
	}
	return text + fmt.Sprintf(": %+v", c.Outcome)
}

var (
	epoch      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	deadline   = epoch.Add(time.Hour)
	later      = epoch.Add(2 * time.Hour)
	afterwards = later.Add(redemption.DueRetry) // everything is due
)

func cheapQuote() pricing.Quote {
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.Terms{})
	if err != nil {
		panic(err) // the cart is valid
	}
	return quote
}

// reservation is what a reserve operation asks for; every process makes the same of the
// same operation.
func (o operation) reservation(quote pricing.Quote) store.Reservation {
	r := store.Reservation{Order: redemption.Order{
		ID: o.Order, Key: o.Key, Fingerprint: "f", CustomerID: o.Customer, State: redemption.OrderOpen, Replaces: o.Replaces,
		Quote: quote, Deadline: deadline, CreatedAt: epoch, Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders(o.Customer), Amount: 1}},
	}}
	if o.Begins {
		r.Order.BegunAt = epoch
	}
	for _, c := range o.Coupons {
		r.Coupons = append(r.Coupons, store.CouponAt{ID: c.ID, Revision: 1})
		r.Uses = append(r.Uses, redemption.Use{
			ID: redemption.UseIDPrefix + o.Order + c.ID, CouponID: c.ID, CustomerID: o.Customer, OrderID: o.Order,
			State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: epoch, Claims: []eligibility.Claim{
				{Counter: eligibility.CustomerUses(c.ID, o.Customer), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
				{Counter: eligibility.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
			},
		})
	}
	return r
}

func (o operation) settlement() store.Settlement {
	s := store.Settlement{Event: redemption.Event{
		Kind: o.Event.kind(), At: epoch, OrderID: o.Order, SessionID: o.Session, SessionURL: "u", Deadline: deadline,
		PaymentOver: o.Over, BegunBy: epoch.Add(time.Duration(o.BegunBy) * time.Microsecond), AskedAt: o.AskedAt,
	}}
	if o.Bare {
		s.Event.OrderID = ""
	}
	if o.Event.kind() == redemption.Lapsed {
		s.Event.At = later
	}
	if o.Event.kind() == redemption.Paid {
		if o.NewID == o.Order {
			o.Coupons = nil // of what was bought nobody knows anything
		}
		o.Order, o.Key, o.Replaces = o.NewID, "", ""
		s.Unknown = o.reservation(pricing.Quote{})
		order := &s.Unknown.Order
		order.State, order.SessionID, order.Deadline, order.BegunAt = redemption.OrderPaid, o.Session, time.Time{}, time.Time{}
		for i := range s.Unknown.Uses {
			use := &s.Unknown.Uses[i]
			use.State, use.Origin, use.CompletedAt = redemption.Completed, redemption.FromPayment, epoch
		}
	}
	return s
}

// counters are the counters of the coupons and of the customer.
func (o operation) counters() (keys []string) {
	for _, c := range o.Coupons {
		keys = append(keys, eligibility.CouponUses(c.ID), eligibility.CustomerUses(c.ID, o.Customer))
	}
	return append(keys, eligibility.CustomerOrders(o.Customer))
}

// make makes the call. An error of the contract is an outcome. Any other is returned:
// nobody knows whether the call had an effect.
func (o operation) make(ctx context.Context, s store.Store) (out outcome, err error) {
	switch o.Call {
	case reserve:
		var got store.Reserved
		got, err = s.Reserve(ctx, o.reservation(cheapQuote()))
		out = outcome{Did: !got.Replayed, View: view(got.Order, got.Uses)}
	case apply:
		var got store.Settled
		got, err = s.Apply(ctx, o.settlement())
		out = outcome{Did: got.Changed, View: view(got.Order, got.Uses)}
	case read:
		var got store.Settled
		got, err = s.Order(ctx, store.OrderKey{ID: o.Order})
		out = outcome{View: view(got.Order, got.Uses)}
	case count:
		var got []eligibility.Count
		got, err = s.Counts(ctx, o.counters())
		out = outcome{View: fmt.Sprint(got)}
	}
	if err == nil {
		return out, nil
	}
	if name := refusal(err); name != "" {
		return outcome{Err: name}, nil
	}
	return outcome{}, err
}

// view tells of an order all that decides anything.
func view(o redemption.Order, uses []redemption.Use) string {
	if o.IsZero() {
		return ""
	}
	text := fmt.Sprintf("%s %s v%d session=%q url=%q by=%q until=%d awaits=%q asks=%d",
		o.ID, o.State, o.Version, o.SessionID, o.SessionURL, o.ReplacedBy, o.Deadline.Unix(), o.Awaits, o.Asks)
	if !o.BegunAt.IsZero() {
		text += fmt.Sprintf(" begun=%d", o.BegunAt.Sub(epoch).Microseconds())
	}
	for _, u := range uses {
		text += fmt.Sprintf("; %s %s v%d over=%t", u.CouponID, u.State, u.Version, u.OverLimit)
	}
	return text
}

// refusal names an error of the contract, "" for a failure.
func refusal(err error) string {
	if limit := (*store.LimitError)(nil); errors.As(err, &limit) {
		return limit.Error()
	}
	for _, sentinel := range []error{
		store.ErrNotFound, store.ErrSuperseded, store.ErrPaymentOpen, store.ErrKeyReused, store.ErrStaleRevision, store.ErrConflict, redemption.ErrIllegal,
	} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return ""
}
