package killtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// onePaymentEach checks that at most one payment for each coupon is paid or can be paid. It also checks
// that an order has at most one such payment.
func (w *World) onePaymentEach() {
	codes, live := map[string]string{}, map[string][]Payment{}
	for _, p := range w.purchases {
		codes[p.ID] = p.Code
	}
	for _, p := range w.Provider.Payments() {
		if p.State == Voided {
			continue
		}
		live[p.Order] = append(live[p.Order], p)
		if code := codes[p.Order]; code != "" {
			live[code] = append(live[code], p)
		}
	}
	for of, payments := range live {
		if len(payments) > 1 {
			w.fail("%s has one payment, and these can be paid: %+v%s", of, payments, w.orders(payments))
		}
	}
}

// orders returns couponkit's records of the orders of payments.
func (w *World) orders(payments []Payment) (out string) {
	for _, p := range payments {
		ledger := w.order(p.Order)
		o := ledger.Order
		out += fmt.Sprintf("\n%s %s begun %s payment %q awaits %q replaced by %q deadline %s created %s uses %+v",
			p.Order, o.State, o.BegunAt.Format(time.TimeOnly), o.SessionID, o.Awaits, o.ReplacedBy, o.Deadline.Format(time.TimeOnly), o.CreatedAt.Format(time.TimeOnly), ledger.Uses)
	}
	return out
}

// compare compares the provider and the shop with couponkit, after everything has settled.
func (w *World) compare() {
	returned := map[string]int64{}
	paid := map[string]bool{}
	for _, p := range w.Provider.Payments() {
		if p.State == Open || p.State == Processing {
			w.fail("the payment %+v has not ended", p)
		}
		returned[p.Order] += p.Returned
		paid[p.Order] = paid[p.Order] || p.State == Paid
	}
	for _, p := range w.purchases {
		ledger, err := w.Store.Order(w.Context, store.OrderKey{ID: p.ID})
		if errors.Is(err, store.ErrNotFound) {
			continue // the refund was refused
		} else if err != nil {
			w.fail("order %s: %v", p.ID, err)
		}
		o := ledger.Order
		switch {
		case !o.State.Ended() || len(o.Due(ledger.Uses...)) > 0:
			w.fail("order %s is %s, and due is %+v", o.ID, o.State, o.Due(ledger.Uses...))
		case paid[o.ID] != o.State.Paid():
			w.fail("order %s is %s, and paid at the provider is %t", o.ID, o.State, paid[o.ID])
		case returned[o.ID] != refunded(o):
			w.fail("order %s: %d went back, and its refunds are %+v", o.ID, returned[o.ID], o.Refunds)
		}
		if o.State.Paid() && !Flagged(ledger) && slices.ContainsFunc(ledger.Uses, func(u redemption.Use) bool { return u.State != redemption.Completed }) {
			w.fail("order %s is paid, and a use does not count: %+v", o.ID, ledger.Uses)
		}
		delete(paid, o.ID)
	}
	if len(paid) > 0 {
		w.fail("payments of unknown orders: %v", paid)
	}
	if err := storetest.Check(w.Context, w.Store); err != nil {
		w.fail("the store: %v", err)
	}
	w.compareTables()
}

func (w *World) compareTables() {
	if w.Compare == nil {
		return
	}
	if err := w.Compare(); err != nil {
		w.fail("the tables of the shop: %v", err)
	}
}

// Orders returns all orders as couponkit has them, by ID.
func (w *World) Orders() (map[string]store.Settled, error) {
	all := map[string]store.Settled{}
	for after := ""; ; {
		page, err := w.Store.ListOrders(w.Context, store.OrderList{After: after, PageSize: store.MaxPageSize})
		if err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			all[o.Order.ID] = o
		}
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}

// Flagged reports whether a person has to look at an order.
func Flagged(o store.Settled) bool { return couponkit.FlagOf(o) != couponkit.FlagNone }

// refunded returns the sum of an order's refunds in minor units.
func refunded(o redemption.Order) (sum int64) {
	for _, r := range o.Refunds {
		sum += r.Repayment.Amount
	}
	return sum
}

// String tells how much has happened.
func (w *World) String() string {
	states, refunds := map[string]int{}, 0
	for _, p := range w.Provider.Payments() {
		states[string(p.State)]++
		if p.Returned > 0 {
			refunds++
		}
	}
	return fmt.Sprintf("%d kills, %d purchases, payments %v, %d of them refunded", w.kills, len(w.purchases), states, refunds)
}
