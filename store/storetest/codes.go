package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

func codeClauses() []clause {
	return []clause{
		{"codes come back", "SaveCodes adds the codes of a batch, and a look-up of each finds the coupon and the code", codesComeBack},
		{"codes of all kinds are taken", "a TakenError names each new code that a coupon has, plain or of a batch, and none is added", codesAreTaken},
		{"a batch again", "a batch with the same fingerprint returns the codes of the first call, another one is ErrKeyReused", batchAgain},
		{"a batch again after its expiry", "codes that have expired at their creation are invalid, unless the batch with the fingerprint is stored", expiredBatchAgain},
		{"codes are changed", "EditCode replaces limit, owner, expiry and state of one code, and raises its revision by 1", codesAreChanged},
		{"codes of no coupon", "the codes of a coupon that does not exist, or is being deleted, are coupon.ErrNotFound", codesOfNoCoupon},
		{"codes are listed", "ListCodes lists the codes of a coupon by key, narrowed by batch, owner, state and use, without a gap between pages", codesAreListed},
		{"a search finds codes", "a search finds the coupon of a batch's code by the whole code alone", searchFindsCodes},
		{"uses by a code", "a use holds the claim of its code, whose limit is exact, and has the code", usesByACode},
		{"a code is free after a deletion", "all codes of a deleted coupon may be used again; those with uses stay listed", codesAfterDeletion},
		{"many codes are deleted in portions", "DeleteCoupon of a coupon with more than MaxCodes codes removes so many and is ErrCodesLeft", codesInPortions},
		{"coupons without a code", "any number of coupons have no plain code, which no look-up finds; their batches give them codes", couponsWithoutACode},
		{"invalid codes", "validation.ErrInvalid: a code does not validate, is in the call twice, or is the plain code", invalidCodes},
	}
}

// issue returns a change that adds new codes to a coupon. Every code has a new key.
func (p *probe) issue(c coupon.Coupon, batch string, count int, changes ...func(*coupon.IssuedCode)) store.CodeChange {
	change := store.CodeChange{Kind: store.AddCodes, CouponID: c.ID, Batch: batch, Fingerprint: "first", By: "admin", At: at(500)}
	for range count {
		code := coupon.IssuedCode{
			Code: p.code(fmt.Sprintf("BATCH-%06d", p.next())), CouponID: c.ID, Batch: batch, Active: true, CreatedAt: at(500), UpdatedAt: at(500), Revision: 1,
		}
		for _, change := range changes {
			change(&code)
		}
		change.Codes = append(change.Codes, code)
	}
	return change
}

// issued adds codes to a coupon.
func (p *probe) issued(c coupon.Coupon, batch string, count int, changes ...func(*coupon.IssuedCode)) []coupon.IssuedCode {
	p.Helper()
	return answer(p, store.Store.SaveCodes, p.issue(c, batch, count, changes...))
}

// editOf returns a change of a code.
func editOf(c coupon.IssuedCode, change func(*coupon.IssuedCode)) store.CodeChange {
	change(&c)
	c.UpdatedAt = at(600)
	return store.CodeChange{Kind: store.EditCode, CouponID: c.CouponID, Codes: []coupon.IssuedCode{c}, By: "admin", At: at(600)}
}

// by changes the first use of a request: it uses a code of the coupon.
func by(r store.Reservation, code coupon.IssuedCode) store.Reservation {
	r.Uses[0].Code, r.Coupons[0].Code, r.Coupons[0].CodeRevision = code.Code, code.Code, code.Revision
	return claiming(r, claim(eligibility.CodeUses(code.CouponID, code.Code.String()), 1, code.MaxUses))
}

func maxUses(n int64) func(*coupon.IssuedCode) { return func(c *coupon.IssuedCode) { c.MaxUses = n } }

