package fakeprocessor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// Coupons returns all coupon objects, including those of other applications, sorted by
// ID.
func (p *Processor) Coupons() []Coupon {
	p.lock()
	defer p.mu.Unlock()
	return p.account.sorted()
}

func (a *account) sorted() []Coupon {
	list := make([]Coupon, 0, len(a.coupons))
	for _, c := range a.coupons {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(x, y Coupon) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// PromotionCodes returns all promotion codes, in the order of creation.
func (p *Processor) PromotionCodes() []PromotionCode {
	p.lock()
	defer p.mu.Unlock()
	list := make([]PromotionCode, 0, len(p.account.codes))
	for _, code := range p.account.codes {
		list = append(list, *code)
	}
	slices.SortFunc(list, func(x, y PromotionCode) int {
		return cmp.Or(cmp.Compare(len(x.ID), len(y.ID)), cmp.Compare(x.ID, y.ID))
	})
	return list
}

// PlantForeignCode creates a coupon object with an active promotion code that belongs
// to another application. A code that is already active is [processor.ErrCodeTaken].
func (p *Processor) PlantForeignCode(code string) (coupon.Mirror, error) {
	p.lock()
	defer p.mu.Unlock()
	if _, _, taken := p.account.activeCode(code); taken {
		return coupon.Mirror{}, fmt.Errorf("plant %q: %w", code, processor.ErrCodeTaken)
	}
	p.account.foreign++
	object := Coupon{ID: fmt.Sprintf("foreign_%06d", p.account.foreign), Name: "Foreign " + code}
	if err := p.account.createCoupon(object); err != nil {
		return coupon.Mirror{}, fmt.Errorf("plant %q: %w", code, err)
	}
	made, err := p.account.createCode(object.ID, code, true)
	if err != nil {
		return coupon.Mirror{}, fmt.Errorf("plant %q: %w", code, err)
	}
	return coupon.Mirror{CouponID: object.ID, PromotionCodeID: made.ID}, nil
}

// TamperDeactivate deactivates the promotion code of a mirror, as staff at the
// processor would. It can be activated again. An unknown code is
// [processor.ErrNotFound].
func (p *Processor) TamperDeactivate(m coupon.Mirror) error {
	return p.tamper(func(a *account) error { return a.deactivateCode(m.PromotionCodeID) })
}

// TamperActivate activates the promotion code of a mirror, as staff at the processor
// would. An unknown code is [processor.ErrNotFound]. A code that cannot be activated is
// [processor.ErrRejected].
func (p *Processor) TamperActivate(m coupon.Mirror) error {
	return p.tamper(func(a *account) error { return a.activateCode(m.PromotionCodeID) })
}

// TamperKill deactivates the promotion code of a mirror forever. An unknown code is
// [processor.ErrNotFound].
func (p *Processor) TamperKill(m coupon.Mirror) error {
	return p.tamper(func(a *account) error {
		code, ok := a.codes[m.PromotionCodeID]
		if !ok {
			return errGone
		}
		a.kill(code)
		return nil
	})
}

// TamperDelete deletes the coupon object of a mirror, as staff at the processor would.
// Its promotion codes are deactivated forever. An unknown object is
// [processor.ErrNotFound].
func (p *Processor) TamperDelete(m coupon.Mirror) error {
	return p.tamper(func(a *account) error { return a.deleteCoupon(m.CouponID) })
}

func (p *Processor) tamper(change func(*account) error) error {
	p.lock()
	defer p.mu.Unlock()
	switch err := change(&p.account); {
	case err == nil:
		return nil
	case errors.Is(err, errGone):
		return fmt.Errorf("tamper: %w", processor.ErrNotFound)
	default:
		return fmt.Errorf("tamper: %w: %w", processor.ErrRejected, err)
	}
}
