package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// garbling is a processor whose mirrors have IDs that no store keeps.
type garbling struct{ processor.Processor }

func (p garbling) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	m, err := p.Processor.EnsureMirror(ctx, c)
	m.CouponID = "\x00"
	return m, err
}

// TestAMirrorThatCannotBeKept: what the processor answers is not the administrator's
// input, and no error says so.
func TestAMirrorThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(garbling{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	if _, err := service.Create(t.Context(), tenOff()); !errors.Is(err, processor.ErrRejected) || errors.Is(err, validation.ErrInvalid) {
		t.Errorf("got %v, want ErrRejected and no fault of the input", err)
	}
	w.create(t, tenOff()) // the code is free
}

func TestCreateStoresAndMirrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	if !c.Active() || !c.Mirrored() || c.Revision != 1 || c.Limits.MaxUsesPerUser != 1 {
		t.Errorf("created coupon %+v is not active, mirrored, of revision 1 and once per user", c)
	}
	if diff := cmp.Diff(c, w.get(t, c.ID)); diff != "" {
		t.Errorf("stored coupon differs (-returned +stored):\n%s", diff)
	}
	status, err := w.fake.VerifyMirror(t.Context(), c)
	if err != nil || status != processor.MirrorValid {
		t.Errorf("mirror is %s, %v", status, err)
	}
}

func TestCreateRefusesATakenCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	again := tenOff()
	again.Code = " ten "
	if _, err := w.Create(t.Context(), again); !errors.Is(err, coupon.ErrCodeTaken) {
		t.Errorf("second coupon of the code: %v, want code_taken", err)
	}
	if n := len(w.fake.Coupons()); n != 1 {
		t.Errorf("%d objects at the processor, want 1", n)
	}
}

func TestCreateRefusesAForeignCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.fake.PlantForeignCode("TEN")
	require.NoError(t, err)
	if _, err = w.Create(t.Context(), tenOff()); !errors.Is(err, coupon.ErrCodeTaken) || !errors.Is(err, processor.ErrCodeTaken) {
		t.Errorf("got %v, want code_taken of coupon and processor", err)
	}
	w.wantNothing(t, 1)
}

// wantNothing checks that no coupon is stored, and that the processor has only
// foreign objects.
func (w *world) wantNothing(t *testing.T, foreign int) {
	t.Helper()
	page, err := w.List(t.Context(), store.CouponList{})
	require.NoError(t, err)
	if page.Total != 0 || len(w.fake.Coupons()) != foreign {
		t.Errorf("%d coupons stored and %d objects at the processor, want 0 and %d", page.Total, len(w.fake.Coupons()), foreign)
	}
}

func TestCreateOfOneCodeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithObserver(couponkit.ObserverFunc(func(context.Context, couponkit.Attempt) {})))
	var group sync.WaitGroup
	results := make([]error, 16)
	for i := range results {
		group.Go(func() { _, results[i] = w.Create(t.Context(), tenOff()) })
	}
	group.Wait()
	created := 0
	for _, err := range results {
		if err == nil {
			created++
		} else if !errors.Is(err, coupon.ErrCodeTaken) {
			t.Errorf("loser got %v, want code_taken", err)
		}
	}
	if created != 1 || len(w.fake.Coupons()) != 1 {
		t.Errorf("%d created with %d mirrors, want 1 with 1", created, len(w.fake.Coupons()))
	}
}

// TestCreateAfterAFailureOfTheProcessor: the coupon that could not be mirrored does
// not come to be, and its code is free for the next try.
func TestCreateAfterAFailureOfTheProcessor(t *testing.T) {
	t.Parallel()
	for _, step := range []fakeprocessor.Step{"", fakeprocessor.CreateCoupon, fakeprocessor.CreateCode} {
		for name, kind := range map[string]fakeprocessor.Kind{"before": fakeprocessor.LostBefore, "after": fakeprocessor.LostAfter} {
			t.Run(string(step)+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.EnsureMirror, Step: step, Kind: kind})
				if _, err := w.Create(t.Context(), tenOff()); !errors.Is(err, couponkit.ErrUnavailable) {
					t.Fatalf("got %v, want ErrUnavailable", err)
				}
				w.wantNothing(t, 0)
				w.create(t, tenOff())
			})
		}
	}
}

