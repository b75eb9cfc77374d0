package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
)

// rates has the tax of each kind of line, in percent. Kinds that are missing have no tax.
var rates = map[pricing.LineKind]int64{pricing.Device: 19, pricing.Accessory: 19, pricing.Plan: 7, pricing.Shipping: 0}

// drawTax draws whether a processor adds a tax to the prices, and whether it reports the tax by line.
// If it adds no tax, the prices include it.
func (w *world) drawTax() func(processor.SessionRequest) pricing.Tax {
	switch w.random.IntN(4) {
	case 0:
		return fakeprocessor.TaxOfTotal(19)
	case 1:
		return fakeprocessor.TaxByLine(func(l processor.SessionLine) int64 { return rates[l.Kind] })
	}
	return func(processor.SessionRequest) pricing.Tax { return pricing.Tax{} }
}

// money has the refunds and disputes at a shop's processor.
type money struct {
	refunds  []string          // refunds at the processor, oldest first
	disputes []string          // disputes at the processor, oldest first
	made     map[string]string // refunds at the processor by key
	repays   map[string]string // by refund at the processor: the refund of an order
	declined map[string]bool   // keys of refunds that were refused
	refuses  int               // how many of the next refunds are refused
}

func newMoney() money {
	return money{made: map[string]string{}, repays: map[string]string{}, declined: map[string]bool{}}
}

// repay makes a refund for a process. A refused refund stays refused when the call is repeated:
// processors keep their refusals under the key, too.
func (s *shop) repay(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	m := &s.money
	s.touched.payments = append(s.touched.payments, r.SessionID)
	if m.made[r.Key] == "" && !m.declined[r.Key] && m.refuses > 0 {
		m.refuses--
		m.declined[r.Key] = true
	}
	if m.declined[r.Key] {
		return processor.Refund{}, fmt.Errorf("simulated: %w: refund %s", processor.ErrRejected, r.Key)
	}
	made, err := s.account.Refund(ctx, r)
	switch {
	case errors.Is(err, processor.ErrRejected):
		m.declined[r.Key] = true
	case err == nil && m.made[r.Key] == "":
		m.refunds = append(m.refunds, made.ID)
		m.made[r.Key], m.repays[made.ID] = made.ID, r.Metadata[processor.MetadataRefundID]
	}
	return made, err
}

// payment draws a session, mostly a paid one.
func (w *world) payment(s *shop) string {
	if len(s.book.sold) > 0 && !w.odds(3) {
		return s.book.orders[recent(w, s.book.sold, 5, 4)].SessionID
	}
	return w.anySession(s)
}

// refundByStaff refunds a payment in the processor's dashboard, in part or as a whole.
func (w *world) refundByStaff() bool {
	s := w.shop()
	session, err := s.fake.Session(background(), w.payment(s))
	paid := session.Total + session.Tax.Amount
	if err != nil || paid == 0 {
		return false
	}
	amount := paid
	if !w.odds(4) {
		amount = 1 + w.random.Int64N(paid)
	}
	made, err := s.fake.RefundByStaff(session.ID, amount)
	if err != nil {
		return false
	}
	s.money.refunds = append(s.money.refunds, made)
	s.touched.payments = append(s.touched.payments, session.ID)
	w.log("staff refund %d of the %d of session %s: %s", amount, paid, session.ID, made)
	return true
}

// finishRefund ends a refund at the processor, and failRefund fails it. A refund that succeeded may
// still fail.
func (w *world) finishRefund() bool {
	s := w.shop()
	return w.decide(s.money.refunds, "a refund is finished", s.fake.FinishRefund)
}

func (w *world) failRefund() bool {
	s := w.shop()
	return w.decide(s.money.refunds, "a refund fails", s.failRefund)
}

func (s *shop) failRefund(id string) error {
	return s.fake.FailRefund(id, "the customer's bank sends it back")
}

