package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

func couponClauses() []clause {
	return []clause{
		{"a coupon comes back", "SaveCoupon creates a coupon and returns it as stored", couponComesBack},
		{"taken codes", "coupon.ErrCodeTaken: a coupon has the code, in whatever state; the rejection names that coupon", takenCodes},
		{"a code is free again", "the code of a deleted coupon may be used again", func(p *probe) {
			c := p.coupon()
			p.saveFails(store.CreateCoupon, p.draft(coded(c.Code)), coupon.ErrCodeTaken, "with a code that is taken")
			p.reserve(p.checkout("ann", c))
			p.save(store.DeleteCoupon, c)
			fails(p, find, store.LookUp{Names: store.ByCode(c.Code)}, coupon.ErrNotFound, "of a deleted coupon")
			next := p.coupon(coded(c.Code))
			found := p.look(store.LookUp{Names: store.ByCode(c.Code)})
			same(p, found.Coupon.ID, next.ID, "the coupon of the code")
			same(p, found.Coupon.ReservedCount, int64(0), "the reservations of a new coupon")
		}},
		{"an ID with uses", "ErrConflict: the ID of a new coupon is taken, or has counters", idWithUses},
		{"edits", "EditCoupon replaces everything but ID, code, discount, currency, counts, mirror and CreatedAt, and raises the revision by 1", edits},
		{"changes of what is not there", "an unknown coupon is coupon.ErrNotFound, and one of another revision is ErrStaleRevision", changesOfOthers},
		{"an allow-list stays", "an allow-list that is narrowed stays as it is stored; a whole one replaces it", allowListStays},
		{"mirrors", "ConfirmMirror records the mirror of the given revision, and makes a pending coupon active; the revision stays", mirrors},
		{"deletion leaves orders", "DeleteCoupon removes the coupon; its orders, uses and counters stay", deletionLeavesOrders},
		{"a limit that is added later", "a limit that is added later counts the past, also of a coupon that had none", limitAddedLater},
		{"a limit that is taken away", "a coupon without a limit may be used any number of times, whatever it had before", limitTakenAway},
		{"invalid changes", "validation.ErrInvalid: the coupon does not validate", invalidChanges},
	}
}

// lookedUp returns the stored coupon with its allow-list.
func (p *probe) lookedUp(id string) coupon.Coupon {
	p.Helper()
	return p.look(store.LookUp{Names: store.ByID(id), Whole: true}).Coupon
}

// find looks up one name.
func find(s store.Store, ctx context.Context, by store.LookUp) (store.Found, error) { //nolint:revive // it is a request
	return store.Find(ctx, s, by)
}

func (p *probe) look(by store.LookUp) store.Found {
	p.Helper()
	return answer(p, find, by)
}

// likeStored compares the coupon that SaveCoupon has returned with the stored coupon. The returned
// allow-list may have only its length.
func (p *probe) likeStored(got, want coupon.Coupon) {
	p.Helper()
	same(p, got.AllowedUserEmails.Len(), want.AllowedUserEmails.Len(), "the number of addresses of what SaveCoupon returns")
	got.AllowedUserEmails = want.AllowedUserEmails
	same(p, got, want, "what SaveCoupon returns")
}

