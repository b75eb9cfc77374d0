package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/internal/next/redemption"
	"github.com/couponkit/couponkit/internal/next/store"
)

// ownCheckout returns the newest open order of the customer that one of the uses belongs to.
// Another checkout of the customer can replace it.
func (s *Service) ownCheckout(ctx context.Context, held []redemption.Use) (orderID string, found bool, err error) {
	for _, u := range held {
		if u.OrderID == "" {
			continue
		}
		o, err := s.store.Order(ctx, store.OrderKey{ID: u.OrderID})
		if err != nil {
			return "", false, err
		}
		if o.Order.State == redemption.OrderOpen {
			return u.OrderID, true, nil
		}
	}
	return "", false, nil
}

// usable returns a use that the customer has bought with points and that a checkout can take:
// one that is in no checkout, or one in a checkout that can be replaced.
func (s *Service) usable(ctx context.Context, held []redemption.Use) (redemption.Use, bool, error) {
	var inCheckout []redemption.Use
	for _, u := range held {
		switch {
		case u.Origin != redemption.FromPoints:
		case u.Free():
			return u, true, nil
		case u.OrderID != "":
			inCheckout = append(inCheckout, u)
		}
	}
	order, found, err := s.ownCheckout(ctx, inCheckout)
	for _, u := range inCheckout {
		if found && u.OrderID == order {
			return u, true, err
		}
	}
	return redemption.Use{}, false, err
}

// endReplaced ends the session of the order that this one has replaced, so that never are
// both payable. If that session was paid, the older order counts, and this one has ended.
func (s *Service) endReplaced(ctx context.Context, o redemption.Order) (paid bool, err error) {
	if o.Replaces == "" {
		return false, nil
	}
	before, err := s.store.Order(ctx, store.OrderKey{ID: o.Replaces})
	if err != nil {
		return false, err
	}
	if before.Order.State == redemption.OrderPaid {
		return true, nil
	}
	if before.Order.SessionID == "" {
		return false, nil
	}
	ended, err := s.endSession(ctx, before.Order)
	return !ended && err == nil, err
}
