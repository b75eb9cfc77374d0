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

func batchClauses() []clause {
	return []clause{
		{"a batch in parts", "a part that follows the codes of its batch is added, every other part is ErrStaleRevision", batchInParts},
		{"batches are listed", "ListBatches lists the batches of a coupon by ID, with exact counts of codes and uses", batchesAreListed},
		{"codes are switched", "SwitchCodes switches codes of the batch, raises their revisions by 1, and returns those that changed", codesAreSwitched},
		{"codes are removed", "RemoveCodes removes the codes of the batch without uses, which other coupons may have then", codesAreRemoved},
		{"codes are assigned", "AssignCodes gives each owner one free code by position; an owner keeps the code of an earlier call", codesAreAssigned},
		{"codes are imported", "ImportCodes adds the codes that no coupon has, and returns the others as they are stored", codesAreImported},
		{"too few codes to assign", "AssignCodes of more owners than there are free codes is ErrNoCodesLeft and assigns nothing", tooFewCodes},
		{"changes of no batch", "codes of a batch that the coupon does not have are coupon.ErrNotFound; codes of another batch stay", changesOfNoBatch},
		{"invalid changes of batches", "validation.ErrInvalid: no batch, an owner twice or none, a part beyond the batch", invalidBatches},
	}
}

// part returns a change that adds codes of a batch, starting at a position.
func (p *probe) part(c coupon.Coupon, batch string, from, count, size int64) store.CodeChange {
	change := p.issue(c, batch, int(count))
	change.From, change.Size = from, size
	return change
}

// bulk returns a change of codes of the batch "spring".
func bulk(kind store.CodeChangeKind, c coupon.Coupon, codes ...coupon.IssuedCode) store.CodeChange {
	return store.CodeChange{Kind: kind, CouponID: c.ID, Batch: "spring", Codes: codes, By: "admin", At: at(600)}
}

func assigning(c coupon.Coupon, owners ...coupon.Owner) store.CodeChange {
	change := bulk(store.AssignCodes, c)
	change.Owners = owners
	return change
}

func (p *probe) batch(c coupon.Coupon) coupon.IssuedBatch {
	p.Helper()
	batches := answer(p, store.Store.ListBatches, store.BatchList{CouponID: c.ID}).Items
	if len(batches) != 1 {
		p.stop("the coupon has %d batches, want 1", len(batches))
	}
	return batches[0]
}

// byOf is by for a code of a batch whose uses are limited.
func byOf(r store.Reservation, code coupon.IssuedCode) store.Reservation {
	return claiming(by(r, code), claim(eligibility.BatchUses(code.CouponID, code.Batch), 1, 0))
}

func batchInParts(p *probe) {
	c := p.coupon()
	fails(p, store.Store.SaveCodes, p.part(c, "spring", 3, 2, 7), store.ErrStaleRevision, "of a second part before the first")
	first := answer(p, store.Store.SaveCodes, p.part(c, "spring", 0, 3, 7))
	want := coupon.IssuedBatch{ID: "spring", CouponID: c.ID, Fingerprint: "first", Size: 7, Added: 3, CreatedAt: at(500)}
	same(p, p.batch(c), want, "the batch after its first part")
	for what, change := range map[string]store.CodeChange{
		"again": p.part(c, "spring", 0, 3, 7), "with a gap": p.part(c, "spring", 4, 3, 7), "that overlaps": p.part(c, "spring", 2, 3, 7),
	} {
		fails(p, store.Store.SaveCodes, change, store.ErrStaleRevision, "of a part %s", what)
	}
	fails(p, store.Store.SaveCodes, p.part(c, "spring", 3, 2, 8), store.ErrKeyReused, "of a part of another size")
	other := p.part(c, "spring", 3, 2, 7)
	other.Fingerprint = "another"
	fails(p, store.Store.SaveCodes, other, store.ErrKeyReused, "of a part of another batch")
	taken := p.part(c, "spring", 3, 2, 7)
	taken.Codes[1].Code = first[0].Code
	fails(p, store.Store.SaveCodes, taken, coupon.ErrCodeTaken, "of a part with a code of the batch")
	second := answer(p, store.Store.SaveCodes, p.part(c, "spring", 3, 4, 7))
	fails(p, store.Store.SaveCodes, p.part(c, "spring", 3, 4, 7), store.ErrStaleRevision, "of the last part again")
	want.Added = 7
	same(p, p.batch(c), want, "the batch after its last part")
	listed := answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "spring"}).Items
	same(p, listed, slices.Concat(first, second), "the codes of both parts")
}

