package fakeprocessor_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/validation"
)

// The contract's clauses are held by processortest; here is what the fake does beyond
// them, as a real processor would.

func TestSameCallsMakeTheSameIDs(t *testing.T) {
	t.Parallel()
	life := func() ([]fakeprocessor.Coupon, []fakeprocessor.PromotionCode, []processor.Session) {
		p, _ := newFake(t, fakeprocessor.Options{})
		_, err := p.PlantForeignCode("foreign")
		require.NoError(t, err)
		c := mirrored(t, p, newCoupon(t, "a", "TEN"))
		c.Limits.MaxUses = 3
		_, err = p.UpdateMirror(t.Context(), c)
		require.NoError(t, err)
		created(t, p, request("key-1"))
		return p.Coupons(), p.PromotionCodes(), p.Sessions()
	}
	coupons, codes, sessions := life()
	coupons2, codes2, sessions2 := life()
	if diff := cmp.Diff(coupons, coupons2); diff != "" {
		t.Errorf("the coupons differ (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(codes, codes2); diff != "" {
		t.Errorf("the promotion codes differ (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(sessions, sessions2); diff != "" {
		t.Errorf("the sessions differ (-first +second):\n%s", diff)
	}
}

func TestCodesAreUniqueWhateverTheLetterCase(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	planted, err := p.PlantForeignCode("SummerTen")
	require.NoError(t, err)
	_, err = p.PlantForeignCode("sUMMERtEN")
	wantError(t, err, processor.ErrCodeTaken)
	_, err = p.EnsureMirror(t.Context(), newCoupon(t, "a", "summerten"))
	wantError(t, err, processor.ErrCodeTaken)

	require.NoError(t, p.TamperDelete(planted))
	mirrored(t, p, newCoupon(t, "a", "summerten"))
	wantError(t, p.TamperActivate(planted), processor.ErrRejected) // the code died with its coupon
}

func TestDeletedCouponTakesItsCodesAlong(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	require.NoError(t, p.TamperDelete(c.Mirror))
	want := []fakeprocessor.PromotionCode{{ID: c.Mirror.PromotionCodeID, CouponID: c.Mirror.CouponID, Code: "TEN", Dead: true}}
	if diff := cmp.Diff(want, p.PromotionCodes()); diff != "" {
		t.Errorf("promotion codes after the coupon was deleted (-want +got):\n%s", diff)
	}
	again := mirrored(t, p, c)
	if again.Mirror.CouponID != c.Mirror.CouponID || again.Mirror.PromotionCodeID == c.Mirror.PromotionCodeID {
		t.Errorf("made again: %+v, before %+v; want the same coupon ID and another code", again.Mirror, c.Mirror)
	}
}

func TestTamperingWithWhatIsNotThere(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	for name, tamper := range map[string]func(coupon.Mirror) error{
		"deactivate": p.TamperDeactivate, "activate": p.TamperActivate, "kill": p.TamperKill, "delete": p.TamperDelete,
	} {
		if err := tamper(coupon.Mirror{CouponID: "none", PromotionCodeID: "none"}); !errors.Is(err, processor.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
}

func TestTamperActivate(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	require.NoError(t, p.TamperDeactivate(c.Mirror))
	require.NoError(t, p.TamperActivate(c.Mirror))
	status, err := p.VerifyMirror(t.Context(), c)
	require.NoError(t, err)
	if status != processor.MirrorValid {
		t.Errorf("activated behind our back, the mirror is %s", status)
	}
	require.NoError(t, p.TamperDeactivate(c.Mirror))
	_, err = p.PlantForeignCode("TEN")
	require.NoError(t, err)
	wantError(t, p.TamperActivate(c.Mirror), processor.ErrRejected)
}

func TestMirrorOfOtherTermsIsRejected(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	amount, err := pricing.AmountOff(pricing.NewMoney(2000, pricing.EUR()))
	require.NoError(t, err)
	other := c
	other.Discount = amount
	_, err = p.EnsureMirror(t.Context(), other)
	wantError(t, err, processor.ErrRejected)
	require.NotErrorIs(t, err, processor.ErrCodeTaken)
	if got := p.Coupons(); len(got) != 1 || !got[0].Discount.Equal(c.Discount) {
		t.Errorf("after the refusal the processor has %+v", got)
	}
}

func TestUnsuitableCoupons(t *testing.T) {
	t.Parallel()
	fault := &validation.Error{}
	fault.Add("code", validation.Malformed, "not here")
	p, _ := newFake(t, fakeprocessor.Options{Abilities: processor.Abilities{
		CheckCoupon: func(coupon.Coupon) error { return fault },
	}})
	_, err := p.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
	wantError(t, err, processor.ErrRejected)
	wantError(t, err, validation.ErrInvalid)

	free, _ := newFake(t, fakeprocessor.Options{})
	_, err = free.EnsureMirror(t.Context(), coupon.Coupon{Code: newCoupon(t, "a", "TEN").Code})
	wantError(t, err, processor.ErrRejected)
	wantError(t, free.RemoveMirror(t.Context(), coupon.Coupon{}), processor.ErrRejected)
	if got := free.Coupons(); len(got) > 0 {
		t.Errorf("after refusals the processor has %+v", got)
	}
}

func TestVerifyDoesNotTrustForeignReferences(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	planted, err := p.PlantForeignCode("FOREIGN")
	require.NoError(t, err)
	a, b := mirrored(t, p, newCoupon(t, "a", "TEN")), mirrored(t, p, newCoupon(t, "b", "TWENTY"))
	mixed := a.Mirror
	mixed.PromotionCodeID = b.Mirror.PromotionCodeID
	for name, test := range map[string]struct {
		mirror coupon.Mirror
		want   processor.MirrorStatus
	}{
		"somebody else's":           {planted, processor.MirrorMissing},
		"another coupon's":          {b.Mirror, processor.MirrorMissing},
		"the code of another":       {mixed, processor.MirrorInvalid},
		"a coupon without its code": {coupon.Mirror{CouponID: a.Mirror.CouponID}, processor.MirrorMissing},
	} {
		c := a
		c.Mirror = test.mirror
		status, err := p.VerifyMirror(t.Context(), c)
		require.NoError(t, err)
		if status != test.want {
			t.Errorf("%s: %s, want %s", name, status, test.want)
		}
	}
}

func TestMirrorsShowHalfMadeOnes(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	_, err := p.PlantForeignCode("FOREIGN")
	require.NoError(t, err)
	p.Inject(fakeprocessor.Fault{Op: fakeprocessor.EnsureMirror, Step: fakeprocessor.ListCodes, Kind: fakeprocessor.LostBefore})
	half := newCoupon(t, "a", "TEN")
	_, err = p.EnsureMirror(t.Context(), half)
	wantError(t, err, processor.ErrUnavailable)
	off := newCoupon(t, "b", "TWENTY")
	off.State = coupon.Inactive
	off = mirrored(t, p, off)

	var got []processor.MirrorRef
	for ref, err := range p.Mirrors(t.Context()) {
		require.NoError(t, err)
		got = append(got, ref)
	}
	want := []processor.MirrorRef{
		{CouponID: half.ID, Mirror: coupon.Mirror{CouponID: p.Coupons()[0].ID, Revision: 1}},
		{CouponID: off.ID, Mirror: coupon.Mirror{CouponID: off.Mirror.CouponID, Revision: 1}}, // no code of it is active
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mirrors (-want +got):\n%s", diff)
	}
}

// TestRivals lets somebody change the objects between any two steps of a call; the call
// looks again, and gives up when that never ends.
func TestRivals(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	rival := p.Inject(fakeprocessor.Fault{
		Op: fakeprocessor.UpdateMirror, Step: fakeprocessor.ListCodes, Kind: fakeprocessor.Hook, Times: -1,
		Do: func(fakeprocessor.Call) {
			for _, o := range p.Coupons() {
				_ = p.TamperDelete(coupon.Mirror{CouponID: o.ID})
			}
		},
	})
	_, err := p.UpdateMirror(t.Context(), c)
	wantError(t, err, processor.ErrUnavailable)
	if rival.Fired() < 2 {
		t.Errorf("the call looked %d times before it gave up", rival.Fired())
	}
	rival.Remove()

	once := p.Inject(fakeprocessor.Fault{
		Step: fakeprocessor.CreateCode, Kind: fakeprocessor.Hook, // the rival makes it first
		Do: func(fakeprocessor.Call) { mirrored(t, p, c) },
	})
	c = mirrored(t, p, c)
	require.Equal(t, 1, once.Fired())
	active := 0
	for _, code := range p.PromotionCodes() {
		if code.Active {
			active++
		}
	}
	if active != 1 || len(p.Coupons()) != 1 {
		t.Errorf("%d active codes and %d coupons, want one of each", active, len(p.Coupons()))
	}
}

func TestNameChangesInPlaceAndLimitsDoNot(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	c.Name, c.Revision = "Another", 2
	renamed, err := p.UpdateMirror(t.Context(), c)
	require.NoError(t, err)
	if want := (coupon.Mirror{CouponID: c.Mirror.CouponID, PromotionCodeID: c.Mirror.PromotionCodeID, Revision: 2}); renamed != want {
		t.Errorf("a new name made %+v, want %+v", renamed, want)
	}
	c.Limits.MaxUses, c.Revision = 5, 3
	replaced, err := p.UpdateMirror(t.Context(), c)
	require.NoError(t, err)
	if replaced.CouponID == renamed.CouponID || replaced.PromotionCodeID == renamed.PromotionCodeID {
		t.Errorf("a new limit kept objects: %+v, before %+v", replaced, renamed)
	}
	want := []fakeprocessor.Coupon{{
		ID: replaced.CouponID, Owner: c.ID, Name: "Another", Discount: c.Discount, Currency: c.Currency, MaxUses: 5, Revision: 3,
	}}
	if diff := cmp.Diff(want, p.Coupons()); diff != "" {
		t.Errorf("coupons (-want +got):\n%s", diff)
	}
}

func TestCodesThatCanBeActivatedAgainAre(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	c.State = coupon.Inactive
	off, err := p.SetMirrorActive(t.Context(), c)
	require.NoError(t, err)
	c.State = coupon.Active
	on, err := p.SetMirrorActive(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, c.Mirror, off)
	require.Equal(t, c.Mirror, on)

	require.NoError(t, p.TamperKill(c.Mirror))
	c.State = coupon.Inactive
	dead, err := p.SetMirrorActive(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, c.Mirror, dead, "an inactive coupon needs no code that works")
	c.State = coupon.Active
	anew, err := p.SetMirrorActive(t.Context(), c)
	require.NoError(t, err)
	require.NotEqual(t, c.Mirror.PromotionCodeID, anew.PromotionCodeID)
}
