package coupon_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

var codeDay = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func issued(t *testing.T, drafts ...coupon.CodeDraft) []coupon.IssuedCode {
	t.Helper()
	codes, err := coupon.NewCodes("cpn_1", coupon.Batch{ID: "spring"}, drafts, coupon.Edit{At: codeDay})
	require.NoError(t, err)
	return codes
}

// requireFields checks that the error names these fields and no others.
func requireFields(t *testing.T, err error, want ...string) {
	t.Helper()
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	fields := make([]string, 0, len(invalid.Fields))
	for _, f := range invalid.Fields {
		fields = append(fields, f.Path)
	}
	require.Equal(t, want, slices.Compact(fields))
}

// A new code is active, has the owner, the limit and the expiry of its draft, and is valid.
func TestNewCodes(t *testing.T) {
	t.Parallel()
	codes := issued(t, coupon.CodeDraft{}, coupon.CodeDraft{
		Code: "ann-10", Owner: coupon.OwnerEmail("Ann@Example.org"), MaxUses: coupon.Set(2), ExpiresAt: "2027-03-31",
	})
	require.True(t, codes[0].Code.IsZero(), "a code that is left out is generated later")
	want := coupon.IssuedCode{
		Code: codes[1].Code, CouponID: "cpn_1", Batch: "spring", MaxUses: 2, Owner: coupon.OwnerEmail("ann@example.org"),
		ExpiresAt: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC), Active: true, CreatedAt: codeDay, UpdatedAt: codeDay, Revision: 1,
	}
	if diff := cmp.Diff(want, codes[1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, "ANN-10", codes[1].Code.String())
	require.False(t, codes[1].Plain())
	require.NoError(t, codes[1].Validate())
}

// A call with invalid drafts names every field, also a code that is in the list twice.
func TestFaultsOfNewCodes(t *testing.T) {
	t.Parallel()
	spring := coupon.Batch{ID: "spring"}
	for name, test := range map[string]struct {
		batch  coupon.Batch
		drafts []coupon.CodeDraft
		want   []string
	}{
		"no batch and no code": {coupon.Batch{}, nil, []string{"batch.id", "codes"}},
		"a long batch":         {coupon.Batch{ID: strings.Repeat("b", 65)}, make([]coupon.CodeDraft, 1), []string{"batch.id"}},
		"a wrong shape": {coupon.Batch{ID: "a\tb", Shape: coupon.CodeShape{Prefix: "A B", Symbols: 65}}, []coupon.CodeDraft{{Code: "A", MaxUses: coupon.Set(0)}}, []string{
			"batch.id", "batch.shape.symbols", "batch.shape.prefix", "codes[0].maxUses",
		}},
		"too many codes": {spring, make([]coupon.CodeDraft, coupon.MaxCodes+1), []string{"codes"}},
		"every field": {spring, []coupon.CodeDraft{
			{Code: "TWICE"}, {Code: "twice"}, {Code: "\x00", Owner: coupon.OwnerEmail("nobody"), MaxUses: coupon.Set(0), ExpiresAt: "2026-01-01"},
		}, []string{"codes[1].code", "codes[2].code", "codes[2].owner", "codes[2].maxUses", "codes[2].expiresAt"}},
		"a long owner": {spring, []coupon.CodeDraft{{Owner: coupon.OwnerID(strings.Repeat("c", 256))}}, []string{"codes[0].owner"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := coupon.NewCodes("cpn_1", test.batch, test.drafts, coupon.Edit{At: codeDay})
			requireFields(t, err, test.want...)
		})
	}
}

// Whether an expired batch is a new one, its store knows.
func TestExpiredCodes(t *testing.T) {
	t.Parallel()
	codes := issued(t, coupon.CodeDraft{ExpiresAt: "2027-03-31"}, coupon.CodeDraft{ExpiresAt: calendar.At(codeDay)}, coupon.CodeDraft{}, coupon.CodeDraft{ExpiresAt: "2026-01-01"})
	requireFields(t, coupon.ExpiredCodes(codes), "codes[1].expiresAt", "codes[3].expiresAt")
	require.NoError(t, coupon.ExpiredCodes(codes[:1]))
}

