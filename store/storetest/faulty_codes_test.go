package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// issues changes the request of each call of SaveCodes.
func (f *faulty) issues(change func(c *store.CodeChange)) {
	f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
		c = c.Normalize()
		change(&c)
		return f.Store.SaveCodes(ctx, c)
	}
}

// forgives hides an error of SaveCodes.
func (f *faulty) forgives(hidden error) {
	f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
		codes, err := f.Store.SaveCodes(ctx, c)
		if errors.Is(err, hidden) {
			return c.Codes, nil
		}
		return codes, err
	}
}

func codeFaults() map[string]fault {
	return map[string]fault{
		"codes lose their owners": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				found, err := f.Store.LookUp(ctx, by)
				for _, c := range known(found) {
					c.Code.Owner = coupon.Owner{}
				}
				return found, err
			}
		}, []string{"codes come back", "codes are changed"}},
		"one taken code is named": {func(f *faulty) {
			f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
				codes, err := f.Store.SaveCodes(ctx, c)
				if taken, is := errors.AsType[*coupon.TakenError](err); is {
					return nil, &coupon.TakenError{Taken: taken.Taken[:1]}
				}
				return codes, err
			}
		}, []string{"codes of all kinds are taken"}},
		"taken codes are added nowhere": {func(f *faulty) {
			f.forgives(coupon.ErrCodeTaken)
		}, []string{agreement, "codes of all kinds are taken", "race for a key", "race for the key of a deleted coupon"}},
		"every batch is the first one": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) {
				if c.Kind == store.AddCodes {
					c.Fingerprint = "always"
				}
			})
		}, []string{agreement, "a batch again"}},
		"every batch is another one": {func(f *faulty) {
			var calls atomic.Int64
			f.issues(func(c *store.CodeChange) {
				if c.Kind == store.AddCodes && c.Fingerprint != "" {
					c.Fingerprint = fmt.Sprint(calls.Add(1))
				}
			})
		}, []string{agreement, "a batch again", "race of one batch"}},
		"codes cannot be switched off": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) {
				for i := range c.Codes {
					c.Codes[i].Active = true
				}
			})
		}, []string{agreement, "codes are changed", "a code is switched off among reservations"}},
		"codes of no coupon are added nowhere": {func(f *faulty) {
			f.forgives(coupon.ErrNotFound)
		}, []string{"codes of no coupon", "changes of no batch"}},
		"lists know no owners": {func(f *faulty) {
			f.codes = func(ctx context.Context, list store.CodeList) (store.CodePage, error) {
				list.Owner = coupon.Owner{}
				return f.Store.ListCodes(ctx, list)
			}
		}, []string{"codes are listed"}},
		"a search knows no codes": {func(f *faulty) {
			f.coupons = func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := f.Store.ListCoupons(ctx, list)
				page.Items = slices.DeleteFunc(page.Items, func(c coupon.Coupon) bool {
					return !strings.Contains(store.Fold(c.Name+" "+c.Code.String()+" "+c.Description), store.Fold(list.Search))
				})
				return page, err
			}
		}, []string{"a search finds codes"}},
		"codes have no limit": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := range r.Uses {
					for j := range r.Uses[i].Claims {
						if claim := &r.Uses[i].Claims[j]; strings.Contains(claim.Counter, "by-code") {
							claim.Limit = 0
						}
					}
				}
			})
		}, []string{"uses by a code", "race for the last uses of a code"}},
		"a code belongs to one coupon for ever": {func(f *faulty) {
			var mu sync.Mutex
			had := map[coupon.Code]string{}
			f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
				mu.Lock()
				defer mu.Unlock()
				for i, code := range c.Codes {
					if holder := had[code.Code]; holder != "" && holder != c.CouponID {
						return nil, &coupon.TakenError{Taken: []coupon.TakenCode{{Index: i, Key: code.Code, CouponID: holder}}}
					}
				}
				codes, err := f.Store.SaveCodes(ctx, c)
				for _, code := range codes {
					had[code.Code] = c.CouponID
				}
				return codes, err
			}
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				mu.Lock()
				holder := had[c.Coupon.Code]
				mu.Unlock()
				if c.Kind == store.CreateCoupon && holder != "" {
					return coupon.Coupon{}, coupon.Reject(holder, coupon.CodeTaken, coupon.Params{})
				}
				return f.Store.SaveCoupon(ctx, c)
			}
		}, []string{"a code is free after a deletion", "a coupon is deleted among reservations by a code", "race for the key of a deleted coupon"}},
		"a key that a deletion frees goes to several coupons": {func(f *faulty) {
			var waiting atomic.Int64
			until := func(done func() bool) {
				for tries := 0; !done() && tries < 200; tries++ {
					time.Sleep(5 * time.Millisecond)
				}
			}
			holder := func(ctx context.Context, key coupon.Code) string {
				found, _ := store.Find(ctx, f.Store, store.LookUp{Names: store.ByCode(key)})
				return found.Coupon.ID
			}
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				if c.Kind == store.DeleteCoupon {
					until(func() bool { return waiting.Load() > 1 })
					return f.Store.SaveCoupon(ctx, c)
				}
				before := holder(ctx, c.Coupon.Code)
				if before != "" {
					waiting.Add(1)
					until(func() bool { return holder(ctx, c.Coupon.Code) != before })
				}
				saved, err := f.Store.SaveCoupon(ctx, c)
				if before != "" && errors.Is(err, coupon.ErrCodeTaken) { // the deletion has freed it, and nobody looks again
					return c.Coupon, nil
				}
				return saved, err
			}
		}, []string{"race for the key of a deleted coupon"}},
		"an expired batch is new": {func(f *faulty) {
			f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
				if err := coupon.ExpiredCodes(c.Codes); err != nil && c.Kind == store.AddCodes {
					return nil, err
				}
				return f.Store.SaveCodes(ctx, c)
			}
		}, []string{"a batch again after its expiry"}},
		"new codes may have expired": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) {
				for i := range c.Codes {
					if c.Kind == store.AddCodes && !c.Codes[i].ExpiresAt.IsZero() {
						c.Codes[i].CreatedAt = c.Codes[i].ExpiresAt.Add(-time.Second)
					}
				}
			})
		}, []string{"a batch again after its expiry"}},
		"one coupon has no code": {func(f *faulty) {
			var without atomic.Int64
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				if c.Kind == store.CreateCoupon && c.Coupon.Code.IsZero() && without.Add(1) > 1 {
					return coupon.Coupon{}, coupon.Reject("cpn_other", coupon.CodeTaken, coupon.Params{})
				}
				return f.Store.SaveCoupon(ctx, c)
			}
		}, []string{"coupons without a code"}},
		"a part of a deletion is all of it": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if errors.Is(err, store.ErrCodesLeft) {
					err = nil
				}
				return saved, err
			}
		}, []string{"many codes are deleted in portions"}},
		"a code that is added twice is added once": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) {
				seen := map[coupon.Code]bool{}
				var codes []coupon.IssuedCode
				for _, code := range c.Codes {
					if !seen[code.Code] {
						codes = append(codes, code)
					}
					seen[code.Code] = true
				}
				c.Codes = codes
			})
		}, []string{"invalid codes"}},
	}
}
