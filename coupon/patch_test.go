package coupon_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

func mustNew(tb testing.TB, d coupon.Draft) coupon.Coupon {
	tb.Helper()
	c, err := coupon.New(d, creation)
	require.NoError(tb, err)
	return c
}

// full is a coupon in which every optional field has a value.
func full(tb testing.TB) coupon.Coupon {
	tb.Helper()
	d := ten()
	d.DiscountType, d.Percent, d.Amount, d.Description = pricing.FixedAmount, "", coupon.Amounts{"": "12.50"}, "for regulars"
	d.AppliesTo, d.DeviceIDs, d.AccessoryIDs = coupon.Product, []string{"phone"}, []string{"case", "cable"}
	d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"ann@x.org", "bob@x.org"}
	d.MaxUses, d.MaxUsesPerUser, d.MinPurchase = coupon.Set(100), coupon.Set(2), coupon.Amounts{"": "50"}
	d.StartsAt, d.ExpiresAt = calendar.On(2026, 11, 1), calendar.On(2026, 11, 30)
	return mustNew(tb, d)
}

func TestApplyChangesOnlyWhatIsGiven(t *testing.T) {
	t.Parallel()
	before := full(t)
	later := noon.Add(time.Hour)
	for name, test := range map[string]struct {
		patch coupon.Patch
		want  func(*coupon.Coupon)
	}{
		"nothing":          {coupon.Patch{}, func(*coupon.Coupon) {}},
		"name":             {coupon.Patch{Name: coupon.Set("New")}, func(c *coupon.Coupon) { c.Name = "New" }},
		"description":      {coupon.Patch{Description: coupon.Clear[string]()}, func(c *coupon.Coupon) { c.Description = "" }},
		"limits":           {coupon.Patch{MaxUses: coupon.Set(1), MaxUsesPerUser: coupon.Clear[int]()}, func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: 1} }},
		"minimum purchase": {coupon.Patch{MinPurchase: coupon.Clear[coupon.Amounts]()}, func(c *coupon.Coupon) { c.Conditions.MinPurchase = coupon.MoneySet{} }},
		"another minimum":  {coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "99.99"})}, func(c *coupon.Coupon) { c.Conditions.MinPurchase = coupon.NewMoneySet(eur(9999)) }},
		"dates": {
			coupon.Patch{StartsAt: coupon.Clear[calendar.Moment](), ExpiresAt: coupon.Set(calendar.On(2027, 1, 31))},
			func(c *coupon.Coupon) {
				c.StartsAt, c.ExpiresAt = time.Time{}, time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
			},
		},
		"one selection": {coupon.Patch{DeviceIDs: coupon.Clear[[]string]()}, func(c *coupon.Coupon) { c.Scope.Devices = coupon.Items{} }},
		"scope": {
			coupon.Patch{
				AppliesTo: coupon.Set(coupon.Subscription), PlanIDs: coupon.Set([]string{"gold"}),
				DeviceIDs: coupon.Clear[[]string](), AccessoryIDs: coupon.Set([]string{}),
			},
			func(c *coupon.Coupon) {
				c.Scope = coupon.Scope{AppliesTo: coupon.Subscription, Plans: coupon.NewItems("gold")}
			},
		},
		"scope back to all": {
			coupon.Patch{AppliesTo: coupon.Clear[coupon.AppliesTo](), DeviceIDs: coupon.Clear[[]string](), AccessoryIDs: coupon.Clear[[]string]()},
			func(c *coupon.Coupon) { c.Scope = coupon.Scope{AppliesTo: coupon.All} },
		},
		"distribution back to general": {
			coupon.Patch{Distribution: coupon.Clear[coupon.Distribution](), AllowedUserEmails: coupon.Clear[coupon.EmailList]()},
			func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.General, coupon.EmailSet{} },
		},
		"to points": {
			coupon.Patch{Distribution: coupon.Set(coupon.PointsRedeemable), AllowedUserEmails: coupon.Clear[coupon.EmailList](), PointsRequired: coupon.Set[int64](500)},
			func(c *coupon.Coupon) {
				c.Distribution, c.AllowedUserEmails, c.PointsRequired = coupon.PointsRedeemable, coupon.EmailSet{}, 500
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := before
			want.UpdatedAt = later
			test.want(&want)
			got, err := before.Apply(test.patch, coupon.Edit{At: later})
			require.NoError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Spec 2.1: code, type and value cannot be changed after creation; nor can the
// currency (contract section 2.8).
func TestWhatCannotChange(t *testing.T) {
	t.Parallel()
	c := full(t)
	for name, test := range map[string]struct {
		patch coupon.Patch
		want  string
	}{
		"the same code, spelt anew":   {coupon.Patch{Code: coupon.Set(" ＴEn ")}, ""},
		"another code":                {coupon.Patch{Code: coupon.Set("TEN1")}, "code"},
		"no code":                     {coupon.Patch{Code: coupon.Set("")}, "code"},
		"an impossible code":          {coupon.Patch{Code: coupon.Set("T N")}, "code"},
		"null for the code":           {coupon.Patch{Code: coupon.Clear[string]()}, "code"},
		"the same type":               {coupon.Patch{DiscountType: coupon.Set(pricing.FixedAmount)}, ""},
		"another type":                {coupon.Patch{DiscountType: coupon.Set(pricing.Percentage)}, "discountType"},
		"null for the type":           {coupon.Patch{DiscountType: coupon.Clear[pricing.DiscountType]()}, "discountType"},
		"the same value":              {coupon.Patch{DiscountValue: coupon.Set(coupon.Amounts{"": "12.5000"})}, ""},
		"another value":               {coupon.Patch{DiscountValue: coupon.Set(coupon.Amounts{"": "12.51"})}, "discountValue"},
		"a value beside it":           {coupon.Patch{DiscountValue: coupon.Set(coupon.Amounts{"": "12.500001"})}, "discountValue"},
		"a value of many digits":      {coupon.Patch{DiscountValue: coupon.Set(coupon.Amounts{"": "1e1000000000"})}, "discountValue"},
		"a value of many decimals":    {coupon.Patch{DiscountValue: coupon.Set(coupon.Amounts{"": "1e-1000000000"})}, "discountValue"},
		"null for the value":          {coupon.Patch{DiscountValue: coupon.Clear[coupon.Amounts]()}, "discountValue"},
		"the same currency":           {coupon.Patch{Currency: coupon.Set("eur")}, ""},
		"another currency":            {coupon.Patch{Currency: coupon.Set("USD")}, "currency"},
		"an unknown currency":         {coupon.Patch{Currency: coupon.Set("EUX")}, "currency"},
		"null for the currency":       {coupon.Patch{Currency: coupon.Clear[string]()}, "currency"},
		"a revision, which is no one": {coupon.Patch{Revision: coupon.Set[int64](99)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.Apply(test.patch, coupon.Edit{At: noon})
			want := map[string]validation.Code{}
			if test.want != "" {
				want[test.want] = validation.Immutable
			} else if diff := cmp.Diff(c, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyReportsAllFaults(t *testing.T) {
	t.Parallel()
	c := full(t)
	_, err := c.Apply(coupon.Patch{
		Code: coupon.Set("OTHER"), DiscountValue: coupon.Set(coupon.Amounts{"": "1"}), Name: coupon.Clear[string](),
		Description: coupon.Set("\x00"), AppliesTo: coupon.Set(coupon.Subscription), PlanIDs: coupon.Set([]string{"a", ""}),
		AllowedUserEmails: coupon.Set(coupon.EmailList{"ann@x.org", "bob"}), PointsRequired: coupon.Set[int64](5),
		MaxUses: coupon.Set(0), MaxUsesPerUser: coupon.Set(-5), MinPurchase: coupon.Set(coupon.Amounts{"": "0.001"}),
		ExpiresAt: coupon.Set(calendar.On(10000, 1, 1)),
	}, coupon.Edit{At: noon})
	want := map[string]validation.Code{
		"code": "immutable", "discountValue": "immutable", "name": "required", "description": "malformed",
		"planIds[1]": "required", "deviceIds": "not_allowed", "accessoryIds": "not_allowed",
		"allowedUserEmails[1]": "malformed", "pointsRequired": "not_allowed", "maxUses": "too_small",
		"maxUsesPerUser": "too_small", "minPurchase": "too_many_decimals", "expiresAt": "malformed",
	}
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A list that was not loaded whole must not be written back.
func TestApplyRefusesANarrowedCoupon(t *testing.T) {
	t.Parallel()
	c := full(t)
	c.AllowedUserEmails = c.AllowedUserEmails.Narrow("ann@x.org")
	require.NoError(t, c.Validate(), "a narrowed set of addresses is valid")
	_, err := c.Apply(coupon.Patch{Name: coupon.Set("New")}, coupon.Edit{At: noon})
	if diff := cmp.Diff(map[string]validation.Code{"allowedUserEmails": "required"}, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := c.Apply(coupon.Patch{AllowedUserEmails: coupon.Set(coupon.EmailList{"cid@x.org"})}, coupon.Edit{At: noon})
	if err != nil || got.AllowedUserEmails.Len() != 1 || got.AllowedUserEmails.Narrowed() {
		t.Errorf("a patch with the whole list is refused: %v", err)
	}
}

func TestDatesOfAPatchAreReadInItsLocation(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	got, err := full(t).Apply(coupon.Patch{ExpiresAt: coupon.Set(calendar.On(2026, 12, 31))}, coupon.Edit{At: noon, Location: berlin})
	require.NoError(t, err)
	if want := time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC); got.ExpiresAt != want {
		t.Errorf("got %v, want %v", got.ExpiresAt, want)
	}
}

// checkKept returns an error when a change touches what no change may touch.
func checkKept(before, after coupon.Coupon) error {
	type kept struct {
		ID            string
		Code          coupon.Code
		Discount      pricing.Discount
		Currency      pricing.Currency
		State         coupon.State
		Used, Held    int64
		Mirror        coupon.Mirror
		CreatedAt     time.Time
		Revision      int64
		UpdatedAtGone bool
	}
	of := func(c coupon.Coupon) kept {
		return kept{c.ID, c.Code, c.Discount, c.Currency, c.State, c.UsedCount, c.ReservedCount, c.Mirror, c.CreatedAt, c.Revision, c.UpdatedAt.IsZero()}
	}
	if diff := cmp.Diff(of(before), of(after)); diff != "" {
		return fmt.Errorf("a change touches what must stay (-before +after):\n%s", diff)
	}
	return nil
}

func TestTheKeptCheckerNotices(t *testing.T) {
	t.Parallel()
	c := full(t)
	require.NoError(t, checkKept(c, c))
	other := mustNew(t, ten())
	yen, err := pricing.ParseCurrency("JPY")
	require.NoError(t, err)
	for i, breakIt := range []func(*coupon.Coupon){
		func(c *coupon.Coupon) { c.ID = "cpn_2" },
		func(c *coupon.Coupon) { c.Code = coupon.Code{} },
		func(c *coupon.Coupon) { c.Discount = other.Discount },
		func(c *coupon.Coupon) { c.Currency = yen },
		func(c *coupon.Coupon) { c.State = coupon.Inactive },
		func(c *coupon.Coupon) { c.UsedCount++ },
		func(c *coupon.Coupon) { c.Revision++ },
	} {
		broken := c
		breakIt(&broken)
		if checkKept(c, broken) == nil {
			t.Errorf("breakage %d passes", i)
		}
	}
}

func TestApplyOnAnyPatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := coupontest.Coupon().Draw(t, "coupon")
		copied := before
		p := hostilePatch(before).Draw(t, "patch")
		after, err := before.Apply(p, coupon.Edit{At: coupontest.Instant().Draw(t, "at")})
		checkOutcome(t, after, err)
		if err == nil {
			if err := checkKept(before, after); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(copied, before); diff != "" {
			t.Errorf("Apply changes its receiver (-before +after):\n%s", diff)
		}
	})
}

// hostilePatch draws patches that fit the coupon, of which then any field may be
// anything.
func hostilePatch(c coupon.Coupon) *rapid.Generator[coupon.Patch] {
	return rapid.Custom(func(t *rapid.T) coupon.Patch {
		p, d := coupontest.Patch(c).Draw(t, "a valid patch"), hostileDraft().Draw(t, "any draft")
		spoilWith(t, &p.Code, d.Code)
		spoilWith(t, &p.Name, d.Name)
		spoilWith(t, &p.Description, d.Description)
		spoilWith(t, &p.DiscountType, d.DiscountType)
		spoilWith(t, &p.DiscountValue, d.Amount)
		spoilWith(t, &p.Currency, d.Currency)
		spoilWith(t, &p.AppliesTo, d.AppliesTo)
		spoilWith(t, &p.PlanIDs, d.PlanIDs)
		spoilWith(t, &p.DeviceIDs, d.DeviceIDs)
		spoilWith(t, &p.AccessoryIDs, d.AccessoryIDs)
		spoilWith(t, &p.Distribution, d.Distribution)
		spoilWith(t, &p.AllowedUserEmails, d.AllowedUserEmails)
		spoilWith(t, &p.PointsRequired, d.PointsRequired)
		spoilWith(t, &p.MaxUses, int(d.PointsRequired))
		spoilWith(t, &p.MinPurchase, d.MinPurchase)
		spoilWith(t, &p.StartsAt, d.StartsAt)
		spoilWith(t, &p.ExpiresAt, d.ExpiresAt)
		return p
	})
}

func spoilWith[T any](t *rapid.T, field *coupon.Optional[T], value T) {
	switch rapid.IntRange(0, 11).Draw(t, "spoil") {
	case 0:
		*field = coupon.Set(value)
	case 1:
		*field = coupon.Clear[T]()
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	ids := []string{"b", "a", "b", "c"}
	items := coupon.NewItems(ids...)
	ids[0] = "changed"
	want := []string{"b", "a", "c"}
	if diff := cmp.Diff(want, items.Slice()); diff != "" {
		t.Errorf("duplicates collapse, the order stays (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Collect(items.All())); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}
	if !items.Has("a") || items.Has("changed") || items.Has("A") || items.Has("") || items.Len() != 3 {
		t.Error("a set answers wrongly; IDs are compared as they are")
	}
	if items.Equal(coupon.NewItems("a", "b", "c")) || !items.Equal(coupon.NewItems("b", "a", "c")) {
		t.Error("the order is part of the set")
	}
}
