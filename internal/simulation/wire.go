package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Wire carries a call of the service to the world outside. It lets the effect of the call
// happen or not, once or more often, and returns what the caller sees.
type Wire func(ctx context.Context, call string, effect func(context.Context) error) error

func over[T any](ctx context.Context, wire Wire, call string, effect func(context.Context) (T, error)) (T, error) {
	var result, none T
	if err := wire(ctx, call, func(ctx context.Context) (err error) {
		result, err = effect(ctx)
		return err
	}); err != nil {
		return none, err
	}
	return result, nil
}

// touched has the records that the last effects read or changed.
type touched struct {
	effects  int
	coupons  []string
	orders   []string
	uses     []string
	sessions []string
	payments []string // sessions with a refund or a dispute
	points   bool
	failed   error // error of the last effect, if there was only one effect
}

func (t *touched) records(o redemption.Order, uses []redemption.Use) {
	t.orders = append(t.orders, o.ID)
	for _, u := range uses {
		t.uses, t.coupons = append(t.uses, u.ID), append(t.coupons, u.CouponID)
	}
}

// outside carries out a call to the store or the processor. It removes the timeout of the service,
// because a slow machine must not change the result. A late effect has no caller.
func (w *world) outside(ctx context.Context, s *shop, r role, call string, effect func(context.Context) error) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !w.arriving {
		return err
	}
	name, _, _ := strings.Cut(call, " ")
	t := w.active
	w.must(PreviewsChangeNothing, looks[name] || t == nil || !t.readOnly() || w.arriving, "somebody who looks only calls %s", call)
	err := effect(context.WithoutCancel(ctx))
	s.touched.points = s.touched.points || r == ofLedger
	if r == ofStore && !looks[name] {
		s.touched.effects++
		if s.touched.failed = err; s.touched.effects > 1 {
			s.touched.failed = nil
		}
	}
	return err
}

// looks are the calls that change nothing.
var looks = map[string]bool{
	"LookUp": true, "ListCoupons": true, "Order": true, "ListOrders": true, "ListUses": true, "Counts": true, "Journal": true, "JournalEnd": true,
	"VerifyMirror": true, "Mirrors": true, "Session": true, "FindSession": true, "Refunds": true,
}

// wiredStore is the store of a shop as a process sees it. Late calls bypass it.
type wiredStore struct {
	s    *shop
	n    *node
	wire Wire
}

func (v wiredStore) inner() store.Store {
	if v.n.process == nil {
		return v.s.eyes
	}
	return v.n.process.Store(v.s.number)
}

var changeNames = [...]string{
	store.CreateCoupon: "create", store.EditCoupon: "edit", store.ConfirmMirror: "confirm", store.DeleteCoupon: "delete",
}

func (v wiredStore) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return over(ctx, v.wire, "SaveCoupon "+changeNames[c.Kind], func(ctx context.Context) (coupon.Coupon, error) {
		v.s.touched.coupons = append(v.s.touched.coupons, c.Coupon.ID)
		return v.inner().SaveCoupon(ctx, c)
	})
}

func (v wiredStore) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return over(ctx, v.wire, "Reserve", func(ctx context.Context) (store.Reserved, error) {
		reserved, err := v.inner().Reserve(ctx, r)
		v.s.touched.records(r.Order, r.Uses)
		v.s.touched.records(reserved.Order, reserved.Uses)
		return reserved, err
	})
}

func (v wiredStore) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	return over(ctx, v.wire, "Apply "+e.Event.Kind.String(), func(ctx context.Context) (store.Settled, error) {
		settled, err := v.inner().Apply(ctx, e)
		v.s.touched.records(redemption.Order{ID: e.Event.OrderID}, []redemption.Use{{ID: e.Event.UseID}})
		v.s.touched.records(e.Unknown.Order, e.Unknown.Uses)
		v.s.touched.records(settled.Order, settled.Uses)
		return settled, err
	})
}

