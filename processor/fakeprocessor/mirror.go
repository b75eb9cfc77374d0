package fakeprocessor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// EnsureMirror implements [processor.Mirror].
func (p *Processor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return p.converge(ctx, EnsureMirror, c)
}

// UpdateMirror implements [processor.Mirror]. A new MaxUses replaces the objects.
func (p *Processor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return p.converge(ctx, UpdateMirror, c)
}

// SetMirrorActive implements [processor.Mirror].
func (p *Processor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return p.converge(ctx, SetMirrorActive, c)
}

// errMoved means that another call has changed the objects between two steps. The next round reads them
// again.
var errMoved = errors.New("the objects have changed meanwhile")

const maxRounds = 8

// converge makes the mirror show the whole coupon, whatever objects exist. Three methods of the
// contract use it; only the reason of the call differs.
func (p *Processor) converge(ctx context.Context, op Op, c coupon.Coupon) (m coupon.Mirror, err error) {
	in := &mirroring{p: p, call: Call{Op: op, CouponID: c.ID}, c: c}
	err = p.faults.run(ctx, in.call, func() error {
		if err := p.checkCoupon(c); err != nil {
			return fmt.Errorf("%s: %w: %w", op, processor.ErrRejected, err)
		}
		if !p.canMirror(c) {
			m = coupon.Mirror{Revision: c.Revision, Unsupported: true}
			return nil
		}
		for range maxRounds {
			if m, err = in.round(ctx); !errors.Is(err, errMoved) {
				return err
			}
		}
		return fmt.Errorf("%s: %w: too many calls at once", op, processor.ErrUnavailable)
	})
	if err != nil {
		return coupon.Mirror{}, err
	}
	return m, nil
}

func (p *Processor) checkCoupon(c coupon.Coupon) error {
	switch {
	case c.ID == "":
		return errors.New("a coupon without an ID")
	case p.options.Abilities.CheckCoupon != nil:
		return p.options.Abilities.CheckCoupon(c)
	}
	return nil
}

// canMirror reports whether the processor can express the coupon.
func (p *Processor) canMirror(c coupon.Coupon) bool {
	return p.options.CanMirror == nil || p.options.CanMirror(c)
}

// mirroring is a running call of a mirror method.
type mirroring struct {
	p    *Processor
	call Call
	c    coupon.Coupon
}

// step makes one request to the account. A fault may hit it.
func (in *mirroring) step(ctx context.Context, s Step, request func(*account) error) error {
	call := in.call
	call.Step = s
	return in.p.faults.run(ctx, call, func() error {
		in.p.lock()
		defer in.p.mu.Unlock()
		return request(&in.p.account)
	})
}

// round reads the objects and makes the missing changes.
func (in *mirroring) round(ctx context.Context) (coupon.Mirror, error) {
	if err := in.refuseForeign(ctx); err != nil {
		return coupon.Mirror{}, err
	}
	objects, err := in.list(ctx)
	if err != nil {
		return coupon.Mirror{}, err
	}
	want := couponID(in.c)
	var current *Coupon
	for i, o := range objects {
		switch {
		case !o.Discount.Equal(in.c.Discount) || o.Currency != in.c.Currency:
			return coupon.Mirror{}, fmt.Errorf("%s: %w: %s mirrors other terms", in.call.Op, processor.ErrRejected, o.ID)
		case o.ID == want:
			current = &objects[i]
		default:
			if err := in.retire(ctx, o); err != nil {
				return coupon.Mirror{}, err
			}
		}
	}
	if err := in.show(ctx, current, want); err != nil {
		return coupon.Mirror{}, err
	}
	code, err := in.code(ctx, want)
	if err != nil {
		return coupon.Mirror{}, err
	}
	return coupon.Mirror{CouponID: want, PromotionCodeID: code, Revision: in.c.Revision}, nil
}

// wantActive reports whether the code should be active. A pending coupon is about to become active.
func (in *mirroring) wantActive() bool { return in.c.Active() || in.c.State == coupon.Pending }

