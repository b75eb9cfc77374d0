package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func applyClauses() []clause {
	return []clause{
		{"every event in every state", "an event changes an order and its uses as redemption.Order.After tells, in every state and at every instant; an event that the state forbids matches redemption.ErrIllegal, and SessionAttached ErrSuperseded", everyEventInEveryState},
		{"events in any order", "Paid wins over everything that came before it; events in any order and repeated end the same", eventsInAnyOrder},
		{"an event finds its order", "an event of the processor finds the order that has the session; else the order that it names, if that has no session yet", eventFindsItsOrder},
		{"an event that finds nothing", "an event of the processor that finds no order changes nothing and succeeds; an unknown order that the caller names is ErrNotFound", eventFindsNothing},
		{"a payment in another session", "a payment that names an order with another session is recorded with the order, and pays it if nothing else has", paidElsewhere},
		{"one session, one order", "a session that another order has, or a session of a replaced order, is ErrSuperseded", oneSessionOneOrder},
	}
}

func paidElsewhere(p *probe) {
	c := p.coupon(limits(1, 0))
	in := func(o redemption.Order, session string) redemption.Event {
		return event(redemption.Paid, redemption.Order{ID: o.ID, SessionID: session, Quote: o.Quote})
	}
	first := p.placed(p.checkout("ann", c), redemption.SessionAttached, redemption.Paid).Order
	second := in(first, "cs_second")
	got := p.apply(second)
	want := []redemption.Payment{{SessionID: "cs_second", Charge: second.Charge, At: second.At}}
	same(p, []any{got.Changed, got.Order.SessionID, got.Order.OtherPayments}, []any{true, first.SessionID, want}, "an order that was paid twice")
	got.Changed = false
	same(p, p.order(first.ID), got, "the order that is stored with two payments")
	p.uses(c, 0, 1)
	p.unchanged("the same payment again", func() { p.apply(second) })
	refunds := redemption.Event{Kind: redemption.Reported, OrderID: first.ID, SessionID: "cs_second", At: at(1300)}
	refunds.Report.Refunds = []redemption.ReportedRefund{{ID: "re_1", Amount: 5, State: redemption.RepaymentSucceeded}}
	p.apply(refunds)
	same(p, p.order(first.ID).Order.OtherPayments[0].Returned, int64(5), "what went back of the second payment")
	same(p, p.summaries(first.ID)[3:], []string{"order_repaid paid_twice paid 4", "order_repaid reported paid 5"}, "what the journal tells of a second payment")

	for _, history := range [][]redemption.EventKind{
		{redemption.SessionAttached}, {redemption.SessionAttached, redemption.PaymentPending}, {redemption.SessionAttached, redemption.Cancelled},
	} {
		d := p.coupon(limits(1, 0))
		open := p.placed(p.checkout("bob", d), history...).Order
		paid := p.apply(in(open, "cs_other_"+open.ID)).Order
		same(p, []any{paid.State, paid.SessionID, paid.SessionURL, len(paid.OtherPayments), paid.OtherPayments[0].InsteadOf},
			[]any{redemption.OrderPaid, "cs_other_" + open.ID, "", 1, open.SessionID}, "an order that another session has paid, after %v", history)
		p.uses(d, 0, 1)
		p.apply(event(redemption.SessionExpired, open))
		after := p.order(open.ID).Order
		same(p, []any{after.State, after.SessionID, after.BegunAt, len(after.Due())}, []any{redemption.OrderPaid, paid.SessionID, time.Time{}, 0}, "the order after the end of the session that it had")
		if told := p.summaries(open.ID); after.Version > paid.Version {
			same(p, told[len(told)-1], fmt.Sprintf("order_changed session_expired paid %d", after.Version), "what the journal tells of the end of that session")
		}
		p.unchanged("the end of that session again", func() {
			p.apply(event(redemption.SessionExpired, open))
			p.apply(event(redemption.PaymentFailed, open))
		})
		twice := p.apply(in(open, open.SessionID)).Order
		same(p, []any{twice.SessionID, len(twice.OtherPayments), twice.OtherPayments[1].SessionID}, []any{paid.SessionID, 2, open.SessionID}, "both payments")
		p.uses(d, 0, 1)
	}
}

