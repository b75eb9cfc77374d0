package storetest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

func refundClauses() []clause {
	return []clause{
		{"refunds", "a refund is stored with its order, and gives uses and budgets back as the uses say; the order stays one of its customer's; the journal tells of it", refundsGiveBack},
		{"points of a refunded use", "a refund that gives a use back leaves its points to be refunded, once", func(p *probe) {
			c := p.coupon(forPoints, limits(0, 1))
			r := taking(p.checkout("ann", c), p.exchanged("ann", c))
			r.Uses[0].Restore = coupon.RestoreAlways
			o := p.placed(r, redemption.SessionAttached, redemption.Paid).Order
			due := p.apply(refund(o, "one", 1)).Uses[0]
			same(p, due.PointsState, redemption.PointsRefundDue, "the points of a use that was given back")
			p.uses(c, 0, 0)
			p.ofUse(redemption.PointsGivenBack, due.ID)
			again := p.apply(refund(o, "two", 0)).Uses[0]
			same(p, again.PointsState, redemption.PointsRefunded, "the points after another refund")
			same(p, again.State, redemption.Completed, "the state of a use that was given back")
		}},
		{"keys of refunds", "a repeated key of a refund changes nothing, and with another request it is ErrKeyReused", func(p *probe) {
			c := p.coupon()
			o, other := p.sold("ann", c, 3, coupon.RestoreFull), p.sold("ann", c, 3, coupon.RestoreFull)
			p.apply(refund(o, "one", 1))
			p.unchanged("a repeated key", func() {
				p.apply(refund(o, "one", 1))
				p.applyFails(refund(o, "one", 2), store.ErrKeyReused, "of a key with another request")
				p.applyFails(refund(o, "one", 2), store.ErrConflict, "of a key with another request")
			})
			same(p, p.apply(refund(other, "one", 2)).Changed, true, "whether another order may have the same key")
			same(p, p.apply(refund(o, "ONE", 1)).Changed, true, "whether keys are compared by bytes")
		}},
		{"refunds that are refused", "a refund of an order that is unknown is ErrNotFound, that is not paid is ErrIllegal, and of what was not bought is ErrInvalid", func(p *probe) {
			c := p.coupon()
			open := p.reserve(p.checkout("ann", c)).Order
			cancelled := p.placed(p.checkout("ann", c), redemption.Cancelled).Order
			o := p.sold("ann", c, 1, coupon.RestoreFull)
			p.applyFails(refund(redemption.Order{ID: "ord_none"}, "one", 1), store.ErrNotFound, "of an unknown order")
			p.applyFails(refund(open, "one", 1), redemption.ErrIllegal, "of an open order")
			p.applyFails(refund(cancelled, "one", 1), redemption.ErrIllegal, "of a cancelled order")
			unknown := refund(o, "one", 1)
			unknown.Refund.Returns.Lines[0].Line = 1
			p.applyFails(unknown, validation.ErrInvalid, "of an unknown line")
			p.applyFails(refund(o, "one", 2), validation.ErrInvalid, "of more than was bought")
			p.applyFails(refund(o, "", 1), validation.ErrInvalid, "without a key")
			p.apply(refund(o, "one", 0))
			p.applyFails(refund(o, "two", 0), validation.ErrInvalid, "of what was refunded")
		}},
		{"repayments", "what the processor tells of refunds and disputes is stored with the order; unfinished repayments are due; the journal tells of them", repayments},
		{"a use that a refund gave back", "what a refund gives back can be used again", func(p *probe) {
			c := p.coupon(limits(1, 1))
			day := eligibility.CustomerPeriodUses(c.ID, "ann", "DAY", "2026-11-20")
			o := p.placed(claiming(p.checkout("ann", c), claim(day, 1, 1)), redemption.SessionAttached, redemption.Paid).Order
			p.refused(p.checkout("bob", c), store.ErrLimit, "of a use that another customer has")
			p.apply(refund(o, "one", 0))
			p.count(day, 0, 0)
			taken := p.reserve(p.checkout("ann", c))
			p.refused(p.checkout("bob", c), store.ErrLimit, "of a use that was given back and taken again")
			p.happen(taken.Order, redemption.SessionAttached, redemption.Paid)
			p.uses(c, 0, 1)
			p.count(eligibility.CustomerOrders("ann"), 0, 2)
		}},
		race("race of refunds", "of refunds at once each gives back its own part, together they give back what was paid, and one of more than is left is ErrInvalid", func(p *probe) {
			n := min(p.can.Goroutines, redemption.MaxRefunds)
			c := p.coupon()
			o := p.sold("ann", c, int64(n), coupon.RestoreAlways)
			_, errs := atOnce(p, n+n/2, store.Store.Apply, func(i int) store.Settlement { return settlement(refund(o, fmt.Sprint(i), 1)) })
			same(p, p.succeeded(errs, validation.ErrInvalid), n, "how many refunds of one unit succeed")
			got := p.order(o.ID).Order
			same(p, []any{got.State, len(got.Refunds), got.Refunded().Amount}, []any{redemption.OrderRefunded, n, o.Quote.Total}, "the refunds at once")
			p.uses(c, 0, 0)
			p.count(eligibility.Budget(c.ID, "EUR"), 0, 0)
		}),
		race("race of one refund", "the same refund that is asked for at once is recorded once", func(p *probe) {
			c := p.coupon()
			o := p.sold("ann", c, 2, coupon.RestoreAlways)
			answers, errs := atOnce(p, p.can.Goroutines, store.Store.Apply, func(int) store.Settlement { return settlement(refund(o, "one", 1)) })
			p.succeeded(errs)
			same(p, []int{changes(answers, o), len(p.order(o.ID).Order.Refunds)}, []int{1, 1}, "how often a refund was recorded")
			p.count(eligibility.Budget(c.ID, "EUR"), 0, 100)
		}),
	}
}

