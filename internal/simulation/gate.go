package simulation

import (
	"context"
	"iter"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Gate stands between the service and the world outside. It lets the effect of a
// call happen or not, once or more often, and returns what the caller sees.
type Gate func(call string, effect func() error) error

func through[T any](g Gate, call string, effect func() (T, error)) (T, error) {
	var result T
	err := g(call, func() (err error) {
		result, err = effect()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// Store is a store behind a gate.
type Store struct {
	Inner store.Store
	Gate  Gate
}

var _ store.Store = Store{}

// CreateCoupon passes the gate.
func (s Store) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	return s.Gate("CreateCoupon", func() error { return s.Inner.CreateCoupon(ctx, c) })
}

// UpdateCoupon passes the gate.
func (s Store) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	return through(s.Gate, "UpdateCoupon", func() (coupon.Coupon, error) { return s.Inner.UpdateCoupon(ctx, c) })
}

// ConfirmMirror passes the gate.
func (s Store) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	return through(s.Gate, "ConfirmMirror", func() (coupon.Coupon, error) { return s.Inner.ConfirmMirror(ctx, id, m) })
}

// DeleteCoupon passes the gate.
func (s Store) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	return s.Gate("DeleteCoupon", func() error { return s.Inner.DeleteCoupon(ctx, id, revision) })
}

// Coupon passes the gate.
func (s Store) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	return through(s.Gate, "Coupon", func() (coupon.Coupon, error) { return s.Inner.Coupon(ctx, id) })
}

// LookUp passes the gate.
func (s Store) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	return through(s.Gate, "LookUp", func() (store.Found, error) { return s.Inner.LookUp(ctx, by) })
}

// ListCoupons passes the gate.
func (s Store) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	return through(s.Gate, "ListCoupons", func() (store.CouponPage, error) { return s.Inner.ListCoupons(ctx, l) })
}

// Reserve passes the gate.
func (s Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return through(s.Gate, "Reserve", func() (store.Reserved, error) { return s.Inner.Reserve(ctx, r) })
}

// TakeOver passes the gate.
func (s Store) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	return through(s.Gate, "TakeOver", func() (store.Reserved, error) { return s.Inner.TakeOver(ctx, t) })
}

// Settle passes the gate.
func (s Store) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	return through(s.Gate, "Settle", func() (store.Settled, error) { return s.Inner.Settle(ctx, t) })
}

// Transition passes the gate.
func (s Store) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	return through(s.Gate, "Transition", func() (redemption.Redemption, error) { return s.Inner.Transition(ctx, id, e) })
}

// Redemption passes the gate.
func (s Store) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	return through(s.Gate, "Redemption", func() (redemption.Redemption, error) { return s.Inner.Redemption(ctx, id) })
}

// ListRedemptions passes the gate.
func (s Store) ListRedemptions(ctx context.Context, l store.RedemptionList) (store.RedemptionPage, error) {
	return through(s.Gate, "ListRedemptions", func() (store.RedemptionPage, error) { return s.Inner.ListRedemptions(ctx, l) })
}

// Due passes the gate.
func (s Store) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	return through(s.Gate, "Due", func() ([]redemption.Redemption, error) { return s.Inner.Due(ctx, at, limit) })
}

// CreateOrder passes the gate.
func (s Store) CreateOrder(ctx context.Context, o store.Order) (stored store.Order, replayed bool, err error) {
	stored, err = through(s.Gate, "CreateOrder", func() (made store.Order, err error) {
		made, replayed, err = s.Inner.CreateOrder(ctx, o)
		return made, err
	})
	return stored, replayed, err
}

// AttachSession passes the gate.
func (s Store) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	return through(s.Gate, "AttachSession", func() (store.Order, error) { return s.Inner.AttachSession(ctx, a) })
}

// Order passes the gate.
func (s Store) Order(ctx context.Context, id string) (store.Order, error) {
	return through(s.Gate, "Order", func() (store.Order, error) { return s.Inner.Order(ctx, id) })
}

// OrderByKey passes the gate.
func (s Store) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	return through(s.Gate, "OrderByKey", func() (store.Order, error) { return s.Inner.OrderByKey(ctx, customerID, key) })
}

// OpenOrders passes the gate.
func (s Store) OpenOrders(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
	return through(s.Gate, "OpenOrders", func() ([]store.Order, error) { return s.Inner.OpenOrders(ctx, at, limit) })
}

// Close closes the store; it does not pass the gate.
func (s Store) Close() error { return s.Inner.Close() }

// Processor is a processor behind a gate.
type Processor struct {
	Inner processor.Processor
	Gate  Gate
}

var (
	_ processor.Processor    = Processor{}
	_ processor.MirrorLister = Processor{}
)

// Abilities does not pass the gate: it is no call.
func (p Processor) Abilities() processor.Abilities { return p.Inner.Abilities() }

// EnsureMirror passes the gate.
func (p Processor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.Gate, "EnsureMirror", func() (coupon.Mirror, error) { return p.Inner.EnsureMirror(ctx, c) })
}

// UpdateMirror passes the gate.
func (p Processor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.Gate, "UpdateMirror", func() (coupon.Mirror, error) { return p.Inner.UpdateMirror(ctx, c) })
}

// SetMirrorActive passes the gate.
func (p Processor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.Gate, "SetMirrorActive", func() (coupon.Mirror, error) { return p.Inner.SetMirrorActive(ctx, c) })
}

// RemoveMirror passes the gate.
func (p Processor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	return p.Gate("RemoveMirror", func() error { return p.Inner.RemoveMirror(ctx, c) })
}

// VerifyMirror passes the gate.
func (p Processor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	return through(p.Gate, "VerifyMirror", func() (processor.MirrorStatus, error) { return p.Inner.VerifyMirror(ctx, c) })
}

// CreateSession passes the gate.
func (p Processor) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	return through(p.Gate, "CreateSession", func() (processor.Session, error) { return p.Inner.CreateSession(ctx, r) })
}

// Session passes the gate.
func (p Processor) Session(ctx context.Context, id string) (processor.Session, error) {
	return through(p.Gate, "Session", func() (processor.Session, error) { return p.Inner.Session(ctx, id) })
}

// ExpireSession passes the gate.
func (p Processor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return through(p.Gate, "ExpireSession", func() (processor.Session, error) { return p.Inner.ExpireSession(ctx, id) })
}

// Mirrors passes the gate once, and lists what is there then.
func (p Processor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return func(yield func(processor.MirrorRef, error) bool) {
		refs, err := through(p.Gate, "Mirrors", func() (refs []processor.MirrorRef, err error) {
			lister, can := p.Inner.(processor.MirrorLister)
			if !can {
				return nil, nil
			}
			for ref, err := range lister.Mirrors(ctx) {
				if err != nil {
					return nil, err
				}
				refs = append(refs, ref)
			}
			return refs, nil
		})
		if err != nil {
			yield(processor.MirrorRef{}, err)
			return
		}
		for _, ref := range refs {
			if !yield(ref, nil) {
				return
			}
		}
	}
}

// Points is a ledger behind a gate.
type Points struct {
	Inner couponkit.Points
	Gate  Gate
}

var _ couponkit.Points = Points{}

// Debit passes the gate.
func (p Points) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	return p.Gate("Debit", func() error { return p.Inner.Debit(ctx, customerID, reservationID, points) })
}

// Refund passes the gate.
func (p Points) Refund(ctx context.Context, customerID, reservationID string) error {
	return p.Gate("Refund", func() error { return p.Inner.Refund(ctx, customerID, reservationID) })
}