// ofProcessor are the events of a session that the processor reports.
var ofProcessor = []redemption.EventKind{redemption.Paid, redemption.PaymentPending, redemption.PaymentFailed, redemption.SessionExpired, redemption.PaymentEnded, redemption.PaymentOpened}

// ofOrders are the events of orders, except refunds and reports.
var ofOrders = append([]redemption.EventKind{redemption.SessionAttached, redemption.Cancelled, redemption.Lapsed, redemption.PaymentBegun}, ofProcessor...)

// histories bring an order into every state, with and without a session.
var histories = [][]redemption.EventKind{
	{},
	{redemption.SessionAttached},
	{redemption.PaymentPending},
	{redemption.SessionAttached, redemption.PaymentPending},
	{redemption.Paid},
	{redemption.SessionAttached, redemption.Paid},
	{redemption.Cancelled},
	{redemption.SessionAttached, redemption.Cancelled},
	{redemption.SessionExpired},
	{redemption.SessionAttached, redemption.PaymentPending, redemption.PaymentFailed},
	{redemption.Cancelled, redemption.Paid},
	{redemption.PaymentBegun},
	{redemption.PaymentBegun, redemption.PaymentEnded},
	{redemption.PaymentBegun, redemption.Cancelled},
	{redemption.SessionAttached, redemption.PaymentEnded},
	{redemption.Cancelled, redemption.PaymentOpened},
}

func everyEventInEveryState(p *probe) {
	a, b := p.coupon(limits(0, 0)), p.coupon(forPoints)
	for _, history := range histories {
		for kind := redemption.SessionAttached; kind <= redemption.PaymentOpened; kind++ {
			if kind == redemption.Refunded || kind == redemption.Reported {
				continue // other clauses cover this case
			}
			for _, variant := range []string{"as it is", "in another session", "at the deadline", "before the last event", "while the payment is not over", "while the payment is over"} {
				before := p.placed(taking(p.checkout("ann", b, a), p.exchanged("ann", b)), history...)
				e := event(kind, before.Order)
				switch variant {
				case "in another session":
					e.SessionID = "cs_other_" + before.Order.ID
				case "at the deadline":
					e.At = at(2000)
				case "before the last event":
					e.At = at(1)
				case "while the payment is not over":
					e.PaymentOver, e.BegunBy = false, at(0)
				case "while the payment is over":
					e.PaymentOver = givesUp(kind)
				}
				p.afterwards(before, e, fmt.Sprintf("%s %s after %v", kind, variant, history))
			}
		}
	}
}

// afterwards applies an event and compares the stored order with the result of package redemption.
func (p *probe) afterwards(before store.Settled, e redemption.Event, what string) {
	p.Helper()
	if e.Kind.OfUse() {
		u := before.Uses[0]
		if u.PointsState == redemption.NoPoints {
			u = before.Uses[1]
		}
		p.useAfterwards(u, e, what)
		return
	}
	o := before.Order
	want, uses, wantErr := o.After(e, before.Uses...)
	processors := slices.Contains(ofProcessor, e.Kind)
	found := o.Concerns(e.SessionID) || e.Kind == redemption.Paid
	if processors && !found {
		want, uses, wantErr = o, before.Uses, nil
	}
	got, err := p.s.Apply(p.Context(), settlement(e))
	switch {
	case wantErr == nil:
		p.ok(err, "Apply of %s", what)
	case e.Kind == redemption.SessionAttached:
		p.fails(err, store.ErrSuperseded, "Apply of %s", what)
	default:
		same(p, kinds(err), kinds(wantErr), "the error of %s", what)
	}
	after := store.Settled{Order: want, Uses: uses}
	same(p, p.order(o.ID), after, "the order after %s", what)
	if err == nil && (found || !processors) {
		after.Changed = want.Version != o.Version
		same(p, got, after, "what Apply of %s returns", what)
	}
}

