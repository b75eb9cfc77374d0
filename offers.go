package couponkit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/store"
)

// OfferStore is the part of a [store.Store] that [Offers] reads.
type OfferStore interface {
	store.Coupons
	store.Journal
}

// Offers keeps an [offers.Index] of the coupons of a store. Each process that searches for the best coupon
// has its own Offers, and calls [Offers.Update] at its start and then as often as it wants, for example
// every second. Offers starts no goroutine.
//
// The index may be older than the store. So what a search finds is an offer: [Service.Quote] and
// [Service.Checkout] decide about it again. The counts of uses in the index are those of the instant at
// which a coupon was read, because uses do not change the coupon.
//
// An Offers is safe for concurrent use.
type Offers struct {
	store  OfferStore
	limits offers.Limits

	index    atomic.Pointer[offers.Index]
	updating sync.Mutex
	loaded   bool
	position int64 // in the journal; guarded by updating
}

// NewOffers returns Offers without coupons. The limits restrict the memory of the index.
func NewOffers(s OfferStore, limits offers.Limits) *Offers {
	o := &Offers{store: s, limits: limits}
	o.index.Store(new(offers.Index))
	return o
}

// Index returns the current index. It takes no lock, and never waits for an update. The index has no
// coupons before the first update has succeeded.
func (o *Offers) Index() *offers.Index { return o.index.Load() }

// Update brings the index up to date: it has every change of a coupon that was committed before the call.
// The first update reads all active coupons. Later ones read the entries of the journal since then, and
// the coupons that have changed. Coupons that the store cannot read are not in the index. Update returns the
// number of coupons that were read.
//
// After an error, the index keeps its coupons, and the next update goes on where this one has stopped.
// A [*validation.Error] means that the coupons exceed the limits of the index. All other errors come from
// the store or the context.
func (o *Offers) Update(ctx context.Context) (read int, err error) {
	o.updating.Lock()
	defer o.updating.Unlock()
	if !o.loaded {
		if read, err = o.load(ctx); err != nil {
			return 0, fmt.Errorf("load offers: %w", err)
		}
	}
	for {
		entries, err := o.store.Journal(ctx, o.position, store.MaxJournalLimit)
		if err != nil {
			return read, fmt.Errorf("update offers: %w", err)
		}
		changed := changedCoupons(entries)
		if err := o.refresh(ctx, changed); err != nil {
			return read, fmt.Errorf("update offers: %w", err)
		}
		read += len(changed)
		if len(entries) > 0 {
			o.position = entries[len(entries)-1].Position
		}
		if len(entries) < store.MaxJournalLimit {
			return read, nil
		}
	}
}

// load builds the index of all coupons. What changes while it reads them is in the journal after the position
// that it has read first.
func (o *Offers) load(ctx context.Context) (read int, err error) {
	position, err := o.store.JournalEnd(ctx)
	if err != nil {
		return 0, err
	}
	var all []*coupon.Coupon
	list := store.CouponList{State: coupon.Active, PageSize: store.MaxPageSize}
	for more := true; more; more = list.After != "" {
		page, err := o.store.ListCoupons(ctx, list)
		if err != nil {
			return 0, err
		}
		var specific []string // the list has no addresses
		for i := range page.Items {
			if c := &page.Items[i]; c.Distribution == coupon.UserSpecific {
				specific = append(specific, c.ID)
			} else {
				all = append(all, c)
			}
		}
		whole, _, err := o.read(ctx, specific)
		if err != nil {
			return 0, err
		}
		all = append(all, whole...)
		list.After = page.Next
	}
	index, err := offers.New(slices.Values(all), o.limits)
	if err != nil {
		return 0, err
	}
	o.index.Store(index)
	o.loaded, o.position = true, position
	return len(all), nil
}

// refresh reads coupons again, and takes those out of the index that are gone.
func (o *Offers) refresh(ctx context.Context, ids []string) error {
	found, gone, err := o.read(ctx, ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	index, err := o.Index().Without(gone...).With(found...)
	if err == nil {
		o.index.Store(index)
	}
	return err
}

// read returns the coupons with some IDs, with their whole allow-lists, and the IDs that no readable coupon has.
func (o *Offers) read(ctx context.Context, ids []string) (found []*coupon.Coupon, gone []string, err error) {
	for some := range slices.Chunk(ids, store.MaxNames) {
		answer, err := o.store.LookUp(ctx, store.LookUp{Names: store.ByID(some...), Whole: true})
		if err != nil {
			return nil, nil, err
		}
		for i, f := range answer.Coupons {
			if f == nil || f.Unreadable != nil {
				gone = append(gone, some[i])
			} else {
				found = append(found, &f.Coupon)
			}
		}
	}
	return found, gone, nil
}

// changedCoupons returns the IDs of the coupons that journal entries are about.
func changedCoupons(entries []store.Entry) (ids []string) {
	for _, e := range entries {
		switch e.Kind {
		case store.CouponCreated, store.CouponChanged, store.CouponMirrored, store.CouponDeleted:
			ids = append(ids, e.Subject)
		case store.CodesAdded, store.CodeChanged, store.CodesChanged,
			store.OrderOpened, store.OrderChanged, store.OrderPaid, store.OrderCancelled, store.OrderRefunded, store.OrderRepaid,
			store.PointsReserved, store.PointsChanged, store.PointsGivenBack:
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
