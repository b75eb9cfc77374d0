package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// addCodes adds a batch to a coupon. Coupons draw from the same texts, so some codes are already taken.
func (w *world) addCodes() bool {
	s := w.shop()
	id, batch := w.anyCoupon(s), coupon.Batch{ID: []string{"spring", "summer"}[w.random.IntN(2)]}
	drafts := make([]coupon.CodeDraft, 1+w.random.IntN(3))
	for i := range drafts {
		drafts[i] = coupon.CodeDraft{Code: fmt.Sprintf("BATCH-%d-%d", i, w.random.IntN(4)), MaxUses: w.limit()}
		if w.odds(5) {
			drafts[i].Owner = coupon.OwnerEmail(email(w.customer(s).ID))
		}
	}
	return w.begin(s, "add codes", "an administrator adds "+fmt.Sprint(len(drafts))+" codes to "+id, func(ctx context.Context, t *task) error {
		codes, err := t.service.AddCodes(ctx, id, batch, drafts)
		t.then = func() {
			for i, c := range codes {
				w.must(AnswersAreTrue, c.Code.String() == drafts[i].Code && c.CouponID == id, "code %s of %s was added as %s of %s", drafts[i].Code, id, c.Code, c.CouponID)
				s.issued[id], s.issuedInOrder = append(s.issued[id], c.Code), append(s.issuedInOrder, c.Code)
			}
		}
		return err
	})
}

// changeCode switches a code, or changes its limit.
func (w *world) changeCode() bool {
	s := w.shop()
	if len(s.issuedInOrder) == 0 {
		return false
	}
	code, patch := recent(w, s.issuedInOrder, 4, 8), coupon.CodePatch{Active: coupon.Set(w.odds(2))}
	if w.odds(2) {
		patch.MaxUses = w.limit()
	}
	return w.begin(s, "change code", "an administrator changes "+code.String(), func(ctx context.Context, t *task) error {
		_, err := t.service.UpdateCode(ctx, code.String(), patch)
		return err
	})
}

// changeBatch switches, empties or assigns the codes of a batch.
func (w *world) changeBatch(s *shop) bool {
	w.coverage.count("step", "change batch", "")
	id, batch := w.anyCoupon(s), []string{"spring", "summer"}[w.random.IntN(2)]
	active, owner := w.odds(2), coupon.OwnerEmail(email(w.customer(s).ID))
	var change func(ctx context.Context, t *task) error
	var what string
	switch w.random.IntN(3) {
	case 0:
		what = fmt.Sprintf("switches the codes of %s (%v)", id, active)
		change = func(ctx context.Context, t *task) error {
			_, err := t.service.SetBatchActive(ctx, id, batch, active)
			return err
		}
	case 1:
		what = "removes unused codes of " + id
		change = func(ctx context.Context, t *task) error {
			_, err := t.service.RemoveUnusedCodes(ctx, id, batch)
			return err
		}
	default:
		what = "assigns a code of " + id + " to " + owner.String()
		change = func(ctx context.Context, t *task) error {
			for c, err := range t.service.AssignCodes(ctx, id, batch, slices.Values([]coupon.Owner{owner, owner})) {
				if err != nil {
					return err
				}
				w.must(AnswersAreTrue, c.Owner == owner && c.CouponID == id && c.Batch == batch, "%s was assigned code %+v", owner, c)
			}
			return nil
		}
	}
	return w.begin(s, "change batch", "an administrator "+what, change)
}

// added reports whether the store has the code of an order's coupon. An answer may have been lost, so
// that no answer named the code.
func (w *world) added(s *shop, of coupon.Snapshot) bool {
	found, err := store.Find(background(), s.eyes, store.LookUp{Names: store.ByCode(of.Code)})
	return err == nil && found.Code.CouponID == of.ID
}

// withoutExchanged returns the claims of a use, without the claims of a code that its points were
// exchanged with.
func withoutExchanged(u redemption.Use, want []eligibility.Claim) []eligibility.Claim {
	return slices.DeleteFunc(slices.Clone(u.Claims), func(c eligibility.Claim) bool {
		byCode := strings.HasPrefix(c.Counter, eligibility.CodeUses(u.CouponID, "")) || strings.HasPrefix(c.Counter, eligibility.BatchUses(u.CouponID, ""))
		return byCode && !slices.Contains(want, c) && u.Origin == redemption.FromPoints && u.OrderID != ""
	})
}

// codeClaims returns the claims of a new use on its code. The code must be usable.
func (w *world) codeClaims(s *shop, k coupon.Coupon, now redemption.Use) []eligibility.Claim {
	found, err := store.Find(background(), s.eyes, store.LookUp{Names: store.ByCode(now.Code)})
	code := found.Code
	w.must(OnlyActiveReserves, err == nil && code.CouponID == k.ID && code.Active && code.Owner.Is(now.CustomerID, email(now.CustomerID)),
		"%s was reserved of coupon %s by code %s, which is %+v (%v)", now.ID, k.ID, now.Code, code, err)
	return []eligibility.Claim{
		{Counter: eligibility.CodeUses(k.ID, now.Code.String()), Amount: 1, Limit: code.MaxUses},
		{Counter: eligibility.BatchUses(k.ID, code.Batch), Amount: 1},
	}
}