// useAfterwards applies an event and compares the stored use with the result of package redemption.
func (p *probe) useAfterwards(u redemption.Use, e redemption.Event, what string) {
	p.Helper()
	e.UseID = u.ID
	want, wantErr := u.After(e)
	got, err := p.s.Apply(p.Context(), settlement(e))
	same(p, kinds(err), kinds(wantErr), "the error of %s", what)
	listed := answer(p, store.Store.ListUses, store.UseList{ExchangeID: u.ExchangeID}).Items // reading the whole store would take minutes
	same(p, only(listed, func(u redemption.Use) bool { return u.ID == want.ID }), []redemption.Use{want}, "the use after %s", what)
	if err == nil && u.OrderID == "" {
		same(p, got, store.Settled{Uses: []redemption.Use{want}, Changed: want.Version != u.Version}, "what Apply of %s returns", what)
	}
}

func eventsInAnyOrder(p *probe) {
	c := p.coupon()
	attach := redemption.SessionAttached
	events := append([]redemption.EventKind{attach}, ofProcessor[:4]...)
	var want *redemption.Order
	for _, order := range permutations(events) {
		o := p.reserve(p.checkout("ann", c)).Order
		session := sessionOf(o.ID)
		for range 2 {
			for _, kind := range order {
				e := event(kind, o)
				e.SessionID = session
				if _, err := p.s.Apply(p.Context(), settlement(e)); err != nil && kind != attach {
					p.stop("Apply of %s in the order %v returned %v", kind, order, err)
				}
			}
		}
		got := p.order(o.ID)
		same(p, []any{got.Order.State, got.Uses[0].State}, []any{redemption.OrderPaid, redemption.Completed}, "the states after %v", order)
		if want == nil {
			want = &got.Order
		}
		if diff := cmp.Diff(*want, got.Order, cmpopts.IgnoreFields(redemption.Order{}, "ID", "Key", "SessionID", "SessionURL", "CreatedAt", "UpdatedAt", "Version"), cmpopts.EquateEmpty()); diff != "" {
			p.stop("the order %v ends otherwise than another one:\n%s", order, diff)
		}
	}
}

// permutations returns every order of the values.
func permutations[V any](values []V) (all [][]V) {
	if len(values) == 0 {
		return [][]V{nil}
	}
	for i, last := range values {
		for _, others := range permutations(slices.Concat(values[:i], values[i+1:])) {
			all = append(all, append(others, last))
		}
	}
	return all
}

func eventFindsItsOrder(p *probe) {
	c := p.coupon()
	for _, kind := range ofProcessor[:4] {
		mine, other := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order, p.reserve(p.checkout("ann", c)).Order
		named := event(kind, other)
		named.SessionID = mine.SessionID
		same(p, p.apply(named).Order.ID, mine.ID, "the order of a session, though %s names another", kind)
		same(p, p.order(other.ID).Order, other, "the order that %s named", kind)
		bare := event(kind, other)
		bare.SessionID = sessionOf(other.ID)
		settled := p.apply(bare)
		same(p, settled.Order.ID, other.ID, "the order that %s names, which has no session", kind)
		same(p, p.order(other.ID).Order.SessionID, bare.SessionID, "the session that %s has brought", kind)
	}
}

func eventFindsNothing(p *probe) {
	c := p.coupon()
	o := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
	p.unchanged("events that find nothing", func() {
		for _, kind := range ofProcessor {
			for _, named := range []string{"", "ord_none", o.ID} {
				if named == o.ID && kind == redemption.Paid {
					continue
				}
				e := event(kind, redemption.Order{ID: named, SessionID: "cs_unknown"})
				same(p, p.apply(e), store.Settled{}, "what %s finds in an unknown session that names %q", kind, named)
			}
		}
		for _, kind := range []redemption.EventKind{redemption.SessionAttached, redemption.Cancelled, redemption.Lapsed} {
			p.applyFails(event(kind, redemption.Order{ID: "ord_none"}), store.ErrNotFound, "of an unknown order")
		}
	})
}