func couponComesBack(p *probe) {
	for _, c := range []coupon.Coupon{
		p.draft(), p.draft(limits(10, 2), described("line one\nline two")), p.draft(inState(coupon.Pending)),
		p.draft(p.forAddresses("ann@shop.example", "bob@shop.example")), p.draft(forPoints),
		p.draft(func(c *coupon.Coupon) {
			c.Discount, c.Conditions.MinPurchase = p.amountOff(1_234), coupon.NewMoneySet(pricing.NewMoney(5_000, c.Currency))
		}),
		p.draft(func(c *coupon.Coupon) { c.StartsAt, c.ExpiresAt = at(1), at(2) }),
		p.draft(func(c *coupon.Coupon) { c.StartsAt, c.ExpiresAt = at(2), at(1) }), // expires before it starts
		p.draft(func(c *coupon.Coupon) { c.RefundPolicy, c.RestoreOnRefund = pricing.Rebill, coupon.RestoreAlways }),
		p.draft(func(c *coupon.Coupon) { c.Automatic = true }),
		p.draft(mirrored(1)),
	} {
		p.own(c.Validate())
		p.likeStored(p.save(store.CreateCoupon, c), c)
		same(p, p.lookedUp(c.ID), c, "the stored coupon")
		same(p, p.look(store.LookUp{Names: store.ByCode(c.Code), Whole: true}).Coupon, c, "the coupon of the code")
	}
	counted := p.draft()
	counted.UsedCount, counted.ReservedCount = 7, 8
	saved := p.save(store.CreateCoupon, counted)
	same(p, [2]int64{saved.UsedCount, saved.ReservedCount}, [2]int64{}, "the counts of a new coupon")
}

func takenCodes(p *probe) {
	for _, state := range []coupon.State{coupon.Active, coupon.Pending, coupon.Inactive, coupon.Deleting} {
		has := p.coupon(inState(state))
		err := failure(p, store.Store.SaveCoupon, changeOf(store.CreateCoupon, p.draft(coded(has.Code))), coupon.ErrCodeTaken, "with the code of a coupon that is %s", state)
		var rejection *coupon.Rejection
		if !errors.As(err, &rejection) || rejection.CouponID != has.ID {
			p.stop("the rejection %v does not name %s", err, has.ID)
		}
	}
	for _, text := range []string{"CAFE", "CAFÉ", "STRASSE", "A-1", "A-01", "A1", "АBC", "ABC"} { // "АBC" begins with a Cyrillic letter
		c := p.coupon(coded(p.code(text)))
		same(p, p.lookedUp(c.ID).Code, p.code(text), "the code")
	}
}

func idWithUses(p *probe) {
	used, unused := p.coupon(), p.coupon(limits(5, 5))
	p.placed(p.checkout("ann", used), redemption.Cancelled) // creates the counter, with a value of 0
	again := func(id string) coupon.Coupon { return p.draft(func(c *coupon.Coupon) { c.ID = id }) }
	for _, c := range []coupon.Coupon{used, unused} {
		p.saveFails(store.CreateCoupon, again(c.ID), store.ErrConflict, "with an ID that is taken")
		p.save(store.DeleteCoupon, c)
	}
	p.saveFails(store.CreateCoupon, again(used.ID), store.ErrConflict, "with the ID of a deleted coupon that was used")
	p.reserve(p.checkout("ann", p.save(store.CreateCoupon, again(unused.ID))))
	forced := p.draft()
	p.settle(p.unknown("ann", "cs_early", forced))
	p.saveFails(store.CreateCoupon, forced, store.ErrConflict, "with an ID that was paid for")
}

func edits(p *probe) {
	c := p.coupon(limits(9, 9))
	p.save(store.ConfirmMirror, with(c, mirrored(1)))
	p.placed(p.checkout("ann", c), redemption.Paid)
	p.reserve(p.checkout("bob", c))
	changed := p.draft(named("after"), described("all new"), limits(5, 3), forPoints, inState(coupon.Inactive), func(c *coupon.Coupon) {
		c.StartsAt, c.ExpiresAt, c.UpdatedAt = at(3), at(4), at(777)
		c.Scope = coupon.Scope{AppliesTo: coupon.Product}
		c.Mirror = coupon.Mirror{CouponID: "not to be stored", PromotionCodeID: "promo", Revision: 1}
		c.UsedCount = 99
	})
	changed.ID = c.ID
	want := with(changed, mirrored(1))
	want.Code, want.Discount, want.Currency, want.CreatedAt = c.Code, c.Discount, c.Currency, c.CreatedAt
	want.Revision, want.UsedCount, want.ReservedCount = 2, 1, 1
	p.likeStored(p.save(store.EditCoupon, changed), want)
	same(p, p.lookedUp(c.ID), want, "the edited coupon")
	fails(p, find, store.LookUp{Names: store.ByCode(changed.Code)}, coupon.ErrNotFound, "of a code that an edit cannot set")
}