// TestCreateFinishesAStuckDeletion: a code that only an unfinished deletion holds
// is free as soon as the processor answers again.
func TestCreateFinishesAStuckDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.RemoveMirror, Kind: fakeprocessor.LostBefore, Times: -1})
	require.ErrorIs(t, w.Delete(t.Context(), c.ID), couponkit.ErrUnavailable)
	if _, err := w.Create(t.Context(), tenOff()); !errors.Is(err, coupon.ErrCodeTaken) {
		t.Fatalf("while the processor is down: %v, want code_taken", err)
	}
	down.Remove()
	if again := w.create(t, tenOff()); again.ID == c.ID {
		t.Error("the new coupon has the ID of the deleted one")
	}
}

func TestCreateReportsEveryFault(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{CheckCoupon: func(c coupon.Coupon) error {
		var faults validation.Error
		faults.Add("code", validation.Malformed, "not at this processor")
		return faults.Err()
	}})
	var invalid *validation.Error
	_, err := w.Create(t.Context(), coupon.Draft{})
	require.ErrorAs(t, err, &invalid)
	var fields []string
	for _, f := range invalid.Fields {
		fields = append(fields, f.Path)
	}
	if diff := cmp.Diff([]string{"discountValue", "discountType", "name", "code"}, fields); diff != "" {
		t.Errorf("faults of an empty draft (-want +got):\n%s", diff)
	}
	_, err = w.Create(t.Context(), tenOff())
	require.ErrorAs(t, err, &invalid)
	w.wantNothing(t, 0)
}

// TestAMakerOfOtherIDs is a mistake of the host, and none in what an administrator types.
func TestAMakerOfOtherIDs(t *testing.T) {
	t.Parallel()
	for _, made := range []string{"6ba7b810", coupon.IDPrefix, coupon.IDPrefix + "ä", coupon.IDPrefix + strings.Repeat("1", coupon.MaxIDLength)} {
		w := newWorld(t, couponkit.WithIDs(func(string) string { return made }))
		_, err := w.Create(t.Context(), tenOff())
		if err == nil || errors.Is(err, validation.ErrInvalid) || !strings.Contains(err.Error(), "WithIDs") {
			t.Errorf("%q: got %v, want an error that names WithIDs and is no invalid input", made, err)
		}
		w.wantNothing(t, 0)
	}
}