func (v wiredStore) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	names := map[store.CodeChangeKind]string{
		store.AddCodes: "add", store.EditCode: "edit", store.SwitchCodes: "switch", store.RemoveCodes: "remove", store.AssignCodes: "assign",
		store.ImportCodes: "import",
	}
	return over(ctx, v.wire, "SaveCodes "+names[c.Kind], func(ctx context.Context) ([]coupon.IssuedCode, error) {
		v.s.touched.coupons = append(v.s.touched.coupons, c.CouponID)
		return v.inner().SaveCodes(ctx, c)
	})
}

func (v wiredStore) SaveAttempts(ctx context.Context, c store.AttemptChange) (time.Time, error) {
	return over(ctx, v.wire, "SaveAttempts", func(ctx context.Context) (time.Time, error) { return v.inner().SaveAttempts(ctx, c) })
}

func (v wiredStore) ForgetAttempts(ctx context.Context, at time.Time) (int, error) {
	return over(ctx, v.wire, "ForgetAttempts", func(ctx context.Context) (int, error) { return v.inner().ForgetAttempts(ctx, at) })
}

func (v wiredStore) ListBatches(ctx context.Context, list store.BatchList) (store.BatchPage, error) {
	return over(ctx, v.wire, "ListBatches", func(ctx context.Context) (store.BatchPage, error) { return v.inner().ListBatches(ctx, list) })
}

func (v wiredStore) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	return over(ctx, v.wire, "ListCodes", func(ctx context.Context) (store.CodePage, error) { return v.inner().ListCodes(ctx, list) })
}

func (v wiredStore) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	return over(ctx, v.wire, "LookUp", func(ctx context.Context) (store.LookedUp, error) { return v.inner().LookUp(ctx, by) })
}

func (v wiredStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	return over(ctx, v.wire, "ListCoupons", func(ctx context.Context) (store.CouponPage, error) { return v.inner().ListCoupons(ctx, l) })
}

func (v wiredStore) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return over(ctx, v.wire, "Order", func(ctx context.Context) (store.Settled, error) { return v.inner().Order(ctx, by) })
}

func (v wiredStore) ListOrders(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
	return over(ctx, v.wire, "ListOrders", func(ctx context.Context) (store.OrderPage, error) { return v.inner().ListOrders(ctx, l) })
}

func (v wiredStore) ListUses(ctx context.Context, l store.UseList) (store.UsePage, error) {
	return over(ctx, v.wire, "ListUses", func(ctx context.Context) (store.UsePage, error) { return v.inner().ListUses(ctx, l) })
}

func (v wiredStore) Sums(ctx context.Context, l store.SumList) ([]store.DaySum, error) {
	return over(ctx, v.wire, "Sums", func(ctx context.Context) ([]store.DaySum, error) { return v.inner().Sums(ctx, l) })
}

func (v wiredStore) History(ctx context.Context, id string, before int64, limit int) ([]store.Entry, error) {
	return over(ctx, v.wire, "History", func(ctx context.Context) ([]store.Entry, error) { return v.inner().History(ctx, id, before, limit) })
}

func (v wiredStore) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	return over(ctx, v.wire, "Counts", func(ctx context.Context) ([]eligibility.Count, error) { return v.inner().Counts(ctx, keys) })
}

func (v wiredStore) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return over(ctx, v.wire, "Journal", func(ctx context.Context) ([]store.Entry, error) { return v.inner().Journal(ctx, after, limit) })
}

func (v wiredStore) JournalEnd(ctx context.Context) (int64, error) {
	return over(ctx, v.wire, "JournalEnd", v.inner().JournalEnd)
}

// Close does nothing: the process owns the store.
func (v wiredStore) Close() error { return nil }

// Processor is a processor that lists its mirrors, finds sessions and makes refunds.
type Processor interface {
	processor.Processor
	processor.MirrorLister
	processor.SessionFinder
	processor.Refunder
}

// wiredProcessor is the processor of a shop as a process sees it.
type wiredProcessor struct {
	Processor
	s    *shop
	wire Wire
	now  func() time.Time
	// createTime is how long a call that creates a session may take.
	createTime time.Duration
}

func (p wiredProcessor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return over(ctx, p.wire, "EnsureMirror", func(ctx context.Context) (coupon.Mirror, error) { return p.Processor.EnsureMirror(ctx, c) })
}

