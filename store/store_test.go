package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// TestSpecificConflictsMatchTheGeneralOne: each of them, and nothing else.
func TestSpecificConflictsMatchTheGeneralOne(t *testing.T) {
	t.Parallel()
	specific := []error{store.ErrStaleRevision, store.ErrSuperseded, store.ErrKeyReused}
	others := []error{store.ErrNotFound, store.ErrClosed, store.ErrLimit, coupon.ErrNotFound, redemption.ErrIllegal}
	for i, err := range specific {
		wrapped := fmt.Errorf("update coupon: %w", err)
		require.ErrorIs(t, wrapped, err)
		require.ErrorIs(t, wrapped, store.ErrConflict)
		require.NotErrorIs(t, fmt.Errorf("create order: %w", store.ErrConflict), err)
		for j, other := range append(specific, others...) {
			require.Equal(t, i == j, errors.Is(wrapped, other), "%v, %v", err, other)
		}
	}
	for _, err := range others {
		require.NotErrorIs(t, err, store.ErrConflict)
	}
}

// TestALimitNamesItsCounters: the error tells which claims did not fit, and matches ErrLimit.
func TestALimitNamesItsCounters(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("reserve: %w", &store.LimitError{Exceeded: []eligibility.Claim{
		{Counter: eligibility.CustomerUses("cpn_1", "ann"), Amount: 1, Limit: 1}, {Counter: eligibility.CouponUses("cpn_1"), Amount: 1, Limit: 3},
	}})
	require.ErrorIs(t, err, store.ErrLimit)
	require.EqualError(t, err, "reserve: a limit leaves no room: customer/uses/cpn_1/ann, shared/uses/cpn_1")
}

// decorated is a store beneath which another one is found.
type decorated struct{ store.Store }

func (d decorated) Unwrap() store.Store { return d.Store }

// able is a store with an ability of its own.
type able struct{ store.Store }

func (able) Retries() int { return 3 }

// TestAsFindsAnAbility: also beneath decorators, and not where there is none.
func TestAsFindsAnAbility(t *testing.T) {
	t.Parallel()
	type retrier interface{ Retries() int }
	for name, s := range map[string]store.Store{"itself": able{}, "beneath": decorated{decorated{able{}}}} {
		found, ok := store.As[retrier](s)
		require.True(t, ok, name)
		require.Equal(t, 3, found.Retries(), name)
	}
	for name, s := range map[string]store.Store{"none": nil, "another": decorated{}, "hidden": struct{ store.Store }{able{}}} {
		_, ok := store.As[retrier](s)
		require.False(t, ok, name)
	}
}

// TestCursors: a cursor is read as it was made, and lists go on after it.
func TestCursors(t *testing.T) {
	t.Parallel()
	instants := rapid.Custom(func(t *rapid.T) time.Time {
		first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC).UnixMicro()
		return time.UnixMicro(rapid.Int64Range(first, last).Draw(t, "micros")).UTC()
	})
	rapid.Check(t, func(t *rapid.T) {
		c := store.Cursor{CreatedAt: instants.Draw(t, "at"), ID: rapid.StringMatching(`[a-z_0-9]{0,40}`).Draw(t, "id")}
		back, err := store.ParseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, back)
		require.False(t, c.Before(c.CreatedAt, c.ID), "the record of the cursor")
		require.True(t, c.Before(c.CreatedAt.Add(-time.Microsecond), c.ID))
		require.False(t, c.Before(c.CreatedAt.Add(time.Microsecond), ""))
	})
	same := store.Cursor{CreatedAt: time.UnixMicro(5).UTC(), ID: "b"}
	require.True(t, same.Before(same.CreatedAt, "a"))
	require.False(t, same.Before(same.CreatedAt, "c"))
}

// FuzzParseCursor: what is read is written the same, and a refusal names the field.
func FuzzParseCursor(f *testing.F) {
	f.Add(store.Cursor{CreatedAt: time.UnixMicro(1_800_000_000_000_000).UTC(), ID: "ord_1"}.String())
	f.Add("")
	f.Add("AAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := store.ParseCursor(text)
		if err != nil {
			var invalid *validation.Error
			if !errors.As(err, &invalid) || invalid.Fields[0].Path != "after" {
				t.Errorf("%v does not name the field", err)
			}
			return
		}
		if c.String() != text || !store.IsText(c.ID) {
			t.Errorf("%+v is written as %q, and was read from %q", c, c.String(), text)
		}
	})
}