func oneSessionOneOrder(p *probe) {
	c := p.coupon()
	one := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
	two := p.reserve(p.checkout("ann", c)).Order
	e := event(redemption.SessionAttached, two)
	e.SessionID = one.SessionID
	p.applyFails(e, store.ErrSuperseded, "of the session of another order")
	p.applyFails(e, store.ErrConflict, "of the session of another order")
	for _, session := range []string{one.SessionID + " ", "CS_" + one.SessionID[3:]} { // sessions are compared by bytes
		e := event(redemption.SessionAttached, p.reserve(p.checkout("ann", c)).Order)
		e.SessionID = session
		same(p, p.apply(e).Order.SessionID, session, "the session")
	}
	replaced := p.reserve(p.checkout("ann", c)).Order
	p.reserve(p.retry(replaced, c))
	p.applyFails(event(redemption.SessionAttached, replaced), store.ErrSuperseded, "to a replaced order")
	attached := event(redemption.SessionAttached, one)
	p.unchanged("attaching a session again", func() { p.apply(attached) })
}

func lateClauses() []clause {
	return []clause{
		{"a late payment", "a payment always counts: if it is late, its claims are forced, and every use whose claims exceed a limit is flagged OverLimit", latePayment},
		{"a late payment flags by use", "only the uses whose claims exceed a limit are flagged; if the order's own do, those of its coupons for first orders", lateFlagsByUse},
		{"a late payment after hand-over", "if the customer has replaced the order since, the last order of those that replaced it is cancelled if it is open, and its room is used", lateAfterHandOver},
		{"a late payment beside a paid successor", "an order that replaced the paid one stays as it is unless it is open; the late payment is flagged if nothing is left", func(p *probe) {
			for what, end := range map[string]redemption.EventKind{"paid": redemption.Paid, "awaiting payment": redemption.PaymentPending} {
				c := p.coupon(limits(1, 0))
				old := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
				successor := p.placed(p.retry(old, c), end)
				paid := p.happen(old, redemption.Paid)
				same(p, paid.Uses[0].OverLimit, true, "whether a late payment beside an order that is %s is flagged", what)
				same(p, p.order(successor.Order.ID), successor, "the order that replaced the paid one and is %s", what)
			}
		}},
		{"a payment on its way after hand-over", "a replaced order for which a payment is on its way takes its claims back from the last order, if that is open and no payment of it has begun", func(p *probe) {
			c, waiting := p.replacedWithPoints(redemption.PaymentPending)
			same(p, []any{waiting.Order.State, waiting.Uses[0].State}, []any{redemption.OrderAwaitingPayment, redemption.Reserved}, "the order whose payment is on its way")
			p.uses(c, 1, 0)
			paid := p.happen(waiting.Order, redemption.Paid)
			same(p, []any{paid.Order.State, paid.Uses[0].OverLimit}, []any{redemption.OrderPaid, false}, "the order once its payment has arrived")
			p.uses(c, 0, 1)

			d := p.coupon(limits(1, 1))
			old := p.placed(p.checkout("bob", d), redemption.SessionAttached).Order
			next := p.reserve(p.retry(old, d)).Order
			p.happen(old, redemption.PaymentEnded)
			p.happen(next, redemption.PaymentBegun)
			p.unchanged("a payment on its way beside an order whose payment has begun", func() { p.apply(event(redemption.PaymentPending, old)) })
		}},
		{"a late end changes no successor", "an order that was handed over and then expires, fails or is cancelled changes nothing of the order that replaced it", func(p *probe) {
			c := p.coupon(limits(1, 1))
			for _, kind := range []redemption.EventKind{redemption.SessionExpired, redemption.PaymentFailed, redemption.Cancelled, redemption.Lapsed} {
				old := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
				successor := p.reserve(p.retry(old, c)).Order
				p.apply(event(kind, old))
				same(p, p.order(successor.ID).Order, successor, "the order that replaced another one after a late %s of that", kind)
				same(p, p.order(old.ID).Order.Due(), nil, "what is due for the replaced order")
				p.happen(successor, redemption.Cancelled)
			}
		}},
		{"a late payment takes points back", "a late payment takes the points of its exchange back from the order that replaced it", func(p *probe) {
			c, _ := p.replacedWithPoints(redemption.Paid)
			p.uses(c, 0, 1)
		}},
		{"an unknown payment", "a payment whose order is not in the store is recorded once, by its session, with forced claims", unknownPayment},
		{"IDs of unknown payments", "an ID of an unknown payment that is taken is ErrConflict", func(p *probe) {
			c := p.coupon()
			known := p.reserve(p.checkout("ann", c))
			s := p.unknown("ann", "cs_lost", c)
			s.Unknown.Order.ID, s.Unknown.Uses[0].OrderID = known.Order.ID, known.Order.ID
			fails(p, store.Store.Apply, s, store.ErrConflict, "whose order ID is taken")
			s = p.unknown("ann", "cs_lost", c)
			s.Unknown.Uses[0].ID = known.Uses[0].ID
			fails(p, store.Store.Apply, s, store.ErrConflict, "whose use ID is taken")
		}},
	}
}