func changesOfOthers(p *probe) {
	c := p.coupon()
	p.edit(c, named("second"))
	deleted := p.coupon()
	p.save(store.DeleteCoupon, deleted)
	for _, kind := range []store.ChangeKind{store.EditCoupon, store.ConfirmMirror, store.DeleteCoupon} {
		for what, unknown := range map[string]coupon.Coupon{"unknown": p.draft(), "deleted": deleted} {
			p.saveFails(kind, unknown, coupon.ErrNotFound, fmt.Sprintf("(change %d) of a coupon that is %s", kind, what))
		}
		for _, revision := range []int64{0, 1, 3} {
			stale := with(c, mirrored(revision))
			stale.Revision = revision
			p.saveFails(kind, stale, store.ErrStaleRevision, fmt.Sprintf("(change %d) at revision %d of 2", kind, revision))
			p.saveFails(kind, stale, store.ErrConflict, "of another revision")
		}
	}
}

func allowListStays(p *probe) {
	c := p.coupon(p.forAddresses("ann@shop.example", "bob@shop.example"))
	all := c.AllowedUserEmails
	for _, narrow := range []string{"", "ann@shop.example", "nobody@shop.example"} {
		found := p.look(store.LookUp{Names: store.ByID(c.ID), Email: narrow})
		same(p, found.Coupon.AllowedUserEmails.Narrowed(), true, "whether the allow-list is narrowed")
		p.edit(found.Coupon, described("for "+narrow))
		same(p, p.lookedUp(c.ID).AllowedUserEmails.Slice(), all.Slice(), "the addresses after an edit with a narrowed list")
	}
	p.edit(p.lookedUp(c.ID), p.forAddresses("cem@shop.example"))
	same(p, p.lookedUp(c.ID).AllowedUserEmails.Slice(), []string{"cem@shop.example"}, "the addresses after an edit with a whole list")
	p.edit(p.lookedUp(c.ID), func(c *coupon.Coupon) {
		c.Distribution, c.AllowedUserEmails = coupon.General, coupon.EmailSet{}
	})
	same(p, p.lookedUp(c.ID).AllowedUserEmails.Len(), 0, "the number of addresses after they were removed")
	again := p.draft(p.forAddresses("dan@shop.example"))
	again.AllowedUserEmails = coupon.NarrowedEmailSet(2, "dan@shop.example")
	p.saveFails(store.CreateCoupon, again, validation.ErrInvalid, "of a new coupon with a narrowed allow-list")
}

func mirrors(p *probe) {
	for _, state := range []coupon.State{coupon.Pending, coupon.Active, coupon.Inactive, coupon.Deleting} {
		c := p.coupon(inState(state), limits(3, 3), p.forAddresses("ann@shop.example"))
		p.reserveIfActive(c)
		want := with(p.lookedUp(c.ID), mirrored(1))
		if state == coupon.Pending {
			want.State = coupon.Active
		}
		confirmed := p.draft(named("not to be stored"), mirrored(1))
		confirmed.ID, confirmed.Revision = c.ID, 77
		p.likeStored(p.save(store.ConfirmMirror, confirmed), want)
		same(p, p.lookedUp(c.ID), want, "the coupon with a mirror")
		p.reserveIfActive(want)
	}
}

func (p *probe) reserveIfActive(c coupon.Coupon) {
	p.Helper()
	if c.State == coupon.Active {
		p.reserve(p.checkout("ann", c))
	}
}