// dispute plays a customer who asks their bank for the money of a payment.
func (w *world) dispute() bool {
	s := w.shop()
	session := w.payment(s)
	reported, _ := s.fake.Refunds(background(), session) // there may be no refunds
	made, err := s.fake.Dispute(session)
	if err != nil {
		return false
	}
	s.money.disputes = append(s.money.disputes, made)
	w.when(len(reported.Refunds) > 0, "step", "dispute", "after a refund")
	w.log("a customer disputes the payment of session %s: %s", session, made)
	return true
}

// decideDispute plays a bank that decides a dispute.
func (w *world) decideDispute() bool {
	s, won := w.shop(), w.odds(2)
	return w.decide(s.money.disputes, fmt.Sprintf("a dispute is decided, for the shop: %t", won), func(id string) error {
		return s.fake.CloseDispute(id, won)
	})
}

// decide applies a function to a random entry of a list, if the entry's state allows it.
func (w *world) decide(ids []string, what string, how func(id string) error) bool {
	if len(ids) == 0 {
		return false
	}
	id := recent(w, ids, 4, 4)
	if how(id) != nil {
		return false
	}
	w.log("%s: %s", what, id)
	return true
}

// refuseRefunds makes the processor refuse the next refunds.
func (w *world) refuseRefunds() bool {
	s := w.shop()
	s.money.refuses = 1 + w.random.IntN(2)
	w.log("the processor refuses the next %d refunds", s.money.refuses)
	return true
}

// settleMoney finishes the refunds and disputes that are still open.
func (w *world) settleMoney(s *shop) {
	s.money.refuses = 0
	for i, id := range s.money.refunds {
		if decide := []func(string) error{s.failRefund, s.fake.FinishRefund, s.fake.FinishRefund}[i%3]; w.fault == nil {
			_ = decide(id) // ignore the error: a decided dispute does not change
		}
	}
}

// checkPayback checks that no more than the payment went back, and that each refund was repaid once.
func (w *world) checkPayback(s *shop, sessionID string) {
	session, err := s.fake.Session(background(), sessionID)
	w.sound("read a session", err)
	sum, made := int64(0), map[string]string{}
	for _, r := range w.reported(s, sessionID).Refunds {
		if r.Status == processor.RefundFailed {
			continue
		}
		sum += r.Amount
		of := s.money.repays[r.ID]
		w.must(NothingTwice, of == "" || made[of] == "", "refund %s has gone back twice, as %s and %s at the processor", of, made[of], r.ID)
		made[of] = r.ID
	}
	paid := session.Total + session.Tax.Amount
	w.must(PaybacksAreBounded, sum <= paid, "%d have gone back of session %s, which has charged %d", sum, sessionID, paid)
}

// reported returns the processor's report on a payment.
func (w *world) reported(s *shop, sessionID string) processor.PaymentRefunds {
	reported, err := s.account.Refunds(background(), sessionID)
	w.sound("read refunds", err)
	return reported
}

// returned sums the money that has gone back or will go back, by refunds section 5.4.
func returned(o redemption.Order) (sum int64) {
	for _, r := range o.Refunds {
		if r.Repayment.State != redemption.RepaymentFailed {
			sum += r.Repayment.Amount
		}
	}
	for _, r := range o.ExternalRefunds {
		if r.State != redemption.RepaymentFailed {
			sum += r.Amount
		}
	}
	for _, d := range o.Disputes {
		if d.State == redemption.DisputeLost {
			sum += d.Amount
		}
	}
	return min(sum, o.Paid())
}