func codesComeBack(p *probe) {
	c := p.coupon(limits(9, 9))
	change := p.issue(c, "spring", 4)
	change.Codes[1].MaxUses, change.Codes[1].Owner = 3, coupon.OwnerEmail("ann@shop.example")
	change.Codes[2].Owner, change.Codes[2].ExpiresAt = coupon.OwnerID("Ann % Ünal"), at(900)
	change.Codes[3].Code = p.code(strings.Repeat("Ä", coupon.MaxCodeLength))
	same(p, answer(p, store.Store.SaveCodes, change), change.Codes, "what SaveCodes returns")
	var names []store.Name
	for _, code := range change.Codes {
		names = append(names, store.Name{Code: code.Code}, store.Name{Code: c.Code})
	}
	found := answer(p, store.Store.LookUp, store.LookUp{Names: append(names, store.Name{CouponID: c.ID}), CustomerID: "ann", Identities: []string{"ann"}}).Coupons
	for i, code := range change.Codes {
		same(p, found[2*i].Code, code, "the code that was looked up")
		same(p, found[2*i].Coupon, c, "the coupon of the code")
		same(p, found[2*i+1].Code.Code, c.Code, "the plain code")
		same(p, found[2*i+1].Code.Plain(), true, "whether the plain code is plain")
	}
	same(p, found[8].Code, coupon.IssuedCode{}, "the code of a coupon that was looked up by its ID")
	same(p, found[8].Coupon, c, "the coupon by its ID")
}

func codesAreTaken(p *probe) {
	c, other := p.coupon(), p.coupon(inState(coupon.Inactive))
	theirs := p.issued(other, "winter", 2)
	change := p.issue(c, "spring", 5)
	change.Codes[1].Code, change.Codes[3].Code, change.Codes[4].Code = theirs[0].Code, c.Code, other.Code
	err := failure(p, store.Store.SaveCodes, change, coupon.ErrCodeTaken, "with codes that coupons have")
	var taken *coupon.TakenError
	if !errors.As(err, &taken) {
		p.stop("the error %v is no TakenError", err)
	}
	same(p, taken.Taken, []coupon.TakenCode{
		{Index: 1, Key: theirs[0].Code, CouponID: other.ID}, {Index: 3, Key: c.Code, CouponID: c.ID}, {Index: 4, Key: other.Code, CouponID: other.ID},
	}, "the taken codes")
	err = failure(p, store.Store.SaveCoupon, changeOf(store.CreateCoupon, p.draft(coded(theirs[1].Code))), coupon.ErrCodeTaken, "with a code of a batch")
	var rejection *coupon.Rejection
	if !errors.As(err, &rejection) || rejection.CouponID != other.ID {
		p.stop("the rejection %v does not name %s", err, other.ID)
	}
}

func batchAgain(p *probe) {
	c, other := p.coupon(), p.coupon()
	first := p.issued(c, "spring", 3, maxUses(2))
	p.reserve(by(p.checkout("ann", c), first[1]))
	again := p.issue(c, "spring", 3)
	stored := answer(p, store.Store.SaveCodes, again)
	first[1].ReservedCount = 1
	same(p, stored, first, "the codes of a batch that is added again")
	again.Fingerprint = "another"
	fails(p, store.Store.SaveCodes, again, store.ErrKeyReused, "of another batch with the same ID")
	same(p, len(p.issued(other, "spring", 2)), 2, "how many codes another coupon has in a batch with the same ID")
}

func expiredBatchAgain(p *probe) {
	c := p.coupon()
	expiring := func(e *coupon.IssuedCode) { e.ExpiresAt = at(501) }
	late := func(e *coupon.IssuedCode) { expiring(e); e.CreatedAt, e.UpdatedAt = at(501), at(501) }
	first := p.issued(c, "spring", 2, expiring)
	again := p.issue(c, "spring", 2, late)
	same(p, answer(p, store.Store.SaveCodes, again), first, "the codes of a batch that is added again after its expiry")
	again.Fingerprint = "another"
	fails(p, store.Store.SaveCodes, again, store.ErrKeyReused, "of another batch with the same ID")
	fails(p, store.Store.SaveCodes, p.issue(c, "summer", 2, late), validation.ErrInvalid, "of a new batch that has expired")
}

