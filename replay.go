package couponkit

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// MaxReplayOrders is the maximum number of orders of [Service.Replay].
const MaxReplayOrders = 10_000_000

// Replay tells what coupons would have changed in the newest orders; see package replay. It looks at that many
// orders before now, and replays those that are paid, the oldest first. An order that the store cannot read is
// counted as refused. The store tells only the ID of a customer: a coupon with a condition on an address, on tags or
// on facts is refused. The total that was paid is that of the quote.
//
// Replay reads the orders twice, page by page, so that its memory does not grow with them. It returns the errors
// of [replay.Run], a [*validation.Error] for a number of orders that is not from 1 to [MaxReplayOrders], and
// errors of the store and of the context.
func (s *Service) Replay(ctx context.Context, orders int, coupons iter.Seq[*coupon.Coupon], o replay.Options) (replay.Report, error) {
	if orders < 1 || orders > MaxReplayOrders {
		return replay.Report{}, validation.New("orders", validation.TooLarge, fmt.Sprintf("must be from 1 to %d", MaxReplayOrders))
	}
	return replay.Run(s.lastOrders(ctx, orders), eventOf, coupons, o)
}

// recorded is an order, or why it cannot be read.
type recorded struct {
	order      redemption.Order
	unreadable error
}

func eventOf(r recorded) (replay.Event, error) {
	q := &r.order.Quote
	e := replay.Event{
		At: r.order.CreatedAt, Customer: eligibility.Customer{ID: r.order.CustomerID},
		Cart: pricing.Cart{Currency: q.Currency, Step: q.Step},
		Paid: pricing.NewMoney(q.Total, q.Currency),
	}
	for i := range q.Lines {
		e.Cart.Lines = append(e.Cart.Lines, q.Lines[i].Line)
	}
	return e, r.unreadable
}

// lastOrders yields the paid ones among the newest orders, the oldest first. It remembers only the cursors of the
// pages, and reads the pages again.
func (s *Service) lastOrders(ctx context.Context, most int) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		// A new order would move the others to later pages.
		list := store.OrderList{PageSize: min(most, store.MaxPageSize), Created: store.Period{Until: s.now()}}
		cursors := []string{""}
		for len(cursors)*list.PageSize < most {
			page, err := s.store.ListOrders(ctx, list)
			if err != nil {
				yield(recorded{}, fmt.Errorf("list orders: %w", err))
				return
			}
			if page.Next == "" {
				break
			}
			cursors, list.After = append(cursors, page.Next), page.Next
		}
		for i, cursor := range slices.Backward(cursors) {
			list.After = cursor
			page, err := s.store.ListOrders(ctx, list)
			if err != nil {
				yield(recorded{}, fmt.Errorf("list orders: %w", err))
				return
			}
			if rest := most - i*list.PageSize; len(page.Items) > rest {
				page.Items = page.Items[:rest]
			}
			for _, u := range page.Unreadable {
				if !yield(recorded{unreadable: u}, nil) {
					return
				}
			}
			for _, found := range slices.Backward(page.Items) {
				if found.Order.State.Paid() && !found.Order.FromPayment() && !yield(recorded{order: found.Order}, nil) {
					return
				}
			}
		}
	}
}
