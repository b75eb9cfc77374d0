package simulation

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// refund plays a customer who returns a part of a paid order, or everything. It draws from few keys, so
// that some keys are repeated, rightly and wrongly.
func (w *world) refund() bool {
	s := w.shop()
	if len(s.book.sold) == 0 {
		return false
	}
	const keys = 4
	o := s.book.orders[recent(w, s.book.sold, 4, 3)]
	r := couponkit.RefundRequest{OrderID: o.ID, Key: fmt.Sprint("refund-", w.random.IntN(keys)), Returns: w.returns(o), Elsewhere: w.odds(5)}
	asked := o.ID + " " + r.Key
	if _, recorded := o.RefundOf(r.Key); !recorded {
		s.book.asked[asked] = r.Returns
	} else if !w.odds(4) { // mostly the same request again, as after a failure
		r.Returns = s.book.asked[asked]
	}
	for range 1 + w.random.IntN(2) { // perhaps a double click
		w.begin(s, "refund", o.CustomerID+" returns something of order "+o.ID, func(ctx context.Context, t *task) error {
			made, err := t.service.Refund(ctx, r)
			t.then = func() {
				now, err := s.eyes.Order(background(), store.OrderKey{ID: o.ID})
				known, found := now.Order.RefundOf(r.Key)
				w.must(AnswersAreTrue, err == nil && found && sameRefund(made.Refund, known) && leadsTo(made.Refund.Repayment, known.Repayment),
					"%s got the refund %+v of order %s, which has %+v (%v)", o.CustomerID, made.Refund, o.ID, known, err)
			}
			return err
		})
	}
	return true
}

// sameRefund compares refunds without their repayments and the failed attempts.
func sameRefund(a, b redemption.Refund) bool {
	a.Repayment, a.FailedIDs, b.Repayment, b.FailedIDs = redemption.Repayment{}, nil, redemption.Repayment{}, nil
	return reflect.DeepEqual(a, b)
}

// leadsTo reports whether one repayment may have become another.
func leadsTo(was, is redemption.Repayment) bool {
	return is == was || is.Attempt != was.Attempt || is.Amount == was.Amount && is.State > was.State
}

// returns draws items of an order to return. They may be more than the order has left.
func (w *world) returns(o redemption.Order) pricing.Returns {
	line := w.random.IntN(len(o.Quote.Lines))
	switch w.random.IntN(4) {
	case 0:
		return pricing.Returns{All: true}
	case 1:
		return pricing.Returns{Lines: []pricing.LineReturn{{Line: line, Whole: true}}}
	}
	return pricing.Returns{Lines: []pricing.LineReturn{{Line: line, Quantity: 1 + w.random.Int64N(2)}}}
}

// checkRefunds checks the refunds of an order against the requests and the payment.
func (w *world) checkRefunds(s *shop, before, now redemption.Order) {
	if now.State.Paid() && !before.State.Paid() && len(now.Quote.Lines) > 0 {
		s.book.sold = append(s.book.sold, now.ID)
	}
	kept := len(now.Refunds) >= len(before.Refunds) && slices.EqualFunc(before.Refunds, now.Refunds[:len(before.Refunds)], sameRefund)
	w.must(RecordsStay, kept, "order %s has lost a refund, or has changed it", now.ID)
	sum, keys := now.Refunded(), map[string]bool{}
	for _, r := range now.Refunds {
		_, asked := s.book.asked[now.ID+" "+r.Key]
		w.must(NothingTwice, asked && !keys[r.Key], "nobody has asked for the refund %q of order %s, or it is there twice", r.Key, now.ID)
		keys[r.Key] = true
	}
	all := true
	for i, l := range now.Quote.Lines {
		returned := int64(0)
		if i < len(sum.Units) {
			returned = sum.Units[i]
		}
		w.must(NothingTwice, returned <= l.Quantity, "%d units of line %d of order %s are refunded, which has %d", returned, i, now.ID, l.Quantity)
		all = all && returned == l.Quantity
	}
	refunded := now.State == redemption.OrderRefunded
	w.must(RefundsAreBounded, sum.Amount <= now.Quote.Total && (!refunded || sum.Amount == now.Quote.Total),
		"%d are refunded of order %s, which is %s and has cost %d", sum.Amount, now.ID, now.State, now.Quote.Total)
	w.must(StatesMoveForward, !refunded || all, "order %s is refunded, and %v of it were returned", now.ID, sum.Units)
	w.must(StatesMoveForward, len(now.Refunds) == 0 || refunded || now.State == redemption.OrderPartlyRefunded, "order %s has refunds and is %s", now.ID, now.State)
}

// checkGivenBack checks the returned claims of a use against the refunds of its order. The use returns
// budget as refunds reverse its discount, or at the end.
func (w *world) checkGivenBack(s *shop, now redemption.Use) {
	order := s.book.orders[now.OrderID]
	back := now.Restore == coupon.RestoreAlways && len(order.Refunds) > 0 || now.Restore == coupon.RestoreFull && order.State == redemption.OrderRefunded
	w.must(NothingTwice, back == !now.RestoredAt.IsZero(), "use %s was given back at %s, and its order %s is %s", now.ID, now.RestoredAt, order.ID, order.State)
	p, _ := s.book.shareOf(now.OrderID, now.CouponID)
	for _, c := range now.Claims {
		want := int64(0)
		switch {
		case c.Counter == p.counter:
			want = p.back
		case back:
			want = c.Amount
		}
		w.must(NothingTwice, c.Returned == want, "use %s gives %d of %d back to %s, and its order %s is %s", now.ID, c.Returned, c.Amount, c.Counter, order.ID, order.State)
	}
	w.when(back, "use", "completed", "given back")
	discount := discountsBack(order, now.CouponID)
	whole := order.State == redemption.OrderRefunded && order.Key != ""
	amount := amountOf(order, now.CouponID)
	w.must(NothingTwice, discount <= amount && (!whole || discount == amount),
		"refunds of order %s, which is %s, take %d of the discount of %d of coupon %s back", order.ID, order.State, discount, amount, now.CouponID)
	w.must(NothingTwice, now.Returned == discount, "refunds of order %s take %d back of use %s, which tells %d", order.ID, discount, now.ID, now.Returned)
}
