package couponkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

func ExampleOffers() {
	ctx := context.Background()
	s := memstore.New()
	service, err := couponkit.New(s, couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})))
	if err != nil {
		log.Fatal(err)
	}
	for code, amount := range map[string]string{"SMALL": "3", "LARGE": "8"} {
		d := coupon.Draft{Code: code, Name: code, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": amount}}
		if _, err := service.Create(ctx, d); err != nil {
			log.Fatal(err)
		}
	}

	current := couponkit.NewOffers(s, offers.Limits{})
	if _, err := current.Update(ctx); err != nil { // at the start, and then every second
		log.Fatal(err)
	}

	var search offers.Search
	best, found, err := search.Best(current.Index(), offers.Query{
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 30_00},
		}},
		Question: eligibility.Question{Customer: eligibility.Customer{ID: "ann"}},
	})
	if err != nil || !found {
		log.Fatal(err)
	}
	fmt.Println(best.Coupon.Code, pricing.EUR().Format(best.Discount))
	// Output: LARGE 8.00
}

// flakyStore loses some calls.
type flakyStore struct {
	couponkit.OfferStore
	calls atomic.Int64
	every int64
}

var errLostCall = errors.New("the connection was lost")

func (s *flakyStore) lost() error {
	if s.every > 0 && s.calls.Add(1)%s.every == 0 {
		return errLostCall
	}
	return nil
}

func (s *flakyStore) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	if err := s.lost(); err != nil {
		return store.LookedUp{}, err
	}
	return s.OfferStore.LookUp(ctx, by)
}

func (s *flakyStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	if err := s.lost(); err != nil {
		return store.CouponPage{}, err
	}
	return s.OfferStore.ListCoupons(ctx, l)
}

func (s *flakyStore) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	if err := s.lost(); err != nil {
		return nil, err
	}
	return s.OfferStore.Journal(ctx, after, min(limit, store.MaxJournalLimit))
}

// sameAsStore compares an index with the store.
func sameAsStore(t *testing.T, w *world, x *offers.Index) {
	t.Helper()
	active := 0
	list := store.CouponList{PageSize: store.MaxPageSize}
	for more := true; more; more = list.After != "" {
		page, err := w.store.ListCoupons(t.Context(), list)
		require.NoError(t, err)
		for _, c := range page.Items {
			got := x.Get(c.ID)
			if c.State != coupon.Active || c.Code.IsZero() && !c.Automatic {
				require.Nil(t, got, "coupon %s is %s and has the code %q", c.ID, c.State, c.Code)
				continue
			}
			active++
			require.NotNil(t, got, "coupon %s", c.ID)
			want, err := json.Marshal(w.get(t, c.ID))
			require.NoError(t, err)
			text, err := json.Marshal(*got)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(text))
		}
		list.After = page.Next
	}
	require.Equal(t, active, x.Len())
}