func deletionLeavesOrders(p *probe) {
	c := p.coupon(limits(5, 5))
	paid := p.placed(p.checkout("ann", c), redemption.Paid)
	open := p.reserve(p.checkout("ann", c)).Order
	before := p.everything()
	deleted := p.save(store.DeleteCoupon, p.lookedUp(c.ID))
	same(p, deleted.ID, c.ID, "the coupon that DeleteCoupon returns")
	after := p.everything()
	same(p, after.Orders, before.Orders, "the orders after a deletion")
	same(p, after.Uses, before.Uses, "the uses after a deletion")
	p.uses(c, 1, 1)
	same(p, p.order(paid.Order.ID), paid, "a paid order after a deletion")
	p.happen(open, redemption.Cancelled)
	p.uses(c, 0, 1)
	p.happen(open, redemption.Paid)
	p.uses(c, 0, 2)
}

// limitAddedLater limits a coupon after its first uses. Stores may spread the counter of an unlimited
// coupon.
func limitAddedLater(p *probe) {
	c := p.coupon()
	var orders []redemption.Order
	for i := range 30 {
		orders = append(orders, p.reserve(p.checkout(fmt.Sprint("c", i), c)).Order)
	}
	for _, o := range orders[:10] {
		p.happen(o, redemption.Paid)
	}
	for _, o := range orders[10:15] {
		p.happen(o, redemption.Cancelled)
	}
	p.uses(c, 15, 10)
	limited := p.edit(c, limits(26, 1))
	p.uses(c, 15, 10)
	p.refused(p.checkout("c29", limited), store.ErrLimit, "of a customer who had a use before the limit")
	p.reserve(p.checkout("dan", limited))
	p.refused(p.checkout("eve", limited), store.ErrLimit, "beyond a limit that was added later")
	p.happen(orders[20], redemption.Cancelled)
	p.reserve(p.checkout("eve", limited))
	p.uses(c, 16, 10)
	same(p, p.happen(orders[10], redemption.Paid).Uses[0].OverLimit, false, "whether a late payment whose claim had no limit is flagged")
}

func limitTakenAway(p *probe) {
	c := p.coupon(limits(1, 0))
	first := p.reserve(p.checkout("ann", c)).Order
	p.refused(p.checkout("bob", c), store.ErrLimit, "beyond the limit")
	free := p.edit(c, limits(0, 0))
	for range 5 {
		p.reserve(p.checkout("bob", free))
	}
	p.happen(first, redemption.Cancelled)
	same(p, p.happen(first, redemption.Paid).Uses[0].OverLimit, false, "whether a late payment of a coupon that has no limit by now is flagged")
	p.uses(c, 5, 1)
	again := p.edit(free, limits(6, 0))
	p.refused(p.checkout("cem", again), store.ErrLimit, "beyond the limit that was set again")
	p.save(store.DeleteCoupon, p.edit(again, limits(0, 0)))
	p.uses(c, 5, 1)
}

func invalidChanges(p *probe) {
	c := p.coupon()
	for what, spoil := range map[string]terms{
		"no name": named(""), "no distribution": func(c *coupon.Coupon) { c.Distribution = 0 },
		"a negative limit": limits(-1, 0),
	} {
		p.saveFails(store.CreateCoupon, p.draft(spoil), validation.ErrInvalid, "of a new coupon with "+what)
		p.saveFails(store.EditCoupon, with(c, spoil), validation.ErrInvalid, "of an edit to "+what)
	}
	p.saveFails(store.CreateCoupon, p.draft(func(c *coupon.Coupon) { c.ID = "none" }), validation.ErrInvalid, "of a new coupon whose ID is none")
	p.saveFails(store.CreateCoupon, p.draft(func(c *coupon.Coupon) { c.Revision = 2 }), validation.ErrInvalid, "of a new coupon at revision 2")
	for _, kind := range []store.ChangeKind{0, 5} {
		p.saveFails(kind, c, validation.ErrInvalid, "of no kind")
	}
	timeless := changeOf(store.EditCoupon, c)
	timeless.At = at(0).Add(-1<<62).AddDate(-20_000, 0, 0)
	fails(p, store.Store.SaveCoupon, timeless, validation.ErrInvalid, "at an instant that no text can tell")
}

