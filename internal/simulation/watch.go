package simulation

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// What is behind the gates tells the book which records an effect was about, so that
// these are looked at again. It also keeps the wall clock out: the service bounds
// its clean-ups by a timeout, which would end a call when the machine is slow.

// touched are the records that the last effects were about.
type touched struct {
	effects     int
	coupons     []string
	redemptions []string
	orders      []string
	sessions    []string
	customers   []string
	failed      error // of the last effect, when it was the only one
}

// asked returns the context of a call without its clock. A caller who has gone is
// an error; what is late does not know of that.
func (w *world) asked(ctx context.Context) (context.Context, error) {
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !w.arriving {
		return nil, err
	}
	return context.WithoutCancel(ctx), nil
}

// watchedStore is the store of a shop as a process sees it. A call that is late
// arrives also when its process is gone: with a server, it was on the wire.
type watchedStore struct {
	w *world
	s *shop
	n *node
}

var _ store.Store = watchedStore{}

func (v watchedStore) inner() store.Store {
	if v.n.process == nil {
		return v.s.eyes
	}
	return v.n.process.Store(v.s.number)
}

// writes fails a task that was to look only.
func (w *world) writes(call string) {
	if t := w.active; t != nil && t.reads && !w.arriving {
		w.fail(PreviewsChangeNothing, "%s, and calls %s", t.name, call)
	}
}

// wrote notes an effect.
func (v watchedStore) wrote(call string, err error) *touched {
	v.w.writes(call)
	t := &v.s.touched
	if t.effects++; t.effects == 1 {
		t.failed = err
	} else {
		t.failed = nil
	}
	return t
}

func (t *touched) coupon(ids ...string)     { t.coupons = append(t.coupons, ids...) }
func (t *touched) redemption(ids ...string) { t.redemptions = append(t.redemptions, ids...) }
func (t *touched) order(ids ...string)      { t.orders = append(t.orders, ids...) }

func (v watchedStore) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		err = v.inner().CreateCoupon(ctx, c)
		v.wrote("CreateCoupon", err).coupon(c.ID)
	}
	return err
}

func (v watchedStore) UpdateCoupon(ctx context.Context, c coupon.Coupon) (updated coupon.Coupon, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		updated, err = v.inner().UpdateCoupon(ctx, c)
		v.wrote("UpdateCoupon", err).coupon(c.ID)
	}
	return updated, err
}

func (v watchedStore) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (c coupon.Coupon, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		c, err = v.inner().ConfirmMirror(ctx, id, m)
		v.wrote("ConfirmMirror", err).coupon(id)
	}
	return c, err
}

func (v watchedStore) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		err = v.inner().DeleteCoupon(ctx, id, revision)
		v.wrote("DeleteCoupon", err).coupon(id)
	}
	return err
}

func (v watchedStore) Coupon(ctx context.Context, id string) (c coupon.Coupon, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		c, err = v.inner().Coupon(ctx, id)
	}
	return c, err
}

func (v watchedStore) LookUp(ctx context.Context, by store.LookUp) (f store.Found, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		f, err = v.inner().LookUp(ctx, by)
	}
	return f, err
}

func (v watchedStore) ListCoupons(ctx context.Context, l store.CouponList) (page store.CouponPage, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		page, err = v.inner().ListCoupons(ctx, l)
	}
	return page, err
}

func (v watchedStore) Reserve(ctx context.Context, r store.Reservation) (reserved store.Reserved, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		reserved, err = v.inner().Reserve(ctx, r)
		t := v.wrote("Reserve", err)
		t.coupon(r.Redemption.CouponID)
		t.redemption(r.Redemption.ID, reserved.Redemption.ID)
		t.order(r.Redemption.OrderID, reserved.Order.ID)
	}
	return reserved, err
}

func (v watchedStore) TakeOver(ctx context.Context, o store.TakeOver) (reserved store.Reserved, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		reserved, err = v.inner().TakeOver(ctx, o)
		t := v.wrote("TakeOver", err)
		t.coupon(o.Order.CouponID)
		t.redemption(o.ReservationID, reserved.Redemption.ID)
		t.order(o.Order.ID, reserved.Order.ID)
	}
	return reserved, err
}

func (v watchedStore) Settle(ctx context.Context, x store.Settlement) (settled store.Settled, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		settled, err = v.inner().Settle(ctx, x)
		t := v.wrote("Settle", err)
		t.coupon(x.CouponID)
		t.redemption(x.ReservationID, x.NewID, settled.Redemption.ID)
		t.order(x.Event.OrderID, settled.Order.ID)
	}
	return settled, err
}

func (v watchedStore) Transition(ctx context.Context, id string, e redemption.Event) (r redemption.Redemption, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		r, err = v.inner().Transition(ctx, id, e)
		v.wrote("Transition", err).redemption(id)
	}
	return r, err
}

func (v watchedStore) Redemption(ctx context.Context, id string) (r redemption.Redemption, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		r, err = v.inner().Redemption(ctx, id)
	}
	return r, err
}

func (v watchedStore) ListRedemptions(ctx context.Context, l store.RedemptionList) (page store.RedemptionPage, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		page, err = v.inner().ListRedemptions(ctx, l)
	}
	return page, err
}

