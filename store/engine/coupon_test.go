package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// shelf is a transaction in which one coupon is stored.
type shelf struct {
	stored engine.StoredCoupon
	codes  engine.CodeRows
	saved  *engine.CouponWrite
	err    error
}

func (s *shelf) LoadCoupon(context.Context, string, coupon.Code) (engine.StoredCoupon, error) {
	return s.stored, nil
}

func (s *shelf) SaveCoupon(_ context.Context, w engine.CouponWrite) error {
	s.saved = &w
	return s.err
}

func (s *shelf) LoadCodes(context.Context, engine.CodeNeed) (engine.CodeRows, error) {
	return s.codes, nil
}

func someCoupon(t *testing.T, revision int64) coupon.Coupon {
	t.Helper()
	code, err := coupon.ParseCode("TEN")
	require.NoError(t, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	return coupon.Coupon{
		ID: "cpn_a", Code: code, Name: "ten", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All},
			Distribution: coupon.UserSpecific, AllowedUserEmails: coupon.NarrowedEmailSet(2, ""),
			RefundPolicy: pricing.Keep,
		},
		State: coupon.Active, CreatedAt: at(0), UpdatedAt: at(0), Revision: revision,
	}
}

// TestWrites tells what a store is asked to write for each change: whether a counter is
// folded, whether the allow-list stays, and the version for the journal.
func TestWrites(t *testing.T) {
	t.Parallel()
	whole, err := coupon.NewEmailSet("cem@shop.example")
	require.NoError(t, err)
	fold := eligibility.CouponUses("cpn_a")
	for name, test := range map[string]struct {
		kind            store.ChangeKind
		before, after   bool // unlimited
		whole           bool // the change has a whole allow-list
		fold            string
		keep, unlimited bool
		entry           store.EntryKind
	}{
		"an edit that sets a limit":        {store.EditCoupon, true, false, false, fold, true, false, store.CouponChanged},
		"an edit that takes a limit away":  {store.EditCoupon, false, true, false, "", true, true, store.CouponChanged},
		"an edit without a limit":          {store.EditCoupon, true, true, false, "", true, true, store.CouponChanged},
		"an edit with a whole list":        {store.EditCoupon, false, false, true, "", false, false, store.CouponChanged},
		"a mirror of an unlimited coupon":  {store.ConfirmMirror, true, false, false, "", true, true, store.CouponMirrored},
		"a mirror of a limited coupon":     {store.ConfirmMirror, false, true, false, "", true, false, store.CouponMirrored},
		"deletion of an unlimited coupon":  {store.DeleteCoupon, true, false, false, fold, true, true, store.CouponDeleted},
		"deletion of a coupon with limits": {store.DeleteCoupon, false, true, false, "", true, false, store.CouponDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{stored: engine.StoredCoupon{Coupon: someCoupon(t, 4), Unlimited: test.before, Version: 7}}
			change := store.CouponChange{Kind: test.kind, Coupon: someCoupon(t, 4), Unlimited: test.after, By: "admin", At: at(9)}
			change.Coupon.Mirror.Revision = 4
			if test.whole {
				change.Coupon.AllowedUserEmails = whole
			}
			saved, err := engine.SaveCoupon(t.Context(), s, change)
			require.NoError(t, err)
			require.Equal(t, []any{test.kind, test.fold, test.keep, test.unlimited, int64(8)}, []any{s.saved.Kind, s.saved.Fold, s.saved.KeepEmails, s.saved.Unlimited, s.saved.Version})
			require.Empty(t, cmp.Diff(s.saved.Coupon, saved))
			require.Equal(t, []any{test.entry, "cpn_a", int64(8), "admin", at(9)}, []any{s.saved.Entry.Kind, s.saved.Entry.Subject, s.saved.Entry.Version, s.saved.Entry.By, s.saved.Entry.At})
			require.NotContains(t, string(s.saved.Entry.Data), "@shop.example")
			require.True(t, json.Valid(s.saved.Entry.Data))
		})
	}
}

