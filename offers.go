package couponkit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// OfferStore is the part of a [store.Store] that [Offers] reads.
type OfferStore interface {
	store.Coupons
	store.Journal
}

// Offers keeps an [offers.Index] of the coupons of a store that have a plain code or are automatic. Others need a
// code of the customer's own, which the index does not know. Each process that searches for the best coupon
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

	index     atomic.Pointer[offers.Index]
	automatic quote.Automatic

	updating sync.Mutex // guards what follows
	loading  *loading   // until the first update is complete
	position int64      // in the journal
}

// NewOffers returns Offers without coupons. The limits restrict the memory of the index.
func NewOffers(s OfferStore, limits offers.Limits) *Offers {
	o := &Offers{store: s, limits: limits, loading: new(loading)}
	o.index.Store(new(offers.Index))
	o.automatic.Store(new(offers.Index))
	return o
}

// WithAutomatic lets Quote, Explain, Checkout, Prepare and Reserve look for automatic coupons in o; see
// [coupon.Terms]. The host calls [Offers.Update]; before the first update no automatic coupon is found. By default,
// customers reach coupons only by codes.
//
// The index proposes the 4 coupons with the greatest discounts alone, or 8 beside codes. If there are more, or one
// exceeds its budget alone, it adds the coupons of the best set. They are read from the store together with the
// codes, so a quote still asks the store at most twice, and an old index never grants what the store refuses. If the
// store refuses some, and the index has a better set without them, they are followed by up to 32 further coupons, and
// once more by as many as a look-up holds. Each of these two rounds asks the store once, or twice for coupons with
// budgets or limits of periods. The best set of all these coupons is chosen:
//
//   - A code excludes automatic coupons as it excludes other codes. An automatic coupon excludes no code. With
//     [eligibility.KeepBest] all compete, and the codes win among equal totals. A code that loses is refused as
//     coupon.ErrNotCombinable; without SkipRefused, this refuses the request.
//   - An automatic coupon is left out if it does not apply, if the processor would not charge the total, if it is
//     used up, or if the processor does not answer about its mirror.
//   - It takes no attempt of the limiter, and is not part of a request's fingerprint: a repeated key returns its
//     first order.
//   - An order of the customer that holds an automatic coupon is replaced as it is for a code.
//   - If it is taken between the quote and the checkout, the checkout decides again without it. Give
//     [CheckoutRequest].Expected, so that the customer never pays more than they have seen.
//
// [Service.PaymentLink] for an amount has no automatic coupons: it has no cart, and the host has subtracted the
// discount. [Service.Validate] and points have none either.
func WithAutomatic(o *Offers) Option {
	return func(s *Service) {
		if s.automatic = nil; o != nil {
			s.automatic = &o.automatic
		}
	}
}

// Automatic returns the current index of the automatic coupons.
func (o *Offers) Automatic() *offers.Index { return o.automatic.Load() }

// Index returns the current index: of the automatic coupons, and of those with a plain code, which may be known to
// few customers. A shop can show all coupons that it finds with [Offers.Automatic]. Of this index, it can show the
// codes that it publishes. Index takes no lock, and never waits for an update. The index has no coupons before the
// first update has succeeded.
func (o *Offers) Index() *offers.Index { return o.index.Load() }

// Update brings the index up to date: it has every change of a coupon that was committed before the call.
// The first update reads all active coupons. Later ones read the entries of the journal since then, and
// the coupons that have changed. Coupons that the store cannot read are not in the index. Update returns the
// number of coupons that were read.
//
// After an error, the index keeps its coupons, and the next update goes on where this one has stopped.
// A [*validation.Error] means that the coupons exceed the limits of the index, or that the store is nil. All other errors
// come from the store or the context.
func (o *Offers) Update(ctx context.Context) (read int, err error) {
	if o.store == nil {
		return 0, validation.New("store", validation.Required, "is required")
	}
	o.updating.Lock()
	defer o.updating.Unlock()
	if o.loading != nil {
		if read, err = o.load(ctx, o.loading); err != nil {
			return read, fmt.Errorf("load offers: %w", err)
		}
		o.loading = nil
	}
	for {
		entries, err := o.store.Journal(ctx, o.position, store.MaxJournalLimit)
		if err != nil {
			return read, fmt.Errorf("update offers: %w", err)
		}
		last := len(entries) < store.MaxJournalLimit
		for len(entries) > 0 {
			ids, n := changedCoupons(entries)
			if err := o.refresh(ctx, ids); err != nil {
				return read, fmt.Errorf("update offers: %w", err)
			}
			read += len(ids)
			o.position, entries = entries[n-1].Position, entries[n:]
		}
		if last {
			return read, nil
		}
	}
}