func (v watchedStore) Due(ctx context.Context, at time.Time, limit int) (due []redemption.Redemption, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		due, err = v.inner().Due(ctx, at, limit)
	}
	return due, err
}

func (v watchedStore) CreateOrder(ctx context.Context, o store.Order) (stored store.Order, replayed bool, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		stored, replayed, err = v.inner().CreateOrder(ctx, o)
		v.wrote("CreateOrder", err).order(o.ID, stored.ID)
	}
	return stored, replayed, err
}

func (v watchedStore) AttachSession(ctx context.Context, a store.Attachment) (o store.Order, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		o, err = v.inner().AttachSession(ctx, a)
		t := v.wrote("AttachSession", err)
		t.order(a.OrderID)
		t.redemption(v.s.book.orders[a.OrderID].ReservationID)
	}
	return o, err
}

func (v watchedStore) Order(ctx context.Context, id string) (o store.Order, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		o, err = v.inner().Order(ctx, id)
	}
	return o, err
}

func (v watchedStore) OrderByKey(ctx context.Context, customerID, key string) (o store.Order, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		o, err = v.inner().OrderByKey(ctx, customerID, key)
	}
	return o, err
}

func (v watchedStore) OpenOrders(ctx context.Context, at time.Time, limit int) (open []store.Order, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		open, err = v.inner().OpenOrders(ctx, at, limit)
	}
	return open, err
}

// Close leaves the store open: it belongs to the process.
func (v watchedStore) Close() error { return nil }

// watchedProcessor is the processor of a shop.
type watchedProcessor struct {
	w *world
	s *shop
}

var (
	_ processor.Processor    = watchedProcessor{}
	_ processor.MirrorLister = watchedProcessor{}
)

func (v watchedProcessor) Abilities() processor.Abilities { return v.s.fake.Abilities() }

func (v watchedProcessor) EnsureMirror(ctx context.Context, c coupon.Coupon) (m coupon.Mirror, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		v.w.writes("EnsureMirror")
		m, err = v.s.fake.EnsureMirror(ctx, c)
	}
	return m, err
}

func (v watchedProcessor) UpdateMirror(ctx context.Context, c coupon.Coupon) (m coupon.Mirror, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		v.w.writes("UpdateMirror")
		m, err = v.s.fake.UpdateMirror(ctx, c)
	}
	return m, err
}

func (v watchedProcessor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (m coupon.Mirror, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		v.w.writes("SetMirrorActive")
		m, err = v.s.fake.SetMirrorActive(ctx, c)
	}
	return m, err
}

func (v watchedProcessor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		v.w.writes("RemoveMirror")
		err = v.s.fake.RemoveMirror(ctx, c)
	}
	return err
}

func (v watchedProcessor) VerifyMirror(ctx context.Context, c coupon.Coupon) (status processor.MirrorStatus, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		status, err = v.s.fake.VerifyMirror(ctx, c)
	}
	return status, err
}

func (v watchedProcessor) CreateSession(ctx context.Context, r processor.SessionRequest) (made processor.Session, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		v.w.writes("CreateSession")
		made, err = v.s.fake.CreateSession(ctx, r)
		if _, known := v.s.book.sessions[made.ID]; err == nil && !known {
			v.s.book.sessions[made.ID] = struct{}{}
			v.s.sessions = append(v.s.sessions, made.ID)
			v.s.touched.sessions = append(v.s.touched.sessions, made.ID)
		}
	}
	return made, err
}

func (v watchedProcessor) Session(ctx context.Context, id string) (s processor.Session, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		s, err = v.s.fake.Session(ctx, id)
	}
	return s, err
}

func (v watchedProcessor) ExpireSession(ctx context.Context, id string) (s processor.Session, err error) {
	if ctx, err = v.w.asked(ctx); err == nil {
		v.w.writes("ExpireSession")
		before, _ := v.s.fake.Session(ctx, id)
		s, err = v.s.fake.ExpireSession(ctx, id)
		if before.Status == processor.SessionOpen && err == nil {
			v.w.ended(v.s, id)
		}
	}
	return s, err
}

func (v watchedProcessor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	ctx, err := v.w.asked(ctx)
	if err != nil {
		return func(yield func(processor.MirrorRef, error) bool) { yield(processor.MirrorRef{}, err) }
	}
	return v.s.fake.Mirrors(ctx)
}

// watchedLedger is the ledger of a shop.
type watchedLedger struct {
	w *world
	s *shop
}

// Credit lets a broken ledger give points away.
func (v watchedLedger) Credit(customerID string, points int64) {
	v.s.ledger.Credit(customerID, points)
	v.s.touched.customers = append(v.s.touched.customers, customerID)
}

func (v watchedLedger) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		err = v.s.ledger.Debit(ctx, customerID, reservationID, points)
		v.s.touched.customers = append(v.s.touched.customers, customerID)
	}
	return err
}

func (v watchedLedger) Refund(ctx context.Context, customerID, reservationID string) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		err = v.s.ledger.Refund(ctx, customerID, reservationID)
		v.s.touched.customers = append(v.s.touched.customers, customerID)
	}
	return err
}