// sold returns a paid order with the given number of units at 10.00 each. Its coupon takes 10 % off and
// has a budget.
func (p *probe) sold(customer string, c coupon.Coupon, units int64, restore coupon.Restore) redemption.Order {
	p.Helper()
	r := p.checkout(customer, c)
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: "book", ItemID: "atlas", Quantity: units, UnitPrice: 1_000},
	}}, pricing.Terms{ID: c.ID, Discount: tenPercent()})
	p.own(err)
	r.Order.Quote = quote
	r.Uses[0].Restore, r.Uses[0].Discount = restore, quote.Discount
	return p.placed(claiming(r, claim(eligibility.Budget(c.ID, "EUR"), quote.Discount, 0)), redemption.SessionAttached, redemption.Paid).Order
}

// refund returns an event that refunds units, or everything if units is 0.
func refund(o redemption.Order, key string, units int64) redemption.Event {
	e := redemption.Event{Kind: redemption.Refunded, OrderID: o.ID, At: at(1200), Refund: redemption.RefundRequest{
		Key: key, Returns: pricing.Returns{All: units == 0},
	}}
	if units > 0 {
		e.Refund.Returns.Lines = []pricing.LineReturn{{Line: 0, Quantity: units}}
	}
	return e
}

func refundsGiveBack(p *probe) {
	type held struct{ uses, budget int64 }
	for _, unlimited := range []bool{true, false} {
		for restore, want := range map[coupon.Restore][2]held{
			coupon.RestoreFull: {{1, 200}, {0, 0}}, coupon.RestoreAlways: {{0, 100}, {0, 0}}, coupon.RestoreNever: {{1, 200}, {1, 200}},
		} {
			customer := fmt.Sprint("refunded-", p.next())
			c := p.coupon(limits(map[bool]int64{false: 1}[unlimited], 1))
			o := p.sold(customer, c, 2, restore)
			for i, e := range []redemption.Event{refund(o, "one", 1), refund(o, "two", 0)} {
				got := p.apply(e)
				same(p, []any{got.Order.State, got.Changed}, []any{[]redemption.OrderState{redemption.OrderPartlyRefunded, redemption.OrderRefunded}[i], true}, "the state, and whether the refund changed the order")
				same(p, []int64{got.Order.Refunded().Amount, got.Uses[0].Returned}, []int64{int64(900 * (i + 1)), int64(100 * (i + 1))}, "what is refunded, and the discount that refunds took back")
				got.Changed = false
				same(p, p.order(o.ID), got, "the order that is stored after a refund")
				same(p, p.use(got.Uses[0].ID), got.Uses[0], "the use that is listed after a refund")
				p.uses(c, 0, want[i].uses)
				p.count(eligibility.CustomerUses(c.ID, customer), 0, want[i].uses)
				p.count(eligibility.Budget(c.ID, "EUR"), 0, want[i].budget)
				p.count(eligibility.CustomerOrders(customer), 0, 1)
				p.unchanged("the same refund again", func() { same(p, p.apply(e), got, "what it returns") })
			}
			same(p, p.summaries(o.ID)[3:], []string{"order_refunded refunded partly_refunded 4", "order_refunded refunded refunded 5"}, "what the journal tells of refunds")
			p.unchanged("a late event of a refunded order", func() { p.apply(event(redemption.Paid, o)) })
		}
	}
}

