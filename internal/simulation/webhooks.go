package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
)

// delivery is an event that the processor has delivered, or will deliver again.
type delivery struct {
	fakeprocessor.Delivery
	since time.Time
	tried bool
}

// collect takes the new deliveries of the processor.
func (w *world) collect(s *shop) {
	for _, d := range s.fake.Deliveries() {
		s.deliveries = append(s.deliveries, delivery{Delivery: d, since: w.now})
	}
}

// deliver sends one of the events, in any order. Now and then it repeats an acknowledged event.
func (w *world) deliver() bool {
	s := w.shop()
	w.collect(s)
	return len(s.deliveries) > 0 && w.hand(s, w.random.IntN(len(s.deliveries)))
}

// deliverAtOnce sends the newest event of a shop before any other step.
func (w *world) deliverAtOnce(s *shop) {
	others := len(w.tasks)
	w.collect(s)
	w.when(w.hand(s, len(s.deliveries)-1), "step", "deliver", "at once")
	for len(w.tasks) > others {
		w.run(w.tasks[others], arrives)
	}
}

// hand sends an event to a node. Every delivery is signed when it is sent.
func (w *world) hand(s *shop, i int) bool {
	d, again := &s.deliveries[i], w.odds(4)
	send := d.Delivery
	send.Signature = fakeprocessor.Sign(s.secret, w.now, send.Payload)
	return w.begin(s, "deliver", "the processor delivers "+send.EventID, func(ctx context.Context, t *task) error {
		w.when(d.tried, "step", "deliver", "again")
		w.when(i > 0, "step", "deliver", "before an older event")
		w.when(w.now.Sub(d.since) >= 24*time.Hour, "step", "deliver", "days late")
		d.tried = true
		e, err := s.fake.ParseEvent(send.Payload, send.Signature)
		w.sound(send.EventID, err)
		var reported processor.PaymentRefunds
		if e.Type == processor.RefundChanged || e.Type == processor.DisputeChanged {
			reported = w.reported(s, e.SessionID)
		}
		t.then = func() {
			if !again {
				s.deliveries = slices.DeleteFunc(s.deliveries, func(other delivery) bool { return other.EventID == send.EventID })
			}
			w.acknowledged(s, e)
			w.learned(s, AnswersAreTrue, reported)
		}
		return t.node.webhook(ctx, t.service, s.fake.ParseEvent, send)
	})
}

// acknowledged checks that an acknowledged event has taken effect.
func (w *world) acknowledged(s *shop, e processor.Event) {
	w.inspect()
	w.coverage.count("event", e.Type.String(), e.PaymentStatus.String())
	if e.Type != processor.PaymentSucceeded && (e.Type != processor.Completed || !e.PaymentStatus.Settled()) {
		return
	}
	order, uses := s.book.paidBy(e.SessionID)
	w.must(EveryPaymentCounts, !s.lost[e.SessionID] || order.ID == e.Metadata[processor.MetadataOrderID] && order.Quote.Total == e.Total,
		"event %s, the payment of session %s of the lost order %s, was acknowledged, and is recorded as order %s of %d",
		e.ID, e.SessionID, e.Metadata[processor.MetadataOrderID], order.ID, order.Quote.Total)
	w.must(AnswersAreTrue, order.State.Paid(), "event %s, the payment of session %s, was acknowledged, and order %s is %q",
		e.ID, e.SessionID, order.ID, order.State)
	w.must(EveryPaymentCounts, areOf(uses, e.Metadata), "event %s, the payment of session %s of %v, was acknowledged, and the completed uses are %+v",
		e.ID, e.SessionID, e.Metadata, uses)
	for _, alias := range e.Payer.Aliases {
		w.must(PayersAreCounted, claims(order.Claims, eligibility.CustomerOrders(eligibility.AliasIdentity(alias))),
			"event %s, the payment of session %s with %s, was acknowledged, and order %s claims %v", e.ID, e.SessionID, alias, order.ID, order.Claims)
	}
}

func claims(claims []eligibility.Claim, counter string) bool {
	return slices.ContainsFunc(claims, func(c eligibility.Claim) bool { return c.Counter == counter })
}

// entersAndPays pays a session. In half of the sessions one of three people pays, with their own card
// and address. The session's ID decides who pays, so that no random number is used up.
func entersAndPays(p *fakeprocessor.Processor, id string) error {
	sum := 0
	for _, b := range []byte(id) {
		sum += int(b)
	}
	if who := fmt.Sprint("customer", sum/2%3); sum%2 == 0 {
		_ = p.Enter(id, processor.Payer{Email: email(who), Aliases: []string{"card of " + who}}) // Pay reports the error
	}
	return p.Pay(id)
}

