package couponkit_test

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// errCrash is what every call returns once the process has stopped.
var errCrash = errors.New("the process has stopped")

// fuse stops a process after a number of calls to the world outside: the last one
// is lost before or after it takes effect, and none gets through after it.
type fuse struct {
	armed bool
	left  int
	after bool // the last call takes effect, and its answer is lost
	blown bool
}

func (f *fuse) arm(calls int, after bool) { *f = fuse{armed: true, left: calls, after: after} }

// restart is the process coming up again.
func (f *fuse) restart() { *f = fuse{} }

func through[T any](f *fuse, call func() (T, error)) (T, error) {
	var none T
	switch {
	case f.blown:
		return none, errCrash
	case !f.armed:
		return call()
	case f.left > 0:
		f.left--
		return call()
	}
	f.blown = true
	if f.after {
		if _, err := call(); err != nil {
			return none, errors.Join(errCrash, err)
		}
	}
	return none, errCrash
}

func do(f *fuse, call func() error) error {
	_, err := through(f, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// crashingStore is a store that the process reaches until its fuse blows.
type crashingStore struct {
	store.Store
	fuse *fuse
}

func (s crashingStore) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	return do(s.fuse, func() error { return s.Store.CreateCoupon(ctx, c) })
}

func (s crashingStore) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	return through(s.fuse, func() (coupon.Coupon, error) { return s.Store.UpdateCoupon(ctx, c) })
}

func (s crashingStore) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	return through(s.fuse, func() (coupon.Coupon, error) { return s.Store.ConfirmMirror(ctx, id, m) })
}

func (s crashingStore) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	return do(s.fuse, func() error { return s.Store.DeleteCoupon(ctx, id, revision) })
}

func (s crashingStore) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	return through(s.fuse, func() (coupon.Coupon, error) { return s.Store.Coupon(ctx, id) })
}

func (s crashingStore) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	return through(s.fuse, func() (store.Found, error) { return s.Store.LookUp(ctx, by) })
}

func (s crashingStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	return through(s.fuse, func() (store.CouponPage, error) { return s.Store.ListCoupons(ctx, l) })
}

func (s crashingStore) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return through(s.fuse, func() (store.Reserved, error) { return s.Store.Reserve(ctx, r) })
}

func (s crashingStore) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	return through(s.fuse, func() (store.Reserved, error) { return s.Store.TakeOver(ctx, t) })
}

func (s crashingStore) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	return through(s.fuse, func() (store.Settled, error) { return s.Store.Settle(ctx, t) })
}

func (s crashingStore) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	return through(s.fuse, func() (redemption.Redemption, error) { return s.Store.Transition(ctx, id, e) })
}

func (s crashingStore) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	return through(s.fuse, func() (redemption.Redemption, error) { return s.Store.Redemption(ctx, id) })
}

func (s crashingStore) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	return through(s.fuse, func() ([]redemption.Redemption, error) { return s.Store.Due(ctx, at, limit) })
}

func (s crashingStore) CreateOrder(ctx context.Context, o store.Order) (store.Order, bool, error) {
	type created struct {
		order    store.Order
		replayed bool
	}
	c, err := through(s.fuse, func() (created, error) {
		order, replayed, err := s.Store.CreateOrder(ctx, o)
		return created{order, replayed}, err
	})
	return c.order, c.replayed, err
}

func (s crashingStore) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	return through(s.fuse, func() (store.Order, error) { return s.Store.AttachSession(ctx, a) })
}

func (s crashingStore) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	return through(s.fuse, func() (store.Order, error) { return s.Store.OrderByKey(ctx, customerID, key) })
}

func (s crashingStore) OpenOrders(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
	return through(s.fuse, func() ([]store.Order, error) { return s.Store.OpenOrders(ctx, at, limit) })
}

// crashingProcessor is a processor that the process reaches until its fuse blows.
type crashingProcessor struct {
	*fakeprocessor.Processor
	fuse *fuse
}

func (p crashingProcessor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.fuse, func() (coupon.Mirror, error) { return p.Processor.EnsureMirror(ctx, c) })
}

func (p crashingProcessor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.fuse, func() (coupon.Mirror, error) { return p.Processor.UpdateMirror(ctx, c) })
}

func (p crashingProcessor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return through(p.fuse, func() (coupon.Mirror, error) { return p.Processor.SetMirrorActive(ctx, c) })
}

func (p crashingProcessor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	return do(p.fuse, func() error { return p.Processor.RemoveMirror(ctx, c) })
}

func (p crashingProcessor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	return through(p.fuse, func() (processor.MirrorStatus, error) { return p.Processor.VerifyMirror(ctx, c) })
}

func (p crashingProcessor) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	return through(p.fuse, func() (processor.Session, error) { return p.Processor.CreateSession(ctx, r) })
}

func (p crashingProcessor) Session(ctx context.Context, id string) (processor.Session, error) {
	return through(p.fuse, func() (processor.Session, error) { return p.Processor.Session(ctx, id) })
}

func (p crashingProcessor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return through(p.fuse, func() (processor.Session, error) { return p.Processor.ExpireSession(ctx, id) })
}

// crashingPoints is a ledger that the process reaches until its fuse blows.
type crashingPoints struct {
	couponkit.Points
	fuse *fuse
}

func (l crashingPoints) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	return do(l.fuse, func() error { return l.Points.Debit(ctx, customerID, reservationID, points) })
}

func (l crashingPoints) Refund(ctx context.Context, customerID, reservationID string) error {
	return do(l.fuse, func() error { return l.Points.Refund(ctx, customerID, reservationID) })
}
