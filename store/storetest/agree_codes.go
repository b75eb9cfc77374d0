package storetest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// addCodes adds a batch to a coupon. It may repeat a batch, or use codes that coupons already have.
func (h *history) addCodes(t *rapid.T) {
	c := anyOf(t, h.coupons, coupon.Coupon{}, "coupon")
	change := h.issue(c, rapid.SampledFrom([]string{"spring", "summer", "autumn"}).Draw(t, "batch"), rapid.IntRange(1, 3).Draw(t, "count"),
		maxUses(rapid.Int64Range(0, 2).Draw(t, "maxUses")))
	if rapid.IntRange(0, 2).Draw(t, "import") == 0 {
		change.Kind = store.ImportCodes
	}
	if rapid.Bool().Draw(t, "part") {
		change.From, change.Size = rapid.Int64Range(0, 2).Draw(t, "from"), 5
	}
	if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
		change.Fingerprint = "second"
	}
	switch rapid.IntRange(0, 3).Draw(t, "like another") {
	case 0:
		change.Codes[0].Code = c.Code
	case 1:
		if known := anyOf(t, h.codes, coupon.IssuedCode{}, "code"); known.CouponID != "" {
			change.Codes[0].Code = known.Code
		}
	}
	if saved, err := h.saveCodes(change); err == nil && change.Kind == store.AddCodes {
		h.codes = append(h.codes, saved...)
	}
}

func (h *history) saveCodes(change store.CodeChange) ([]coupon.IssuedCode, error) {
	return compare(h, fmt.Sprintf("SaveCodes %+v", change), func(s store.Store) ([]coupon.IssuedCode, error) { return s.SaveCodes(h.Context(), change) })
}

// changeCode changes a code, at the revision read last or at another revision.
func (h *history) changeCode(t *rapid.T) {
	if len(h.codes) == 0 {
		t.Skip("no code yet")
	}
	i := rapid.IntRange(0, len(h.codes)-1).Draw(t, "code")
	change := editOf(h.codes[i], func(c *coupon.IssuedCode) {
		c.MaxUses, c.Active = rapid.Int64Range(0, 2).Draw(t, "maxUses"), rapid.Bool().Draw(t, "active")
		if rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
			c.Revision++
		}
	})
	if saved, err := h.saveCodes(change); err == nil {
		h.codes[i] = saved[0]
	}
}

// reserveByCode reserves a coupon by one of its codes.
func (h *history) reserveByCode(t *rapid.T) {
	if len(h.codes) == 0 {
		t.Skip("no code yet")
	}
	code := anyOf(t, h.codes, coupon.IssuedCode{}, "code")
	at := slices.IndexFunc(h.coupons, func(c coupon.Coupon) bool { return c.ID == code.CouponID })
	h.ask(byOf(h.checkout(h.customer(t), h.coupons[at]), code), "reserve by a code")
}

// changeBatch switches, removes or assigns codes of a batch. The codes may be of other batches.
func (h *history) changeBatch(t *rapid.T) {
	if len(h.codes) == 0 {
		t.Skip("no code yet")
	}
	change := store.CodeChange{
		Kind:   rapid.SampledFrom([]store.CodeChangeKind{store.SwitchCodes, store.RemoveCodes, store.AssignCodes}).Draw(t, "kind"),
		Active: rapid.Bool().Draw(t, "active"), By: "admin", At: at(600),
	}
	code := anyOf(t, h.codes, coupon.IssuedCode{}, "code")
	change.CouponID, change.Batch = code.CouponID, code.Batch
	if change.Kind == store.AssignCodes {
		for _, customer := range customers[:rapid.IntRange(1, len(customers)).Draw(t, "owners")] {
			change.Owners = append(change.Owners, coupon.OwnerID(customer))
		}
	}
	for _, other := range h.codes {
		if change.Kind != store.AssignCodes && other.CouponID == code.CouponID && rapid.Bool().Draw(t, "also") {
			change.Codes = append(change.Codes, other)
		}
	}
	if saved, err := h.saveCodes(change); err == nil {
		for i := range h.codes {
			if at := slices.IndexFunc(saved, func(c coupon.IssuedCode) bool { return c.CouponID == h.codes[i].CouponID && c.Code == h.codes[i].Code }); at >= 0 {
				h.codes[i] = saved[at]
			}
		}
	}
}
