package couponkit_test

import (
	"context"
	"iter"
	"sync"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// gate stands between the service and the world outside. It lets the effect of a call happen
// or not, and returns what the caller sees. Calls of Apply and SaveCoupon are named by the
// event and the change, such as "Apply paid" and "SaveCoupon edit".
type gate func(call string, effect func() error) error

func through[T any](g gate, call string, effect func() (T, error)) (result T, err error) {
	err = g(call, func() (err error) {
		result, err = effect()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// gated is a store behind a gate.
type gated struct {
	store.Store
	gate gate
}

var changes = map[store.ChangeKind]string{
	store.CreateCoupon: "create", store.EditCoupon: "edit", store.ConfirmMirror: "confirm", store.DeleteCoupon: "delete",
}

func (s gated) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return through(s.gate, "SaveCoupon "+changes[c.Kind], func() (coupon.Coupon, error) { return s.Store.SaveCoupon(ctx, c) })
}

func (s gated) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	return through(s.gate, "LookUp", func() (store.LookedUp, error) { return s.Store.LookUp(ctx, by) })
}

func (s gated) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	return through(s.gate, "ListCoupons", func() (store.CouponPage, error) { return s.Store.ListCoupons(ctx, l) })
}

func (s gated) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return through(s.gate, "Reserve", func() (store.Reserved, error) { return s.Store.Reserve(ctx, r) })
}

func (s gated) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	return through(s.gate, "Apply "+e.Event.Kind.String(), func() (store.Settled, error) { return s.Store.Apply(ctx, e) })
}

func (s gated) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return through(s.gate, "Order", func() (store.Settled, error) { return s.Store.Order(ctx, by) })
}

func (s gated) ListOrders(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
	return through(s.gate, "ListOrders", func() (store.OrderPage, error) { return s.Store.ListOrders(ctx, l) })
}

func (s gated) ListUses(ctx context.Context, l store.UseList) (store.UsePage, error) {
	return through(s.gate, "ListUses", func() (store.UsePage, error) { return s.Store.ListUses(ctx, l) })
}

func (s gated) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return through(s.gate, "Journal", func() ([]store.Entry, error) { return s.Store.Journal(ctx, after, limit) })
}

func (s gated) JournalEnd(ctx context.Context) (int64, error) {
	return through(s.gate, "JournalEnd", func() (int64, error) { return s.Store.JournalEnd(ctx) })
}

// gatedProcessor is a processor behind a gate.
type gatedProcessor struct {
	processor.Processor
	gate gate
}

func (p gatedProcessor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.gate, "EnsureMirror", func() (coupon.Mirror, error) { return p.Processor.EnsureMirror(ctx, c) })
}

func (p gatedProcessor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.gate, "UpdateMirror", func() (coupon.Mirror, error) { return p.Processor.UpdateMirror(ctx, c) })
}

func (p gatedProcessor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.gate, "SetMirrorActive", func() (coupon.Mirror, error) { return p.Processor.SetMirrorActive(ctx, c) })
}

func (p gatedProcessor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	return p.gate("RemoveMirror", func() error { return p.Processor.RemoveMirror(ctx, c) })
}

func (p gatedProcessor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	return through(p.gate, "VerifyMirror", func() (processor.MirrorStatus, error) { return p.Processor.VerifyMirror(ctx, c) })
}

func (p gatedProcessor) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	return through(p.gate, "CreateSession", func() (processor.Session, error) { return p.Processor.CreateSession(ctx, r) })
}

func (p gatedProcessor) Session(ctx context.Context, id string) (processor.Session, error) {
	return through(p.gate, "Session", func() (processor.Session, error) { return p.Processor.Session(ctx, id) })
}

func (p gatedProcessor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return through(p.gate, "ExpireSession", func() (processor.Session, error) { return p.Processor.ExpireSession(ctx, id) })
}

// Mirrors passes the gate once for the whole list.
func (p gatedProcessor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return func(yield func(processor.MirrorRef, error) bool) {
		if err := p.gate("Mirrors", func() error { return nil }); err != nil {
			yield(processor.MirrorRef{}, err)
			return
		}
		lister, can := p.Processor.(processor.MirrorLister)
		if !can {
			return
		}
		for ref, err := range lister.Mirrors(ctx) {
			if !yield(ref, err) {
				return
			}
		}
	}
}

// gatedPoints is a ledger behind a gate.
type gatedPoints struct {
	couponkit.Points
	gate gate
}

func (p gatedPoints) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	return p.gate("Debit", func() error { return p.Points.Debit(ctx, customerID, exchangeID, points) })
}

func (p gatedPoints) Refund(ctx context.Context, customerID, exchangeID string) error {
	return p.gate("Refund", func() error { return p.Points.Refund(ctx, customerID, exchangeID) })
}

// ledger is a ledger of points in memory. The zero value is empty.
type ledger struct {
	mu       sync.Mutex
	balances map[string]int64
	debited  map[string]int64
	closed   map[string]bool
}

func (l *ledger) Credit(customerID string, points int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.balances == nil {
		l.balances, l.debited, l.closed = map[string]int64{}, map[string]int64{}, map[string]bool{}
	}
	l.balances[customerID] += points
}

func (l *ledger) Balance(customerID string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.balances[customerID]
}

func (l *ledger) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	l.Credit(customerID, 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch _, again := l.debited[exchangeID]; {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.closed[exchangeID]:
		return couponkit.ErrReservationClosed
	case again:
		return nil
	case l.balances[customerID] < points:
		return couponkit.ErrInsufficientPoints
	}
	l.balances[customerID] -= points
	l.debited[exchangeID] = points
	return nil
}

func (l *ledger) Refund(ctx context.Context, customerID, exchangeID string) error {
	l.Credit(customerID, 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !l.closed[exchangeID] {
		l.balances[customerID] += l.debited[exchangeID]
		l.closed[exchangeID] = true
	}
	return nil
}

// directory is a directory of users in memory, by ID.
type directory map[string]couponkit.User

func (d directory) User(_ context.Context, id string) (couponkit.User, error) {
	user, known := d[id]
	if !known {
		return couponkit.User{}, couponkit.ErrUserNotFound
	}
	return user, nil
}