// loading is a first update that is not complete.
type loading struct {
	begun, listed bool
	list          store.CouponList
	coupons       []*coupon.Coupon
}

// load builds the index of all coupons. What changes while it reads them, perhaps in several calls, is in the
// journal after the position that it has read first.
func (o *Offers) load(ctx context.Context, l *loading) (read int, err error) {
	if !l.begun {
		if o.position, err = o.store.JournalEnd(ctx); err != nil {
			return 0, err
		}
		l.begun, l.list = true, store.CouponList{State: coupon.Active, PageSize: store.MaxNames}
	}
	for !l.listed {
		page, err := o.page(ctx, l)
		if err != nil {
			return read, err
		}
		read += page
		// Each coupon has an entry. If there are too many, the others are not read.
		if err := o.limits.Check(len(l.coupons), len(l.coupons)); err != nil {
			*l = loading{} // the coupons may be fewer when they are read again
			return read, err
		}
	}
	automatic := slices.DeleteFunc(slices.Clone(l.coupons), func(c *coupon.Coupon) bool { return !c.Automatic })
	index, err := offers.New(slices.Values(l.coupons), o.limits)
	if err == nil {
		err = o.storeAutomatic(offers.New(slices.Values(automatic), o.limits))
	}
	if err != nil {
		*l = loading{}
		return read, err
	}
	o.index.Store(index)
	return read, nil
}

// page reads the next page of coupons.
func (o *Offers) page(ctx context.Context, l *loading) (read int, err error) {
	page, err := o.store.ListCoupons(ctx, l.list)
	if err != nil {
		return 0, err
	}
	var all []*coupon.Coupon
	var specific []string // the list has no addresses
	for i := range page.Items {
		switch c := &page.Items[i]; {
		case !offered(c):
		case c.Distribution == coupon.UserSpecific:
			specific = append(specific, c.ID)
		default:
			all = append(all, c)
		}
	}
	whole, _, err := o.read(ctx, specific)
	if err != nil {
		return 0, err
	}
	l.coupons = append(append(l.coupons, all...), whole...)
	l.list.After, l.listed = page.Next, page.Next == ""
	return len(all) + len(whole), nil
}

// refresh reads coupons again, and takes those out of the index that are gone.
func (o *Offers) refresh(ctx context.Context, ids []string) error {
	found, gone, err := o.read(ctx, ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	index, err := o.Index().Without(gone...).With(found...)
	if err != nil {
		return err
	}
	var automatic []*coupon.Coupon
	for _, c := range found {
		if c.Automatic {
			automatic = append(automatic, c)
		} else {
			gone = append(gone, c.ID)
		}
	}
	if err = o.storeAutomatic(o.Automatic().Without(gone...).With(automatic...)); err == nil {
		o.index.Store(index)
	}
	return err
}

func (o *Offers) storeAutomatic(x *offers.Index, err error) error {
	if err == nil {
		o.automatic.Store(x)
	}
	return err
}

// offered reports whether customers get the coupon without a code of their own.
func offered(c *coupon.Coupon) bool { return c.Automatic || !c.Code.IsZero() }

// read returns the coupons with at most [store.MaxNames] IDs, with their whole allow-lists, and the IDs that no
// readable coupon has that is offered.
func (o *Offers) read(ctx context.Context, ids []string) (found []*coupon.Coupon, gone []string, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	answer, err := o.store.LookUp(ctx, store.LookUp{Names: store.ByID(ids...), Whole: true})
	if err != nil {
		return nil, nil, err
	}
	for i, f := range answer.Coupons {
		if f == nil || f.Unreadable != nil || !offered(&f.Coupon) {
			gone = append(gone, ids[i])
		} else {
			found = append(found, &f.Coupon)
		}
	}
	return found, gone, nil
}

// changedCoupons returns the IDs of at most [store.MaxNames] coupons that the first n entries are about.
func changedCoupons(entries []store.Entry) (ids []string, n int) {
	for _, e := range entries {
		switch e.Kind {
		case store.CouponCreated, store.CouponChanged, store.CouponMirrored, store.CouponDeleted:
			if !slices.Contains(ids, e.Subject) {
				ids = append(ids, e.Subject)
			}
		case store.CodesAdded, store.CodeChanged, store.CodesChanged,
			store.OrderOpened, store.OrderChanged, store.OrderPaid, store.OrderCancelled, store.OrderRefunded, store.OrderRepaid,
			store.PointsReserved, store.PointsChanged, store.PointsGivenBack:
		}
		if n++; len(ids) == store.MaxNames {
			break
		}
	}
	return ids, n
}