func batchesAreListed(p *probe) {
	c, other := p.coupon(), p.coupon()
	p.issued(other, "elsewhere", 2)
	spring := p.issued(c, "spring", 4)
	owned := func(e *coupon.IssuedCode) { e.Owner = coupon.OwnerID("ann") }
	p.issued(c, "autumn", 2, owned)
	p.issued(c, "winter", 1)
	answer(p, store.Store.SaveCodes, editOf(spring[3], func(e *coupon.IssuedCode) { e.Active = false; owned(e) }))
	p.reserve(byOf(p.checkout("ann", c), spring[0]))
	p.placed(byOf(p.checkout("bob", c), spring[0]), redemption.Paid)
	p.placed(byOf(p.checkout("cem", c), spring[1]), redemption.Cancelled)
	want := []coupon.IssuedBatch{
		{ID: "autumn", CouponID: c.ID, Fingerprint: "first", Size: 2, Added: 2, Assigned: 2, CreatedAt: at(500)},
		{ID: "spring", CouponID: c.ID, Fingerprint: "first", Size: 4, Added: 4, Assigned: 1, Inactive: 1, UsedCount: 1, ReservedCount: 1, CreatedAt: at(500)},
		{ID: "winter", CouponID: c.ID, Fingerprint: "first", Size: 1, Added: 1, CreatedAt: at(500)},
	}
	for size := 1; size <= len(want)+1; size++ {
		var got []coupon.IssuedBatch
		for list := (store.BatchList{CouponID: c.ID, PageSize: size}); ; {
			page := answer(p, store.Store.ListBatches, list)
			same(p, len(page.Items) <= size, true, "whether a page has at most its size")
			got = append(got, page.Items...)
			if list.After = page.Next; page.Next == "" {
				break
			}
		}
		same(p, got, want, "the batches in pages of %d", size)
	}
	for id, one := range map[string][]coupon.IssuedBatch{"spring": want[1:2], "none": nil} {
		same(p, answer(p, store.Store.ListBatches, store.BatchList{CouponID: c.ID, ID: id}).Items, one, "the batches with the ID %s", id)
	}
	for _, wrong := range []store.BatchList{{}, {CouponID: c.ID, PageSize: 101}, {CouponID: "a\x00"}, {CouponID: c.ID, After: "\xff"}} {
		fails(p, store.Store.ListBatches, wrong, validation.ErrInvalid, "out of bounds")
	}
	p.save(store.DeleteCoupon, c)
	same(p, answer(p, store.Store.ListBatches, store.BatchList{CouponID: c.ID}), store.BatchPage{}, "the batches of a deleted coupon")
}

func codesAreSwitched(p *probe) {
	c := p.coupon()
	codes := p.issued(c, "spring", 3)
	off := bulk(store.SwitchCodes, c, codes[2], codes[0])
	want := []coupon.IssuedCode{codes[0], codes[2]}
	for i := range want {
		want[i].Active, want[i].Revision, want[i].UpdatedAt = false, 2, at(600)
	}
	same(p, sortedCodes(answer(p, store.Store.SaveCodes, off)), want, "the codes that were switched off")
	same(p, len(answer(p, store.Store.SaveCodes, off)), 0, "how many codes change again")
	same(p, p.batch(c).Inactive, int64(2), "how many codes are off")
	listed := answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "spring"}).Items
	same(p, listed, []coupon.IssuedCode{want[0], codes[1], want[1]}, "the codes as they are stored")
	p.refused(by(p.checkout("ann", c), want[0]), coupon.ErrInactive, "by a code that is off")
	on := bulk(store.SwitchCodes, c, codes...)
	on.Active = true
	same(p, len(answer(p, store.Store.SaveCodes, on)), 2, "how many codes are switched on")
	same(p, p.batch(c).Inactive, int64(0), "how many codes are off at the end")
	found := p.look(store.LookUp{Names: store.ByCode(codes[0].Code)}).Code
	p.reserve(by(p.checkout("ann", c), found))
}

