package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// savingStore replaces SaveCodes.
type savingStore struct {
	store.Store

	save func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error)
}

func (s *savingStore) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	return s.save(ctx, c)
}

// campaign is a service without a processor, and one coupon.
type campaign struct {
	*couponkit.Service

	store  *savingStore
	coupon coupon.Coupon
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	inner := memstore.New()
	c := &campaign{store: &savingStore{inner, inner.SaveCodes}}
	var err error
	c.Service, err = couponkit.New(c.store)
	require.NoError(t, err)
	c.coupon, err = c.Create(t.Context(), tenOff())
	require.NoError(t, err)
	return c
}

// part is how many codes one change adds.
const part = store.MaxNewCodes

// spring is a batch of two whole parts and a half.
func spring() coupon.BatchDraft {
	return coupon.BatchDraft{Batch: coupon.Batch{ID: "spring", Shape: coupon.CodeShape{Prefix: "SPRING"}}, Count: 2*part + part/2}
}

// small is a batch of one part, which is changed in three.
func small() coupon.BatchDraft {
	d := spring()
	d.Count = 2*coupon.MaxCodes + coupon.MaxCodes/2
	return d
}

// created creates the batch.
func (c *campaign) created(t *testing.T, d coupon.BatchDraft) coupon.IssuedBatch {
	t.Helper()
	b, err := c.CreateCodes(t.Context(), c.coupon.ID, d, nil)
	require.NoError(t, err)
	return b
}

// all returns the codes of the batch, each of which is different.
func (c *campaign) all(t *testing.T, list store.CodeList) (all []coupon.IssuedCode) {
	t.Helper()
	list.CouponID, list.Batch = c.coupon.ID, "spring"
	for code, err := range c.Codes(t.Context(), list) {
		require.NoError(t, err)
		all = append(all, code)
	}
	require.Len(t, slices.CompactFunc(slices.Clone(all), func(a, b coupon.IssuedCode) bool { return a.Code == b.Code }), len(all))
	return all
}

// A batch has as many codes as were asked for, each with one use, in the shape of the batch. The call tells its progress, and
// changes nothing when it is repeated.
func TestCreateCodes(t *testing.T) {
	t.Parallel()
	c, d := newCampaign(t), spring()
	var progress []int64
	b, err := c.CreateCodes(t.Context(), c.coupon.ID, d, func(b coupon.IssuedBatch) { progress = append(progress, b.Added) })
	require.NoError(t, err)
	require.Equal(t, []int64{part, 2 * part, spring().Count}, progress)
	want := coupon.IssuedBatch{ID: "spring", CouponID: c.coupon.ID, Size: spring().Count, Added: spring().Count}
	require.Empty(t, cmp.Diff(want, b, cmpopts.IgnoreFields(b, "CreatedAt", "Fingerprint")))
	require.True(t, b.Complete())
	form, err := codes.NewForm(d.Shape)
	require.NoError(t, err)
	all := c.all(t, store.CodeList{})
	require.Len(t, all, 2*part+part/2)
	for _, code := range all {
		require.Equal(t, int64(1), code.MaxUses)
		_, sound := form.Read(code.Code)
		require.True(t, sound, "%s", code.Code)
	}
	require.Equal(t, b, c.created(t, d))
	twelve := spring()
	twelve.Shape.Symbols = coupon.DefaultCodeSymbols
	require.Equal(t, b, c.created(t, twelve))
	require.Equal(t, all, c.all(t, store.CodeList{}))
	for what, change := range map[string]func(*coupon.BatchDraft){
		"size":   func(d *coupon.BatchDraft) { d.Count++ },
		"limit":  func(d *coupon.BatchDraft) { d.MaxUses = coupon.Clear[int]() },
		"shape":  func(d *coupon.BatchDraft) { d.Shape.Symbols = 13 },
		"expiry": func(d *coupon.BatchDraft) { d.ExpiresAt = calendar.On(2099, 5, 31) },
	} {
		other := spring()
		change(&other)
		_, err := c.CreateCodes(t.Context(), c.coupon.ID, other, nil)
		require.ErrorIs(t, err, store.ErrKeyReused, what)
		require.ErrorContains(t, err, "has other content", what)
	}
}