func lookUpClauses() []clause {
	return []clause{
		{"looking up", "LookUp returns a coupon and how often it was used, by each identity of the customer in the order given; an unknown coupon is coupon.ErrNotFound", func(p *probe) {
			c := p.coupon(limits(9, 9))
			request := claiming(p.checkout("ann", c), claim(eligibility.CustomerUses(c.ID, "ann@shop.example"), 1, 9))
			p.placed(request, redemption.Paid)
			p.reserve(p.checkout("ann", c))
			found := p.look(store.LookUp{Names: store.ByID(c.ID), Identities: []string{"bob", "ann@shop.example", "ann", "bob", "Ann"}})
			same(p, found.ByCustomer, []eligibility.Count{{}, {Completed: 1}, {Reserved: 1, Completed: 1}, {}, {}}, "the uses by identity")
			same(p, [2]int64{found.Coupon.UsedCount, found.Coupon.ReservedCount}, [2]int64{1, 1}, "the counts of the coupon")
			same(p, p.look(store.LookUp{Names: store.ByCode(c.Code)}).Coupon, found.Coupon, "the coupon of the code")
			for _, name := range []store.Name{{}, {CouponID: "cpn_none"}, {Code: p.code("NONE")}, {CouponID: "cpn_none", Code: c.Code}} {
				fails(p, find, store.LookUp{Names: []store.Name{name}}, coupon.ErrNotFound, "of an unknown coupon")
			}
		}},
		{"narrowed allow-lists", "the allow-list of LookUp is narrowed to the address or else to the entry of its domain, or whole if that is asked for", func(p *probe) {
			c := p.coupon(p.forAddresses("ann@shop.example", "bob@shop.example", "*@club.example", "dan@club.example"))
			for address, want := range map[string][]string{
				"": nil, "ann@shop.example": {"ann@shop.example"}, "cem@shop.example": nil,
				"cem@club.example": {"*@club.example"}, "dan@club.example": {"dan@club.example"}, "cem@sub.club.example": nil,
			} {
				got := p.look(store.LookUp{Names: store.ByID(c.ID), Email: address}).Coupon.AllowedUserEmails
				same(p, got.Slice(), want, "the allow-list narrowed to %q", address)
				same(p, []any{got.Len(), got.Narrowed()}, []any{4, true}, "the length of the narrowed allow-list")
			}
			same(p, p.lookedUp(c.ID), c, "the whole coupon")
		}},
		{"looking up at once", "LookUp answers every name, counter and open order of one request, in the order asked for", lookedUpAtOnce},
		{"held reservations", "Held are the customer's reserved uses of the coupon, in a checkout or not, bought with points or not, the newest first, at most MaxHeld", heldReservations},
	}
}

