package faults_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// book is the model: the orders that a store would hold if it made one call after the
// other. It is made of the state machine of package redemption, and of the contract's
// sentences. It shares no code with package engine.
type book map[string]page

// page is an order with its uses, and what view tells of both.
type page struct {
	store.Settled

	view string
}

func (b book) with(o redemption.Order, uses []redemption.Use) book {
	b = maps.Clone(b)
	b[o.ID] = page{store.Settled{Order: o, Uses: uses}, view(o, uses)}
	return b
}

func (b book) equal(c book) bool {
	return maps.EqualFunc(b, c, func(p, q page) bool { return p.view == q.view })
}

func (b book) held() map[string]eligibility.Count {
	all := map[string]eligibility.Count{}
	for _, p := range b {
		for key, count := range redemption.Holdings(p.Order, p.Uses...) {
			all[key] = all[key].Plus(count)
		}
	}
	return all
}

// exceeded returns the claims for which there is no room. What the order before holds is
// handed on.
func (b book) exceeded(claims []eligibility.Claim, before page) (exceeded []eligibility.Claim) {
	held, kept := b.held(), redemption.Holdings(before.Order, before.Uses...)
	for _, c := range claims {
		if c.Limit > 0 && kept[c.Counter].Taken() == 0 && !c.Fits(held[c.Counter]) {
			exceeded = append(exceeded, c)
		}
	}
	return exceeded
}

func claimsOf(o redemption.Order, uses []redemption.Use) []eligibility.Claim {
	claims := slices.Clone(o.Claims)
	for _, u := range uses {
		claims = append(claims, u.Claims...)
	}
	return claims
}

// do makes the call on the model.
func (b book) do(o operation) (book, outcome) {
	switch o.Call {
	case reserve:
		return b.reserve(o)
	case apply:
		return b.apply(o.settlement())
	case read:
		if p, known := b[o.Order]; known {
			return b, outcome{View: p.view}
		}
		return b, refused(store.ErrNotFound)
	}
	held, counts := b.held(), []eligibility.Count{}
	for _, key := range o.counters() {
		counts = append(counts, held[key])
	}
	return b, outcome{View: fmt.Sprint(counts)}
}

func refused(err error) outcome { return outcome{Err: err.Error()} }

func (b book) reserve(o operation) (book, outcome) {
	for _, p := range b {
		if p.Order.CustomerID == o.Customer && p.Order.Key == o.Key {
			return b, outcome{View: p.view}
		}
	}
	next, replaced := b, b[o.Replaces]
	if o.Replaces != "" {
		if replaced.Order.IsZero() {
			return b, refused(store.ErrNotFound)
		}
		old, uses, err := replaced.Order.Replace(o.Order, epoch, replaced.Uses...)
		if err != nil {
			return b, refused(store.ErrSuperseded)
		}
		next = next.with(old, uses)
	}
	r := o.reservation(pricing.Quote{})
	if r.Order.Awaits = replaced.Order.Awaits; !replaced.Order.BegunAt.IsZero() {
		r.Order.Awaits = replaced.Order.ID
	}
	if r.Order.Awaits != "" {
		r.Order.BegunAt = time.Time{}
	}
	if exceeded := b.exceeded(claimsOf(r.Order, r.Uses), replaced); len(exceeded) > 0 {
		return b, refused(&store.LimitError{Exceeded: exceeded})
	}
	order, uses := asNew(r)
	if paid, known := b[o.Order]; known {
		if order, uses, known = order.Adopt(paid.Order, len(paid.Uses) > 0, uses...); !known {
			return b, refused(store.ErrConflict)
		}
	} else if order.Awaits != "" { // for a late payment
		order = order.Keep(uses, replaced.Order, replaced.Uses...)
	}
	return next.with(order, uses).did(o.Order)
}