// After an error at any part, before or after the store has saved it, a repeated call adds what is missing.
func TestCreateCodesGoesOn(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	for part := range 3 {
		for _, saved := range []bool{false, true} {
			t.Run(fmt.Sprintf("part %d, saved %v", part, saved), func(t *testing.T) {
				t.Parallel()
				c := newCampaign(t)
				calls, save := 0, c.store.save
				c.store.save = func(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
					if calls++; calls-1 == part {
						if saved {
							_, err := save(ctx, change)
							require.NoError(t, err)
						}
						return nil, lost
					}
					return save(ctx, change)
				}
				_, err := c.CreateCodes(t.Context(), c.coupon.ID, spring(), nil)
				require.ErrorIs(t, err, lost)
				require.Equal(t, spring().Count, c.created(t, spring()).Added)
				require.Len(t, c.all(t, store.CodeList{}), int(spring().Count))
			})
		}
	}
}

// batchCounter counts the codes that are added to a batch, and keeps none of them.
type batchCounter struct {
	store.Store

	batch coupon.IssuedBatch
	heard func()
}

func (s *batchCounter) SaveCodes(_ context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	s.heard()
	if c.From != s.batch.Added || len(c.Codes) > store.MaxNewCodes {
		return nil, store.ErrStaleRevision
	}
	s.batch = coupon.IssuedBatch{ID: c.Batch, CouponID: c.CouponID, Fingerprint: c.Fingerprint, Size: c.Size, Added: c.From + int64(len(c.Codes))}
	return c.Codes, nil
}

func (s *batchCounter) ListBatches(context.Context, store.BatchList) (page store.BatchPage, err error) {
	if s.batch.ID != "" {
		page.Items = []coupon.IssuedBatch{s.batch}
	}
	return page, nil
}

// A batch of a million codes needs the memory of a part.
func TestCreateCodesNeedsConstantMemory(t *testing.T) {
	var stats runtime.MemStats
	parts, most := 0, uint64(0)
	s := &batchCounter{Store: memstore.New(), heard: func() {
		if parts++; parts%25 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}}
	service, err := couponkit.New(s)
	require.NoError(t, err)
	c, err := service.Create(t.Context(), tenOff())
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before := stats.HeapAlloc
	count := int64(testsize.Of(100_000, 1_000_000))
	b, err := service.CreateCodes(t.Context(), c.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "mailing"}, Count: count}, nil)
	require.NoError(t, err)
	require.Equal(t, count, b.Added)
	require.Greater(t, parts, 15)
	require.Less(t, most, before+4<<20)
}