// paidBy returns the order of a session, and its completed uses.
func (b *book) paidBy(sessionID string) (order redemption.Order, uses []redemption.Use) {
	order = b.orders[b.sessions[sessionID]]
	for _, id := range b.usesOf[order.ID] {
		if u := b.uses[id]; u.State == redemption.Completed {
			uses = append(uses, u)
		}
	}
	return order, uses
}

// areOf reports whether there is exactly one use for each coupon of a session.
func areOf(uses []redemption.Use, metadata map[string]string) bool {
	ids := make([]string, 0, len(uses))
	for _, u := range uses {
		ids = append(ids, u.CouponID)
	}
	slices.Sort(ids)
	return slices.Equal(ids, slices.Sorted(slices.Values(processor.CouponIDs(metadata))))
}

// payLost plays a customer who pays in a session whose order the shop has lost.
func (w *world) payLost() bool {
	s := w.shop()
	r, err := s.fake.Request(w.anySession(s))
	if err != nil || r.Total == 0 || !w.odds(3) {
		return false
	}
	w.when(r.Metadata[processor.MetadataCouponID] == "", "step", "payment for a lost order", "without a coupon")
	r.Key = w.newID("lost")
	r.OrderID, r.ExpiresAt, r.Metadata = r.Key, w.now.Add(time.Hour), maps.Clone(r.Metadata)
	r.Metadata[processor.MetadataOrderID] = r.Key
	made, err := s.fake.CreateSession(background(), r)
	w.sound("pay for a lost order", errors.Join(err, s.fake.Pay(made.ID)))
	s.lost[made.ID] = true
	w.log("a customer pays in session %s, whose order is lost", made.ID)
	return true
}

// forge sends an event that the processor has not signed.
func (w *world) forge() bool {
	s := w.shop()
	id := w.anySession(s)
	if id == "" {
		return false
	}
	d := w.crafted(s, id, "session.completed", "complete", "paid")
	signatures := [...]struct{ how, signature string }{
		{"with a guessed secret", fakeprocessor.Sign("whsec_guess", w.now, d.Payload)},
		{"with another shop's secret", fakeprocessor.Sign(fmt.Sprintf("whsec_%d", s.number+1), w.now, d.Payload)},
		{"without a signature", ""},
		{"with an old signature", fakeprocessor.Sign(s.secret, w.now.Add(-fakeprocessor.DefaultTolerance-time.Second), d.Payload)},
		{"with a signature of the future", fakeprocessor.Sign(s.secret, w.now.Add(fakeprocessor.DefaultTolerance+time.Second), d.Payload)},
		{"with the signature of another body", fakeprocessor.Sign(s.secret, w.now, append(slices.Clone(d.Payload), ' '))},
	}
	forged := signatures[w.random.IntN(len(signatures))]
	d.Signature = forged.signature
	w.coverage.count("step", "forge", forged.how)
	return w.begin(s, "forge", "somebody forges the payment of session "+id, func(ctx context.Context, t *task) error {
		err := t.node.webhook(ctx, t.service, s.fake.ParseEvent, d)
		w.must(ForgeriesAreRefused, errors.Is(err, processor.ErrSignature) || t.node.stopped, "%s, and is not refused (%v)", t.name, err)
		return nil
	})
}

// crafted builds an event of the given kind for a session, in the processor's format.
func (w *world) crafted(s *shop, sessionID, kind, status, payment string) fakeprocessor.Delivery {
	session, err := s.fake.Session(background(), sessionID)
	w.sound("craft an event", err)
	id := w.newID("evt_x")
	body, err := json.Marshal(map[string]any{
		"id": id, "type": kind, "createdAt": w.now,
		"session": map[string]any{
			"id": session.ID, "status": status, "paymentStatus": payment,
			"currency": session.Currency, "total": session.Total, "metadata": session.Metadata,
		},
	})
	w.sound("craft an event", err)
	return fakeprocessor.Delivery{EventID: id, SessionID: sessionID, Payload: body}
}

// contradict makes the processor report the expiry of a completed session, before the shop knows of the
// completion.
func (w *world) contradict() bool {
	s := w.shop()
	var finished, unknown []string
	for _, id := range s.sessions {
		session, err := s.fake.Session(background(), id)
		if err != nil || session.Status != processor.SessionComplete {
			continue
		}
		finished = append(finished, id)
		if r, err := s.fake.Request(id); err == nil && !s.book.orders[r.OrderID].State.Paid() {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		finished = unknown
	}
	if len(finished) == 0 {
		return false
	}
	id := recent(w, finished, 5, 6)
	s.contradicted[id] = true
	d := w.crafted(s, id, "session.expired", "expired", "unpaid")
	s.deliveries = append(s.deliveries, delivery{Delivery: d, since: w.now})
	w.log("the processor will tell, by %s, that session %s has expired, which is finished", d.EventID, id)
	return true
}