func codesAreRemoved(p *probe) {
	c, next := p.coupon(), p.coupon()
	codes := p.issued(c, "spring", 4, func(e *coupon.IssuedCode) { e.Owner = coupon.OwnerID("ann") })
	order := p.reserve(byOf(p.checkout("ann", c), codes[0])).Order
	p.placed(byOf(p.checkout("ann", c), codes[1]), redemption.Paid)
	answer(p, store.Store.SaveCodes, bulk(store.SwitchCodes, c, codes[2]))
	removed := sortedCodes(answer(p, store.Store.SaveCodes, bulk(store.RemoveCodes, c, codes...)))
	same(p, []coupon.Code{removed[0].Code, removed[1].Code}, []coupon.Code{codes[2].Code, codes[3].Code}, "the codes that were removed: those without a use")
	want := coupon.IssuedBatch{ID: "spring", CouponID: c.ID, Fingerprint: "first", Size: 4, Added: 4, Removed: 2, Assigned: 2, UsedCount: 1, ReservedCount: 1, CreatedAt: at(500)}
	same(p, p.batch(c), want, "the batch after a removal")
	fails(p, find, store.LookUp{Names: store.ByCode(codes[3].Code)}, coupon.ErrNotFound, "of a code that was removed")
	p.refused(by(p.checkout("bob", c), codes[3]), coupon.ErrNotFound, "by a code that was removed")
	change := p.issue(next, "spring", 1)
	change.Codes[0].Code = codes[3].Code
	answer(p, store.Store.SaveCodes, change)
	same(p, answer(p, store.Store.SaveCodes, bulk(store.RemoveCodes, c, codes[3])), nil, "the codes of another coupon that are removed")
	p.happen(order, redemption.Cancelled)
	same(p, len(answer(p, store.Store.SaveCodes, bulk(store.RemoveCodes, c, codes...))), 1, "how many codes are removed once their use has ended")
	again := p.issue(c, "spring", 4)
	left := answer(p, store.Store.SaveCodes, again)
	same(p, []any{len(left), left[0].Code}, []any{1, codes[1].Code}, "the codes that a batch returns that is added again")
}

func codesAreAssigned(p *probe) {
	c := p.coupon()
	change := p.issue(c, "spring", 7)
	change.Codes[1].Owner, change.Codes[2].ExpiresAt = coupon.OwnerID("bob"), at(600)
	codes := answer(p, store.Store.SaveCodes, change)
	answer(p, store.Store.SaveCodes, bulk(store.SwitchCodes, c, codes[3]))
	p.reserve(byOf(p.checkout("zoe", c), codes[4]))
	ann, bob, cem := coupon.OwnerID("ann"), coupon.OwnerID("bob"), coupon.OwnerEmail("cem@shop.example")
	given := answer(p, store.Store.SaveCodes, assigning(c, ann, bob))
	first := codes[0]
	first.Owner, first.Revision, first.UpdatedAt = ann, 2, at(600)
	same(p, given, []coupon.IssuedCode{first, codes[1]}, "the codes of the owners: the first free one, and the one that the owner has")
	same(p, p.look(store.LookUp{Names: store.ByCode(first.Code)}).Code, first, "the stored code")
	again := answer(p, store.Store.SaveCodes, assigning(c, cem, ann))
	same(p, []coupon.Code{again[0].Code, again[1].Code}, []coupon.Code{codes[5].Code, first.Code}, "the codes of a later call, which skips codes that are off, expired or used")
	same(p, p.batch(c).Assigned, int64(3), "how many codes have an owner")
	last := codes[6]
	last.Owner, last.Active = coupon.OwnerID("dan"), false
	stored := answer(p, store.Store.SaveCodes, editOf(codes[6], func(e *coupon.IssuedCode) { e.Owner, e.Active = last.Owner, false }))
	same(p, answer(p, store.Store.SaveCodes, assigning(c, last.Owner)), stored, "the code of an owner whose code is off")
}