// TestCreateNamesWhatTheProcessorRefuses beside the faults of the draft, of what can be read
// all the same.
func TestCreateNamesWhatTheProcessorRefuses(t *testing.T) {
	t.Parallel()
	dinar, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	var judged []coupon.Coupon
	w := newWorldWith(t, processor.Abilities{
		AmountStep: map[pricing.Currency]int64{dinar: 10},
		CheckCoupon: func(c coupon.Coupon) error {
			judged = append(judged, c)
			var faults validation.Error
			for _, field := range []string{"code", "name", "maxUses", "expiresAt"} {
				faults.Add(field, validation.Malformed, "not at this processor")
			}
			return faults.Err()
		},
	})
	offStep := coupon.Amounts{"": "1.005"}
	for name, test := range map[string]struct {
		draft coupon.Draft
		want  []string
	}{
		"no name": {
			coupon.Draft{Code: "ÄÄ", DiscountType: pricing.FixedAmount, Amount: offStep, Currency: "KWD"},
			[]string{"name", "code", "maxUses", "discountValue"},
		},
		"no such code": {
			coupon.Draft{Code: "A B", Name: "Ä", DiscountType: pricing.FixedAmount, Amount: offStep, Currency: "KWD"},
			[]string{"code", "name", "maxUses", "discountValue"},
		},
		"no currency": {
			coupon.Draft{Code: "ÄÄ", Name: "Ä", DiscountType: pricing.FixedAmount, Amount: offStep, Currency: "dinar"},
			[]string{"currency", "code", "name", "maxUses"},
		},
		"no value": {coupon.Draft{Code: "ÄÄ", Name: "Ä", DiscountType: pricing.FixedAmount}, []string{"discountValue", "code", "name", "maxUses"}},
		"no type":  {coupon.Draft{Code: "ÄÄ", Name: "Ä", Amount: offStep}, []string{"discountType", "code", "name", "maxUses"}},
		"no limit": {
			coupon.Draft{
				Code: "ÄÄ", Name: "Ä", DiscountType: pricing.FixedAmount, Amount: offStep, Currency: "KWD",
				MaxUses: coupon.Set(0),
			},
			[]string{"maxUses", "code", "name", "discountValue"},
		},
	} {
		_, err := w.Create(t.Context(), test.draft)
		if diff := cmp.Diff(test.want, faultyFields(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, c := range judged {
		require.NoError(t, c.Validate(), "what a processor judges is a coupon")
	}
	w.wantNothing(t, 0)
}

// TestWhatCannotBeMirroredIsNotTried: the processor is not asked for a coupon that it
// is known to refuse, whether by its own check or by the steps in which it charges.
func TestWhatCannotBeMirroredIsNotTried(t *testing.T) {
	t.Parallel()
	dinar, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	w := newWorldWith(t, processor.Abilities{
		AmountStep: map[pricing.Currency]int64{dinar: 10},
		CheckCoupon: func(c coupon.Coupon) error {
			var faults validation.Error
			if c.Name == "Refused" {
				faults.Add("name", validation.Malformed, "not at this processor")
			}
			return faults.Err()
		},
	})
	d := tenOff()
	d.Currency, d.Amount = "KWD", coupon.Amounts{"": "1.005"}
	_, err = w.Create(t.Context(), d)
	require.ErrorIs(t, err, validation.ErrInvalid)
	d = tenOff()
	d.Name = "Refused"
	_, err = w.Create(t.Context(), d)
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.Empty(t, w.fake.Calls())
	c := w.create(t, tenOff())
	w.fake.ForgetCalls()
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Refused")})
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.Empty(t, w.fake.Calls())
	if got := w.get(t, c.ID); got.Name != c.Name || got.Revision != c.Revision {
		t.Errorf("the coupon is %+v", got)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.pass(time.Minute)
	changed, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New"), MaxUses: coupon.Set(7)})
	require.NoError(t, err)
	if changed.Name != "New" || changed.Limits.MaxUses != 7 || changed.Revision != 2 || !changed.Mirrored() || !changed.UpdatedAt.Equal(w.now) {
		t.Errorf("updated coupon is %+v", changed)
	}
	for _, object := range w.fake.Coupons() {
		if object.Name != "New" || object.MaxUses != 7 {
			t.Errorf("object at the processor is %+v", object)
		}
	}
	for _, other := range []int64{1, 3} { // of before, and of a store that was put back
		_, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Old"), Revision: coupon.Set[int64](other)})
		if !errors.Is(err, store.ErrStaleRevision) || !errors.Is(err, store.ErrConflict) {
			t.Errorf("on revision %d: %v, want ErrStaleRevision", other, err)
		}
	}
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{Code: coupon.Set("OTHER"), DiscountValue: coupon.Set(coupon.Amounts{"": "5"})})
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	if len(invalid.Fields) != 2 || invalid.Fields[0].Code != validation.Immutable {
		t.Errorf("changing code and value: %v", err)
	}
	faulty := coupon.Patch{Name: coupon.Set(""), MaxUses: coupon.Set(-1)} // judged only with its coupon
	if _, err := w.Update(t.Context(), c.ID, faulty); !errors.Is(err, validation.ErrInvalid) {
		t.Errorf("a faulty patch: %v", err)
	}
	if _, err := w.Update(t.Context(), "cpn_unknown", faulty); !errors.Is(err, coupon.ErrNotFound) || errors.Is(err, validation.ErrInvalid) {
		t.Errorf("a faulty patch of an unknown coupon: %v", err)
	}
	if _, err := w.Update(t.Context(), "cpn_unknown", coupon.Patch{}); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
}

// TestChangesOfManyAdministrators: no change is lost when all read and write at
// once without naming a revision.
func TestChangesOfManyAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithObserver(couponkit.ObserverFunc(func(context.Context, couponkit.Attempt) {})))
	c := w.create(t, tenOff())
	patches := []coupon.Patch{
		{Name: coupon.Set("New")}, {Description: coupon.Set("Words")}, {MaxUses: coupon.Set(9)},
	}
	var group sync.WaitGroup
	for _, p := range patches {
		group.Go(func() {
			if _, err := w.Update(t.Context(), c.ID, p); err != nil {
				t.Errorf("update: %v", err)
			}
		})
	}
	group.Wait()
	got := w.get(t, c.ID)
	if got.Name != "New" || got.Description != "Words" || got.Limits.MaxUses != 9 || got.Revision != 4 {
		t.Errorf("after three changes at once: %+v", got)
	}
	w.wantMirrored(t, c.ID, processor.MirrorValid)
}

// TestAnOlderChangeThatReachesTheProcessorLast: the terms of the newer one are what
// the mirror shows in the end, also when the processor fails in between.
func TestAnOlderChangeThatReachesTheProcessorLast(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
			// A second administrator is faster all the way.
			_, err := w.Update(w.t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Newer")})
			require.NoError(w.t, err)
			if down {
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.LostBefore, Skip: 1})
			}
		}})
		_, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Older")})
		require.NoError(t, err)
		if down {
			_, err = w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			require.NoError(t, err)
		}
		w.wantMirrored(t, c.ID, processor.MirrorValid)
		if got := w.get(t, c.ID); got.Name != "Newer" {
			t.Errorf("the coupon is named %q, want the newer name", got.Name)
		}
	}
}

