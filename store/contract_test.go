package store_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func TestASessionThatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	err := store.SessionTaken("cs_1")
	if !errors.Is(err, store.ErrSuperseded) || !strings.Contains(err.Error(), "cs_1") {
		t.Errorf("got %v", err)
	}
}

func TestSpecificConflictsMatchTheGeneralOne(t *testing.T) {
	t.Parallel()
	specific := []error{store.ErrStaleRevision, store.ErrSuperseded, store.ErrKeyReused}
	others := []error{store.ErrNotFound, store.ErrClosed, coupon.ErrNotFound, redemption.ErrIllegal}
	for i, err := range specific {
		wrapped := fmt.Errorf("update coupon: %w", err)
		if !errors.Is(wrapped, err) || !errors.Is(wrapped, store.ErrConflict) {
			t.Errorf("%v does not match itself and ErrConflict", err)
		}
		for j, other := range append(specific, others...) {
			if i != j && errors.Is(wrapped, other) {
				t.Errorf("%v matches %v", err, other)
			}
		}
		if general := fmt.Errorf("create order: %w", store.ErrConflict); errors.Is(general, err) {
			t.Errorf("the general conflict matches %v", err)
		}
	}
	for _, err := range others {
		if errors.Is(err, store.ErrConflict) {
			t.Errorf("%v matches ErrConflict", err)
		}
	}
}