func repayments(p *probe) {
	o := p.sold("ann", p.coupon(), 3, coupon.RestoreFull)
	report := func(state redemption.RepaymentState, seconds int) redemption.Event {
		e := redemption.Event{Kind: redemption.Reported, OrderID: o.ID, SessionID: o.SessionID, At: at(seconds)}
		e.Report.Refunds = []redemption.ReportedRefund{
			{Key: redemption.RefundID(o.ID, "one") + "_1", ID: "re_1", Amount: 900, State: state}, {ID: "re_2", Amount: 1, State: redemption.RepaymentSucceeded},
		}
		e.Report.Disputes = []redemption.Dispute{{ID: "dp_1", Amount: 2700, State: redemption.DisputeOpen}}
		return e
	}
	due := func() int {
		return len(answer(p, store.Store.ListOrders, store.OrderList{DueAt: at(1200).Add(redemption.DueRetry)}).Items)
	}
	same(p, []any{p.apply(refund(o, "one", 1)).Order.Refunds[0].Repayment.State, due()}, []any{redemption.RepaymentDue, 1}, "a repayment that is due")
	got := p.apply(report(redemption.RepaymentFailed, 1201))
	got.Changed = false
	same(p, p.order(o.ID), got, "the order that is stored after a report")
	same(p, []int{len(got.Order.ExternalRefunds), len(got.Order.Disputes), due()}, []int{1, 1, 0}, "what the report tells, and what is due")
	p.unchanged("a report again", func() { p.apply(report(redemption.RepaymentSucceeded, 1202)) })
	same(p, p.apply(refund(o, "one", 1)).Order.Refunds[0].Repayment.Attempt, 2, "the next attempt")
	p.unchanged("a report of the attempt that failed", func() { p.apply(report(redemption.RepaymentSucceeded, 1203)) })
	same(p, p.summaries(o.ID)[3:], []string{
		"order_refunded refunded partly_refunded 4", "order_repaid reported partly_refunded 5", "order_repaid refund_repeated partly_refunded 6",
	}, "what the journal tells of repayments")
	var refunded, repaid struct {
		Refund          redemption.Refund
		Repayments      map[string]redemption.Repayment
		ExternalRefunds []redemption.ExternalRefund
		Disputes        []redemption.Dispute
	}
	entries := p.about(o.ID)
	p.own(errors.Join(json.Unmarshal(entries[3].Data, &refunded), json.Unmarshal(entries[4].Data, &repaid)))
	same(p, refunded.Refund.Result, got.Order.Refunds[0].Result, "the refund that the journal tells")
	same(p, refunded.Refund.Repayment.Amount, got.Order.Refunds[0].Repayment.Amount, "the amount of the repayment that the journal tells")
	same(p, repaid.Repayments[got.Order.Refunds[0].ID], got.Order.Refunds[0].Repayment, "the repayment after the report that the journal tells")
	same(p, repaid.ExternalRefunds, got.Order.ExternalRefunds, "the external refunds that the journal tells")
	same(p, repaid.Disputes, got.Order.Disputes, "the disputes that the journal tells")
	p.unchanged("a report of a session of no order", func() {
		e := report(redemption.RepaymentSucceeded, 1203)
		e.OrderID, e.SessionID = "", "cs_none"
		same(p, p.apply(e), store.Settled{}, "what it returns")
	})
}
