package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func createClauses() []clause {
	return []clause{
		{"create keeps every field", "values that go in come out the same: amounts and percentages exactly, instants to the microsecond, lists in their order", createKeepsEveryField},
		{"create begins at zero", "CreateCoupon stores a new coupon with its counts at 0, whatever they are in c", createBeginsAtZero},
		{"codes are unique", "a code that another coupon has, in whatever state, is coupon.ErrCodeTaken, in the name of the one that is refused", codesAreUnique},
		{"codes are unique in a race", "of concurrent calls with one code exactly one succeeds", codesAreUniqueInARace},
		{"codes are compared by byte", "text is compared byte by byte, case-sensitively; a coupon's code arrives as its normalised key", codesAreComparedByByte},
		{"coupon IDs are unique", "an ID that exists already is ErrConflict; where its code is taken as well, it is coupon.ErrCodeTaken", couponIDsAreUnique},
		{"malformed coupons are refused", "a coupon that does not validate, or whose allow-list is narrowed, is pricing.ErrInvalid, and a call that returns an error has changed nothing", malformedCouponsAreRefused},
		{"deleted codes are free", "DeleteCoupon removes the coupon; its redemptions and orders stay, and its code may be used again", deletedCodesAreFree},
		{"the ID of a deleted coupon", "the ID of a coupon that is gone, or never was, and that has redemptions is ErrConflict, for they would count for the new one", deletedIDs},
		{"delete needs the revision", "DeleteCoupon removes the coupon when its revision is still the given one; otherwise it is ErrStaleRevision, or coupon.ErrNotFound", deleteNeedsTheRevision},
	}
}

// sampled returns coupons of every kind, those included whose figures and texts are
// at the bounds.
func (p *probe) sampled(count int) []coupon.Coupon {
	p.Helper()
	var all []coupon.Coupon
	seen := map[coupon.Code]bool{}
	for seed := range count {
		c := coupontest.Coupon().Example(seed)
		if seen[c.Code] {
			continue
		}
		seen[c.Code] = true
		c.ID = fmt.Sprintf("cpn_sample%d", seed)
		all = append(all, c)
	}
	return append(all, p.extremes()...)
}