func codesAreChanged(p *probe) {
	c := p.coupon(limits(9, 9))
	code := p.issued(c, "spring", 2, maxUses(2))[0]
	used := p.reserve(by(p.checkout("ann", c), code))
	want := code
	want.MaxUses, want.Owner, want.ExpiresAt, want.Active = 0, coupon.OwnerID("ann"), at(800), false
	change := editOf(code, func(e *coupon.IssuedCode) {
		e.MaxUses, e.Owner, e.ExpiresAt, e.Active = want.MaxUses, want.Owner, want.ExpiresAt, want.Active
		e.CreatedAt, e.UsedCount = at(7), 7
	})
	want.Revision, want.UpdatedAt, want.ReservedCount = 2, at(600), 1
	same(p, answer(p, store.Store.SaveCodes, change), []coupon.IssuedCode{want}, "what SaveCodes returns")
	same(p, p.look(store.LookUp{Names: store.ByCode(code.Code)}).Code, want, "the changed code")
	fails(p, store.Store.SaveCodes, change, store.ErrStaleRevision, "of another revision")
	p.refused(by(p.checkout("bob", c), code), coupon.ErrInactive, "by a code that is off")
	on := answer(p, store.Store.SaveCodes, editOf(want, func(e *coupon.IssuedCode) { e.Active = true }))[0]
	p.refused(by(p.checkout("bob", c), code), store.ErrStaleRevision, "by a code at another revision")
	p.reserve(by(p.checkout("bob", c), on))
	p.happen(used.Order, redemption.Paid)
	found := p.look(store.LookUp{Names: store.ByCode(code.Code)}).Code
	same(p, [2]int64{found.UsedCount, found.ReservedCount}, [2]int64{1, 1}, "the uses of the code")
	unknown := code
	unknown.Code = p.code("UNKNOWN")
	fails(p, store.Store.SaveCodes, editOf(unknown, func(*coupon.IssuedCode) {}), coupon.ErrNotFound, "of an unknown code")
}

func codesOfNoCoupon(p *probe) {
	gone, going := p.coupon(), p.coupon()
	code := p.issued(going, "spring", 1)[0]
	p.save(store.DeleteCoupon, gone)
	p.edit(going, inState(coupon.Deleting))
	for what, c := range map[string]coupon.Coupon{"unknown": p.draft(), "deleted": gone, "being deleted": going} {
		fails(p, store.Store.SaveCodes, p.issue(c, "summer", 1), coupon.ErrNotFound, "of a coupon that is %s", what)
	}
	fails(p, store.Store.SaveCodes, editOf(code, maxUses(1)), coupon.ErrNotFound, "of a code whose coupon is being deleted")
	same(p, answer(p, store.Store.ListCodes, store.CodeList{CouponID: gone.ID}), store.CodePage{}, "the codes of a deleted coupon")
}