// checkRepayments checks each repayment against the rest of the payment when its attempt began. Later
// events never change an amount. Failed attempts stay known by their IDs.
func (w *world) checkRepayments(before, now redemption.Order) {
	sum := int64(0)
	for i, r := range now.Refunds {
		is, was, failed := r.Repayment, redemption.Repayment{}, []string(nil)
		if i < len(before.Refunds) {
			was, failed = before.Refunds[i].Repayment, before.Refunds[i].FailedIDs
		}
		if is.State != redemption.RepaymentFailed {
			sum += is.Amount
		}
		w.when(was.State != is.State, "repayment", was.State.String(), is.State.String())
		again := was.State == redemption.RepaymentFailed && is.Attempt != was.Attempt
		if again && was.ID != "" {
			failed = append(slices.Clip(failed), was.ID)
		}
		w.must(RecordsStay, slices.Equal(r.FailedIDs, failed), "refund %s of order %s has the failed attempts %v, and had %v", r.ID, now.ID, r.FailedIDs, failed)
		if i >= len(before.Refunds) || again {
			want := min(r.Amount(), now.Paid()-returned(before))
			w.must(RefundsAreBounded, is.Amount == want, "refund %s of order %s returns %d of %d, and is to return %d", r.ID, now.ID, is.Amount, r.Amount(), want)
			continue
		}
		w.must(AmountsStay, is.Amount == was.Amount && is.Attempt == was.Attempt, "refund %s of order %s had the repayment %+v, and has %+v", r.ID, now.ID, was, is)
		w.must(StatesMoveForward, is.State >= was.State, "the repayment of refund %s was %s, and is %s", r.ID, was.State, is.State)
	}
	w.must(RefundsAreBounded, sum <= now.Paid() && now.Returned() == returned(now),
		"%d of order %s are to go back and %d have, and %d were paid", sum, now.ID, now.Returned(), now.Paid())
}

// checkTaxes checks the taxes of an order's refunds against the tax of its payment, by refunds section
// 6. A refund of everything returns the whole payment, unless money went back in another way.
func (w *world) checkTaxes(before, now redemption.Order) {
	returns, tax, amount := pricing.Refunded{}, int64(0), int64(0)
	for _, r := range now.Refunds {
		returns.Add(r.Result)
		all, err := now.Quote.TaxOf(now.Charge.Tax, returns)
		want := max(0, all-tax)
		w.must(TaxesGoBack, err == nil && r.Tax == want, "refund %s of order %s returns a tax of %d, and is to return %d (%v)", r.ID, now.ID, r.Tax, want, err)
		tax, amount = tax+r.Tax, amount+r.Repayment.Amount
	}
	alone := len(now.ExternalRefunds) == 0 && len(now.Disputes) == 0
	w.must(TaxesGoBack, now.State != redemption.OrderRefunded || !alone || amount == now.Paid(),
		"order %s is refunded: %d go back, and %d were paid", now.ID, amount, now.Paid())
	of := "of the total"
	if len(now.Charge.Tax.Lines) > 0 {
		of = "by line"
	}
	w.when(len(now.Refunds) > len(before.Refunds) && tax > 0, "tax", of, now.State.String())
}

// checkReported checks that an order forgets no external refund and no dispute, and has each of them
// once.
func (w *world) checkReported(before, now redemption.Order) {
	known := len(now.ExternalRefunds) + len(now.Disputes)
	for _, r := range now.Refunds {
		if r.Repayment.ID != "" {
			known++
		}
	}
	w.must(NothingTwice, known == len(facts(now)), "order %s counts something twice: %+v, %+v and %+v", now.ID, now.Refunds, now.ExternalRefunds, now.Disputes)
	for _, was := range before.ExternalRefunds {
		i := slices.IndexFunc(now.ExternalRefunds, func(r redemption.ExternalRefund) bool { return r.ID == was.ID && r.Amount == was.Amount })
		w.must(RecordsStay, i >= 0, "order %s knew of refund %s, and has %+v", now.ID, was.ID, now.ExternalRefunds)
		w.must(StatesMoveForward, i < 0 || now.ExternalRefunds[i].State >= was.State, "refund %s was %s, and is not", was.ID, was.State)
	}
	for _, was := range before.Disputes {
		i := slices.IndexFunc(now.Disputes, func(d redemption.Dispute) bool { return d.ID == was.ID && d.Amount == was.Amount })
		w.must(RecordsStay, i >= 0, "order %s knew of dispute %s, and has %+v", now.ID, was.ID, now.Disputes)
		if i < 0 {
			continue
		}
		is := now.Disputes[i].State
		w.must(StatesMoveForward, is == was.State || was.State == redemption.DisputeOpen, "dispute %s was %s, and is %s", was.ID, was.State, is)
		w.when(is != was.State, "dispute", was.State.String(), is.String())
	}
	w.when(len(now.Disputes) > len(before.Disputes), "dispute", "none", "recorded")
	w.when(len(now.ExternalRefunds) > len(before.ExternalRefunds), "external refund", "none", "recorded")
}