func (p *probe) extremes() []coupon.Coupon {
	p.Helper()
	amount := func(code string, minor int64) terms {
		return func(c *coupon.Coupon) {
			currency, err := pricing.ParseCurrency(code)
			p.own(err)
			c.Currency = currency
			c.Discount, err = pricing.AmountOff(pricing.NewMoney(minor, currency))
			p.own(err)
			c.MinPurchase = minor
		}
	}
	percent := func(text string) terms {
		return func(c *coupon.Coupon) {
			off, err := pricing.ParsePercent(text)
			p.own(err)
			c.Discount = pricing.PercentOff(off)
		}
	}
	addresses := make([]string, 1_500)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("user%d@example.org", (i*7919)%len(addresses))
	}
	emails, err := coupon.NewEmailSet(addresses...)
	p.own(err)
	micro := time.Date(2026, time.November, 20, 23, 59, 59, 999_999_000, time.UTC)
	return []coupon.Coupon{
		p.draft(amount("JPY", 1)), p.draft(amount("KWD", 1_001)), p.draft(amount("EUR", 1<<53+1)),
		p.draft(amount("EUR", math.MaxInt64)), p.draft(amount("CLF", 12_345)),
		p.draft(percent("0.0001")), p.draft(percent("33.3333")), p.draft(percent("99.9999")), p.draft(percent("100")),
		p.draft(limits(math.MaxInt64, math.MaxInt64), func(c *coupon.Coupon) { c.Revision = math.MaxInt64 - 1 }),
		p.draft(forPoints, func(c *coupon.Coupon) { c.PointsRequired = coupon.MaxPointsRequired }),
		p.draft(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails }),
		p.draft(func(c *coupon.Coupon) { c.StartsAt, c.ExpiresAt = micro, micro.Add(time.Microsecond) }),
		p.draft(func(c *coupon.Coupon) {
			c.StartsAt = time.Date(1, time.January, 1, 0, 0, 0, 1_000, time.UTC)
			c.ExpiresAt = time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC)
		}),
		p.draft(func(c *coupon.Coupon) {
			c.Name = strings.Repeat("𝄞", coupon.MaxNameLength)
			c.Description = strings.Repeat("é\n", coupon.MaxDescriptionLength/2)
			c.Code = p.code(strings.Repeat("夏", coupon.MaxCodeLength))
		}),
		p.draft(func(c *coupon.Coupon) {
			c.Scope = coupon.Scope{
				AppliesTo: coupon.Specific, Plans: coupon.NewItems("b", "a", "A", "a "),
				Devices: coupon.NewItems("'", `"`, `\`, "%"), Accessories: coupon.NewItems("é", "e\u0301"),
			}
		}),
	}
}

// uncounted is what is stored of a new coupon.
func uncounted(c coupon.Coupon) coupon.Coupon {
	c.UsedCount, c.ReservedCount = 0, 0
	return c
}

func createKeepsEveryField(p *probe) {
	for _, c := range p.sampled(25) {
		p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon of %+v", c)
		got, err := p.s.Coupon(p.Context(), c.ID)
		p.ok(err, "Coupon")
		same(p, got, uncounted(c), "the coupon")
	}
}

func createBeginsAtZero(p *probe) {
	c := p.coupon(func(c *coupon.Coupon) { c.UsedCount, c.ReservedCount = 41, 7 })
	p.counts(c.ID, 0, 0)
	found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID})
	p.ok(err, "LookUp")
	same(p, found, store.Found{Coupon: uncounted(c)}, "what LookUp finds of a new coupon")
}

func codesAreUnique(p *probe) {
	for _, state := range []coupon.State{coupon.Pending, coupon.Active, coupon.Inactive, coupon.Deleting} {
		first := p.coupon(inState(state))
		second := p.draft(coded(first.Code))
		err := p.s.CreateCoupon(p.Context(), second)
		p.fails(err, coupon.ErrCodeTaken, "CreateCoupon with the code of a coupon that is %s", state)
		if rejection := (*coupon.Rejection)(nil); errors.As(err, &rejection) && rejection.CouponID != second.ID {
			p.broken("CreateCoupon of %s is refused in the name of %s", second.ID, rejection.CouponID)
		}
		_, err = p.s.Coupon(p.Context(), second.ID)
		p.fails(err, coupon.ErrNotFound, "Coupon of the one that was refused")
		got, err := p.s.Coupon(p.Context(), first.ID)
		p.ok(err, "Coupon")
		same(p, got, first, "the coupon that had the code")
	}
}

func codesAreUniqueInARace(p *probe) {
	all := make([]coupon.Coupon, p.can.Goroutines)
	for i := range all {
		all[i] = p.draft(coded(p.code("RACE")))
	}
	errs := p.together(len(all), func(ctx context.Context, s store.Store, i int) error { return s.CreateCoupon(ctx, all[i]) })
	if n := p.succeeded(errs, coupon.ErrCodeTaken, "CreateCoupon"); n != 1 {
		p.broken("of %d calls %d succeeded", len(all), n)
	}
	for i, c := range all {
		got, err := p.s.Coupon(p.Context(), c.ID)
		if errs[i] == nil {
			p.ok(err, "Coupon of the one that was created")
			same(p, got, c, "the coupon that was created")
		} else {
			p.fails(err, coupon.ErrNotFound, "Coupon of one that was refused")
		}
	}
}

// alike are codes that a database may take for one, and are not.
func (p *probe) alike() []coupon.Code {
	p.Helper()
	texts := []string{
		"STRASSE", "STRASE", "RESUME", "RÉSUMÉ", "INDIRIM", "ÍNDIRIM", "A", "Å", "Ä", "AE", "Æ", "О", "O", "0",
		"X", "X.", "X%", "X_", "X'", `X\`, "1", "01", "ΣΑΣ", "ΣΆΣ", "ガ", "カ", "う", "ウ", "👍", "👎", "Đ", "D", "1E2", "100",
	}
	codes := make([]coupon.Code, len(texts))
	for i, text := range texts {
		codes[i] = p.code(text)
		if codes[i].String() != text {
			p.Fatalf("storetest: %q is not its own key", text)
		}
	}
	return codes
}

func codesAreComparedByByte(p *probe) {
	for _, code := range p.alike() {
		_, err := p.s.LookUp(p.Context(), store.LookUp{Code: code})
		p.fails(err, coupon.ErrNotFound, "LookUp of the code %q, which is not created yet", code)
		c := p.coupon(coded(code))
		found, err := p.s.LookUp(p.Context(), store.LookUp{Code: code})
		p.ok(err, "LookUp of the code %q", code)
		same(p, found.Coupon, c, "the coupon of the code %q", code)
	}
}

func couponIDsAreUnique(p *probe) {
	first := p.coupon()
	second := p.draft(func(c *coupon.Coupon) { c.ID = first.ID })
	p.fails(p.s.CreateCoupon(p.Context(), second), store.ErrConflict, "CreateCoupon with an ID that exists")
	got, err := p.s.Coupon(p.Context(), first.ID)
	p.ok(err, "Coupon")
	same(p, got, first, "the coupon that had the ID")
	p.coupon(coded(second.Code)) // the code was not claimed by the call that failed
	p.fails(p.s.CreateCoupon(p.Context(), first), coupon.ErrCodeTaken, "CreateCoupon of a coupon that exists")
}

func malformedCouponsAreRefused(p *probe) {
	for what, spoil := range map[string]terms{
		"no name":          func(c *coupon.Coupon) { c.Name = "" },
		"no code":          func(c *coupon.Coupon) { c.Code = coupon.Code{} },
		"no discount":      func(c *coupon.Coupon) { c.Discount = pricing.Discount{} },
		"an ID of no kind": func(c *coupon.Coupon) { c.ID = "x" },
		"a negative limit": func(c *coupon.Coupon) { c.Limits.MaxUses = -1 },
		"revision 0":       func(c *coupon.Coupon) { c.Revision = 0 },
		"no state":         func(c *coupon.Coupon) { c.State = 0 },
	} {
		sound := p.draft()
		c := sound
		spoil(&c)
		p.fails(p.s.CreateCoupon(p.Context(), c), pricing.ErrInvalid, "CreateCoupon of a coupon with %s", what)
		p.ok(p.s.CreateCoupon(p.Context(), sound), "CreateCoupon with ID and code of a coupon that was refused for %s", what)
		spoil(&c)
		c.ID, c.Code = sound.ID, sound.Code
		if c.Validate() == nil || c.Revision != sound.Revision {
			continue // the fault is in what an update keeps
		}
		if c.Discount.IsZero() {
			continue
		}
		_, err := p.s.UpdateCoupon(p.Context(), c)
		p.fails(err, pricing.ErrInvalid, "UpdateCoupon to a coupon with %s", what)
		got, err := p.s.Coupon(p.Context(), sound.ID)
		p.ok(err, "Coupon")
		same(p, got, sound, "the coupon after an update that was refused")
	}
	part := p.draft()
	part.Distribution, part.AllowedUserEmails = coupon.UserSpecific, coupon.NarrowedEmailSet(2, "ann@example.org")
	p.fails(p.s.CreateCoupon(p.Context(), part), pricing.ErrInvalid, "CreateCoupon of a coupon with a part of its allow-list")
}

func deletedCodesAreFree(p *probe) {
	first := p.coupon(limits(1, 1))
	reserved := p.opened(first, "ann")
	p.settleSession(redemption.SessionCompleted, reserved)
	paid, order := p.redemption(reserved.Redemption.ID), p.order(reserved.Order.ID)

	p.ok(p.s.DeleteCoupon(p.Context(), first.ID, first.Revision), "DeleteCoupon")
	_, err := p.s.Coupon(p.Context(), first.ID)
	p.fails(err, coupon.ErrNotFound, "Coupon of a deleted one")
	_, err = p.s.LookUp(p.Context(), store.LookUp{CouponID: first.ID})
	p.fails(err, coupon.ErrNotFound, "LookUp of a deleted coupon by its ID")
	_, err = p.s.LookUp(p.Context(), store.LookUp{Code: first.Code})
	p.fails(err, coupon.ErrNotFound, "LookUp of a deleted coupon by its code")
	_, err = p.s.UpdateCoupon(p.Context(), first)
	p.fails(err, coupon.ErrNotFound, "UpdateCoupon of a deleted one")
	_, err = p.s.Reserve(p.Context(), p.checkout(first, "bob", "k"))
	p.fails(err, coupon.ErrNotFound, "Reserve of a deleted coupon")
	page, err := p.s.ListCoupons(p.Context(), store.CouponList{})
	p.ok(err, "ListCoupons")
	same(p, page, store.CouponPage{}, "the list without the deleted coupon")

	same(p, p.redemption(paid.ID), paid, "the redemption of a deleted coupon")
	same(p, p.order(order.ID), order, "the order of a deleted coupon")
	same(p, p.redemptions(store.RedemptionList{CouponID: first.ID}), []redemption.Redemption{paid}, "the list of its redemptions")

	second := p.coupon(coded(first.Code), limits(1, 1))
	p.counts(second.ID, 0, 0)
	found, err := p.s.LookUp(p.Context(), store.LookUp{Code: first.Code, CustomerID: "ann"})
	p.ok(err, "LookUp")
	same(p, found, store.Found{Coupon: second}, "the new coupon of the code")
	p.reserve(second, "ann") // its limits know nothing of the deleted coupon
	p.invariants()
}

func deletedIDs(p *probe) {
	used, released, unused := p.coupon(limits(1, 1)), p.coupon(), p.coupon(limits(1, 1))
	p.settleSession(redemption.SessionCompleted, p.opened(used, "ann"))
	p.transition(p.reserve(released, "ann").Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	paid, late := p.coupon(), p.coupon()
	pay := func(c coupon.Coupon) {
		p.settle(p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "ann"}}, p.session()))
	}
	pay(paid)
	for _, c := range []coupon.Coupon{used, released, unused, paid, late} {
		p.ok(p.s.DeleteCoupon(p.Context(), c.ID, c.Revision), "DeleteCoupon")
	}
	pay(late)
	never := p.draft()
	pay(never)
	for what, id := range map[string]string{"used": used.ID, "reserved": released.ID, "paid for": paid.ID, "paid for since": late.ID, "paid for and never made": never.ID} {
		again := p.draft(func(c *coupon.Coupon) { c.ID = id })
		p.fails(p.s.CreateCoupon(p.Context(), again), store.ErrConflict, "CreateCoupon with the ID of a coupon that is not there and was %s", what)
		_, err := p.s.Coupon(p.Context(), id)
		p.fails(err, coupon.ErrNotFound, "Coupon with the ID of one that is not there and was %s", what)
		p.coupon(coded(again.Code)) // the code was not claimed by the call that failed
	}
	again := p.coupon(func(c *coupon.Coupon) { c.ID = unused.ID }, limits(1, 1))
	got, err := p.s.Coupon(p.Context(), unused.ID)
	p.ok(err, "Coupon")
	same(p, got, again, "the coupon with the ID of one that was never used")
	p.reserve(again, "ann")
	p.invariants()
}

func deleteNeedsTheRevision(p *probe) {
	c := p.coupon()
	changed := c
	changed.Name = "renamed"
	changed, err := p.s.UpdateCoupon(p.Context(), changed)
	p.ok(err, "UpdateCoupon")
	for _, revision := range []int64{c.Revision, changed.Revision + 1, 0} {
		err := p.s.DeleteCoupon(p.Context(), c.ID, revision)
		p.fails(err, store.ErrStaleRevision, "DeleteCoupon at revision %d of %d", revision, changed.Revision)
		p.fails(err, store.ErrConflict, "DeleteCoupon at revision %d of %d", revision, changed.Revision)
	}
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, got, changed, "the coupon that was not deleted")
	p.fails(p.s.DeleteCoupon(p.Context(), "cpn_unknown", 1), coupon.ErrNotFound, "DeleteCoupon of an unknown one")
	p.ok(p.s.DeleteCoupon(p.Context(), c.ID, changed.Revision), "DeleteCoupon")
	p.fails(p.s.DeleteCoupon(p.Context(), c.ID, changed.Revision), coupon.ErrNotFound, "DeleteCoupon of a deleted one")
}