func codesAreListed(p *probe) {
	c, other := p.coupon(limits(9, 9)), p.coupon()
	p.issued(other, "spring", 2)
	owned := p.issued(c, "summer", 3, func(c *coupon.IssuedCode) { c.Owner = coupon.OwnerID("ann") })
	codes := slices.Concat(p.issued(c, "spring", 4), owned)
	off := answer(p, store.Store.SaveCodes, editOf(codes[2], func(c *coupon.IssuedCode) { c.Active = false }))[0]
	codes[2] = off
	p.reserve(by(p.checkout("ann", c), codes[0]))
	p.placed(by(p.checkout("ann", c), codes[1]), redemption.Paid)
	p.placed(by(p.checkout("ann", c), codes[3]), redemption.Cancelled)
	codes[0].ReservedCount, codes[1].UsedCount = 1, 1
	codes = append(codes, p.look(store.LookUp{Names: store.ByCode(c.Code)}).Code)
	slices.SortFunc(codes, func(a, b coupon.IssuedCode) int { return strings.Compare(a.Code.String(), b.Code.String()) })
	for _, list := range []store.CodeList{
		{},
		{Batch: "spring"},
		{Batch: "none"},
		{Owner: coupon.OwnerID("ann")},
		{Owner: coupon.OwnerID("bob")},
		{State: coupon.Active},
		{State: coupon.Inactive},
		{Unused: true},
		{Unused: true, Batch: "spring", State: coupon.Active},
		{Used: true},
		{Used: true, Batch: "spring", State: coupon.Active},
	} {
		list.CouponID = c.ID
		var want []coupon.IssuedCode
		for _, code := range codes {
			if list.Wants(code) {
				want = append(want, code)
			}
		}
		for _, size := range []int{1, 2, len(want), 100} {
			list.PageSize, list.After = max(size, 1), ""
			var got []coupon.IssuedCode
			for {
				page := answer(p, store.Store.ListCodes, list)
				same(p, len(page.Items) <= list.PageSize, true, "whether a page has at most its size")
				got = append(got, page.Items...)
				if list.After = page.Next; page.Next == "" {
					break
				}
			}
			same(p, got, want, "the codes of %+v", list)
		}
	}
	for _, wrong := range []store.CodeList{{}, {CouponID: c.ID, PageSize: coupon.MaxCodes + 1}, {CouponID: c.ID, State: coupon.Pending}, {CouponID: c.ID, After: "no key"}, {CouponID: "a\x00"}} {
		fails(p, store.Store.ListCodes, wrong, validation.ErrInvalid, "out of bounds")
	}
}

func searchFindsCodes(p *probe) {
	c, other := p.coupon(), p.coupon(named("about batch-zz-77"))
	change := p.issue(c, "spring", 2)
	change.Codes[0].Code, change.Codes[1].Code = p.code("BATCH-ZZ-7"), p.code("BATCH-YY-78")
	answer(p, store.Store.SaveCodes, change)
	for text, want := range map[string][]string{
		"BATCH-ZZ-7": {other.ID, c.ID}, " batch-yy-78": {c.ID}, "batch-yy-7": nil, "YY-78": nil, "batch-zz-77": {other.ID},
	} {
		var got []string
		for _, found := range answer(p, store.Store.ListCoupons, store.CouponList{Search: text}).Items {
			got = append(got, found.ID)
		}
		same(p, got, want, "the coupons that a search for %q finds", text)
	}
	p.save(store.DeleteCoupon, c)
	same(p, answer(p, store.Store.ListCoupons, store.CouponList{Search: "batch-yy-78"}).Items, nil, "the coupons of a deleted coupon's code")
}

func couponsWithoutACode(p *probe) {
	c, other := p.coupon(coded(coupon.Code{}), named("for members")), p.coupon(coded(coupon.Code{}), mirroredAlone(1))
	same(p, p.lookedUp(c.ID), c, "a coupon without a code")
	same(p, p.lookedUp(other.ID), other, "a second coupon without a code")
	nobody := answer(p, store.Store.LookUp, store.LookUp{Names: []store.Name{{}}}).Coupons[0]
	same(p, nobody, nil, "the coupon of no name")
	same(p, answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID}).Items, nil, "the codes of a coupon without any")
	c = p.edit(c, named("for friends"))
	for text, want := range map[string][]coupon.Coupon{"friends": {c}, "": {other, c}} {
		same(p, answer(p, store.Store.ListCoupons, store.CouponList{Search: text}).Items, want, "the coupons that a search for %q finds", text)
	}
	code := p.issued(c, "spring", 1)[0]
	same(p, p.look(store.LookUp{Names: store.ByCode(code.Code)}).Coupon, c, "the coupon of a code")
	reserved := p.reserve(by(p.checkout("ann", with(c, coded(code.Code))), code))
	p.happen(reserved.Order, redemption.Paid)
	same(p, p.lookedUp(c.ID).UsedCount, int64(1), "the uses of a coupon without a plain code")
	p.save(store.DeleteCoupon, c)
	p.save(store.DeleteCoupon, other)
	p.coupon(coded(code.Code))
}

