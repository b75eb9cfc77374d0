package coupon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/validation"
)

// Every bound is inclusive: what is exactly as much as allowed is accepted, and one
// more is named.

func TestTheMostItemsOfASelection(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]map[string]validation.Code{
		coupon.MaxSelectedItems:     {},
		coupon.MaxSelectedItems + 1: {"planIds": validation.TooLong},
	} {
		d := ten()
		d.AppliesTo = coupon.Subscription
		for i := range n {
			d.PlanIDs = append(d.PlanIDs, fmt.Sprint(i))
		}
		_, err := coupon.New(d, creation)
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%d plans (-want +got):\n%s", n, diff)
		}
	}
}

func TestTheMostAddresses(t *testing.T) {
	t.Parallel()
	set, err := coupon.NewEmailSet(slices.Repeat([]string{"a@x.org"}, coupon.MaxAllowedEmails)...)
	require.NoError(t, err)
	require.Equal(t, 1, set.Len())
	for n, want := range map[int]map[string]validation.Code{
		coupon.MaxAllowedEmails:     {},
		coupon.MaxAllowedEmails + 1: {"allowedUserEmails": validation.TooLong},
	} {
		c := full(t)
		c.AllowedUserEmails = coupon.NarrowedEmailSet(n, "")
		if diff := cmp.Diff(want, fieldCodes(t, c.Validate())); diff != "" {
			t.Errorf("%d addresses (-want +got):\n%s", n, diff)
		}
	}
}

func TestTheLongestAddress(t *testing.T) {
	t.Parallel()
	domain := strings.Repeat(strings.Repeat("y", 62)+".", 4)
	longest := "a@" + domain[:email.MaxLength-3] + "z"
	require.Len(t, longest, email.MaxLength)
	got, err := email.Parse(longest)
	require.NoError(t, err)
	require.Equal(t, longest, got)
	set, err := coupon.NewEmailSet(longest)
	require.NoError(t, err)
	require.True(t, set.Has(strings.ToUpper(longest)))
	_, err = email.Parse("b" + longest)
	require.Equal(t, validation.TooLong, fieldCodes(t, err)[""])
}

// Of every letter and sign of a keyboard, at the ends of their ranges too.
func TestEveryASCIISignInACode(t *testing.T) {
	t.Parallel()
	for b := byte('!'); b <= '~'; b++ {
		typed := "x" + string(b) // alone, . and / are refused
		got, err := coupon.ParseCode(typed)
		require.NoError(t, err)
		require.Equal(t, strings.ToUpper(typed), got.String())
	}
}

func TestEveryLetterOfAnAddressInEitherCase(t *testing.T) {
	t.Parallel()
	for b := byte('a'); b <= 'z'; b++ {
		lower := string(b) + "@x.org"
		set, err := coupon.NewEmailSet(lower)
		require.NoError(t, err)
		require.True(t, set.Has(strings.ToUpper(lower)), lower)
	}
	set, err := coupon.NewEmailSet("zoë@bücher.example")
	require.NoError(t, err)
	require.True(t, set.Has("ZOË@BÜCHER.EXAMPLE"))
}

// Some fault is named for every required field of a draft in which nothing is given.
func TestAnEmptyDraft(t *testing.T) {
	t.Parallel()
	_, err := coupon.New(coupon.Draft{}, creation)
	want := map[string]validation.Code{
		"name":         validation.Required,
		"discountType": validation.Required, "discountValue": validation.Required,
	}
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A mirror is there as soon as one of its objects is; the coupon is mirrored when it
// is there and of the coupon's revision.
func TestMirrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mirror        coupon.Mirror
		zero, current bool
	}{
		{coupon.Mirror{}, true, false},
		{coupon.Mirror{Revision: 1}, true, false},
		{coupon.Mirror{CouponID: "co", Revision: 1}, false, true}, // of a coupon without a code
		{coupon.Mirror{PromotionCodeID: "pc", Revision: 1}, false, true},
		{coupon.Mirror{CouponID: "co", PromotionCodeID: "pc", Revision: 1}, false, true},
		{coupon.Mirror{CouponID: "co", PromotionCodeID: "pc", Revision: 2}, false, false},
		{coupon.Mirror{Unsupported: true, Revision: 1}, true, true},
		{coupon.Mirror{Unsupported: true, Revision: 2}, true, false},
	} {
		c := coupon.Coupon{Mirror: test.mirror, Revision: 1}
		if test.mirror.IsZero() != test.zero || c.Mirrored() != test.current {
			t.Errorf("%+v: zero %t, of revision 1 %t", test.mirror, test.mirror.IsZero(), c.Mirrored())
		}
	}
}

func TestEmailSetsAreComparedByAllThatTheyTell(t *testing.T) {
	t.Parallel()
	whole, err := coupon.NewEmailSet("ann@x.org")
	require.NoError(t, err)
	other, err := coupon.NewEmailSet("bob@x.org")
	require.NoError(t, err)
	sets := []coupon.EmailSet{
		{}, whole, other, coupon.NarrowedEmailSet(2, "ann@x.org"), coupon.NarrowedEmailSet(3, "ann@x.org"), coupon.NarrowedEmailSet(3, ""),
	}
	for i, a := range sets {
		for j, b := range sets {
			if a.Equal(b) != (i == j) {
				t.Errorf("%d and %d are equal: %t", i, j, a.Equal(b))
			}
		}
	}
}

// TestMirrorIDs: the processor's IDs are text that every store keeps, and a coupon with
// others is none.
func TestMirrorIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", coupon.MaxMirrorIDLength)
	for _, test := range []struct {
		id   string
		want validation.Code
	}{
		{"", ""},
		{"promo_1", ""},
		{"a b/ü", ""},
		{long, ""},
		{long + "é", validation.TooLong},
		{"a\x00", validation.Malformed},
		{"a\xff", validation.Malformed},
		{"a\n", validation.Malformed},
	} {
		for field, mirror := range map[string]coupon.Mirror{
			"processorCouponId": {CouponID: test.id, Revision: 1}, "promotionCodeId": {PromotionCodeID: test.id, Revision: 1},
		} {
			c := mustNew(t, ten())
			c.Mirror = mirror
			for _, err := range []error{mirror.Validate(), c.Validate()} {
				if test.want == "" {
					require.NoError(t, err, "%s %q", field, test.id)
					continue
				}
				var faults *validation.Error
				require.ErrorAs(t, err, &faults, "%s %q", field, test.id)
				require.Len(t, faults.Fields, 1)
				if got := faults.Fields[0]; got.Path != field || got.Code != test.want {
					t.Errorf("%s %q: %+v, want %s", field, test.id, got, test.want)
				}
			}
		}
	}
}

// Generators print what they draw by its fields, which say nothing: a value shows itself.
func TestValuesInFailures(t *testing.T) {
	t.Parallel()
	code, err := coupon.ParseCode("ten")
	require.NoError(t, err)
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
	require.NoError(t, err)
	for want, v := range map[string]any{
		"coupon.Code(TEN)": code, "coupon.AppliesTo(ALL)": coupon.All, "coupon.AppliesTo(0)": coupon.AppliesTo(0),
		"coupon.Distribution(GENERAL)": coupon.General, "coupon.State(active)": coupon.Active,
		`coupon.Items(["a" "b"])`:      coupon.NewItems("a", "b"),
		"coupon.EmailSet(2 addresses)": emails,
	} {
		if got := fmt.Sprintf("%#v", v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