// Several calls fill one batch, which has neither a gap nor a code too many.
func TestCreateCodesAtOnce(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	var group sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		group.Go(func() {
			b, err := c.CreateCodes(t.Context(), c.coupon.ID, spring(), nil)
			if errs[i] = err; err == nil && !b.Complete() {
				errs[i] = fmt.Errorf("%+v", b)
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, c.all(t, store.CodeList{}), int(spring().Count))
}

// Generated codes that a coupon has are replaced.
func TestCreateCodesReplacesTakenCodes(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	save := c.store.save
	taken := map[coupon.Code]bool{}
	c.store.save = func(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
		var err coupon.TakenError
		for i, code := range change.Codes {
			if len(taken) < 3 && i%7 == 3 {
				taken[code.Code] = true
				err.Taken = append(err.Taken, coupon.TakenCode{Index: i, Key: code.Code, CouponID: "cpn_other"})
			}
		}
		if len(err.Taken) > 0 {
			return nil, &err
		}
		return save(ctx, change)
	}
	require.True(t, c.created(t, spring()).Complete())
	require.Len(t, taken, 3)
	for _, code := range c.all(t, store.CodeList{}) {
		require.False(t, taken[code.Code], "%s", code.Code)
	}
}

func TestBatchesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	_, err := c.CreateCodes(t.Context(), c.coupon.ID, coupon.BatchDraft{
		Batch: coupon.Batch{Shape: coupon.CodeShape{Symbols: 99}}, Count: coupon.MaxBatchSize + 1, MaxUses: coupon.Set(0),
	}, nil)
	faults, is := errors.AsType[*validation.Error](err)
	require.True(t, is)
	var paths []string
	for _, f := range faults.Fields {
		paths = append(paths, f.Path)
	}
	require.ElementsMatch(t, []string{"id", "shape.symbols", "count", "maxUses"}, paths)

	short := spring()
	short.Shape.Symbols, short.Count = coupon.MinCodeSymbols, coupon.MaxBatchSize
	_, err = c.CreateCodes(t.Context(), c.coupon.ID, short, nil)
	require.ErrorContains(t, err, "shape.symbols")
	require.ErrorContains(t, err, "random symbols are enough")

	past := spring()
	past.ExpiresAt = calendar.On(1999, 12, 31)
	_, err = c.CreateCodes(t.Context(), c.coupon.ID, past, nil)
	faults, is = errors.AsType[*validation.Error](err)
	require.True(t, is)
	require.Len(t, faults.Fields, 1)
	require.Equal(t, "expiresAt", faults.Fields[0].Path)

	// Without a number of symbols, there are as many as are enough. Nothing is refused but the coupon.
	short.Shape.Symbols = 0
	_, err = c.CreateCodes(t.Context(), "cpn_unknown", short, nil)
	require.ErrorIs(t, err, coupon.ErrNotFound)

	unknown := "cpn_unknown"
	_, err = c.CreateCodes(t.Context(), unknown, spring(), nil)
	require.ErrorIs(t, err, coupon.ErrNotFound)
	_, err = c.SetBatchActive(t.Context(), c.coupon.ID, "unknown", false)
	require.ErrorIs(t, err, coupon.ErrNotFound)
	_, err = c.RemoveUnusedCodes(t.Context(), unknown, "spring")
	require.ErrorIs(t, err, coupon.ErrNotFound)
	// Nor does a sequence without an owner or a row end as if there were such a coupon.
	for _, id := range []string{unknown, "no ID", c.coupon.ID} {
		for _, owners := range [][]coupon.Owner{{coupon.OwnerID("ann")}, nil} {
			require.ErrorIs(t, failed(c.AssignCodes(t.Context(), id, "unknown", slices.Values(owners))), coupon.ErrNotFound, id)
			require.ErrorIs(t, failed(c.PreviewAssign(t.Context(), id, "unknown", slices.Values(owners))), coupon.ErrNotFound, id)
		}
	}
	for _, id := range []string{unknown, "no ID"} {
		for name, rows := range map[string]iter.Seq2[codecsv.Row, error]{
			"none": nil, "none is valid": func(yield func(codecsv.Row, error) bool) { yield(codecsv.Row{Number: 2}, nil) },
		} {
			require.ErrorIs(t, failed(c.ImportCodes(t.Context(), id, "unknown", rows)), coupon.ErrNotFound, name)
			require.ErrorIs(t, failed(c.PreviewImport(t.Context(), id, "unknown", rows)), coupon.ErrNotFound, name)
		}
	}
	require.Empty(t, c.all(t, store.CodeList{}))
}

// A whole batch is switched and emptied, however many parts it has. A used code is never removed.
func TestWholeBatchesAreChanged(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	c.created(t, small())
	all := c.all(t, store.CodeList{})
	used := all[1234].Code.String()
	request := couponkit.ReserveRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: []string{used}, Customer: eligibility.Customer{ID: "ann"}}, Key: "k"}
	_, err := c.Reserve(t.Context(), request)
	require.NoError(t, err)
	b, err := c.SetBatchActive(t.Context(), c.coupon.ID, "spring", false)
	require.NoError(t, err)
	require.Equal(t, []int64{small().Count, 1, 0}, []int64{b.Inactive, b.ReservedCount, b.UsedCount})
	request.Codes, request.Key = []string{all[7].Code.String()}, "other"
	_, err = c.Reserve(t.Context(), request)
	require.ErrorIs(t, err, coupon.ErrInactive)
	b, err = c.SetBatchActive(t.Context(), c.coupon.ID, "spring", true)
	require.NoError(t, err)
	require.Zero(t, b.Inactive)
	b, err = c.RemoveUnusedCodes(t.Context(), c.coupon.ID, "spring")
	require.NoError(t, err)
	require.Equal(t, int64(2499), b.Removed)
	left := c.all(t, store.CodeList{})
	require.Len(t, left, 1)
	require.Equal(t, used, left[0].Code.String())
	var batches []coupon.IssuedBatch
	for one, err := range c.Batches(t.Context(), store.BatchList{CouponID: c.coupon.ID}) {
		require.NoError(t, err)
		batches = append(batches, one)
	}
	require.Equal(t, []coupon.IssuedBatch{b}, batches)
}