func asNew(r store.Reservation) (redemption.Order, []redemption.Use) {
	r.Order.Version = 1
	for i := range r.Uses {
		r.Uses[i].Version = 1
	}
	return r.Order, r.Uses
}

func (b book) did(id string) (book, outcome) { return b, outcome{Did: true, View: b[id].view} }

func (b book) bySession(id string) (page, bool) {
	for _, p := range b {
		if id != "" && p.Order.SessionID == id {
			return p, true
		}
	}
	return page{}, false
}

// meansNamed reports whether the caller means the order that the event names. A processor
// means the one that has the session.
func meansNamed(e redemption.Event) bool {
	return e.Kind == redemption.SessionAttached || e.Kind == redemption.Cancelled || e.Kind == redemption.Lapsed || e.Kind == redemption.PaymentBegun
}

// mustWait reports whether an event has to wait for the end of the payment of an earlier order.
func (b book) mustWait(o redemption.Order, e redemption.Event) bool {
	if o.State != redemption.OrderOpen || !o.BegunAt.IsZero() || b[o.Awaits].Order.BegunAt.IsZero() {
		return false
	}
	return e.Kind == redemption.PaymentBegun || e.Kind == redemption.PaymentEnded || e.Kind == redemption.Cancelled || e.Kind == redemption.Lapsed
}

func (b book) find(e redemption.Event) (page, bool) {
	named, known := b[e.OrderID]
	if meansNamed(e) {
		return named, known
	}
	if p, found := b.bySession(e.SessionID); found {
		return p, true
	}
	return named, known && (named.Order.Concerns(e.SessionID) || e.Kind == redemption.Paid)
}

func (b book) apply(s store.Settlement) (book, outcome) {
	e := s.Event
	p, found := b.find(e)
	owner, owned := b.bySession(e.SessionID)
	switch {
	case !found && e.Kind == redemption.Paid && !b[s.Unknown.Order.ID].Order.IsZero():
		return b, refused(store.ErrConflict)
	case !found && e.Kind == redemption.Paid:
		o, uses := asNew(s.Unknown)
		b.flag(o, uses, page{})
		return b.with(o, uses).did(o.ID)
	case !found && meansNamed(e):
		return b, refused(store.ErrNotFound)
	case !found:
		return b, outcome{}
	case p.Order.State == redemption.OrderCancelled && (e.Kind == redemption.Paid || e.Kind == redemption.PaymentPending && p.Order.ReplacedBy != ""):
		return b.late(p, e)
	case owned && owner.Order.ID != p.Order.ID:
		return b, refused(store.ErrSuperseded)
	case b.mustWait(p.Order, e) && e.Kind == redemption.PaymentEnded: // it had none
		return b, outcome{View: p.view}
	case b.mustWait(p.Order, e):
		return b, refused(store.ErrPaymentOpen)
	}
	o, uses, err := p.Order.After(e, p.Uses...)
	switch {
	case err != nil && e.Kind == redemption.SessionAttached:
		return b, refused(store.ErrSuperseded)
	case err != nil:
		return b, refused(redemption.ErrIllegal)
	case o.Version == p.Order.Version:
		return b, outcome{View: p.view}
	}
	return b.with(o, uses).did(o.ID)
}