// TestNothingIsWrittenAfterARefusal: a change that is refused reaches no table.
func TestNothingIsWrittenAfterARefusal(t *testing.T) {
	t.Parallel()
	stored := engine.StoredCoupon{Coupon: someCoupon(t, 4), Version: 7}
	fresh := someCoupon(t, 1)
	for name, test := range map[string]struct {
		stored engine.StoredCoupon
		change store.CouponChange
		want   error
	}{
		"stale edit":     {stored, store.CouponChange{Kind: store.EditCoupon, Coupon: fresh}, store.ErrStaleRevision},
		"stale deletion": {stored, store.CouponChange{Kind: store.DeleteCoupon, Coupon: fresh}, store.ErrStaleRevision},
		"stale mirror":   {stored, store.CouponChange{Kind: store.ConfirmMirror, Coupon: someCoupon(t, 4)}, store.ErrStaleRevision},
		"unknown":        {engine.StoredCoupon{}, store.CouponChange{Kind: store.EditCoupon, Coupon: fresh}, coupon.ErrNotFound},
		"taken code":     {engine.StoredCoupon{CodeOf: "cpn_b"}, store.CouponChange{Kind: store.CreateCoupon, Coupon: fresh}, coupon.ErrCodeTaken},
		"taken ID":       {stored, store.CouponChange{Kind: store.CreateCoupon, Coupon: fresh}, store.ErrConflict},
		"counted ID":     {engine.StoredCoupon{Counted: true}, store.CouponChange{Kind: store.CreateCoupon, Coupon: fresh}, store.ErrConflict},
		"invalid edit":   {stored, store.CouponChange{Kind: store.EditCoupon, Coupon: coupon.Coupon{ID: "cpn_a", Revision: 4}}, validation.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{stored: test.stored}
			_, err := engine.SaveCoupon(t.Context(), s, test.change)
			require.ErrorIs(t, err, test.want)
			require.Nil(t, s.saved)
		})
	}
	again := &shelf{err: engine.ErrAgain}
	_, err := engine.SaveCoupon(t.Context(), again, store.CouponChange{Kind: store.CreateCoupon, Coupon: fresh})
	require.ErrorIs(t, err, engine.ErrAgain)
}

// TestDocuments: what a store keeps in documents comes back as it was.
func TestDocuments(t *testing.T) {
	t.Parallel()
	r := order("1", "ann", "cpn_a")
	o, u := r.Order, r.Uses[0]
	o.Fingerprint, o.Replaces, o.Metadata = "f", "ord_0", map[string]string{"k": "v", "": "\u2028<>&"}
	o.Claims, o.Coupons = []eligibility.Claim{claim("a", 1, 1<<62)}, []coupon.Snapshot{someCoupon(t, 3).Snapshot()}
	u.Discount, u.Points, u.Claims = 1<<53+1, 7, []eligibility.Claim{claim("b", eligibility.MaxAmount, 0)}
	data, err := engine.AppendOrder(nil, &o)
	require.NoError(t, err)
	got := redemption.Order{ID: o.ID, Key: o.Key, CustomerID: o.CustomerID, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, Version: o.Version, Deadline: o.Deadline, Claims: o.Claims}
	require.NoError(t, engine.ReadOrder(&got, "open", data))
	require.Empty(t, cmp.Diff(o, got))
	data, err = engine.AppendUse(nil, &u)
	require.NoError(t, err)
	use := redemption.Use{ID: u.ID, CouponID: u.CouponID, CustomerID: u.CustomerID, OrderID: u.OrderID, CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt, Version: u.Version, Claims: u.Claims}
	require.NoError(t, engine.ReadUse(&use, "reserved", "none", data))
	require.Empty(t, cmp.Diff(u, use))
	c := someCoupon(t, 3)
	c.Limits, c.Conditions.MinPurchase, c.PointsRequired, c.Mirror = coupon.Limits{MaxUses: 5, MaxUsesPerUser: 2}, coupon.NewMoneySet(pricing.NewMoney(99, c.Currency)), 7, coupon.Mirror{CouponID: "co", PromotionCodeID: "p", Revision: 2}
	data, err = engine.EncodeCoupon(c)
	require.NoError(t, err)
	decoded := coupon.Coupon{ID: c.ID, Revision: c.Revision, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
	require.NoError(t, engine.ReadCoupon(&decoded, c.Code.String(), c.State.String(), c.AllowedUserEmails.Len(), data))
	require.Empty(t, cmp.Diff(c, decoded))
	for _, broken := range []string{"", "{", `{"metadata":"none","origin":0}`, `[]`} {
		require.Error(t, engine.ReadOrder(&redemption.Order{}, "open", []byte(broken)))
		require.Error(t, engine.ReadUse(&redemption.Use{}, "reserved", "none", []byte(broken)))
		require.NotErrorIs(t, engine.ReadOrder(&redemption.Order{}, "open", []byte(broken)), validation.ErrInvalid)
	}
}

// An import fills a batch to its bound, and never beyond.
func TestAnImportIsBounded(t *testing.T) {
	t.Parallel()
	key, err := coupon.ParseCode("NEW")
	require.NoError(t, err)
	for added, want := range map[int64]error{coupon.MaxBatchSize - 1: nil, coupon.MaxBatchSize: validation.ErrInvalid} {
		s := &shelf{stored: engine.StoredCoupon{Coupon: someCoupon(t, 1), Version: 1}}
		s.codes.Batch = coupon.IssuedBatch{ID: "file", CouponID: "cpn_a", Fingerprint: "import", Size: added, Added: added}
		_, err := engine.SaveCodes(t.Context(), s, store.CodeChange{
			Kind: store.ImportCodes, CouponID: "cpn_a", Batch: "file", Fingerprint: "import", At: at(1),
			Codes: []coupon.IssuedCode{{Code: key, CouponID: "cpn_a", Batch: "file", Active: true, CreatedAt: at(1), UpdatedAt: at(1), Revision: 1}},
		})
		require.ErrorIs(t, err, want, "%d codes", added)
		require.Equal(t, want == nil, s.saved != nil, "%d codes", added)
	}
}
