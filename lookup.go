package couponkit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// readings returns the names by which a code of a request is looked up. The first name that a coupon
// has is the right one (contract section 4.2). The code that reads like an ID is tried too, because
// its letters may have been typed in lower case. So is the generated code whose symbols were confused.
// Text that cannot be a code is refused.
func readings(typed string) (names []store.Name, err error) {
	if id := strings.TrimSpace(typed); coupon.IsID(id) {
		names = store.ByID(id)
	}
	code, err := coupon.TypedCode(typed)
	var fault *pricing.ValidationError
	switch {
	case err == nil:
		names = append(names, store.Name{Code: code})
		if generated, is := code.AsGenerated(); is && generated != code {
			names = append(names, store.Name{Code: generated})
		}
		return names, nil
	case len(names) > 0:
		return names, nil
	case errors.As(err, &fault) && fault.Fields[0].Code == pricing.FieldRequired:
		return nil, coupon.Reject("", coupon.CodeRequired, coupon.Params{})
	default:
		return nil, unknownCode()
	}
}

func unknownCode() error { return coupon.Reject("", coupon.CouponNotFound, coupon.Params{}) }

// found is the coupon of a code, or why there is none.
type found struct {
	store.Found
	refused error
}

// lookUp finds the coupons of codes, and what the customer has used of them, in one call of the store.
func (s *Service) lookUp(ctx context.Context, codes []string, c eligibility.Customer) ([]found, error) {
	by := store.LookUp{CustomerID: c.ID, Email: c.Email, Identities: identities(c)}
	all, ends := make([]found, len(codes)), make([]int, len(codes))
	for i, code := range codes {
		names, err := readings(code)
		all[i].refused = err
		by.Names = append(by.Names, names...)
		ends[i] = len(by.Names)
	}
	if len(by.Names) == 0 {
		return all, nil
	}
	answer, err := s.store.LookUp(ctx, by)
	if err != nil {
		return nil, err
	}
	begin := 0
	for i, end := range ends {
		read := answer.Coupons[begin:end]
		begin = end
		if at := slices.IndexFunc(read, func(f store.Found) bool { return f.Coupon.ID != "" }); at >= 0 {
			if read[at].Unreadable != nil {
				return nil, read[at].Unreadable
			}
			all[i].Found = read[at]
		} else if all[i].refused == nil {
			all[i].refused = unknownCode()
		}
	}
	return all, nil
}

// findCode finds the coupon of one code, for nobody in particular.
func (s *Service) findCode(ctx context.Context, code string) (store.Found, error) {
	all, err := s.lookUp(ctx, []string{code}, eligibility.Customer{})
	if err != nil {
		return store.Found{}, err
	}
	return all[0].Found, all[0].refused
}

// name looks up what the codes name, in at most two calls of the store. A code that names no coupon
// is refused.
func (s *Service) name(ctx context.Context, d *decided, codes []string, c eligibility.Customer, check mirrorCheck) error {
	d.at, d.customer = s.now(), c
	all, err := s.lookUp(ctx, codes, c)
	if err != nil {
		return err
	}
	var faults pricing.ValidationError
	for i, f := range all {
		n := named{code: codes[i]}
		if refused := coupon.RejectionsOf(f.refused); refused != nil {
			n.refused = &coupon.Rejection{Code: n.code, Reasons: slices.Clone(refused[0].Reasons)}
		} else {
			if err := f.Coupon.Validate(); err != nil {
				// No fault of the caller's input, and so no error that looks like one.
				return &store.UnreadableError{Kind: "coupon", ID: f.Coupon.ID, Reason: "its terms: " + err.Error()}
			}
			n.counted = countedUses(f.Found, identities(c), d.at)
		}
		first := slices.IndexFunc(d.named, func(m named) bool { return n.refused == nil && m.Coupon.ID == n.Coupon.ID })
		if first >= 0 {
			twice(&faults, i, first)
		}
		d.named = append(d.named, n)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := s.count(ctx, d); err != nil {
		return err
	}
	for i := range d.named {
		if n := &d.named[i]; n.refused == nil {
			if n.mirror, err = s.mirrorInvalid(ctx, n.Coupon, d.at, check); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask is name of one code.
func (s *Service) ask(ctx context.Context, code string, c eligibility.Customer, check mirrorCheck) (named, error) {
	var d decided
	if err := s.name(ctx, &d, []string{code}, c, check); err != nil {
		return named{code: code}, err
	}
	n := d.named[0]
	if n.refused != nil {
		return n, &coupon.Rejection{Reasons: n.refused.Reasons}
	}
	return n, nil
}