func usesByACode(p *probe) {
	c := p.coupon()
	codes := p.issued(c, "spring", 2, maxUses(1))
	reserved := p.reserve(by(p.checkout("ann", c), codes[0]))
	same(p, reserved.Uses[0].Code, codes[0].Code, "the code of the use")
	same(p, p.order(reserved.Order.ID).Uses[0].Code, codes[0].Code, "the code of the stored use")
	p.refused(by(p.checkout("bob", c), codes[0]), store.ErrLimit, "by a code that is used up")
	p.reserve(by(p.checkout("bob", c), codes[1]))
	p.happen(reserved.Order, redemption.Cancelled)
	p.reserve(by(p.checkout("bob", c), codes[0]))
	foreign := codes[0]
	foreign.Code = p.code("FOREIGN")
	p.refused(by(p.checkout("bob", c), foreign), coupon.ErrNotFound, "by a code that the coupon does not have")
	p.uses(c, 2, 0)
}

func codesAfterDeletion(p *probe) {
	c := p.coupon(limits(9, 9))
	codes := p.issued(c, "spring", 3, maxUses(5))
	order := p.reserve(by(p.checkout("ann", c), codes[1])).Order
	p.placed(by(p.checkout("bob", c), codes[2]), redemption.Cancelled)
	p.save(store.DeleteCoupon, c)
	for _, code := range codes {
		fails(p, find, store.LookUp{Names: store.ByCode(code.Code)}, coupon.ErrNotFound, "of a code of a deleted coupon")
	}
	left := answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID}).Items
	same(p, []coupon.Code{left[0].Code, left[1].Code}, []coupon.Code{codes[1].Code, c.Code}, "the codes that stay: the used ones")

	next := p.coupon(coded(codes[2].Code), limits(9, 9))
	change := p.issue(next, "spring", 3, maxUses(1))
	change.Codes[0].Code, change.Codes[1].Code, change.Codes[2].Code = codes[0].Code, codes[1].Code, c.Code
	again := answer(p, store.Store.SaveCodes, change)
	found := p.look(store.LookUp{Names: store.ByCode(codes[1].Code)})
	same(p, []any{found.Coupon.ID, found.Code}, []any{next.ID, again[1]}, "the code that is used again, without the uses of its former coupon")
	p.reserve(by(p.checkout("cem", next), again[1]))
	p.happen(order, redemption.Paid)
	p.count(eligibility.CodeUses(c.ID, codes[1].Code.String()), 0, 1)
	p.count(eligibility.CodeUses(next.ID, codes[1].Code.String()), 1, 0)
	same(p, p.order(order.ID).Uses[0].Code, codes[1].Code, "the code of a use whose coupon is gone")
}

func codesInPortions(p *probe) {
	c := p.coupon(inState(coupon.Deleting))
	many := p.coupon()
	p.issued(many, "spring", store.MaxNewCodes)
	rounds := 0
	for {
		_, err := p.s.SaveCoupon(p.Context(), changeOf(store.DeleteCoupon, many))
		if !errors.Is(err, store.ErrCodesLeft) {
			p.ok(err, "the last round of a deletion")
			break
		}
		rounds++
		same(p, p.lookedUp(many.ID), many, "a coupon whose codes are removed")
	}
	same(p, rounds, store.MaxNewCodes/coupon.MaxCodes, "how many rounds left codes")
	same(p, answer(p, store.Store.ListCodes, store.CodeList{CouponID: many.ID}), store.CodePage{}, "the codes of the deleted coupon")
	p.save(store.DeleteCoupon, c)
}