func (p wiredProcessor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return over(ctx, p.wire, "UpdateMirror", func(ctx context.Context) (coupon.Mirror, error) { return p.Processor.UpdateMirror(ctx, c) })
}

func (p wiredProcessor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return over(ctx, p.wire, "SetMirrorActive", func(ctx context.Context) (coupon.Mirror, error) { return p.Processor.SetMirrorActive(ctx, c) })
}

func (p wiredProcessor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	return p.wire(ctx, "RemoveMirror", func(ctx context.Context) error { return p.Processor.RemoveMirror(ctx, c) })
}

func (p wiredProcessor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	return over(ctx, p.wire, "VerifyMirror", func(ctx context.Context) (processor.MirrorStatus, error) { return p.Processor.VerifyMirror(ctx, c) })
}

func (p wiredProcessor) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	return over(ctx, p.wire, "CreateSession", func(ctx context.Context) (processor.Session, error) {
		if at, begun := p.s.book.begun[r.OrderID]; begun && !p.now().Before(at.Add(p.createTime)) {
			return processor.Session{}, fmt.Errorf("%w: simulated: the call has taken more than %v", processor.ErrUnavailable, p.createTime)
		}
		made, err := p.Processor.CreateSession(ctx, r)
		if _, known := p.s.book.sessions[made.ID]; err == nil && !known {
			p.s.book.sessions[made.ID], p.s.book.made[r.OrderID] = "", true
			p.s.book.madeFor[r.OrderID] = append(p.s.book.madeFor[r.OrderID], made.ID)
			p.s.sessions = append(p.s.sessions, made.ID)
			p.s.touched.sessions = append(p.s.touched.sessions, made.ID)
		}
		return made, err
	})
}

func (p wiredProcessor) Session(ctx context.Context, id string) (processor.Session, error) {
	return over(ctx, p.wire, "Session", func(ctx context.Context) (processor.Session, error) {
		return p.s.notePending(p.Processor.Session(ctx, id))
	})
}

func (p wiredProcessor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return over(ctx, p.wire, "ExpireSession", func(ctx context.Context) (processor.Session, error) {
		return p.s.notePending(p.Processor.ExpireSession(ctx, id))
	})
}

func (p wiredProcessor) FindSession(ctx context.Context, orderID string, since time.Time) (processor.Session, error) {
	return over(ctx, p.wire, "FindSession", func(ctx context.Context) (processor.Session, error) {
		return p.Processor.FindSession(ctx, orderID, since)
	})
}

// Refund goes over the wire as "Repay", because the ledger has a call of the same name.
func (p wiredProcessor) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	return over(ctx, p.wire, "Repay", func(ctx context.Context) (processor.Refund, error) { return p.s.repay(ctx, r) })
}

func (p wiredProcessor) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	return over(ctx, p.wire, "Refunds", func(ctx context.Context) (processor.PaymentRefunds, error) { return p.Processor.Refunds(ctx, id) })
}

// Mirrors makes one call and lists the mirrors of that moment.
func (p wiredProcessor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	refs, err := over(ctx, p.wire, "Mirrors", func(ctx context.Context) (refs []processor.MirrorRef, err error) {
		for ref, failed := range p.Processor.Mirrors(ctx) {
			refs, err = append(refs, ref), failed
		}
		return refs, err
	})
	return func(yield func(processor.MirrorRef, error) bool) {
		for _, ref := range refs {
			if !yield(ref, nil) {
				return
			}
		}
		if err != nil {
			yield(processor.MirrorRef{}, err)
		}
	}
}

// Points is a ledger of points behind a wire.
type Points struct {
	Inner couponkit.Points
	Wire  Wire
}

// Debit uses the wire.
func (p Points) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	return p.Wire(ctx, "Debit", func(ctx context.Context) error { return p.Inner.Debit(ctx, customerID, exchangeID, points) })
}

// Refund uses the wire.
func (p Points) Refund(ctx context.Context, customerID, exchangeID string) error {
	return p.Wire(ctx, "Refund", func(ctx context.Context) error { return p.Inner.Refund(ctx, customerID, exchangeID) })
}