// Assigning and importing are one attempt each, which ends with the sequence and has its error.
func TestSequencesAreObserved(t *testing.T) {
	t.Parallel()
	var seen []string
	s, err := couponkit.New(memstore.New(), couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) {
		if a.Operation == couponkit.OpAssignCodes || a.Operation == couponkit.OpImportCodes {
			seen = append(seen, fmt.Sprint(a.Operation, " ", a.CouponID != "", " ", errors.Is(a.Err, store.ErrNoCodesLeft)))
		}
	})))
	require.NoError(t, err)
	c, err := s.Create(t.Context(), tenOff())
	require.NoError(t, err)
	row := codecsv.Row{Number: 2, Draft: coupon.CodeDraft{Code: "ONE"}, Active: true}
	for range s.ImportCodes(t.Context(), c.ID, "file", func(yield func(codecsv.Row, error) bool) { yield(row, nil) }) {
	}
	for range 2 {
		for range s.AssignCodes(t.Context(), c.ID, "file", slices.Values([]coupon.Owner{coupon.OwnerID("ann")})) {
		}
	}
	for range s.AssignCodes(t.Context(), c.ID, "file", slices.Values([]coupon.Owner{coupon.OwnerID("bob")})) {
	}
	require.Equal(t, []string{"import_codes true false", "assign_codes true false", "assign_codes true false", "assign_codes true true"}, seen)
}

// Every owner gets one code, also an owner who is named twice, and in a repeated call.
func TestAssignCodes(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	c.created(t, small())
	var owners []coupon.Owner
	for i := range 1500 {
		owners = append(owners, coupon.OwnerID(fmt.Sprint("customer ", i)))
	}
	owners = append(owners, owners[3], owners[1499])
	assign := func() (assigned []coupon.IssuedCode) {
		for code, err := range c.AssignCodes(t.Context(), c.coupon.ID, "spring", slices.Values(owners)) {
			require.NoError(t, err)
			assigned = append(assigned, code)
		}
		return assigned
	}
	first := assign()
	require.Len(t, first, len(owners))
	keys := map[coupon.Code]bool{}
	for i, code := range first {
		require.Equal(t, owners[i], code.Owner)
		keys[code.Code] = true
	}
	require.Len(t, keys, 1500)
	require.Equal(t, []coupon.Code{first[3].Code, first[1499].Code}, []coupon.Code{first[1500].Code, first[1501].Code})
	require.Equal(t, first, assign())
	wrong := []coupon.Owner{owners[0], owners[0], {}, owners[1]}
	var before int
	for _, err := range c.AssignCodes(t.Context(), c.coupon.ID, "spring", slices.Values(wrong)) {
		if err == nil {
			before++
			continue
		}
		require.ErrorContains(t, err, "owners[2]")
	}
	require.Equal(t, 2, before)
	owners = owners[:0]
	for i := range 1001 {
		owners = append(owners, coupon.OwnerID(fmt.Sprint("another ", i)))
	}
	var got int
	var end error
	for _, err := range c.AssignCodes(t.Context(), c.coupon.ID, "spring", slices.Values(owners)) {
		if end = err; err == nil {
			got++
		}
	}
	require.ErrorIs(t, end, store.ErrNoCodesLeft)
	require.Equal(t, coupon.MaxCodes, got)
}

// TestNilSequences are empty.
func TestNilSequences(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	batch := spring()
	batch.ID, batch.Count = "b", 1
	_, err := s.CreateCodes(t.Context(), c.ID, batch, nil)
	require.NoError(t, err)
	for range s.AssignCodes(t.Context(), c.ID, "b", nil) {
		t.Error("nobody was named")
	}
	for range s.PreviewAssign(t.Context(), c.ID, "b", nil) {
		t.Error("nobody was named")
	}
	for row, err := range s.ImportCodes(t.Context(), c.ID, "b", nil) {
		t.Error(row, err)
	}
	for row, err := range s.PreviewImport(t.Context(), c.ID, "b", nil) {
		t.Error(row, err)
	}
}