// fact has the amount and the state of a refund or a dispute.
type fact struct {
	amount int64
	state  string
}

// progress lists the states of refunds and disputes, earlier states first.
var progress = []string{"pending", "open", "succeeded", "won", "lost", "failed"}

func (f fact) behind(reported string) bool {
	return slices.Index(progress, f.state) < slices.Index(progress, reported)
}

// facts returns the refunds and disputes in an order, by their IDs at the processor.
func facts(o redemption.Order) map[string]fact {
	all := map[string]fact{}
	for _, r := range o.ExternalRefunds {
		all[r.ID] = fact{r.Amount, r.State.String()}
	}
	for _, r := range o.Refunds {
		if r.Repayment.ID != "" {
			all[r.Repayment.ID] = fact{r.Repayment.Amount, r.Repayment.State.String()}
		}
	}
	for _, d := range o.Disputes {
		all[d.ID] = fact{d.Amount, d.State.String()}
	}
	return all
}

// checkMoney compares orders with the processor's records. A failed refund may be missing in the order:
// it was never reported, or it was repeated.
func (w *world) checkMoney(s *shop) {
	for _, id := range slices.Sorted(maps.Keys(s.book.orders)) {
		o := s.book.orders[id]
		if !o.State.Paid() {
			continue
		}
		reported, knows, want := w.reported(s, o.SessionID), facts(o), map[string]fact{}
		for _, r := range reported.Refunds {
			if _, known := knows[r.ID]; known || r.Status != processor.RefundFailed {
				want[r.ID] = fact{r.Amount, r.Status.String()}
			}
		}
		for _, d := range reported.Disputes {
			want[d.ID] = fact{d.Amount, d.Status.String()}
		}
		w.must(MoneyAgrees, maps.Equal(knows, want), "order %s has the refunds and disputes %v, and the processor has %v", o.ID, knows, want)
		for _, r := range o.Refunds {
			w.must(MoneyAgrees, r.Repayment.State != redemption.RepaymentDue, "the money of refund %s of order %s is still due", r.ID, o.ID)
		}
	}
}

// learned checks that an order has everything that the processor had reported when the call began. A
// refund that failed since may have been repeated.
func (w *world) learned(s *shop, i Invariant, reported processor.PaymentRefunds) {
	w.inspect()
	o := s.book.orders[s.book.sessions[reported.SessionID]]
	if o.IsZero() {
		return
	}
	knows, failed := facts(o), map[string]bool{}
	for _, r := range w.reported(s, reported.SessionID).Refunds {
		failed[r.ID] = r.Status == processor.RefundFailed
	}
	for _, r := range reported.Refunds {
		is, known := knows[r.ID]
		w.must(i, known && !is.behind(r.Status.String()) || !known && failed[r.ID],
			"order %s knows %v of refund %s, which is %s at the processor", o.ID, is, r.ID, r.Status)
	}
	for _, d := range reported.Disputes {
		is, known := knows[d.ID]
		w.must(i, known && !is.behind(d.Status.String()), "order %s knows %v of dispute %s, which is %s at the processor", o.ID, is, d.ID, d.Status)
	}
}