// late settles a payment for an order that was cancelled, and one on its way for an order
// that was replaced. The last order that has replaced it makes room, if it is open or ending. For a payment on
// its way it does so only if no payment of it has begun, and after somebody has asked.
func (b book) late(p page, e redemption.Event) (book, outcome) {
	after := p.Order.After
	last := page{}
	for by := p.Order.ReplacedBy; by != ""; by = b[by].Order.ReplacedBy {
		last = b[by]
	}
	open := last.Order.State == redemption.OrderOpen
	if e.Kind == redemption.PaymentPending {
		asked := p.Order.Ask(e)
		switch {
		case !open || !last.Order.BegunAt.IsZero():
			return b, outcome{View: p.view}
		case p.Order.Fresh(e):
			after = p.Order.Resume
		case asked.Version == p.Order.Version:
			return b, outcome{View: p.view}
		default:
			return b.with(asked, p.Uses).did(asked.ID)
		}
	}
	o, uses, err := after(e, p.Uses...)
	if err != nil {
		return b, refused(redemption.ErrIllegal)
	}
	next, before := b, page{}
	if open || last.Order.State == redemption.OrderEnding {
		ended, released, err := last.Order.Replace(o.ID, e.At, last.Uses...)
		if err != nil {
			return b, refused(redemption.ErrIllegal)
		}
		ended.ReplacedBy, before = "", last
		next = next.with(ended, released)
	}
	if e.Kind == redemption.Paid {
		b.flag(o, uses, before)
	} else if len(b.exceeded(claimsOf(o, uses), before)) > 0 {
		return b, outcome{View: p.view}
	}
	return next.with(o, uses).did(o.ID)
}

// flag marks the uses whose claims are forced.
func (b book) flag(o redemption.Order, uses []redemption.Use, before page) {
	for i, u := range uses {
		uses[i].OverLimit = len(b.exceeded(u.Claims, before)) > 0
	}
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

// parts divides a history by [operation.Part].
func parts(all []porcupine.Operation) [][]porcupine.Operation {
	named := map[string][]porcupine.Operation{}
	for _, o := range all {
		name := o.Input.(operation).Part
		named[name] = append(named[name], o)
	}
	return slices.Collect(maps.Values(named))
}

// linearizable checks a history.
func linearizable(history []call, limit time.Duration) porcupine.CheckResult {
	model := (&porcupine.NondeterministicModel{
		Partition: parts,
		Init:      func() []any { return []any{book{}} },
		Step:      step,
		Equal:     func(a, b any) bool { return a.(book).equal(b.(book)) },
	}).ToModel()
	var operations []porcupine.Operation
	for i, c := range history {
		made := porcupine.Operation{ClientId: i, Input: c.Operation, Call: c.Began, Output: c, Return: c.Ended}
		operations = append(operations, made)
		for _, began := range c.Lost { // each may have had its effect until the call was over
			unanswered := c
			unanswered.Ended = math.MaxInt64
			made.Call, made.Output = began, unanswered
			operations = append(operations, made)
		}
	}
	return porcupine.CheckOperationsTimeout(model, operations, limit)
}

// The first try of a call takes effect, its answer is lost, and others see the effect and
// go on before it is made again: its answer is about another state then.
func TestACallWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	b, now := book{}, int64(0)
	made := func(name string, kind redemption.EventKind) (c call) {
		c.Operation = operation{
			Call: name, Coupons: []roundCoupon{{"cpn_a", coupon.Limits{MaxUses: 2}}}, Customer: "ann", Key: "k", Order: "ord_a", NewID: "new", Event: event(kind),
		}
		if kind != 0 {
			c.Operation.Session = "cs_a"
		}
		c.Began, c.Ended = now+1, now+2
		now += 2
		b, c.Outcome = b.do(c.Operation)
		return c
	}
	history := []call{made(reserve, 0), made(apply, redemption.SessionAttached)}
	first := made(apply, redemption.PaymentPending)
	history = append(history, made(apply, redemption.SessionAttached), // which says that a payment is waited for
		made(apply, redemption.Paid))
	again := made(apply, redemption.PaymentPending)
	require.NotEqual(t, first.Outcome, again.Outcome)
	check := func(again call) porcupine.CheckResult {
		return linearizable(append(slices.Clip(history), again), time.Minute)
	}
	lost := again
	lost.Lost = []int64{first.Began}
	wrong := lost
	wrong.Outcome = first.Outcome
	require.Equal(t, porcupine.Ok, check(lost))
	require.Equal(t, porcupine.Illegal, check(again), "nobody knows that an answer was lost")
	require.Equal(t, porcupine.Illegal, check(wrong), "the answer of the first try")
}