// A change replaces the given fields, and Clear removes them. The plain code is changed with its coupon.
func TestChangesOfACode(t *testing.T) {
	t.Parallel()
	code := issued(t, coupon.CodeDraft{Code: "ANN-10", Owner: coupon.OwnerID("ann"), MaxUses: coupon.Set(2), ExpiresAt: "2027-03-31"})[0]
	later := coupon.Edit{At: codeDay.Add(time.Hour)}
	changed, err := code.Apply(coupon.CodePatch{
		Active: coupon.Set(false), MaxUses: coupon.Set(5), Owner: coupon.Set(coupon.OwnerID("ben")), ExpiresAt: coupon.Set[calendar.Moment]("2027-01-01"),
	}, later)
	require.NoError(t, err)
	want := code
	want.Active, want.MaxUses, want.Owner, want.UpdatedAt = false, 5, coupon.OwnerID("ben"), later.At
	want.ExpiresAt = time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	changed, err = changed.Apply(coupon.CodePatch{
		MaxUses: coupon.Clear[int](), Owner: coupon.Clear[coupon.Owner](), ExpiresAt: coupon.Clear[calendar.Moment](),
	}, later)
	require.NoError(t, err)
	require.Zero(t, changed.MaxUses)
	require.True(t, changed.Owner.IsZero())
	require.True(t, changed.ExpiresAt.IsZero())

	_, err = code.Apply(coupon.CodePatch{Active: coupon.Clear[bool](), MaxUses: coupon.Set(0), Owner: coupon.Set(coupon.OwnerEmail("nobody"))}, later)
	requireFields(t, err, "active", "maxUses", "owner")
	code.Batch = ""
	_, err = code.Apply(coupon.CodePatch{
		Active: coupon.Set(true), MaxUses: coupon.Set(1), Owner: coupon.Set(coupon.OwnerID("ben")), ExpiresAt: coupon.Set[calendar.Moment]("2027-05-01"),
	}, later)
	requireFields(t, err, "active", "maxUses", "owner", "expiresAt")
}

// A stored code that breaks a rule is refused with all its fields.
func TestFaultsOfAStoredCode(t *testing.T) {
	t.Parallel()
	far := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	bad := coupon.IssuedCode{
		Code: coupon.StoredCode("lower"), CouponID: "1", Batch: strings.Repeat("b", 65), MaxUses: -1,
		ExpiresAt: far, CreatedAt: far, UpdatedAt: far,
	}
	requireFields(t, bad.Validate(), "code", "couponId", "batch", "maxUses", "expiresAt", "createdAt", "updatedAt", "revision")
	plain := issued(t, coupon.CodeDraft{Code: "PLAIN", MaxUses: coupon.Set(1)})[0]
	plain.Batch = ""
	requireFields(t, plain.Validate(), "batch")
}

// An owner is one customer, by ID or by address, or everybody.
func TestOwners(t *testing.T) {
	t.Parallel()
	require.True(t, coupon.Owner{}.Is("ann", ""))
	require.True(t, coupon.OwnerID("").IsZero())
	require.True(t, coupon.OwnerEmail("").IsZero())
	require.True(t, coupon.OwnerID("ann").Is("ann", "ben@example.org"))
	require.False(t, coupon.OwnerID("ann").Is("ben", "ann"))
	ann := coupon.OwnerEmail("Ann@Example.org")
	require.True(t, ann.Is("ben", "ann@EXAMPLE.org"))
	require.False(t, ann.Is("ann@example.org", "ben@example.org"))
	require.False(t, ann.Is("ann", "no address"))
	require.True(t, ann.Equal(coupon.OwnerEmail("ann@example.org")))
	for _, owner := range []coupon.Owner{{}, ann, coupon.OwnerID("ann")} {
		text, err := json.Marshal(owner)
		require.NoError(t, err)
		var read coupon.Owner
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, owner.String(), read.String())
	}
	for _, text := range []string{"ann", "id:", "email:", "email:nobody", "id:\x01", "id:" + strings.Repeat("a", 256)} {
		_, err := coupon.ParseOwner(text)
		requireFields(t, err, "")
		_, err = coupon.TypedOwner(text)
		requireFields(t, err, "")
	}
	read, err := coupon.ParseOwner("email: Ann@Example.org")
	require.NoError(t, err)
	require.Equal(t, ann, read)
	_, err = coupon.ParseOwner("ann@example.org")
	requireFields(t, err, "")
	for text, want := range map[string]coupon.Owner{
		"": {}, " Ann@example.org": ann, "email:ANN@example.org": ann, "id:ann@example.org": coupon.OwnerID("ann@example.org"),
	} {
		read, err := coupon.TypedOwner(text)
		require.NoError(t, err)
		require.Equal(t, want, read, text)
	}
}

// An error for codes that are taken names their positions, at most ten of them.
func TestTakenCodes(t *testing.T) {
	t.Parallel()
	taken := make([]coupon.TakenCode, 12)
	for i := range taken {
		taken[i] = coupon.TakenCode{Index: i, Key: coupon.StoredCode("SALE"), CouponID: "cpn_2"}
	}
	err := error(&coupon.TakenError{Taken: taken})
	require.ErrorIs(t, err, coupon.ErrCodeTaken)
	require.Equal(t, "codes are taken: codes[0] SALE; codes[1] SALE", (&coupon.TakenError{Taken: taken[:2]}).Error())
	require.True(t, strings.HasSuffix(err.Error(), " codes[9] SALE; and 2 more"), err.Error())
	require.NotErrorIs(t, err, coupon.ErrNotFound)
}