func TestWithinLimits(t *testing.T) {
	t.Parallel()
	both := coupon.Limits{MaxUses: 3, MaxUsesPerUser: 2}
	all := coupon.Reason{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: 3}}
	own := coupon.Reason{Code: coupon.UserUsageLimitReached, Params: coupon.Params{MaxUsesPerUser: 2}}
	for _, test := range []struct {
		name              string
		limits            coupon.Limits
		taken, byCustomer int64
		want              []coupon.Reason
	}{
		{"unused", both, 0, 0, nil},
		{"the last place", both, 2, 1, nil},
		{"no place", both, 3, 1, []coupon.Reason{all}},
		{"no place for the customer", both, 2, 2, []coupon.Reason{own}},
		{"neither", both, 3, 2, []coupon.Reason{all, own}},
		{"beyond", both, 9, 9, []coupon.Reason{all, own}},
		{"no limit", coupon.Limits{}, math.MaxInt64, math.MaxInt64, nil},
		{"no limit of all", coupon.Limits{MaxUsesPerUser: 2}, math.MaxInt64, 2, []coupon.Reason{own}},
		{"no limit of the customer", coupon.Limits{MaxUses: 3}, 3, math.MaxInt64, []coupon.Reason{all}},
	} {
		err := store.WithinLimits("cpn_1", test.limits, test.taken, test.byCustomer)
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got *coupon.Rejection
		if err != nil && !errors.As(err, &got) {
			t.Errorf("%s: the error is %T", test.name, err)
			continue
		}
		if got != nil && got.CouponID != "cpn_1" {
			t.Errorf("%s: refused for coupon %q", test.name, got.CouponID)
		}
		if got != nil {
			if diff := cmp.Diff(test.want, got.Reasons); diff != "" {
				t.Errorf("%s: reasons differ (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

func TestNormaliseCouponList(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		list store.CouponList
		want store.CouponList
		says []string
	}{
		{"nothing", store.CouponList{}, store.CouponList{Page: 1, PageSize: store.DefaultPageSize}, nil},
		{"the least", store.CouponList{Page: 1, PageSize: 1}, store.CouponList{Page: 1, PageSize: 1}, nil},
		{
			"the greatest",
			store.CouponList{Search: strings.Repeat("Ж", store.MaxSearchLength), Page: store.MaxPage, PageSize: store.MaxPageSize, After: "a"},
			store.CouponList{Search: strings.Repeat("Ж", store.MaxSearchLength), Page: store.MaxPage, PageSize: store.MaxPageSize, After: "a"},
			nil,
		},
		{"no such page, and a cursor", store.CouponList{Page: -1, After: "a"}, store.CouponList{Page: 1, PageSize: store.DefaultPageSize, After: "a"}, nil},
		{"no page so far, and a cursor", store.CouponList{Page: store.MaxPage + 1, After: "a"}, store.CouponList{Page: 1, PageSize: store.DefaultPageSize, After: "a"}, nil},
		{"too small", store.CouponList{Page: -1, PageSize: -1}, store.CouponList{}, []string{"page too_small", "pageSize too_small"}},
		{
			"too large",
			store.CouponList{Search: strings.Repeat("x", store.MaxSearchLength+1), Page: store.MaxPage + 1, PageSize: store.MaxPageSize + 1},
			store.CouponList{},
			[]string{"search too_long", "page too_large", "pageSize too_large"},
		},
	} {
		got, err := test.list.Normalise()
		if diff := cmp.Diff(test.says, faultsIn(err)); diff != "" {
			t.Errorf("%s: faults differ (-want +got):\n%s", test.name, diff)
		}
		if err == nil && got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestNormaliseRedemptionList(t *testing.T) {
	t.Parallel()
	filter := store.RedemptionList{CouponID: "cpn_1", CustomerID: "ann", State: redemption.Completed, After: "a"}
	for size, want := range map[int]int{0: store.DefaultPageSize, 1: 1, store.MaxPageSize: store.MaxPageSize} {
		asked, expected := filter, filter
		asked.PageSize, expected.PageSize = size, want
		if got, err := asked.Normalise(); err != nil || got != expected {
			t.Errorf("%+v became %+v: %v", asked, got, err)
		}
	}
	for size, want := range map[int]string{-1: "pageSize too_small", store.MaxPageSize + 1: "pageSize too_large"} {
		_, err := store.RedemptionList{PageSize: size}.Normalise()
		if diff := cmp.Diff([]string{want}, faultsIn(err)); diff != "" {
			t.Errorf("a page of %d: faults differ (-want +got):\n%s", size, diff)
		}
	}
	_, err := store.RedemptionList{State: redemption.Released + 1, PageSize: -1}.Normalise()
	if diff := cmp.Diff([]string{"state unknown", "pageSize too_small"}, faultsIn(err)); diff != "" {
		t.Errorf("an unknown state: faults differ (-want +got):\n%s", diff)
	}
}

func TestCursorsComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range []store.Cursor{
		{CreatedAt: minute(0), ID: "cpn_1"},
		{CreatedAt: time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)},
		{CreatedAt: time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC), ID: strings.Repeat("x", redemption.MaxIDLength)},
		{CreatedAt: time.Date(1969, time.December, 31, 23, 59, 59, 999_999_000, time.UTC), ID: "العربية 🎟 é"},
	} {
		got, err := store.ParseCursor(c.String())
		if diff := cmp.Diff(c, got); diff != "" || err != nil {
			t.Errorf("the cursor differs (-want +got), %v:\n%s", err, diff)
		}
		if strings.ContainsAny(c.String(), "+/= %&?#") {
			t.Errorf("the cursor %q does not fit a URL as it is", c)
		}
	}
}

func TestWhatIsNoCursor(t *testing.T) {
	t.Parallel()
	good := store.Cursor{CreatedAt: minute(0), ID: "cpn_1"}.String()
	for name, text := range map[string]string{
		"nothing":              "",
		"seven bytes":          base64.RawURLEncoding.EncodeToString([]byte("1234567")),
		"another alphabet":     "++++++++++++",
		"with padding":         good + "=",
		"with a line break":    good[:4] + "\n" + good[4:],
		"with bits left over":  "AAAAAAAAAAB",
		"an ID with a NUL":     store.Cursor{CreatedAt: minute(0), ID: "a\x00"}.String(),
		"an ID of no UTF-8":    store.Cursor{CreatedAt: minute(0), ID: "\xff"}.String(),
		"an ID too long":       store.Cursor{CreatedAt: minute(0), ID: strings.Repeat("x", redemption.MaxIDLength+1)}.String(),
		"the year 10000":       store.Cursor{CreatedAt: time.Date(10_000, time.January, 1, 0, 0, 0, 0, time.UTC)}.String(),
		"the year 0":           store.Cursor{CreatedAt: time.Date(0, time.December, 31, 0, 0, 0, 0, time.UTC)}.String(),
		"the end of all times": base64.RawURLEncoding.EncodeToString([]byte("\x7f\xff\xff\xff\xff\xff\xff\xff")),
	} {
		c, err := store.ParseCursor(text)
		if diff := cmp.Diff([]string{"after malformed"}, faultsIn(err)); diff != "" || c != (store.Cursor{}) {
			t.Errorf("%s (%q) is read as %+v; faults differ (-want +got):\n%s", name, text, c, diff)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add("")
	f.Add(store.Cursor{CreatedAt: minute(0), ID: "cpn_1"}.String())
	f.Add("AAAAAAAAAAA")
	f.Add("____________")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := store.ParseCursor(text)
		switch {
		case err != nil && !errors.Is(err, pricing.ErrInvalid):
			t.Errorf("%q: %v", text, err)
		case err == nil && c.String() != text:
			t.Errorf("%q is read as %+v, which is written %q", text, c, c)
		}
	})
}

// TestCursorsCutAList checks that a cursor splits a list that is ordered newest first
// into what was on the pages before and what comes after.
func TestCursorsCutAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.Custom(func(t *rapid.T) store.Cursor {
			return store.Cursor{CreatedAt: minute(rapid.IntRange(0, 2).Draw(t, "minute")), ID: rapid.StringMatching("[ab]{1,2}").Draw(t, "id")}
		})
		at, other, third := entry.Draw(t, "cursor"), entry.Draw(t, "other"), entry.Draw(t, "third")
		comes := at.Before(other.CreatedAt, other.ID)
		came := other.Before(at.CreatedAt, at.ID)
		switch same := at == other; {
		case same && (comes || came):
			t.Fatal("a record comes after itself")
		case !same && comes == came:
			t.Fatal("of two records none or both come first")
		case comes && other.Before(third.CreatedAt, third.ID) && !at.Before(third.CreatedAt, third.ID):
			t.Fatal("the order is no order")
		case other.CreatedAt.Before(at.CreatedAt) && !comes:
			t.Fatal("an older record comes first")
		}
	})
}