// refuseForeign refuses the call if another application has the code. It runs before any object is
// made.
func (in *mirroring) refuseForeign(ctx context.Context) error {
	if !in.wantActive() || in.c.Code.IsZero() {
		return nil
	}
	return in.step(ctx, FindCode, func(a *account) error {
		if code, holder, ok := a.activeCode(in.c.Code.String()); ok && holder.Owner != in.c.ID {
			return fmt.Errorf("%s: %w: %s", in.call.Op, processor.ErrCodeTaken, code.ID)
		}
		return nil
	})
}

func (in *mirroring) list(ctx context.Context) (objects []Coupon, err error) {
	err = in.step(ctx, ListCoupons, func(a *account) error {
		objects = a.couponsOf(in.c.ID)
		return nil
	})
	return objects, err
}

// show creates the coupon object, or renames it.
func (in *mirroring) show(ctx context.Context, current *Coupon, id string) error {
	c := in.c
	switch {
	case current == nil:
		return in.step(ctx, CreateCoupon, func(a *account) error {
			return moved(a.createCoupon(Coupon{
				ID: id, Owner: c.ID, Name: c.Name, Discount: c.Discount,
				Currency: c.Currency, MaxUses: c.Limits.MaxUses, Revision: c.Revision,
			}))
		})
	case current.Name != c.Name || current.Revision != c.Revision:
		return in.step(ctx, RenameCoupon, func(a *account) error { return moved(a.renameCoupon(id, c.Name, c.Revision)) })
	}
	return nil
}

// code ensures that one promotion code has the wanted state, and that no other code is active. For a
// coupon without a code, none stays active.
func (in *mirroring) code(ctx context.Context, couponID string) (id string, err error) {
	codes, err := in.codes(ctx, couponID)
	if err != nil {
		return "", err
	}
	keep := in.choose(codes)
	for _, code := range codes {
		if code.Active && (code.ID != keep.ID || !in.wantActive()) {
			if err := in.deactivate(ctx, code.ID); err != nil {
				return "", err
			}
		}
	}
	switch {
	case in.c.Code.IsZero():
		return "", nil
	case keep.ID == "":
		return in.create(ctx, couponID)
	case in.wantActive() && !keep.Active:
		err = in.step(ctx, ActivateCode, func(a *account) error { return moved(a.activateCode(keep.ID)) })
	}
	return keep.ID, err
}

// choose returns the code to keep. It prefers an active code, then a code that can be activated. If the
// code should be inactive, any code will do.
func (in *mirroring) choose(codes []PromotionCode) PromotionCode {
	var best PromotionCode
	rank := 0
	for _, code := range codes {
		fits := 0
		switch {
		case in.c.Code.IsZero(), fold(code.Code) != fold(in.c.Code.String()):
		case code.Active:
			fits = 3
		case !code.Dead:
			fits = 2
		case !in.wantActive():
			fits = 1
		}
		if fits > rank {
			best, rank = code, fits
		}
	}
	return best
}

func (in *mirroring) codes(ctx context.Context, couponID string) (codes []PromotionCode, err error) {
	err = in.step(ctx, ListCodes, func(a *account) error {
		codes = a.codesOf(couponID)
		return nil
	})
	return codes, err
}

func (in *mirroring) create(ctx context.Context, couponID string) (id string, err error) {
	err = in.step(ctx, CreateCode, func(a *account) error {
		code, err := a.createCode(couponID, in.c.Code.String(), in.wantActive())
		id = code.ID
		return moved(err)
	})
	return id, err
}

func (in *mirroring) deactivate(ctx context.Context, codeID string) error {
	return in.step(ctx, DeactivateCode, func(a *account) error { return moved(a.deactivateCode(codeID)) })
}