func latePayment(p *probe) {
	c := p.coupon(limits(1, 0))
	for _, end := range [][]redemption.EventKind{{redemption.Cancelled}, {redemption.SessionAttached, redemption.SessionExpired}, {redemption.SessionAttached, redemption.PaymentPending, redemption.PaymentFailed}} {
		free := p.coupon(limits(1, 0))
		paid := p.happen(p.placed(p.checkout("ann", free), end...).Order, redemption.Paid)
		same(p, []any{paid.Order.State, paid.Uses[0].State, paid.Uses[0].OverLimit}, []any{redemption.OrderPaid, redemption.Completed, false}, "a late payment that fits, after %v", end)
		p.uses(free, 0, 1)
	}
	var late []redemption.Order
	for range 3 {
		late = append(late, p.placed(p.checkout("ann", c), redemption.Cancelled).Order)
	}
	p.reserve(p.checkout("bob", c))
	for i, o := range late {
		paid := p.happen(o, redemption.Paid)
		same(p, paid.Uses[0].OverLimit, true, "whether a late payment beyond the limit is flagged")
		same(p, paid.Uses[0].ReleasedAt.IsZero(), true, "whether a completed use was not released")
		p.uses(c, 1, int64(i+1))
		p.unchanged("a repeated payment", func() { p.apply(event(redemption.Paid, paid.Order)) })
	}
	p.refused(p.checkout("cem", c), store.ErrLimit, "beyond a limit that was exceeded")
}

func lateFlagsByUse(p *probe) {
	full, free := p.coupon(limits(1, 0)), p.coupon(limits(1, 0))
	o := p.placed(p.checkout("ann", full, free), redemption.Cancelled).Order
	p.reserve(p.checkout("bob", full))
	flags := func(s store.Settled) map[string]bool {
		flagged := map[string]bool{}
		for _, u := range s.Uses {
			flagged[u.CouponID] = u.OverLimit
		}
		return flagged
	}
	same(p, flags(p.happen(o, redemption.Paid)), map[string]bool{full.ID: true, free.ID: false}, "the flags")
	newcomers, everybody := p.coupon(func(c *coupon.Coupon) { c.Conditions.FirstOrder = true }), p.coupon()
	exceeding := p.placed(first(p.checkout("cem", newcomers, everybody)), redemption.Cancelled).Order
	p.reserve(p.checkout("cem"))
	same(p, flags(p.happen(exceeding, redemption.Paid)), map[string]bool{newcomers.ID: true, everybody.ID: false},
		"the flags of an order that is not the first")
}