func codesAreImported(p *probe) {
	c, other := p.coupon(), p.coupon()
	theirs := p.issued(other, "autumn", 1)[0]
	change := p.issue(c, "spring", 4, maxUses(2))
	change.Kind, change.Codes[1].Code, change.Codes[3].Active = store.ImportCodes, theirs.Code, false
	same(p, answer(p, store.Store.SaveCodes, change), []coupon.IssuedCode{theirs}, "the codes that coupons have")
	want := coupon.IssuedBatch{ID: "spring", CouponID: c.ID, Fingerprint: "first", Size: 3, Added: 3, Inactive: 1, CreatedAt: at(500)}
	same(p, p.batch(c), want, "the batch after the first call")
	first := []coupon.IssuedCode{change.Codes[0], change.Codes[2], change.Codes[3]}
	same(p, answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "spring"}).Items, first, "the imported codes")
	p.reserve(byOf(p.checkout("ann", c), first[0]))
	first[0].ReservedCount = 1
	again := p.issue(c, "spring", 2)
	again.Kind, again.Codes = store.ImportCodes, append(again.Codes, change.Codes...)
	same(p, sortedCodes(answer(p, store.Store.SaveCodes, again)), sortedCodes(append(first, theirs)), "the codes that were imported before")
	want.Size, want.Added, want.ReservedCount = 5, 5, 1
	same(p, p.batch(c), want, "the batch after a second call")
	same(p, len(answer(p, store.Store.SaveCodes, again)), 6, "how many codes a third call finds")
	again.Fingerprint = "another"
	fails(p, store.Store.SaveCodes, again, store.ErrKeyReused, "of another batch with the same ID")
	late := p.issue(c, "winter", 1, func(e *coupon.IssuedCode) { e.ExpiresAt = at(500) })
	late.Kind = store.ImportCodes
	fails(p, store.Store.SaveCodes, late, validation.ErrInvalid, "of codes that have expired")
	given := answer(p, store.Store.SaveCodes, assigning(c, coupon.OwnerID("ann"), coupon.OwnerID("bob")))
	same(p, []coupon.Code{given[0].Code, given[1].Code}, []coupon.Code{first[1].Code, again.Codes[0].Code}, "the codes of owners, by position")
}

func tooFewCodes(p *probe) {
	c := p.coupon()
	codes := p.issued(c, "spring", 2)
	ann, bob, cem := coupon.OwnerID("ann"), coupon.OwnerID("bob"), coupon.OwnerID("cem")
	fails(p, store.Store.SaveCodes, assigning(c, ann, bob, cem), store.ErrNoCodesLeft, "of three owners for two codes")
	same(p, answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "spring"}).Items, codes, "the codes after a call that failed")
	answer(p, store.Store.SaveCodes, assigning(c, ann, bob))
	same(p, len(answer(p, store.Store.SaveCodes, assigning(c, bob, ann))), 2, "how many codes the same owners have")
}

func changesOfNoBatch(p *probe) {
	c, gone := p.coupon(), p.coupon()
	spring, autumn := p.issued(c, "spring", 1), p.issued(c, "autumn", 1)
	p.issued(gone, "spring", 1)
	p.save(store.DeleteCoupon, gone)
	for _, kind := range []store.CodeChangeKind{store.SwitchCodes, store.RemoveCodes} {
		unknown := bulk(kind, c, spring[0])
		unknown.Batch = "unknown"
		fails(p, store.Store.SaveCodes, unknown, coupon.ErrNotFound, "of an unknown batch")
		deleted := spring[0]
		deleted.CouponID = gone.ID
		fails(p, store.Store.SaveCodes, bulk(kind, gone, deleted), coupon.ErrNotFound, "of a deleted coupon")
		same(p, len(answer(p, store.Store.SaveCodes, bulk(kind, c, autumn[0]))), 0, "how many codes of another batch change")
	}
	unknown := assigning(c, coupon.OwnerID("ann"))
	unknown.Batch = "unknown"
	fails(p, store.Store.SaveCodes, unknown, coupon.ErrNotFound, "of owners for an unknown batch")
	same(p, answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "autumn"}).Items, autumn, "the codes of the other batch")
}

func invalidBatches(p *probe) {
	c := p.coupon()
	code := p.issued(c, "spring", 1)[0]
	ann := coupon.OwnerID("ann")
	nameless := bulk(store.SwitchCodes, c, code)
	nameless.Batch = ""
	unwritable := assigning(c, ann)
	unwritable.Batch = "spring\xff"
	for what, change := range map[string]store.CodeChange{
		"without a batch": nameless, "of a batch that is no text": unwritable, "without codes": bulk(store.RemoveCodes, c), "with a code twice": bulk(store.RemoveCodes, c, code, code),
		"without owners": assigning(c), "with an owner twice": assigning(c, ann, ann), "with nobody as an owner": assigning(c, coupon.Owner{}),
		"with too many owners":         assigning(c, make([]coupon.Owner, coupon.MaxCodes+1)...),
		"with a part beyond its batch": p.part(c, "autumn", 2, 2, 3), "with a part before its batch": p.part(c, "autumn", -1, 2, 3),
		"with too large a batch": p.part(c, "autumn", 0, 1, coupon.MaxBatchSize+1),
	} {
		fails(p, store.Store.SaveCodes, change, validation.ErrInvalid, "%s", what)
	}
}

