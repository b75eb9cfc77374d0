package simulation

import (
	"context"
	"errors"
	"iter"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Wire carries a call of the service to the world outside. It lets the effect of the call
// happen or not, once or more often, and returns what the caller sees.
type Wire func(call string, effect func() error) error

func over[T any](wire Wire, call string, effect func() (T, error)) (T, error) {
	var result, none T
	if err := wire(call, func() (err error) {
		result, err = effect()
		return err
	}); err != nil {
		return none, err
	}
	return result, nil
}

// touched are the records that the last effects were about.
type touched struct {
	effects   int
	coupons   []string
	orders    []string
	uses      []string
	sessions  []string
	customers []string
	failed    error // of the last effect, if it was the only one
}

func (t *touched) records(o redemption.Order, uses []redemption.Use) {
	t.orders = append(t.orders, o.ID)
	for _, u := range uses {
		t.uses, t.coupons = append(t.uses, u.ID), append(t.coupons, u.CouponID)
	}
}

// asked returns the context of a call without its clock: the service bounds its clean-ups by
// a timeout, which would end a call when the machine is slow. A caller who has gone is an
// error. An effect that is late does not know of the caller.
func (w *world) asked(ctx context.Context) (context.Context, error) {
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !w.arriving {
		return nil, err
	}
	return context.WithoutCancel(ctx), nil
}

// writes fails a task that was to look only.
func (w *world) writes(call string) {
	if t := w.active; t != nil && t.reads && !w.arriving {
		w.fail(PreviewsChangeNothing, "%s, and calls %s", t.name, call)
	}
}

// wiredStore is the store of a shop as a process sees it. A call that is late arrives also
// when its process is gone: with a server, it was on its way.
type wiredStore struct {
	w *world
	s *shop
	n *node
}

var _ store.Store = wiredStore{}

func (v wiredStore) inner() store.Store {
	if v.n.process == nil {
		return v.s.eyes
	}
	return v.n.process.Store(v.s.number)
}

func read[T any](ctx context.Context, v wiredStore, call string, effect func(context.Context, store.Store) (T, error)) (T, error) {
	return over(v.w.wire(v.n, v.s, ofStore), call, func() (result T, err error) {
		if ctx, err := v.w.asked(ctx); err == nil {
			return effect(ctx, v.inner())
		}
		return result, ctx.Err()
	})
}

func write[T any](
	ctx context.Context, v wiredStore, call string, effect func(context.Context, store.Store) (T, error), note func(*touched, T),
) (T, error) {
	return read(ctx, v, call, func(ctx context.Context, inner store.Store) (T, error) {
		v.w.writes(call)
		result, err := effect(ctx, inner)
		t := &v.s.touched
		if t.effects++; t.effects == 1 {
			t.failed = err
		} else {
			t.failed = nil
		}
		note(t, result)
		return result, err
	})
}

var changes = [...]string{
	store.CreateCoupon: "create", store.EditCoupon: "edit", store.ConfirmMirror: "confirm", store.DeleteCoupon: "delete",
}

func (v wiredStore) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return write(ctx, v, "SaveCoupon "+changes[c.Kind], func(ctx context.Context, s store.Store) (coupon.Coupon, error) {
		return s.SaveCoupon(ctx, c)
	}, func(t *touched, _ coupon.Coupon) { t.coupons = append(t.coupons, c.Coupon.ID) })
}

func (v wiredStore) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return write(ctx, v, "Reserve", func(ctx context.Context, s store.Store) (store.Reserved, error) {
		return s.Reserve(ctx, r)
	}, func(t *touched, reserved store.Reserved) {
		t.records(r.Order, r.Uses)
		t.records(reserved.Order, reserved.Uses)
	})
}

func (v wiredStore) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	return write(ctx, v, "Apply "+e.Event.Kind.String(), func(ctx context.Context, s store.Store) (store.Settled, error) {
		return s.Apply(ctx, e)
	}, func(t *touched, settled store.Settled) {
		t.orders, t.uses = append(t.orders, e.Event.OrderID), append(t.uses, e.Event.UseID)
		t.records(e.Unknown.Order, e.Unknown.Uses)
		t.records(settled.Order, settled.Uses)
	})
}

func (v wiredStore) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	return read(ctx, v, "LookUp", func(ctx context.Context, s store.Store) (store.Found, error) { return s.LookUp(ctx, by) })
}

func (v wiredStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	return read(ctx, v, "ListCoupons", func(ctx context.Context, s store.Store) (store.CouponPage, error) { return s.ListCoupons(ctx, l) })
}

func (v wiredStore) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return read(ctx, v, "Order", func(ctx context.Context, s store.Store) (store.Settled, error) { return s.Order(ctx, by) })
}

func (v wiredStore) ListOrders(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
	return read(ctx, v, "ListOrders", func(ctx context.Context, s store.Store) (store.OrderPage, error) { return s.ListOrders(ctx, l) })
}

func (v wiredStore) ListUses(ctx context.Context, l store.UseList) (store.UsePage, error) {
	return read(ctx, v, "ListUses", func(ctx context.Context, s store.Store) (store.UsePage, error) { return s.ListUses(ctx, l) })
}

func (v wiredStore) Counts(ctx context.Context, keys []string) ([]redemption.Count, error) {
	return read(ctx, v, "Counts", func(ctx context.Context, s store.Store) ([]redemption.Count, error) { return s.Counts(ctx, keys) })
}