func invalidCodes(p *probe) {
	c := p.coupon()
	twice := p.issue(c, "spring", 3)
	twice.Codes[2].Code = twice.Codes[0].Code
	plain := p.look(store.LookUp{Names: store.ByCode(c.Code)}).Code
	many := p.issue(c, "spring", store.MaxNewCodes+1)
	none := p.issue(c, "spring", 0)
	other := p.issue(c, "spring", 1)
	other.Codes[0].CouponID = p.coupon().ID
	nameless := p.issue(c, "", 1)
	negative := p.issue(c, "spring", 1, maxUses(-1))
	timeless := p.issue(c, "spring", 1)
	timeless.At = at(0).AddDate(-20_000, 0, 0)
	for what, change := range map[string]store.CodeChange{
		"with a code twice": twice, "with too many codes": many, "without codes": none, "with a code of another coupon": other,
		"without a batch": nameless, "with a negative limit": negative, "of the plain code": editOf(plain, func(*coupon.IssuedCode) {}),
		"at an instant that no text can tell": timeless, "of no kind": {CouponID: c.ID, Codes: twice.Codes[:1], At: at(1)},
	} {
		fails(p, store.Store.SaveCodes, change, validation.ErrInvalid, "%s", what)
	}
}

func codeRaceClauses() []clause {
	return []clause{
		race("race for a key", "one coupon has a code, whether it is plain or of a batch", func(p *probe) {
			coupons := make([]coupon.Coupon, p.can.Goroutines)
			for i := range coupons {
				coupons[i] = p.coupon()
			}
			changes := make([]store.CodeChange, len(coupons))
			for i, c := range coupons {
				changes[i] = p.issue(c, "spring", 3)
			}
			key := changes[0].Codes[0].Code
			for i := range changes {
				changes[i].Codes[i%3].Code = key
			}
			drafts := make([]coupon.Coupon, len(coupons))
			for i := range drafts {
				drafts[i] = p.draft(coded(key))
			}
			errs := p.together(len(coupons), func(ctx context.Context, s store.Store, i int) (err error) {
				if i%2 == 0 {
					_, err = s.SaveCodes(ctx, changes[i])
				} else {
					_, err = s.SaveCoupon(ctx, changeOf(store.CreateCoupon, drafts[i]))
				}
				return err
			})
			same(p, p.succeeded(errs, coupon.ErrCodeTaken), 1, "how many coupons got one key")
			p.look(store.LookUp{Names: store.ByCode(key)})
		}),
		race("race for the key of a deleted coupon", "the codes of a deleted coupon are free at once, and at most one coupon gets a code", func(p *probe) {
			old := p.coupon()
			p.raceForFreedKey(old, p.issued(old, "spring", 1)[0].Code)
			old = p.coupon()
			p.raceForFreedKey(old, old.Code)
		}),
		race("race of one batch", "a batch that is added several times at once is added once", func(p *probe) {
			c := p.coupon()
			changes := make([]store.CodeChange, p.can.Goroutines)
			for i := range changes {
				changes[i] = p.issue(c, "spring", 3)
			}
			answers, errs := atOnce(p, len(changes), store.Store.SaveCodes, func(i int) store.CodeChange { return changes[i] })
			p.succeeded(errs)
			for _, a := range answers {
				same(p, a, answers[0], "the codes that a call at once got")
			}
			same(p, len(answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID}).Items), 4, "how many codes the coupon has, with the plain one")
		}),
		race("race for the last uses of a code", "the limit of a code is exact under any interleaving", func(p *probe) {
			c := p.coupon()
			codes := p.issued(c, "spring", 2, maxUses(3))
			p.exactly(6, store.ErrLimit, func(i int) store.Reservation { return by(p.checkout(fmt.Sprint("c", i), c), codes[i%2]) })
			p.uses(c, 6, 0)
		}),
	}
}

