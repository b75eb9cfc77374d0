package faults_test

import (
	"maps"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// book is the model of one coupon: what a store would hold if it made one call
// after the other. It is made of the pure functions of the contract.
type book struct {
	records map[string]redemption.Redemption
	orders  map[string]lightOrder
}

// lightOrder is what of an order decides anything.
type lightOrder struct {
	state       store.OrderState
	session     string
	customer    string
	key         string
	reservation string
}

func (o lightOrder) full() store.Order { return store.Order{State: o.state, SessionID: o.session} }

func (o lightOrder) with(full store.Order) lightOrder {
	o.state, o.session = full.State, full.SessionID
	return o
}

func (b book) equal(c book) bool {
	return maps.Equal(b.records, c.records) && maps.Equal(b.orders, c.orders)
}

func (b book) withRecord(r redemption.Redemption) book {
	records := maps.Clone(b.records)
	records[r.ID] = r
	return book{records, b.orders}
}

func (b book) withOrder(id string, o lightOrder) book {
	orders := maps.Clone(b.orders)
	orders[id] = o
	return book{b.records, orders}
}

// counts returns how many records are completed and live, in all or of a customer.
func (b book) counts(customer string) (completed, reserved int64) {
	for _, r := range b.records {
		if customer == "" || r.CustomerID == customer {
			c, l := r.Counts()
			completed, reserved = completed+c, reserved+l
		}
	}
	return completed, reserved
}

func (b book) full(o operation, customer string) error {
	completed, reserved := b.counts("")
	completedBy, reservedBy := b.counts(customer)
	return store.WithinLimits(o.Coupon, o.Limits, completed+reserved, completedBy+reservedBy)
}

// do makes the call on the model.
func (b book) do(o operation) (book, outcome) {
	switch o.Call {
	case "reserve":
		return b.reserve(o)
	case "takeOver":
		return b.takeOver(o)
	case "attach":
		return b.attach(o)
	case "settle":
		return b.settle(o)
	case "transition":
		return b.transition(o)
	case "lookUp":
		var out outcome
		out.Used, out.Reserved = b.counts("")
		out.UsedByCustomer, out.ReservedByCustomer = b.counts(o.Customer)
		return b, out
	case "read":
		r, known := b.records[o.ID]
		if !known {
			return b, outcome{Err: store.ErrNotFound.Error()}
		}
		return b, recordOutcome(r)
	}
	panic("no such call: " + o.Call)
}

// replay finds the order of a key.
func (b book) replay(o operation) (outcome, bool) {
	for _, order := range b.orders {
		if order.customer == o.Customer && order.key == o.Key {
			out := recordOutcome(b.records[order.reservation])
			out.Replayed, out.OrderState = true, order.state.String()
			return out, true
		}
	}
	return outcome{}, false
}

func (b book) reserve(o operation) (book, outcome) {
	if out, known := b.replay(o); known {
		return b, out
	}
	if err := b.full(o, o.Customer); err != nil {
		return b, outcome{Err: err.Error()}
	}
	r := redemption.Redemption{
		ID: o.ID, Key: o.Key, CouponID: o.Coupon, CustomerID: o.Customer, State: redemption.Reserved,
		Origin: redemption.FromCheckout, OrderID: o.Order, Deadline: epoch.Add(time.Hour),
	}
	out := recordOutcome(r)
	out.OrderState = store.OrderOpen.String()
	return b.withRecord(r).withOrder(o.Order, b.opened(o)), out
}

func (b book) opened(o operation) lightOrder {
	return lightOrder{state: store.OrderOpen, customer: o.Customer, key: o.Key, reservation: o.ID}
}

func (b book) takeOver(o operation) (book, outcome) {
	if out, known := b.replay(o); known {
		return b, out
	}
	r, known := b.records[o.ID]
	if !known {
		return b, outcome{Err: store.ErrNotFound.Error()}
	}
	e := o.event()
	e.Kind = redemption.TakenOver
	taken, err := redemption.Apply(r, e)
	if err != nil {
		return b, outcome{Err: store.ErrSuperseded.Error()}
	}
	if before, known := b.orders[r.OrderID]; known {
		b = b.withOrder(r.OrderID, before.with(before.full().After(e)))
	}
	out := recordOutcome(taken)
	out.OrderState = store.OrderOpen.String()
	return b.withRecord(plain(taken)).withOrder(o.Order, b.opened(o)), out
}

func (b book) attach(o operation) (book, outcome) {
	order, known := b.orders[o.Order]
	if !known {
		return b, outcome{Err: store.ErrNotFound.Error()}
	}
	attached, err := order.full().Attach(store.Attachment{OrderID: o.Order, SessionID: o.Session, At: epoch})
	if err != nil {
		return b, outcome{Err: store.ErrSuperseded.Error()}
	}
	e := o.event()
	e.Kind = redemption.SessionAttached
	r, err := redemption.Apply(b.records[order.reservation], e)
	if err != nil {
		return b, outcome{Err: store.ErrSuperseded.Error()}
	}
	return b.withRecord(plain(r)).withOrder(o.Order, order.with(attached)),
		outcome{Session: attached.SessionID, OrderState: attached.State.String()}
}

func (b book) settle(o operation) (book, outcome) {
	e := o.event()
	var out outcome
	before, found := b.concerned(o)
	if found {
		e.NoPlaceLeft = before.State == redemption.Released && b.full(o, before.CustomerID) != nil
		after, err := redemption.Apply(before, e)
		if err != nil {
			return b, outcome{Err: redemption.ErrIllegal.Error()}
		}
		out = recordOutcome(after)
		out.Changed = plain(after) != plain(before)
		b = b.withRecord(plain(after))
	} else if e.Kind == redemption.SessionCompleted {
		payment := redemption.Redemption{
			ID: o.NewID, Key: o.NewID, CouponID: o.Coupon, CustomerID: o.Customer, State: redemption.Completed,
			Origin: redemption.FromPayment, OrderID: o.Order, SessionID: o.Session, OverLimit: b.full(o, o.Customer) != nil,
		}
		out = recordOutcome(payment)
		out.Changed = true
		b = b.withRecord(payment)
	}
	if id, known := b.orderOf(o); known {
		order := b.orders[id]
		after := order.with(order.full().After(e))
		out.OrderState, out.Changed = after.state.String(), out.Changed || after != order
		b = b.withOrder(id, after)
	}
	return b, out
}

// orderOf finds the order that is named, or that has the session.
func (b book) orderOf(o operation) (string, bool) {
	if _, known := b.orders[o.Order]; known {
		return o.Order, true
	}
	for id, order := range b.orders {
		if order.session == o.Session && o.Session != "" {
			return id, true
		}
	}
	return "", false
}

func (b book) concerned(o operation) (redemption.Redemption, bool) {
	for _, r := range b.records {
		if r.SessionID == o.Session && o.Session != "" {
			return r, true
		}
	}
	r, known := b.records[o.ID]
	return r, known && r.SessionID == "" && r.OrderID == o.Order
}

func (b book) transition(o operation) (book, outcome) {
	before, known := b.records[o.ID]
	if !known {
		return b, outcome{Err: store.ErrNotFound.Error()}
	}
	after, err := redemption.Apply(before, o.event())
	if err != nil {
		return b, outcome{Err: redemption.ErrIllegal.Error()}
	}
	if order, known := b.orders[before.OrderID]; known && after.State != before.State {
		b = b.withOrder(before.OrderID, order.with(order.full().After(o.event())))
	}
	return b.withRecord(plain(after)), recordOutcome(after)
}

// plain leaves the instants of what has happened out: the model decides nothing by
// them.
func plain(r redemption.Redemption) redemption.Redemption {
	r.CreatedAt, r.UpdatedAt, r.CompletedAt, r.ReleasedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return r
}

// step returns the states that a call may have led to.
func step(state, input, output any) []any {
	b, o, c := state.(book), input.(operation), output.(call)
	after, expected := b.do(o)
	switch {
	case c.Ended == math.MaxInt64: // no answer
		if after.equal(b) {
			return []any{b}
		}
		return []any{b, after}
	case expected != c.Outcome:
		return nil
	}
	return []any{after}
}

// linearizable checks the history of each coupon.
func linearizable(history []call, limit time.Duration) map[string]porcupine.CheckResult {
	model := (&porcupine.NondeterministicModel{
		Init:  func() []any { return []any{book{map[string]redemption.Redemption{}, map[string]lightOrder{}}} },
		Step:  step,
		Equal: func(a, b any) bool { return a.(book).equal(b.(book)) },
	}).ToModel()
	perCoupon := make(map[string][]porcupine.Operation)
	for i, c := range history {
		id := c.Operation.Coupon
		made := porcupine.Operation{ClientId: i, Input: c.Operation, Call: c.Began, Output: c, Return: c.Ended}
		perCoupon[id] = append(perCoupon[id], made)
		for _, began := range c.Lost { // each may have had its effect until the call was over
			unanswered := c
			unanswered.Ended = math.MaxInt64
			made.Call, made.Output = began, unanswered
			perCoupon[id] = append(perCoupon[id], made)
		}
	}
	results := make(map[string]porcupine.CheckResult)
	for id, operations := range perCoupon {
		results[id] = porcupine.CheckOperationsTimeout(model, operations, limit)
	}
	return results
}

// roundCoupon is a coupon of a round.
type roundCoupon struct {
	ID     string
	Limits coupon.Limits
}

const couponsPerRound = 2

// limitsOf are the limits of coupon n of a round. They are so low that every round
// comes to them.
func limitsOf(round, n int) coupon.Limits {
	kinds := [...]coupon.Limits{{MaxUses: 2}, {MaxUsesPerUser: 1}, {MaxUses: 3, MaxUsesPerUser: 2}, {}}
	return kinds[(round+n*(1+round/len(kinds)%3))%len(kinds)]
}