// FuzzCouponList: what a list asks for is within the bounds, says the same when it is said
// again, and a refusal names a field.
func FuzzCouponList(f *testing.F) {
	f.Add("", "", 0, 0)
	f.Add("summer", "cursor", 1, 100)
	f.Add("%_\\'\"", "", -1, 101)
	f.Add("\xff\x00", "", store.MaxPage+1, -1)
	f.Fuzz(func(t *testing.T, search, after string, page, size int) {
		list, err := store.CouponList{Search: search, After: after, Page: page, PageSize: size}.Normalize()
		if err != nil {
			var invalid *validation.Error
			if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
				t.Errorf("%v names no field", err)
			}
			return
		}
		if list.Page < 1 || list.Page > store.MaxPage || list.PageSize < 1 || list.PageSize > store.MaxPageSize || utf8.RuneCountInString(list.Search) > store.MaxSearchLength {
			t.Errorf("%+v is out of bounds", list)
		}
		if again, err := list.Normalize(); err != nil || again != list {
			t.Errorf("%+v becomes %+v, %v", list, again, err)
		}
	})
}

// TestBothBoundsOfAPeriodAreNamed: the earlier one first, each time.
func TestBothBoundsOfAPeriodAreNamed(t *testing.T) {
	t.Parallel()
	before, after := time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10_001, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 100 {
		_, err := store.OrderList{Created: store.Period{From: before, Until: after}}.Normalize()
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, []string{"created.from", "created.until"}, []string{invalid.Fields[0].Path, invalid.Fields[1].Path})
	}
}

// TestOtherListsHaveBounds: a state that is none and a page that is too large are named.
func TestOtherListsHaveBounds(t *testing.T) {
	t.Parallel()
	_, ofOrders := store.OrderList{State: 99, PageSize: store.MaxPageSize + 1}.Normalize()
	_, ofUses := store.UseList{State: 99, PageSize: -1}.Normalize()
	for _, err := range []error{ofOrders, ofUses} {
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, []string{"state", "pageSize"}, []string{invalid.Fields[0].Path, invalid.Fields[1].Path})
	}
	orders, err := store.OrderList{}.Normalize()
	require.NoError(t, err)
	require.Equal(t, store.DefaultPageSize, orders.PageSize)
}

// TestNormalizedReservations: a normalized reservation has its first version, to the microsecond and in UTC. It
// shares no memory with the original, and normalizing it again changes nothing.
func TestNormalizedReservations(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 11, 30, 12, 0, 0, 1_999, time.FixedZone("", 3600))
	r := store.Reservation{
		Order: redemption.Order{ID: "ord_1", CreatedAt: created, Version: 7, UpdatedAt: created.Add(time.Hour), Claims: []eligibility.Claim{{Counter: "a"}}},
		Uses:  []redemption.Use{{ID: "use_1", CreatedAt: created, Version: 7}},
	}
	normal := r.Normalize()
	want := time.Date(2026, 11, 30, 11, 0, 0, 1_000, time.UTC)
	require.Equal(t, []any{int64(1), want, want}, []any{normal.Order.Version, normal.Order.CreatedAt, normal.Order.UpdatedAt})
	require.Equal(t, []any{int64(1), want, want}, []any{normal.Uses[0].Version, normal.Uses[0].CreatedAt, normal.Uses[0].UpdatedAt})
	require.Equal(t, normal, normal.Normalize())
	r.Order.Claims[0].Counter, r.Uses[0].ID = "b", "use_2"
	require.Equal(t, []string{"a", "use_1"}, []string{normal.Order.Claims[0].Counter, normal.Uses[0].ID})
	points := store.Reservation{Uses: []redemption.Use{{ID: "use_1"}}}.Normalize()
	require.Zero(t, points.Order)
}