func batchRaceClauses() []clause {
	return []clause{
		race("race for the parts of a batch", "a batch that several callers fill at once has each part once", func(p *probe) {
			c := p.coupon()
			const size, part = 12, 3
			changes := make([]store.CodeChange, p.can.Goroutines*size/part)
			for i := range changes {
				changes[i] = p.part(c, "spring", int64(i%(size/part)*part), part, size)
			}
			p.succeeded(p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
				for at := range size / part {
					if _, err := s.SaveCodes(ctx, changes[i*size/part+at]); err != nil && !errors.Is(err, store.ErrStaleRevision) {
						return err
					}
				}
				return nil
			}))
			same(p, p.batch(c).Added, int64(size), "how many codes the batch has")
			same(p, len(answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "spring"}).Items), size, "how many codes are listed")
		}),
		race("race of imports", "codes that several callers import at once are added once, and all of them are added", func(p *probe) {
			c := p.coupon()
			all := p.issue(c, "spring", p.can.Goroutines+2).Codes
			answers, errs := atOnce(p, p.can.Goroutines, store.Store.SaveCodes, func(i int) store.CodeChange {
				change := p.issue(c, "spring", 0)
				change.Kind, change.Codes = store.ImportCodes, all[i:i+3]
				return change
			})
			p.succeeded(errs)
			added := 0
			for _, known := range answers {
				added += 3 - len(known)
			}
			same(p, added, len(all), "how many codes the callers were told to be new")
			same(p, p.batch(c).Added, int64(len(all)), "how many codes the batch counts")
			same(p, len(answer(p, store.Store.ListCodes, store.CodeList{CouponID: c.ID, Batch: "spring", PageSize: coupon.MaxCodes}).Items), len(all), "how many codes are listed")
		}),
		race("race for codes to assign", "owners who ask at once get a code each, and none gets the code of another", func(p *probe) {
			c := p.coupon()
			p.issued(c, "spring", p.can.Goroutines)
			answers, errs := atOnce(p, p.can.Goroutines, store.Store.SaveCodes, func(i int) store.CodeChange {
				return assigning(c, coupon.OwnerID(fmt.Sprint("owner ", i/2)), coupon.OwnerID(fmt.Sprint("other ", i/2)))
			})
			p.succeeded(errs)
			owner := map[coupon.Code]coupon.Owner{}
			for i, a := range answers {
				same(p, a, answers[i/2*2], "the codes of the same owners")
				for _, code := range a {
					if before, known := owner[code.Code]; known && before != code.Owner {
						p.stop("code %s was given to %s and to %s", code.Code, before, code.Owner)
					}
					owner[code.Code] = code.Owner
				}
			}
			same(p, int64(len(owner)), p.batch(c).Assigned, "how many codes have an owner")
		}),
		race("codes are removed among reservations", "a code that is reserved stays, and a code that was removed is not reserved", func(p *probe) {
			c := p.coupon()
			code := p.issued(c, "spring", 1, maxUses(1_000))[0]
			var removed []coupon.IssuedCode
			stored := p.succeeded(p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) (err error) {
				if i == p.can.Goroutines/2 {
					removed, err = s.SaveCodes(ctx, bulk(store.RemoveCodes, c, code))
					return err
				}
				_, err = s.Reserve(ctx, byOf(p.checkout(fmt.Sprint("c", i), c), code))
				return err
			}), coupon.ErrNotFound) - 1
			same(p, stored > 0, len(removed) == 0, "whether the code was reserved, and so was not removed")
			same(p, p.batch(c).ReservedCount, int64(stored), "the reservations by the batch")
		}),
	}
}

// sortedCodes sorts codes by key.
func sortedCodes(codes []coupon.IssuedCode) []coupon.IssuedCode {
	slices.SortFunc(codes, func(a, b coupon.IssuedCode) int { return strings.Compare(a.Code.String(), b.Code.String()) })
	return codes
}
