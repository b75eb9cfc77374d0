package stripeprocessor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/stripe/stripe-go/v86"
	"golang.org/x/time/rate"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// SweepOptions configures [Processor.Sweep].
type SweepOptions struct {
	// Coupon returns the stored coupon with an ID. known is false if there is none. A
	// repair calls it a second time to notice concurrent changes. Coupon is required.
	Coupon func(ctx context.Context, couponID string) (c coupon.Coupon, known bool, err error)
	// Repair lets the sweep repair its findings. Without it, the sweep only reports
	// them.
	Repair bool
	// MinAge is the minimum age of the objects to check, because younger objects may
	// belong to an unfinished call. The default is 1 hour; negative means 0.
	MinAge time.Duration
	// PerSecond is the maximum number of objects checked per second; default 5.
	// Negative means no limit. [Options].RequestsPerSecond applies, too.
	PerSecond float64
}

// FindingKind tells what is wrong with an object at Stripe.
type FindingKind uint8

// The kinds of finding.
const (
	// Orphan is a mirror whose coupon does not exist or has another mirror. The repair
	// deactivates its promotion codes and deletes it. A Stripe coupon without the
	// metadata of this application is kept.
	Orphan FindingKind = iota + 1
	// Unrecorded means that the coupon's Mirror is empty or of an earlier revision. The
	// repair creates or adopts the mirror of the current revision.
	Unrecorded
	// WrongName means that the name or the metadata differ from the coupon.
	WrongName
	// WrongTerms means that the terms differ from the coupon, or that the object can
	// never be active again.
	WrongTerms
	// CodeMissing means that the promotion code does not exist.
	CodeMissing
	// WrongActive means that the active state of the promotion code is wrong.
	WrongActive
	// SessionCoupon is a coupon for the first period of a session that has ended.
	SessionCoupon
)

// String returns the kind as words, such as "wrong name".
func (k FindingKind) String() string {
	switch k {
	case Orphan:
		return "orphan"
	case Unrecorded:
		return "unrecorded"
	case WrongName:
		return "wrong name"
	case WrongTerms:
		return "wrong terms"
	case CodeMissing:
		return "code missing"
	case WrongActive:
		return "wrong active"
	case SessionCoupon:
		return "session coupon"
	}
	return ""
}

// Finding is an object at Stripe that differs from its wanted state.
type Finding struct {
	Kind FindingKind
	// CouponID is the couponkit coupon in the object's metadata. It may be empty for a
	// SessionCoupon.
	CouponID string
	// Mirror names the object and its promotion code, if any.
	Mirror coupon.Mirror
	// Repaired is true if the sweep has repaired the object. The host must then store
	// Now as the coupon's Mirror. Now is zero if the coupon does not exist.
	Repaired bool
	Now      coupon.Mirror
	// Err is the error of the repair, or nil.
	Err error
}

const (
	opSweep          = "sweep"
	defaultMinAge    = time.Hour
	defaultSweepRate = 5
)

// Sweep checks every Stripe object of this application and yields those that differ
// from their wanted state. With [SweepOptions].Repair it repairs each object before
// yielding it. Sweep cannot find a mirror that is missing entirely;
// [Processor.VerifyMirror] does.
//
// Sweep ends after the first error of listing objects or of [SweepOptions].Coupon.
// Errors of a repair are in the finding. Concurrent sweeps are safe. The caller may
// stop at any finding.
func (p *Processor) Sweep(ctx context.Context, o SweepOptions) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		if o.Coupon == nil {
			yield(Finding{}, refused(opSweep, ErrInvalid, fmt.Errorf("SweepOptions.Coupon is required")))
			return
		}
		o.MinAge = orDefault(o.MinAge, defaultMinAge)
		pace := rate.NewLimiter(rate.Limit(orDefault(o.PerSecond, defaultSweepRate)), 1)
		if o.PerSecond < 0 {
			pace = rate.NewLimiter(rate.Inf, 1)
		}
		codes, err := p.codesByCoupon(ctx)
		if err != nil {
			yield(Finding{}, err)
			return
		}
		// looked yields the finding of inspect, if any, and reports whether to continue.
		looked := func(inspect func() (Finding, error)) bool {
			if err := pace.Wait(ctx); err != nil {
				yield(Finding{}, ended(opSweep, contextError(ctx)))
				return false
			}
			found, err := inspect()
			if err != nil {
				yield(Finding{}, err)
				return false
			}
			return found.Kind == 0 || yield(found, nil)
		}
		for object, err := range p.coupons(ctx) {
			if err != nil {
				yield(Finding{}, err)
				return
			}
			code := codes[object.ID]
			mirrors := p.mirrors(object)
			if mirrors {
				delete(codes, object.ID)
			}
			if (mirrors || p.isSessionCoupon(object)) && !looked(func() (Finding, error) { return p.inspect(ctx, o, object, code) }) {
				return
			}
		}
		for couponID, code := range codes { // these codes are left over: their coupons no longer carry our metadata
			if code.active && !looked(func() (Finding, error) { return p.inspectCode(ctx, o, couponID, code) }) {
				return
			}
		}
	}
}