func lateAfterHandOver(p *probe) {
	c, extra := p.coupon(limits(1, 1)), p.coupon(limits(1, 0))
	old := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
	successor := p.reserve(p.retry(old, c, extra)).Order
	p.happen(old, redemption.SessionExpired)
	successor = p.happen(successor, redemption.PaymentBegun, redemption.SessionAttached).Order
	settled := p.apply(event(redemption.Paid, old))
	paid := p.order(old.ID)
	beside := p.order(successor.ID)
	same(p, settled.Ended, []store.Settled{{Order: beside.Order, Uses: beside.Uses, Changed: true}}, "what the payment has ended")
	same(p, []redemption.DueKind{beside.Order.Due()[0].Kind}, []redemption.DueKind{redemption.EndPayment}, "what is due for the order that had replaced the paid one")
	same(p, paid.Uses[0].OverLimit, false, "whether the payment is flagged that takes the room of the order which replaced it")
	ended := p.order(successor.ID).Order
	same(p, []any{ended.State, ended.ReplacedBy}, []any{redemption.OrderCancelled, ""}, "the order that had replaced the paid one")
	p.uses(c, 0, 1)
	p.uses(extra, 0, 0)
	late := p.happen(successor, redemption.Paid) // the customer has paid both orders
	same(p, []bool{late.Uses[0].OverLimit, late.Uses[1].OverLimit}, []bool{true, false}, "the flags of the second payment")
	p.uses(c, 0, 2)
}

// replacedWithPoints replaces an order that took points, and then applies an event to it. The order
// takes its points back.
func (p *probe) replacedWithPoints(late redemption.EventKind) (coupon.Coupon, store.Settled) {
	p.Helper()
	c := p.coupon(forPoints, limits(1, 1))
	held := p.exchanged("ann", c)
	old := p.placed(taking(p.checkout("ann", c), held), redemption.SessionAttached).Order
	successor := p.reserve(taking(p.retry(old, c), held)).Order
	settled := p.happen(old, late)
	same(p, settled.Uses[0].PointsState, redemption.PointsDebited, "the points of the replaced order after %s", late)
	ended := p.order(successor.ID)
	same(p, []any{ended.Order.State, ended.Uses[0].PointsState}, []any{redemption.OrderCancelled, redemption.PointsPassedOn}, "the order that had replaced it")
	return c, settled
}

func unknownPayment(p *probe) {
	c := p.coupon(limits(1, 0))
	p.reserve(p.checkout("bob", c))
	s := p.unknown("ann", "cs_lost", c)
	got := p.settle(s)
	want := store.Settled{Order: s.Unknown.Order.Clone(), Uses: s.Unknown.Uses, Changed: true}
	want.Order.Version, want.Order.UpdatedAt = 1, want.Order.CreatedAt
	want.Uses[0].Version, want.Uses[0].UpdatedAt, want.Uses[0].OverLimit = 1, want.Uses[0].CreatedAt, true
	same(p, got, want, "what is recorded of an unknown payment")
	p.uses(c, 1, 1)
	p.unchanged("the same payment again", func() {
		want.Changed = false
		same(p, p.settle(p.unknown("ann", "cs_lost", c)), want, "what the second report of the payment returns")
	})
	same(p, p.settle(p.unknown("", "cs_nobody")).Order.State, redemption.OrderPaid, "an unknown payment without customer and coupon")
	p.unchanged("other events with an unknown order", func() {
		other := p.unknown("ann", "cs_else", c)
		other.Event.Kind = redemption.SessionExpired
		same(p, p.settle(other), store.Settled{}, "what an expiry of an unknown session returns")
	})
	deleted := p.coupon()
	p.save(store.DeleteCoupon, deleted)
	same(p, p.settle(p.unknown("ann", "cs_gone", deleted)).Uses[0].CouponID, deleted.ID, "the coupon of an unknown payment")
}