// retire removes one of our objects from use.
func (in *mirroring) retire(ctx context.Context, o Coupon) error {
	codes, err := in.codes(ctx, o.ID)
	if err != nil {
		return err
	}
	for _, code := range codes {
		if code.Active {
			if err := in.deactivate(ctx, code.ID); err != nil {
				return err
			}
		}
	}
	return in.step(ctx, DeleteCoupon, func(a *account) error {
		if err := a.deleteCoupon(o.ID); !errors.Is(err, errGone) {
			return err
		}
		return nil
	})
}

// moved wraps every error of the account in errMoved: the objects have changed since they were read.
func moved(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return nil
}

// RemoveMirror implements [processor.Mirror].
func (p *Processor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	in := &mirroring{p: p, call: Call{Op: RemoveMirror, CouponID: c.ID}, c: c}
	return p.faults.run(ctx, in.call, func() error {
		if c.ID == "" {
			return fmt.Errorf("%s: %w: a coupon without an ID", RemoveMirror, processor.ErrRejected)
		}
		objects, err := in.list(ctx)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := in.retire(ctx, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// VerifyMirror implements [processor.Mirror].
func (p *Processor) VerifyMirror(ctx context.Context, c coupon.Coupon) (status processor.MirrorStatus, err error) {
	in := &mirroring{p: p, call: Call{Op: VerifyMirror, CouponID: c.ID}, c: c}
	err = p.faults.run(ctx, in.call, func() error {
		if !p.canMirror(c) {
			status = processor.MirrorUnsupported
			return nil
		}
		return in.step(ctx, ReadMirror, func(a *account) error {
			if status = a.status(c); status == processor.MirrorValid && p.ended(c) {
				status = processor.MirrorInvalid
			}
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	return status, nil
}

// ended reports whether the promotion code has expired with the coupon. Only a processor that mirrors
// the expiry ends codes.
func (p *Processor) ended(c coupon.Coupon) bool {
	return p.options.Abilities.MirrorsExpiry && !c.Code.IsZero() && !c.ExpiresAt.IsZero() && !p.options.Now().Before(c.ExpiresAt)
}

func (a *account) status(c coupon.Coupon) processor.MirrorStatus {
	object, code := a.coupons[c.Mirror.CouponID], a.codes[c.Mirror.PromotionCodeID]
	switch {
	case object == nil || object.Owner == "" || object.Owner != c.ID:
		return processor.MirrorMissing
	case c.Code.IsZero():
		return processor.MirrorValid
	case code == nil:
		return processor.MirrorMissing
	case !code.Active || code.CouponID != object.ID:
		return processor.MirrorInvalid
	}
	return processor.MirrorValid
}

// Mirrors implements [processor.MirrorLister]. The mirrors are sorted by ID.
func (p *Processor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return func(yield func(processor.MirrorRef, error) bool) {
		in := &mirroring{p: p, call: Call{Op: Mirrors}}
		var refs []processor.MirrorRef
		err := p.faults.run(ctx, in.call, func() error {
			return in.step(ctx, ListCoupons, func(a *account) error {
				refs = a.refs()
				return nil
			})
		})
		if err != nil {
			yield(processor.MirrorRef{}, err)
			return
		}
		for _, ref := range refs {
			if err := ctx.Err(); err != nil {
				yield(processor.MirrorRef{}, fmt.Errorf("%s: %w", Mirrors, err))
				return
			}
			if !yield(ref, nil) {
				return
			}
		}
	}
}

func (a *account) refs() []processor.MirrorRef {
	var refs []processor.MirrorRef
	for _, c := range a.sorted() {
		if c.Owner == "" {
			continue
		}
		ref := processor.MirrorRef{CouponID: c.Owner, Mirror: coupon.Mirror{CouponID: c.ID, Revision: c.Revision}}
		codes := a.codesOf(c.ID)
		if i := slices.IndexFunc(codes, func(code PromotionCode) bool { return code.Active }); i >= 0 {
			ref.Mirror.PromotionCodeID = codes[i].ID
		}
		refs = append(refs, ref)
	}
	return refs
}