// TestAnOlderChangeThatSeemsToFail: it reaches the processor last, and its answer is lost.
// The next reconcile looks, also where the processor lists no mirrors.
func TestAnOlderChangeThatSeemsToFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(unlisted{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.Service = service
	c := w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
		_, err := w.Update(w.t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Newer")})
		require.NoError(w.t, err)
	}})
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.LostAfter})
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Older")})
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	_, err = w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	w.wantMirrored(t, c.ID, processor.MirrorValid)
	if got := w.get(t, c.ID); got.Name != "Newer" {
		t.Errorf("the coupon is named %q, want the newer name", got.Name)
	}
}

// TestTheRevisionAfterAChangeThatWasTakenBack holds contract 4.13: the coupon is as it was
// under a newer revision, and no revision is ever of two contents at the processor.
func TestTheRevisionAfterAChangeThatWasTakenBack(t *testing.T) {
	t.Parallel()
	sent := map[int64]string{}
	w := newWorld(t)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(reading{w.fake, sent}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.Service = service
	want := w.create(t, tenOff())
	w.pass(time.Minute)
	patch := coupon.Patch{Name: coupon.Set("New"), Revision: coupon.Set[int64](want.Revision)}
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.LostBefore})
	_, err = w.Update(t.Context(), want.ID, patch)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	want.Revision += 2
	if diff := cmp.Diff(want, w.get(t, want.ID)); diff != "" {
		t.Errorf("the coupon (-want +got):\n%s", diff)
	}
	_, err = w.Update(t.Context(), want.ID, patch)
	require.ErrorIs(t, err, store.ErrStaleRevision)
	patch.Name, patch.Revision = coupon.Set("Newer"), coupon.Set(want.Revision) // after another look
	got, err := w.Update(t.Context(), want.ID, patch)
	require.NoError(t, err)
	require.Equal(t, "Newer", got.Name)
	if diff := cmp.Diff(map[int64]string{1: "Ten off", 2: "New", 4: "Newer"}, sent); diff != "" {
		t.Errorf("names at the processor, by revision (-want +got):\n%s", diff)
	}
}