// stored returns the stored coupon. If it is unknown, stored returns a coupon with only the ID.
func (o SweepOptions) stored(ctx context.Context, id string) (c coupon.Coupon, known bool, err error) {
	c, known, err = o.Coupon(ctx, id)
	switch {
	case err != nil:
		return coupon.Coupon{}, false, fmt.Errorf("stripe: %s: coupon %s: %w", opSweep, id, err)
	case !known:
		return coupon.Coupon{ID: id}, false, nil
	}
	return c, true, nil
}

// inFlux reports whether an operation on the coupon is under way. That operation completes it.
func inFlux(c coupon.Coupon) bool { return c.State == coupon.Pending || c.State == coupon.Deleting }

// inspectCode checks an active promotion code of ours whose coupon no longer carries our metadata.
func (p *Processor) inspectCode(ctx context.Context, o SweepOptions, couponID string, code listedCode) (Finding, error) {
	if p.options.Clock().Sub(time.Unix(code.created, 0)) < o.MinAge {
		return Finding{}, nil
	}
	now, err := p.readCode(ctx, code.id)
	switch {
	case errors.Is(err, processor.ErrNotFound), err == nil && !now.Active:
		return Finding{}, nil // the code changed while the sweep ran
	case err != nil:
		return Finding{}, err
	}
	found := Finding{
		Kind: Orphan, CouponID: code.of, Mirror: coupon.Mirror{CouponID: couponID, PromotionCodeID: code.id},
	}
	c, known, err := o.stored(ctx, code.of)
	if err != nil || inFlux(c) {
		return Finding{}, err
	}
	if o.Repair {
		p.repair(ctx, o, &found, c, known, couponID)
	}
	return found, nil
}

// contextError returns the context's error. The limiter may return before the deadline if it would have
// to wait past it. Then the error is context.DeadlineExceeded.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// inspect compares one object with its coupon, and repairs it. It returns a finding of kind 0 if there
// is no difference.
func (p *Processor) inspect(ctx context.Context, o SweepOptions, object *stripe.Coupon, code listedCode) (Finding, error) {
	now := p.options.Clock()
	if now.Sub(time.Unix(object.Created, 0)) < o.MinAge {
		return Finding{}, nil
	}
	if p.isSessionCoupon(object) {
		return p.inspectSessionCoupon(ctx, o, object, now), nil
	}
	ref := mirrorRef(object, code.id)
	found := Finding{CouponID: ref.CouponID, Mirror: ref.Mirror}
	c, known, err := o.stored(ctx, ref.CouponID)
	if err != nil || inFlux(c) {
		return Finding{}, err
	}
	switch {
	case !known:
		found.Kind = Orphan
	case !c.Mirrored():
		found.Kind = Unrecorded
	case c.Mirror.CouponID != object.ID:
		found.Kind = Orphan
	default:
		found.Kind = p.termsOf(c).drift(object, code)
	}
	if found.Kind != 0 && o.Repair {
		p.repair(ctx, o, &found, c, known, object.ID)
	}
	return found, nil
}

func (p *Processor) inspectSessionCoupon(ctx context.Context, o SweepOptions, object *stripe.Coupon, now time.Time) Finding {
	if object.RedeemBy == 0 || now.Unix() < object.RedeemBy {
		return Finding{}
	}
	found := Finding{
		Kind: SessionCoupon, CouponID: object.Metadata[metadataCouponID], Mirror: coupon.Mirror{CouponID: object.ID},
	}
	if o.Repair {
		found.Err = p.removeSessionCoupon(ctx, object.ID)
		found.Repaired = found.Err == nil
	}
	return found
}

// drift returns the first difference between an object and the terms, or 0.
func (t terms) drift(object *stripe.Coupon, code listedCode) FindingKind {
	switch {
	case !t.fits(object):
		return WrongTerms
	case code.id == "" && t.code != "":
		return CodeMissing
	case code.active != (t.active && t.code != ""):
		return WrongActive
	case !t.shows(object):
		return WrongName
	}
	return 0
}

// repair removes an orphan, or updates the object to show its coupon.
func (p *Processor) repair(ctx context.Context, o SweepOptions, found *Finding, c coupon.Coupon, known bool, objectID string) {
	if known {
		// Do this for an orphan, too. The recorded mirror may be gone, and the orphan then takes its
		// place.
		found.Now, found.Err = p.convergeLatest(ctx, o, c)
	}
	if found.Err == nil && found.Kind == Orphan && found.Now.CouponID != objectID {
		// Pass no code, so that only this object and its codes are removed.
		found.Err = p.RemoveMirror(ctx, coupon.Coupon{ID: c.ID, Mirror: coupon.Mirror{CouponID: objectID}})
	}
	found.Repaired = found.Err == nil
}

// convergeLatest makes the mirror show the stored coupon. It reads the coupon again afterwards: if an
// edit ran at the same time, it starts again from the edited coupon.
func (p *Processor) convergeLatest(ctx context.Context, o SweepOptions, c coupon.Coupon) (coupon.Mirror, error) {
	for range maxRounds {
		m, err := p.converge(ctx, c)
		if err != nil {
			return coupon.Mirror{}, err
		}
		now, known, err := o.stored(ctx, c.ID)
		switch {
		case err != nil:
			return coupon.Mirror{}, err
		case known && now.Revision == c.Revision:
			return m, nil
		case !known, inFlux(now):
			return coupon.Mirror{}, refused(opSweep, processor.ErrUnavailable, errMoved)
		}
		c = now
	}
	return coupon.Mirror{}, refused(opSweep, processor.ErrUnavailable, errMoved)
}