// While coupons are made, changed, switched and deleted, and calls are lost, several processes follow. One
// begins in the middle.
func TestOffersFollowTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	shop, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	var followers [3]*couponkit.Offers
	for i := range followers {
		followers[i] = couponkit.NewOffers(&flakyStore{OfferStore: w.store, every: int64(3 + i)}, offers.Limits{})
	}
	changing, following := new(sync.WaitGroup), new(sync.WaitGroup)
	done := make(chan struct{})
	for worker := range 4 {
		changing.Go(func() {
			for i := range 60 {
				d := tenOff()
				d.Code = fmt.Sprint("C", worker, "-", i)
				if i%3 == 0 {
					d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{fmt.Sprint("ann", i, "@example.org")}
				}
				if i%7 == 6 {
					d.Code, d.Automatic = "", i%2 == 0
				}
				c, err := shop.Create(ctx, d)
				if err != nil {
					t.Error(err)
					return
				}
				switch i % 5 {
				case 0:
					_, err = shop.Update(ctx, c.ID, coupon.Patch{MinQuantity: coupon.Set(2)})
				case 1:
					_, err = shop.SetActive(ctx, c.ID, false)
				case 2:
					err = shop.Delete(ctx, c.ID)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i, o := range followers {
		following.Go(func() {
			for at := 0; ; at++ {
				if _, err := o.Update(ctx); err != nil && !errors.Is(err, errLostCall) {
					t.Error(err)
				}
				_ = o.Index().Len()
				select {
				case <-done:
					return
				default:
				}
				if i == 2 && at == 0 {
					<-done // and is far behind in the end
				}
			}
		})
	}
	changing.Wait()
	close(done)
	following.Wait()
	for _, o := range followers {
		for _, err := o.Update(ctx); err != nil; _, err = o.Update(ctx) {
			require.ErrorIs(t, err, errLostCall)
		}
		sameAsStore(t, w, o.Index())
	}
}

// An update with nothing new reads nothing. Coupons that cannot be read, or that are over the limits, keep
// the index as it is.
func TestOffersKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	update := func(o *couponkit.Offers, want int) {
		t.Helper()
		read, err := o.Update(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, read)
	}
	c := w.create(t, tenOff())
	small := couponkit.NewOffers(w.store, offers.Limits{MaxEntries: 3})
	blind := couponkit.NewOffers(damagedStore{w.store, map[string]bool{c.ID: true}}, offers.Limits{})
	require.Zero(t, small.Index().Len())
	update(small, 1)
	update(small, 0)
	update(blind, 0)
	require.Zero(t, blind.Index().Len())

	for i := range 5 {
		d := tenOff()
		d.Code = fmt.Sprint("MORE", i)
		w.create(t, d)
	}
	for range 2 {
		_, err := small.Update(t.Context())
		require.ErrorIs(t, err, validation.ErrInvalid)
		require.Equal(t, 1, small.Index().Len())
	}
	late := couponkit.NewOffers(w.store, offers.Limits{MaxEntries: 3})
	_, err := late.Update(t.Context())
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.NoError(t, w.Delete(t.Context(), c.ID))
	for i := range 3 {
		found, err := w.Find(t.Context(), fmt.Sprint("MORE", i))
		require.NoError(t, err)
		require.NoError(t, w.Delete(t.Context(), found.ID))
	}
	for _, o := range []*couponkit.Offers{small, late} { // there is room again
		_, err := o.Update(t.Context())
		require.NoError(t, err)
		sameAsStore(t, w, o.Index())
	}
}

// endlessStore lists its coupons again and again, and counts the pages.
type endlessStore struct {
	couponkit.OfferStore
	pages int
}

func (s *endlessStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	s.pages++
	l.After = ""
	page, err := s.OfferStore.ListCoupons(ctx, l)
	page.Next = "next"
	return page, err
}

// More coupons than the index may have are refused before all are in memory.
func TestOffersOfAShopThatIsTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	w.create(t, percentOff(5))
	shop := &endlessStore{OfferStore: w.store}
	o := couponkit.NewOffers(shop, offers.Limits{MaxEntries: 100})
	for i := range 2 {
		_, err := o.Update(t.Context())
		var faults *validation.Error
		require.ErrorAs(t, err, &faults)
		require.Equal(t, "coupons", faults.Fields[0].Path)
		require.Equal(t, 51*(i+1), shop.pages)
		require.Zero(t, o.Index().Len())
	}
}

// hookedStore calls a function after each page of coupons.
type hookedStore struct {
	couponkit.OfferStore
	after func()
}

func (s hookedStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	page, err := s.OfferStore.ListCoupons(ctx, l)
	s.after()
	return page, err
}

// The first update also has what was made and switched off after the list was read.
func TestOffersSeeWhatChangesWhileTheyLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.create(t, tenOff())
	o := couponkit.NewOffers(hookedStore{w.store, func() {
		_, err := w.SetActive(t.Context(), old.ID, false)
		require.NoError(t, err)
		w.create(t, percentOff(5))
	}}, offers.Limits{})
	_, err := o.Update(t.Context())
	require.NoError(t, err)
	sameAsStore(t, w, o.Index())
}