// raceForFreedKey deletes a coupon while other coupons take its key. At most one of these coupons may
// succeed. If none does, a later coupon gets the key.
func (p *probe) raceForFreedKey(old coupon.Coupon, key coupon.Code) {
	p.Helper()
	takers, deletion := make([]coupon.Coupon, p.can.Goroutines), p.can.Goroutines/2
	for i := range takers {
		if takers[i] = p.draft(coded(key)); i%2 == 0 {
			takers[i] = p.coupon()
		}
	}
	changes := make([]store.CodeChange, len(takers))
	for i, taker := range takers {
		changes[i] = p.issue(taker, "spring", 2)
		changes[i].Codes[i/2%2].Code = key
	}
	errs := p.together(len(takers), func(ctx context.Context, s store.Store, i int) (err error) {
		switch {
		case i == deletion:
			_, err = s.SaveCoupon(ctx, changeOf(store.DeleteCoupon, old))
		case i%2 == 0:
			_, err = s.SaveCodes(ctx, changes[i])
		default:
			_, err = s.SaveCoupon(ctx, changeOf(store.CreateCoupon, takers[i]))
		}
		return err
	})
	p.ok(errs[deletion], "the deletion of the coupon that had the key")
	won := p.succeeded(errs, coupon.ErrCodeTaken) - 1
	same(p, won <= 1, true, "whether at most one of %d takers got the key", len(takers)-1)
	if won == 0 { // nobody took the key
		takers, errs = append(takers, p.coupon(coded(key))), append(errs, nil)
	}
	holder := p.look(store.LookUp{Names: store.ByCode(key)}).Coupon.ID
	for i, taker := range takers {
		got := i != deletion && errs[i] == nil
		same(p, taker.ID == holder, got, "whether a look-up finds the coupon of taker %d, which got %v", i, errs[i])
		codes := answer(p, store.Store.ListCodes, store.CodeList{CouponID: taker.ID}).Items
		same(p, slices.ContainsFunc(codes, func(c coupon.IssuedCode) bool { return c.Code == key }), got, "whether taker %d, which got %v, lists the key", i, errs[i])
		if errs[i] != nil {
			same(p, slices.Contains([]string{old.ID, holder}, holderIn(errs[i])), true, "whether %v names a coupon that had the key", errs[i])
		}
	}
}

// holderIn returns the ID of the coupon that already has a code, from an error.
func holderIn(err error) string {
	if taken, is := errors.AsType[*coupon.TakenError](err); is {
		return taken.Taken[0].CouponID
	}
	if rejection, is := errors.AsType[*coupon.Rejection](err); is {
		return rejection.CouponID
	}
	return ""
}

func codeReservationRaceClauses() []clause {
	return []clause{
		race("a code is switched off among reservations", "a code that is off is reserved no more", func(p *probe) {
			c := p.coupon()
			code := p.issued(c, "spring", 1)[0]
			off := editOf(code, func(c *coupon.IssuedCode) { c.Active = false })
			stored := p.succeeded(p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) (err error) {
				if i == p.can.Goroutines/2 {
					_, err = s.SaveCodes(ctx, off)
					return err
				}
				_, err = s.Reserve(ctx, by(p.checkout(fmt.Sprint("c", i), c), code))
				return err
			}), coupon.ErrInactive) - 1
			p.refused(by(p.checkout("late", c), code), coupon.ErrInactive, "by a code that is off")
			p.uses(c, int64(stored), 0)
		}),
		race("a coupon is deleted among reservations by a code", "the code of a deleted coupon is reserved no more, and another coupon can have it", func(p *probe) {
			c := p.coupon(limits(0, 0))
			code := p.issued(c, "spring", 1, maxUses(1_000))[0]
			stored := p.succeeded(p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) (err error) {
				if i == p.can.Goroutines/2 {
					_, err = s.SaveCoupon(ctx, changeOf(store.DeleteCoupon, c))
					return err
				}
				_, err = s.Reserve(ctx, by(p.checkout(fmt.Sprint("c", i), c), code))
				return err
			}), coupon.ErrNotFound) - 1
			p.refused(by(p.checkout("late", c), code), coupon.ErrNotFound, "by a code of a deleted coupon")
			p.count(eligibility.CodeUses(c.ID, code.Code.String()), int64(stored), 0)
			left := answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID}).Items
			same(p, len(left) > 0, stored > 0, "whether codes with uses are left")
			next := p.coupon(coded(code.Code))
			same(p, p.look(store.LookUp{Names: store.ByCode(code.Code)}).Coupon.ID, next.ID, "the coupon that has the code now")
		}),
	}
}
