package stripeprocessor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

const (
	opMirror = "mirror coupon"
	opRemove = "remove mirror"
)

// EnsureMirror implements [processor.Mirror]. A coupon that [Processor.CheckCoupon]
// refuses is an [ErrInvalid] around a *validation.Error. For a coupon that Stripe cannot
// express, the mirror is unsupported; see [Processor.CanMirror]. No call is made in both cases.
func (p *Processor) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return p.converge(ctx, c)
}

// UpdateMirror implements [processor.Mirror].
//
//   - Name and metadata are changed in place.
//   - A new limit of uses replaces the Stripe coupon and the promotion code.
//   - A new expiry replaces the promotion code, if the expiry is mirrored.
//   - Objects with another code, discount or currency are replaced. If one of them has
//     the ID of the new object, the error is [ErrConflict].
func (p *Processor) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return p.converge(ctx, c)
}

// SetMirrorActive implements [processor.Mirror]. A promotion code that Stripe cannot
// activate again is replaced, together with its coupon if necessary.
func (p *Processor) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return p.converge(ctx, c)
}

// maxRounds bounds how often a call starts again because other calls changed the same objects.
const maxRounds = 4

// errMoved means that the objects changed after they were read.
var errMoved = errors.New("changed by somebody else meanwhile")

// converge makes the mirror show the coupon. It handles every state that other people or earlier calls
// may have left at Stripe.
func (p *Processor) converge(ctx context.Context, c coupon.Coupon) (m coupon.Mirror, err error) {
	fault := p.CheckCoupon(c)
	switch {
	case p.CanMirror(c):
	case ctx.Err() != nil:
		return coupon.Mirror{}, ended(opMirror, ctx.Err())
	case fault == nil:
		return coupon.Mirror{Revision: c.Revision, Unsupported: true}, nil
	}
	want := p.termsOf(c)
	if fault != nil && (want.active || c.Mirror.IsZero()) {
		return coupon.Mirror{}, refused(opMirror, ErrInvalid, fault)
	}
	for range maxRounds {
		m, err = p.round(ctx, want, fault)
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if errors.Is(err, errMoved) {
		// Keep only the text, so that callers do not match the error of an inner call.
		return coupon.Mirror{}, refused(opMirror, processor.ErrUnavailable, errors.New(err.Error()))
	}
	if err != nil {
		return coupon.Mirror{}, err
	}
	return m, nil
}

func (p *Processor) round(ctx context.Context, want terms, fault error) (coupon.Mirror, error) {
	found, err := p.survey(ctx, want.coupon)
	if err != nil {
		return coupon.Mirror{}, err
	}
	switch {
	case want.active && found.foreign != nil:
		return coupon.Mirror{}, codeTaken(found.foreign)
	case !want.active:
		// First deactivate the code. Then nobody can use it, even if a later call fails.
		if err := p.deactivate(ctx, found.ours, ""); err != nil {
			return coupon.Mirror{}, err
		}
	}
	if fault != nil {
		return coupon.Mirror{}, refused(opMirror, ErrInvalid, fault)
	}
	object, err := p.target(ctx, want, found)
	if err != nil {
		return coupon.Mirror{}, err
	}
	code, err := p.code(ctx, want, object.ID, found)
	if err != nil {
		return coupon.Mirror{}, p.undo(ctx, err, want.coupon, object.ID, found)
	}
	if err := p.retire(ctx, want.coupon, object.ID, found, want.coupon.Revision-1); err != nil {
		return coupon.Mirror{}, err
	}
	return coupon.Mirror{CouponID: object.ID, PromotionCodeID: code, Revision: want.coupon.Revision}, nil
}

func codeTaken(holder *stripe.PromotionCode) error {
	return refused(opMirror, processor.ErrCodeTaken, fmt.Errorf("promotion code %s has it", holder.ID))
}

// undo removes a coupon whose promotion code Stripe refuses for good. It keeps the coupon if another
// call has made a promotion code for it meanwhile.
func (p *Processor) undo(ctx context.Context, cause error, c coupon.Coupon, couponID string, found survey) error {
	final := refusal(cause) && !errors.Is(cause, errMoved) || errors.Is(cause, processor.ErrForbidden)
	if !final || slices.Contains(candidates(c, found), couponID) {
		return cause
	}
	if now, err := p.survey(ctx, c); err != nil || slices.Contains(candidates(c, now), couponID) {
		return cause
	}
	if err := p.deleteCoupon(ctx, couponID); err != nil {
		if failure, ok := errors.AsType[*Error](cause); ok {
			failure.Orphan = couponID
		}
	}
	return cause
}

// survey has the objects at Stripe for one coupon. For a coupon with a code, these are all promotion
// codes with that code, and their Stripe coupons. For a coupon without a code, these are the promotion
// codes of its mirror.
type survey struct {
	ours    []*stripe.PromotionCode
	foreign *stripe.PromotionCode // active code of another application
}

// has reports whether the survey found our promotion code with this ID.
func (s survey) has(id string) bool {
	return slices.ContainsFunc(s.ours, func(code *stripe.PromotionCode) bool { return code.ID == id })
}

func (p *Processor) survey(ctx context.Context, c coupon.Coupon) (survey, error) {
	var found survey
	by := stripe.PromotionCodeListParams{Code: stripe.String(c.Code.String())}
	switch {
	case !c.Code.IsZero():
	case c.Mirror.CouponID != "":
		by = stripe.PromotionCodeListParams{Coupon: stripe.String(c.Mirror.CouponID)}
	default:
		return found, nil
	}
	for code, err := range p.codes(ctx, by) {
		switch {
		case c.Code.IsZero() && errors.Is(err, processor.ErrNotFound):
			return found, nil
		case err != nil:
			return survey{}, err
		case !c.Code.IsZero() && !strings.EqualFold(code.Code, c.Code.String()):
		case p.owns(code.Metadata, c.ID):
			found.ours = append(found.ours, code)
		case code.Active:
			found.foreign = code
		}
	}
	return found, nil
}

// object returns the coupon of a promotion code and its ID. The coupon is nil if the answer had only
// the ID.
func object(code *stripe.PromotionCode) (full *stripe.Coupon, id string) {
	if code.Promotion == nil || code.Promotion.Coupon == nil {
		return nil, ""
	}
	found := code.Promotion.Coupon
	if found.Object == "" && !found.Deleted {
		return nil, found.ID
	}
	return found, found.ID
}

// deactivate switches off all active codes except keep.
func (p *Processor) deactivate(ctx context.Context, codes []*stripe.PromotionCode, keep string) error {
	for _, code := range codes {
		if !code.Active || code.ID == keep {
			continue
		}
		if err := p.activateCode(ctx, code.ID, false); err != nil && !errors.Is(err, processor.ErrNotFound) {
			return err
		}
		code.Active = false
	}
	return nil
}

// target returns the Stripe coupon that mirrors the terms. It prefers the coupon in use, then a coupon
// of an earlier call. If neither fits, it makes a new coupon.
func (p *Processor) target(ctx context.Context, want terms, found survey) (*stripe.Coupon, error) {
	for _, id := range candidates(want.coupon, found) {
		there, err := p.known(ctx, id, found)
		switch {
		case errors.Is(err, processor.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case !p.adoptable(want, there):
			continue
		}
		return p.refresh(ctx, want, there)
	}
	return p.make(ctx, want)
}

// candidates returns the IDs of the coupons that may be in use, most likely first.
func candidates(c coupon.Coupon, found survey) []string {
	var ids []string
	if c.Mirror.CouponID != "" {
		ids = append(ids, c.Mirror.CouponID)
	}
	for _, active := range [...]bool{true, false} {
		for _, code := range found.ours {
			if _, id := object(code); code.Active == active && id != "" && id != c.Mirror.CouponID {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// known returns a coupon from the survey, or reads it. It reads a coupon that the survey shows as
// deleted, because another object may have the same ID by now.
func (p *Processor) known(ctx context.Context, id string, found survey) (*stripe.Coupon, error) {
	for _, code := range found.ours {
		if full, of := object(code); of == id && full != nil && !full.Deleted {
			return full, nil
		}
	}
	return p.readCoupon(ctx, id)
}

// refresh updates name and metadata.
func (p *Processor) refresh(ctx context.Context, want terms, there *stripe.Coupon) (*stripe.Coupon, error) {
	if want.shows(there) {
		return there, nil
	}
	changed, err := p.updateCoupon(ctx, there.ID, want.updateParams())
	if errors.Is(err, processor.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", errMoved, err)
	}
	return changed, err
}

// make creates the coupon under its derived ID, or adopts the existing coupon. If the existing coupon
// is ours but deleted or has other limits, make tries the next ID.
func (p *Processor) make(ctx context.Context, want terms) (*stripe.Coupon, error) {
	for try := 1; try <= maxTries; try++ {
		id := p.mirrorID(want.coupon.ID, want.coupon.Revision, try)
		made, err := p.createCoupon(ctx, want.createParams(id), func(ctx context.Context) (bool, error) {
			there, err := p.readCoupon(ctx, id)
			if errors.Is(err, processor.ErrNotFound) {
				return false, nil
			}
			return err == nil && p.adoptable(want, there), err
		})
		if err == nil && made.ID == id {
			return made, nil
		}
		if err != nil && !errors.Is(err, ErrConflict) {
			return nil, err
		}
		there, err := p.adopt(ctx, want, id, err)
		if err != nil || there != nil {
			return there, err
		}
	}
	return nil, refused(opCreateCoupon, ErrConflict, errors.New("too many dead objects of this coupon"))
}

func (p *Processor) adoptable(want terms, there *stripe.Coupon) bool {
	return p.owns(there.Metadata, want.coupon.ID) && want.fits(there)
}

// adopt checks the object with the derived ID. It returns nil without an error if the object is ours
// but cannot be used.
func (p *Processor) adopt(ctx context.Context, want terms, id string, cause error) (*stripe.Coupon, error) {
	there, err := p.readCoupon(ctx, id)
	switch {
	case errors.Is(err, processor.ErrNotFound):
		return nil, nil //nolint:nilnil // there, Stripe says when asked to create, and not there when asked to read
	case err != nil:
		return nil, err
	case !p.owns(there.Metadata, want.coupon.ID):
		return nil, refused(opCreateCoupon, ErrConflict, fmt.Errorf("%s is somebody else's: %w", id, orNoAnswer(cause)))
	case !want.sameDiscount(there):
		return nil, refused(opCreateCoupon, ErrConflict, fmt.Errorf("%s has another discount: %w", id, orNoAnswer(cause)))
	case !want.fits(there):
		return nil, nil //nolint:nilnil // ours, and dead or of other limits
	}
	return p.refresh(ctx, want, there)
}

func orNoAnswer(cause error) error {
	if cause == nil {
		return errors.New("found after a failure")
	}
	return cause
}

// code ensures that one promotion code of the coupon has the wanted state, and that no other code of
// ours is active. For a coupon without a code, it deactivates all.
func (p *Processor) code(ctx context.Context, want terms, couponID string, found survey) (string, error) {
	if want.code == "" {
		return "", p.deactivate(ctx, found.ours, "")
	}
	usable := want.codesOn(couponID, found.ours)
	keep := ""
	if len(usable) > 0 && usable[0].Active {
		keep = usable[0].ID
	}
	if err := p.deactivate(ctx, found.ours, keep); err != nil {
		return "", err
	}
	switch {
	case keep != "":
		return keep, nil
	case len(usable) > 0 && !want.active:
		return usable[0].ID, nil
	case want.active:
		for _, code := range usable {
			// Stripe refuses a code that can never be active again. Try the next.
			err := p.activateCode(ctx, code.ID, true)
			if err == nil || !refusal(err) {
				return code.ID, err
			}
		}
	}
	return p.newCode(ctx, want, couponID, found)
}

// codesOn returns our promotion codes on the coupon that can still be used. The active code comes
// first, then the recorded code.
func (t terms) codesOn(couponID string, ours []*stripe.PromotionCode) []*stripe.PromotionCode {
	var usable []*stripe.PromotionCode
	for _, code := range ours {
		if _, of := object(code); of != couponID || code.ExpiresAt != t.expiresAt {
			continue
		}
		if code.Active || code.ID == t.coupon.Mirror.PromotionCodeID && (len(usable) == 0 || !usable[0].Active) {
			usable = append([]*stripe.PromotionCode{code}, usable...)
		} else {
			usable = append(usable, code)
		}
	}
	return usable
}

func (p *Processor) newCode(ctx context.Context, want terms, couponID string, found survey) (string, error) {
	params := &stripe.PromotionCodeCreateParams{
		Promotion: &stripe.PromotionCodeCreatePromotionParams{
			Type: stripe.String(string(stripe.PromotionCodePromotionTypeCoupon)), Coupon: stripe.String(couponID),
		},
		Code: stripe.String(want.code), Active: new(want.active), Metadata: want.codeMetadata(),
	}
	if want.expiresAt > 0 {
		params.ExpiresAt = new(want.expiresAt)
	}
	adopted := ""
	made, err := p.createCode(ctx, params, func(ctx context.Context) (done bool, err error) {
		adopted, err = p.sought(ctx, want, couponID)
		return adopted != "", err
	})
	switch {
	case adopted != "":
		return adopted, nil
	case err == nil:
		return made.ID, nil
	case !refusal(err):
		return "", err
	}
	return "", p.whyRefused(ctx, want, err, found)
}

// sought finds the promotion code of a call with an unknown outcome.
func (p *Processor) sought(ctx context.Context, want terms, couponID string) (string, error) {
	found, err := p.survey(ctx, want.coupon)
	if err != nil {
		return "", err
	}
	for _, code := range want.codesOn(couponID, found.ours) {
		if code.Active == want.active {
			return code.ID, nil
		}
	}
	return "", nil
}

// whyRefused reads the codes again, because Stripe's answer does not give the reason. It returns an
// error for a code that somebody else has taken. It returns errMoved if another call of ours made or
// activated a code, or if the coupon is gone. Otherwise it returns the refusal.
func (p *Processor) whyRefused(ctx context.Context, want terms, refusal error, before survey) error {
	found, err := p.survey(ctx, want.coupon)
	if err != nil {
		return err
	}
	if found.foreign != nil {
		return codeTaken(found.foreign)
	}
	for _, code := range found.ours {
		if code.Active || !before.has(code.ID) {
			return fmt.Errorf("%w: %w", errMoved, refusal)
		}
	}
	if errors.Is(refusal, processor.ErrNotFound) {
		return fmt.Errorf("%w: %w", errMoved, refusal)
	}
	return refusal
}