func (v wiredStore) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return read(ctx, v, "Journal", func(ctx context.Context, s store.Store) ([]store.Entry, error) { return s.Journal(ctx, after, limit) })
}

// Close leaves the store open: it belongs to the process.
func (v wiredStore) Close() error { return nil }

// Processor is a processor behind a wire.
type Processor struct {
	Inner processor.Processor
	Wire  Wire
	w     *world
	s     *shop
}

var (
	_ processor.Processor    = Processor{}
	_ processor.MirrorLister = Processor{}
)

func ask[T any](ctx context.Context, p Processor, call string, effect func(context.Context) (T, error)) (T, error) {
	return over(p.Wire, call, func() (result T, err error) {
		if ctx, err := p.w.asked(ctx); err == nil {
			if !looks[call] {
				p.w.writes(call)
			}
			return effect(ctx)
		}
		return result, ctx.Err()
	})
}

// looks are the calls of a processor that change nothing.
var looks = map[string]bool{"VerifyMirror": true, "Mirrors": true, "Session": true}

// Abilities does not use the wire: it is no call.
func (p Processor) Abilities() processor.Abilities { return p.Inner.Abilities() }

// EnsureMirror uses the wire.
func (p Processor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return ask(ctx, p, "EnsureMirror", func(ctx context.Context) (coupon.Mirror, error) { return p.Inner.EnsureMirror(ctx, c) })
}

// UpdateMirror uses the wire.
func (p Processor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return ask(ctx, p, "UpdateMirror", func(ctx context.Context) (coupon.Mirror, error) { return p.Inner.UpdateMirror(ctx, c) })
}

// SetMirrorActive uses the wire.
func (p Processor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return ask(ctx, p, "SetMirrorActive", func(ctx context.Context) (coupon.Mirror, error) { return p.Inner.SetMirrorActive(ctx, c) })
}

// RemoveMirror uses the wire.
func (p Processor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	_, err := ask(ctx, p, "RemoveMirror", func(ctx context.Context) (struct{}, error) { return struct{}{}, p.Inner.RemoveMirror(ctx, c) })
	return err
}

// VerifyMirror uses the wire.
func (p Processor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	return ask(ctx, p, "VerifyMirror", func(ctx context.Context) (processor.MirrorStatus, error) { return p.Inner.VerifyMirror(ctx, c) })
}

// CreateSession uses the wire.
func (p Processor) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	return ask(ctx, p, "CreateSession", func(ctx context.Context) (processor.Session, error) {
		made, err := p.Inner.CreateSession(ctx, r)
		if _, known := p.s.book.sessions[made.ID]; err == nil && !known {
			p.s.made(made.ID)
		}
		return made, err
	})
}

// made notes a new session.
func (s *shop) made(id string) {
	s.book.sessions[id] = ""
	s.sessions = append(s.sessions, id)
	s.touched.sessions = append(s.touched.sessions, id)
}

// Session uses the wire.
func (p Processor) Session(ctx context.Context, id string) (processor.Session, error) {
	return ask(ctx, p, "Session", func(ctx context.Context) (processor.Session, error) { return p.Inner.Session(ctx, id) })
}

// ExpireSession uses the wire.
func (p Processor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return ask(ctx, p, "ExpireSession", func(ctx context.Context) (processor.Session, error) {
		before, _ := p.Inner.Session(ctx, id)
		ended, err := p.Inner.ExpireSession(ctx, id)
		if before.Status == processor.SessionOpen && err == nil {
			p.s.justEnded = true
		}
		return ended, err
	})
}

// Mirrors uses the wire once, and lists what is there then.
func (p Processor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return func(yield func(processor.MirrorRef, error) bool) {
		refs, err := ask(ctx, p, "Mirrors", func(ctx context.Context) (refs []processor.MirrorRef, err error) {
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

// Points is a ledger behind a wire.
type Points struct {
	Inner couponkit.Points
	Wire  Wire
}

var _ couponkit.Points = Points{}

// Debit uses the wire.
func (p Points) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	return p.Wire("Debit", func() error { return p.Inner.Debit(ctx, customerID, exchangeID, points) })
}

// Refund uses the wire.
func (p Points) Refund(ctx context.Context, customerID, exchangeID string) error {
	return p.Wire("Refund", func() error { return p.Inner.Refund(ctx, customerID, exchangeID) })
}

// watchedLedger is the ledger of a shop. It notes whose balance may have changed.
type watchedLedger struct {
	w *world
	s *shop
}

// Credit lets a broken ledger give points away.
func (v watchedLedger) Credit(customerID string, points int64) {
	v.s.ledger.Credit(customerID, points)
	v.s.touched.customers = append(v.s.touched.customers, customerID)
}

func (v watchedLedger) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		err = v.s.ledger.Debit(ctx, customerID, exchangeID, points)
		v.s.touched.customers = append(v.s.touched.customers, customerID)
	}
	return err
}

func (v watchedLedger) Refund(ctx context.Context, customerID, exchangeID string) error {
	ctx, err := v.w.asked(ctx)
	if err == nil {
		err = v.s.ledger.Refund(ctx, customerID, exchangeID)
		v.s.touched.customers = append(v.s.touched.customers, customerID)
	}
	return err
}