// reading is a processor that notes the name of every revision.
type reading struct {
	*fakeprocessor.Processor
	sent map[int64]string
}

func (p reading) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	p.sent[c.Revision] = c.Name
	return p.Processor.EnsureMirror(ctx, c)
}

func (p reading) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	p.sent[c.Revision] += c.Name
	return p.Processor.UpdateMirror(ctx, c)
}

func TestAChangeThatTheProcessorDoesNotFollowIsTakenBack(t *testing.T) {
	t.Parallel()
	changes := map[string]func(w *world, id string) error{
		"update": func(w *world, id string) error {
			_, err := w.Update(w.t.Context(), id, coupon.Patch{Name: coupon.Set("New")})
			return err
		},
		"switch off": func(w *world, id string) error {
			_, err := w.SetActive(w.t.Context(), id, false)
			return err
		},
	}
	for name, change := range changes {
		for _, kind := range []fakeprocessor.Kind{fakeprocessor.LostBefore, fakeprocessor.LostAfter} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				c := w.create(t, tenOff())
				for _, op := range []fakeprocessor.Op{fakeprocessor.UpdateMirror, fakeprocessor.SetMirrorActive} {
					w.fake.Inject(fakeprocessor.Fault{Op: op, Kind: kind})
				}
				require.ErrorIs(t, change(w, c.ID), couponkit.ErrUnavailable)
				w.fake.Heal()
				got := w.get(t, c.ID)
				if got.Name != c.Name || got.State != c.State {
					t.Errorf("after the failure the coupon is %+v", got)
				}
				_, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
				require.NoError(t, err)
				w.wantMirrored(t, c.ID, processor.MirrorValid)
			})
		}
	}
}

func (w *world) wantMirrored(t *testing.T, id string, want processor.MirrorStatus) {
	t.Helper()
	c := w.get(t, id)
	status, err := w.fake.VerifyMirror(t.Context(), c)
	if err != nil || status != want || !c.Mirrored() {
		t.Errorf("mirror is %s (%v), up to date: %t; want %s", status, err, c.Mirrored(), want)
	}
	for _, object := range w.fake.Coupons() {
		if object.Owner == id && object.Name != c.Name {
			t.Errorf("object at the processor is named %q, the coupon %q", object.Name, c.Name)
		}
	}
}

func TestSetActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	for _, active := range []bool{false, false, true, true} {
		got, err := w.SetActive(t.Context(), c.ID, active)
		require.NoError(t, err)
		want := map[bool]processor.MirrorStatus{true: processor.MirrorValid, false: processor.MirrorInvalid}[active]
		if got.Active() != active {
			t.Errorf("coupon is active: %t, want %t", got.Active(), active)
		}
		w.wantMirrored(t, c.ID, want)
	}
	if _, err := w.SetActive(t.Context(), "cpn_unknown", true); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
}

// TestWhenACouponWasChanged: a switch is a change, and so is a deletion that is not finished.
func TestWhenACouponWasChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.pass(time.Minute)
	off, err := w.SetActive(t.Context(), c.ID, false)
	require.NoError(t, err)
	require.Equal(t, w.now, off.UpdatedAt)
	w.pass(time.Minute)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.RemoveMirror, Kind: fakeprocessor.LostBefore})
	require.ErrorIs(t, w.Delete(t.Context(), c.ID), couponkit.ErrUnavailable)
	require.Equal(t, w.now, w.get(t, c.ID).UpdatedAt)
}

