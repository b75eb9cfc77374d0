package couponkit

import (
	"context"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/store"
)

// found is the coupon of a code, or why there is none.
type found struct {
	*store.Found
	code    string // as it was given
	refused error
}

// lookUp finds the coupons of codes, and what the customer has used of them, in one call of the store.
// A coupon that the customer cannot reach is unknown.
func (s *Service) lookUp(ctx context.Context, codes []string, c eligibility.Customer) ([]found, error) {
	by := store.LookUp{CustomerID: c.ID, Email: c.Email, Identities: identities(c)}
	all, ends := make([]found, len(codes)), make([]int, len(codes))
	var none store.Found
	for i, code := range codes {
		names, err := catalog.Names(code)
		all[i].Found, all[i].code, all[i].refused = &none, code, err
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
		if at := slices.IndexFunc(read, func(f *store.Found) bool { return f != nil && reachable(f) }); at >= 0 {
			if read[at].Unreadable != nil {
				return nil, read[at].Unreadable
			}
			all[i].Found = read[at]
		} else if all[i].refused == nil {
			all[i].refused = coupon.Reject("", coupon.CouponNotFound, coupon.Params{})
		}
	}
	return all, nil
}

// reachable reports whether customers may name the coupon as they did. They may use its ID only if the
// coupon has a plain code. An ID must not bypass the owner and the limit of a code from a batch.
func reachable(f *store.Found) bool {
	return f.Unreadable != nil || !f.Code.Key.IsZero() || !f.Coupon.Code.IsZero()
}

// name looks up what the codes name, in at most two calls of the store. A code that names no coupon
// is refused. So are codes that name the same coupon.
func (s *Service) name(
	ctx context.Context, d *decided, codes []string, c eligibility.Customer, check mirrors.Check, conflicts eligibility.ConflictPolicy,
) error {
	d.at, d.customer = s.now(), c
	all, err := s.lookUp(ctx, codes, c)
	if err != nil {
		return err
	}
	known := identities(c)
	d.named = make([]named, 0, len(all))
	for i := range all {
		f := &all[i]
		n, err := named{code: f.code, counted: counted{Found: f.Found}}, error(nil)
		if refused := coupon.RejectionsOf(f.refused); refused != nil {
			n.refused = &coupon.Rejection{Code: n.code, Reasons: slices.Clone(refused[0].Reasons)}
		} else if n, err = nameOf(f.code, f.Found, known, d.at); err != nil {
			return err
		}
		d.named = append(d.named, n)
	}
	if err := s.count(ctx, d); err != nil {
		return err
	}
	d.refuseSameCoupons(conflicts)
	for i := range d.named {
		if n := &d.named[i]; n.refused == nil {
			if n.mirror, err = check.Invalid(ctx, &n.Coupon, n.plain, d.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf is a code with its coupon. The coupon has the code by which it came.
func nameOf(code string, f *store.Found, identities []string, at time.Time) (named, error) {
	if err := f.Coupon.Validate(); err != nil {
		// No fault of the caller's input, and so no error that looks like one.
		return named{}, &store.UnreadableError{Kind: "coupon", ID: f.Coupon.ID, Reason: "its terms: " + err.Error()}
	}
	n := named{code: code, plain: f.Coupon.Code}
	if !f.Code.Key.IsZero() {
		f.Coupon.Code = f.Code.Key
	}
	n.counted = countedUses(f, identities, at)
	return n, nil
}

// refuseSameCoupons refuses codes that name one coupon: all of them, or with [eligibility.KeepFirst]
// the later ones. A code that is refused alone excludes no other code.
func (d *decided) refuseSameCoupons(conflicts eligibility.ConflictPolicy) {
	rivals := map[string][]int{}
	for i := range d.named {
		if n := &d.named[i]; n.refused == nil {
			rivals[n.Coupon.ID] = append(rivals[n.Coupon.ID], i)
		}
	}
	for _, same := range rivals {
		if len(same) < 2 {
			continue
		}
		same = slices.DeleteFunc(same, func(i int) bool {
			n := &d.named[i]
			if reasons := eligibility.CheckCode(n.Code, eligibility.Question{At: d.at, Customer: d.customer, Usage: n.usage(handOver{})}); reasons != nil {
				n.refused = &coupon.Rejection{CouponID: n.Coupon.ID, Code: n.code, Reasons: reasons}
			}
			return n.refused != nil
		})
		for at, i := range same {
			if len(same) < 2 || conflicts == eligibility.KeepFirst && at == 0 {
				continue
			}
			by := same[:1]
			if conflicts != eligibility.KeepFirst {
				by = slices.Delete(slices.Clone(same), at, at+1)
			}
			d.named[i].refused = d.excludedBy(i, by)
		}
	}
}

// excludedBy refuses a code because of others of the same coupon.
func (d *decided) excludedBy(i int, by []int) *coupon.Rejection {
	n := d.named[i]
	var keys []string
	for _, other := range by {
		keys = append(keys, d.named[other].Coupon.Code.String())
	}
	slices.Sort(keys)
	return &coupon.Rejection{CouponID: n.Coupon.ID, Code: n.code, Reasons: []coupon.Reason{
		{Code: coupon.NotCombinable, Params: coupon.Params{ExcludedBy: slices.Compact(keys)}},
	}}
}

// ask is name of one code.
func (s *Service) ask(ctx context.Context, code string, c eligibility.Customer, check mirrors.Check) (named, error) {
	var d decided
	if err := s.name(ctx, &d, []string{code}, c, check, 0); err != nil {
		return named{code: code}, err
	}
	n := d.named[0]
	if n.refused != nil {
		return n, &coupon.Rejection{Reasons: n.refused.Reasons}
	}
	return n, nil
}
