package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// happening is something that may happen in a step.
type happening struct {
	name   string
	weight int               // relative frequency
	happen func(*world) bool // reports whether anything happened
}

var (
	begins = []happening{ // happenings that begin a call on a node
		{"create", 3, (*world).create},
		{"edit", 2, (*world).edit},
		{"switch", 1, (*world).switchState},
		{"delete", 1, (*world).remove},
		{"add codes", 1, (*world).addCodes},
		{"change code", 2, (*world).changeCode},
		{"preview", 1, (*world).preview},
		{"exchange", 5, (*world).exchange},
		{"cancel exchange", 3, (*world).cancelExchange},
		{"checkout", 12, (*world).checkout},
		{"payment link", 2, (*world).paymentLink},
		{"retry", 5, (*world).retry},
		{"refund", 4, (*world).refund},
		{"cancel checkout", 3, (*world).cancelCheckout},
		{"refresh", 3, (*world).refresh},
		{"deliver", 8, (*world).deliver},
		{"forge", 1, (*world).forge},
		{"sweep", 3, (*world).sweep},
		{"reconcile", 1, (*world).reconcile},
		{"follow", 2, (*world).follow},
	}
	happens = []happening{ // happenings outside the nodes
		{"pay", 12, acts("the customer pays", entersAndPays)},
		{"pay later", 3, acts("the customer pays later", (*fakeprocessor.Processor).PayLater)},
		{"decline", 1, acts("the bank declines", (*fakeprocessor.Processor).Decline)},
		{"late payment arrives", 2, acts("the delayed payment arrives", (*fakeprocessor.Processor).PaymentArrives)},
		{"late payment fails", 2, acts("the delayed payment fails", (*fakeprocessor.Processor).PaymentFails)},
		{"event repeated", 1, acts("the processor repeats an event", (*fakeprocessor.Processor).Repeat)},
		{"expiry after the payment", 1, (*world).contradict},
		{"other event", 1, func(w *world) bool { w.shop().fake.Announce("coupon.deleted"); return true }},
		{"payment for a lost order", 1, (*world).payLost},
		{"time passes", 4, (*world).pass},
		{"tamper", 1, (*world).tamper},
		{"process stops", 1, (*world).stopOne},
		{"process starts", 3, (*world).startOne},
		{"power fails", 1, (*world).powerFails},
		{"points are spent elsewhere", 8, (*world).spendElsewhere},
		{"staff refund", 2, (*world).refundByStaff},
		{"refund finishes", 2, (*world).finishRefund},
		{"refund fails", 1, (*world).failRefund},
		{"refunds are refused", 1, (*world).refuseRefunds},
		{"dispute", 1, (*world).dispute},
		{"dispute decided", 1, (*world).decideDispute},
	}
)

// step runs one random happening. The random numbers depend only on the seed and the step's number.
func (w *world) step(number int) {
	w.source.Seed(w.config.Seed, uint64(number)+1) //nolint:gosec // a step's number is not negative
	if w.tracing {
		day := int(w.now.Sub(beginning)/(24*time.Hour)) + 1
		w.place = fmt.Sprintf("step %d, day %d, %s", number, day, w.now.Format("15:04"))
	}
	switch n := w.random.IntN(10); {
	case n < w.temper.hurry && len(w.tasks) > 0:
		w.advance()
	case n < 8 && len(w.tasks) < w.config.InFlight:
		w.runOne(w.temper.begins)
	case n == 8 && len(w.late) > 0:
		w.arrive(w.random.IntN(len(w.late)))
	default:
		w.runOne(w.temper.happens)
	}
	w.inspect()
}

// runOne runs one random entry of the list.
func (w *world) runOne(list []happening) {
	h := list[w.random.IntN(len(list))]
	w.when(h.happen(w), "step", h.name, "")
}

// advance continues one waiting call, with a random fate.
func (w *world) advance() {
	t := w.tasks[w.random.IntN(len(w.tasks))]
	f := w.fate(t)
	w.cutAfter = w.random.IntN(12)
	w.log("  %s: %s %s", t.name, t.call, f)
	pending := t.shop.fake.Pending()
	if w.run(t, f); f == cut {
		w.bury(t.node)
	}
	if t.shop.fake.Pending() > pending && w.odds(2) {
		w.deliverAtOnce(t.shop) // the event arrives before the answer
	}
	for t.call == paused && slices.Contains(w.tasks, t) && w.odds(2) {
		w.run(t, arrives)
	}
}

func (w *world) fate(t *task) fate {
	odds := w.temper.faultOdds
	// These calls are rare, and their failures are the difficult cases of a hand-over. They fail more
	// often.
	switch t.call {
	case "Apply cancelled", "Apply payment_pending", "Apply payment_failed", "Apply points_refused", "CreateSession", "ExpireSession", "Session", "Refund", "Repay", "Refunds", "Apply reported":
		odds = (odds + 3) / 4
	case "Apply lapsed", "Apply payment_begun":
		odds = (odds + 7) / 8
	case paused:
		return arrives
	}
	if odds == 0 || !w.odds(odds) {
		return arrives
	}
	f := fates[w.random.IntN(len(fates))]
	if f == cut && !w.odds(3) {
		return lostAfter // rarely, because a stopped process ends all its other calls too
	}
	return f
}

// background is the context of the checks. It is never cancelled.
func background() context.Context { return context.Background() }

// pass moves the clock forward, by minutes or days.
func (w *world) pass() bool {
	d := time.Duration(1+w.random.IntN(90)) * time.Minute
	if w.odds(w.temper.longTimes) {
		d = time.Duration(1+w.random.IntN(20*24)) * time.Hour
		w.coverage.count("step", "time passes", "hours or days")
	}
	w.now = w.now.Add(d)
	w.log("%v pass", d)
	return true
}

// stopOne stops a random process, perhaps in the middle of a call.
func (w *world) stopOne() bool {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	if n.stopped || !w.odds(2) {
		return false
	}
	w.log("node %d stops", n.number)
	w.bury(n)
	return true
}

// startOne starts the successor of a process that has stopped.
func (w *world) startOne() bool {
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.stopped })
	if i < 0 {
		return false
	}
	w.nodes[i] = w.newNode()
	w.loadIndexes(w.nodes[i])
	w.log("node %d starts", w.nodes[i].number)
	w.scan()
	return true
}

// powerFails stops all processes at once, and the database with them.
func (w *world) powerFails() bool {
	if !w.odds(8) {
		return false
	}
	w.log("the power fails")
	for _, n := range w.nodes {
		w.bury(n)
	}
	w.sound("crash", w.database.Crash())
	w.openEyes()
	w.scan()
	return true
}

// scan reads and checks all shops.
func (w *world) scan() {
	for _, s := range w.shops {
		w.look(s, touched{}, true)
	}
}