// lookedUpAtOnce compares the answer for many names with the answers for each name.
func lookedUpAtOnce(p *probe) {
	listed := p.coupon(p.forAddresses("ann@shop.example", "*@club.example"))
	by := store.LookUp{CustomerID: "ann", Email: "ann@shop.example", Identities: []string{"ann", "ann@shop.example"}}
	coupons := []coupon.Coupon{listed}
	for i := range 3 {
		c := p.coupon(limits(9, int64(i)))
		for range i {
			p.reserve(p.checkout("ann", c))
			p.reserve(p.checkout("bob", c))
		}
		coupons = append(coupons, c)
	}
	for _, c := range coupons {
		by.Names = append(by.Names, store.Name{Code: p.code("NONE")}, store.Name{Code: c.Code}, store.Name{CouponID: "cpn_none"}, store.Name{CouponID: c.ID})
	}
	by.Names = append(by.Names, store.Name{Code: listed.Code}, store.Name{}, store.Name{CouponID: "cpn_none", Code: listed.Code})
	by.Counters = []string{eligibility.CouponUses(coupons[2].ID), "none", eligibility.CustomerUses(coupons[3].ID, "bob"), eligibility.CouponUses(coupons[2].ID)}
	all := answer(p, store.Store.LookUp, by)
	want := store.LookedUp{Counts: []eligibility.Count{{Reserved: 2}, {}, {Reserved: 2}, {Reserved: 2}}}
	for _, name := range by.Names {
		one := by
		one.Names, one.Counters = []store.Name{name}, nil
		want.Coupons = append(want.Coupons, answer(p, store.Store.LookUp, one).Coupons...)
	}
	same(p, all, want, "the answer to many names")
	same(p, all.Coupons[1].Coupon.AllowedUserEmails.Slice(), []string{"ann@shop.example"}, "the allow-list of one of many coupons")
	same(p, [2]int{len(all.Coupons[9].Held), len(all.Coupons[13].Held)}, [2]int{1, 2}, "how many uses the customer holds of each coupon")

	page := answer(p, store.Store.ListOrders, store.OrderList{CustomerID: "ann", State: redemption.OrderOpen})
	for _, most := range []int{0, 2, store.MaxHeld} {
		open := answer(p, store.Store.LookUp, store.LookUp{CustomerID: "ann", Orders: most})
		same(p, open, store.LookedUp{Orders: page.Items[:min(most, len(page.Items))]}, "the %d newest open orders", most)
	}
	p.happen(page.Items[0].Order, redemption.Paid)
	same(p, answer(p, store.Store.LookUp, store.LookUp{CustomerID: "ann", Orders: store.MaxHeld}).Orders, page.Items[1:], "the open orders after a payment")
	same(p, answer(p, store.Store.LookUp, store.LookUp{Orders: store.MaxHeld}), store.LookedUp{}, "the open orders of nobody")

	most := store.LookUp{Names: store.ByID(slices.Repeat([]string{listed.ID}, store.MaxNames)...)}
	same(p, len(answer(p, store.Store.LookUp, most).Coupons), store.MaxNames, "the answer to as many names as there may be")
	most.Names = append(most.Names, store.Name{CouponID: listed.ID})
	for _, wrong := range []store.LookUp{most, {CustomerID: "ann", Orders: -1}, {CustomerID: "ann", Orders: store.MaxHeld + 1}} {
		fails(p, store.Store.LookUp, wrong, validation.ErrInvalid, "out of bounds")
	}
}

func heldReservations(p *probe) {
	c, other := p.coupon(forPoints), p.coupon(forPoints)
	var all []redemption.Use
	for i := range store.MaxHeld + 2 {
		r := p.checkout("ann", c)
		if i%2 == 0 {
			r = taking(r, p.exchanged("ann", c))
		}
		all = append(all, p.reserve(r).Uses[0])
	}
	slices.Reverse(all)
	want := all[:store.MaxHeld]
	bought := p.exchanged("ann", other)
	p.exchanged("bob", c)
	held := func() []redemption.Use { return p.look(store.LookUp{Names: store.ByID(c.ID), CustomerID: "ann"}).Held }
	same(p, held(), want, "the uses of a customer who holds more than are listed")
	p.happen(p.order(want[0].OrderID).Order, redemption.Paid)
	p.happen(p.order(want[1].OrderID).Order, redemption.Cancelled)
	same(p, held(), all[2:], "the uses that are still reserved")
	same(p, p.look(store.LookUp{Names: store.ByID(c.ID)}).Held, nil, "the reservations of nobody")
	names := append(store.ByCode(other.Code, p.issued(other, "batch", 1)[0].Code), store.ByID(other.ID)...)
	for _, found := range answer(p, store.Store.LookUp, store.LookUp{Names: names, CustomerID: "ann"}).Coupons {
		same(p, found.Held, []redemption.Use{bought}, "the use of a coupon with several names")
	}
}