// TestADeletionThatSomebodyElseFinishes has succeeded all the same, and a change that is
// overtaken by it marks nothing, and so warns of nothing.
func TestADeletionThatSomebodyElseFinishes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	gone := func(at string) gate {
		return func(call string, effect func() error) error {
			if call == at {
				now := w.get(t, c.ID)
				require.NoError(t, w.discard(now.ID, now.Revision))
			}
			return effect()
		}
	}
	w.behind(gone("SaveCoupon delete"), couponkit.WithClock(clockOf(w)))
	require.NoError(t, w.Delete(t.Context(), c.ID))
	w.wantNothing(t, 0)

	c = w.create(t, tenOff())
	var log messages
	w.behind(func(call string, effect func() error) error {
		if call == "SaveCoupon confirm" {
			now := w.get(t, c.ID)
			now.State = coupon.Deleting
			now, err := w.save(store.EditCoupon, now)
			require.NoError(t, err)
			defer func() { require.NoError(t, w.discard(now.ID, now.Revision)) }()
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)), couponkit.WithLogger(slog.New(&log)))
	_, err := w.SetActive(t.Context(), c.ID, false)
	require.ErrorIs(t, err, coupon.ErrNotFound)
	require.Empty(t, log.lines)
	w.wantNothing(t, 0)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	require.NoError(t, w.Delete(t.Context(), c.ID))
	w.wantNothing(t, 0)
	if err := w.Delete(t.Context(), c.ID); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("second deletion: %v", err)
	}
	if again := w.create(t, tenOff()); again.Code != c.Code {
		t.Errorf("code of the new coupon is %s", again.Code)
	}
}

// TestDeleteWhileTheProcessorIsDown: the coupon is unusable at once, and repeating
// the call finishes the work.
func TestDeleteWhileTheProcessorIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.RemoveMirror, Kind: fakeprocessor.LostBefore})
	require.ErrorIs(t, w.Delete(t.Context(), c.ID), couponkit.ErrUnavailable)
	if _, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann}); !errors.Is(err, coupon.ErrInactive) {
		t.Errorf("coupon that is being deleted: %v, want coupon_inactive", err)
	}
	if _, err := w.Get(t.Context(), c.ID); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("get: %v, want coupon_not_found", err)
	}
	require.NoError(t, w.Delete(t.Context(), c.ID))
	w.wantNothing(t, 0)
}

// TestDeleteBesideAChange: the change makes the mirror again that the deletion has
// removed, whichever step of it comes last, and it does not stay to hold the code.
func TestDeleteBesideAChange(t *testing.T) {
	t.Parallel()
	for _, stuck := range []bool{false, true} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
			if !stuck {
				require.NoError(w.t, w.Delete(w.t.Context(), c.ID))
				return
			}
			deleting := w.get(w.t, c.ID)
			deleting.State = coupon.Deleting
			deleting, err := w.save(store.EditCoupon, deleting)
			require.NoError(w.t, err)
			require.NoError(w.t, w.fake.RemoveMirror(w.t.Context(), deleting))
		}})
		_, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New")})
		require.ErrorIs(t, err, coupon.ErrNotFound)
		if got := w.fake.Coupons(); len(got) != 0 {
			t.Errorf("stuck: %t; a deleted coupon has left %+v", stuck, got)
		}
		if again := w.create(t, tenOff()); again.Code != c.Code {
			t.Errorf("code of the new coupon is %s", again.Code)
		}
	}
}

func TestListSearchesAndPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, code := range []string{"ONE", "TWO", "THREE"} {
		d := tenOff()
		d.Code, d.Description = code, "100%_"+code
		w.create(t, d)
		w.pass(time.Second)
	}
	page, err := w.List(t.Context(), store.CouponList{Search: "%_t", PageSize: 1})
	require.NoError(t, err)
	if page.Total != 2 || len(page.Items) != 1 || page.Items[0].Code.String() != "THREE" || page.Next == "" {
		t.Errorf("page is %+v", page)
	}
	if _, err := w.List(t.Context(), store.CouponList{PageSize: 101}); !errors.Is(err, validation.ErrInvalid) {
		t.Errorf("page of 101: %v", err)
	}
}

func TestUsesOfACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	page, err := w.Uses(t.Context(), store.UseList{CouponID: c.ID})
	require.NoError(t, err)
	if page.Total != 1 || page.Items[0].ID != got.Uses[0].ID {
		t.Errorf("page is %+v", page)
	}
}

// Databases write IDs that sort by time to the end of their indexes.
func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})),
		couponkit.WithClock(func() time.Time { return now }))
	require.NoError(t, err)
	var last string
	for i := range 100 {
		draft := tenOff()
		draft.Code = fmt.Sprintf("TEN%d", i)
		c, err := service.Create(t.Context(), draft)
		require.NoError(t, err)
		if len(c.ID) != len(coupon.IDPrefix)+26 || !strings.HasPrefix(c.ID, coupon.IDPrefix) || c.ID <= last {
			t.Errorf("ID %q, a millisecond after %q", c.ID, last)
		}
		last = c.ID
		now = now.Add(time.Millisecond)
	}
	first, second := tenOff(), tenOff()
	first.Code, second.Code = "ONE", "OTHER"
	a, err := service.Create(t.Context(), first)
	require.NoError(t, err)
	b, err := service.Create(t.Context(), second)
	require.NoError(t, err)
	if a.ID == b.ID || a.ID[:13] != b.ID[:13] {
		t.Errorf("IDs %q and %q of one millisecond: want them different, after the time", a.ID, b.ID)
	}
}

// TestAChangeThatIsOvertakenForEver: older terms that reach the processor last, more often than
// anybody tries, are left to the reconcile.
func TestAChangeThatIsOvertakenForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(unlisted{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.Service = service
	c := w.create(t, tenOff())
	newer, inner := 0, false
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.Hook, Times: -1, Do: func(fakeprocessor.Call) {
		if inner || newer == 6 {
			return
		}
		newer++
		inner = true
		defer func() { inner = false }()
		_, err := w.Update(w.t.Context(), c.ID, coupon.Patch{Name: coupon.Set(fmt.Sprint("Newer ", newer))})
		require.NoError(w.t, err)
	}})
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Older")})
	require.NoError(t, err)
	require.Equal(t, 6, newer)
	_, err = w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.Equal(t, "Newer 6", w.get(t, c.ID).Name)
	require.Equal(t, "Newer 6", w.fake.Coupons()[0].Name)
}

// narrowing is a store whose answers to changes hold no addresses, as the contract allows.
type narrowing struct{ store.Store }

func (n narrowing) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	saved, err := n.Store.SaveCoupon(ctx, c)
	saved.AllowedUserEmails = saved.AllowedUserEmails.Narrow("")
	return saved, err
}

// TestChangesReturnTheWholeAllowList: callers get every address, whatever the store answers.
func TestChangesReturnTheWholeAllowList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(narrowing{w.store}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	draft := tenOff()
	draft.Distribution = coupon.UserSpecific
	draft.AllowedUserEmails = coupon.EmailList{"ann@example.org", "bob@example.org"}
	made, err := service.Create(t.Context(), draft)
	require.NoError(t, err)
	off, err := service.SetActive(t.Context(), made.ID, false)
	require.NoError(t, err)
	named, err := service.Update(t.Context(), made.ID, coupon.Patch{Name: coupon.Set("Members")})
	require.NoError(t, err)
	for _, c := range []coupon.Coupon{made, off, named} {
		require.Equal(t, []string{"ann@example.org", "bob@example.org"}, c.AllowedUserEmails.Slice())
	}
}
