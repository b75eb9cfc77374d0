package coupon_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// creation is what the system adds in the tests of this package.
var creation = coupon.Creation{ID: "cpn_1", At: noon}

// ten is the least draft there is.
func ten() coupon.Draft {
	return coupon.Draft{Code: "ten", Name: "Ten per cent", DiscountType: pricing.Percentage, Percent: "10"}
}

func TestNewFillsInTheDefaults(t *testing.T) {
	t.Parallel()
	at := noon.Add(1234 * time.Nanosecond).In(time.FixedZone("", 3600))
	got, err := coupon.New(ten(), coupon.Creation{ID: "cpn_1", At: at})
	require.NoError(t, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	code, err := coupon.ParseCode("TEN")
	require.NoError(t, err)
	want := coupon.Coupon{
		ID: "cpn_1", Code: code, Name: "Ten per cent", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General,
			Limits: coupon.Limits{MaxUsesPerUser: coupon.DefaultMaxUsesPerUser}, RefundPolicy: pricing.Keep,
		},
		State:     coupon.Active,
		CreatedAt: noon.Add(time.Microsecond), UpdatedAt: noon.Add(time.Microsecond), Revision: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.Active() || got.Mirrored() || !got.Mirror.IsZero() {
		t.Error("a new coupon is active and not mirrored")
	}
}

// Contract section 4.6.
func TestTheLimitPerUserOfADraft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given coupon.Optional[int]
		want  int64
	}{
		"omitted becomes 1":           {coupon.Optional[int]{}, 1},
		"null is asked for: no limit": {coupon.Clear[int](), 0},
		"a number is that number":     {coupon.Set(7), 7},
	} {
		d := ten()
		d.MaxUsesPerUser, d.MaxUses = test.given, test.given
		c, err := coupon.New(d, creation)
		require.NoError(t, err)
		if c.Limits.MaxUsesPerUser != test.want {
			t.Errorf("%s: got %d", name, c.Limits.MaxUsesPerUser)
		}
		if n, _ := test.given.Value(); c.Limits.MaxUses != int64(n) {
			t.Errorf("%s: an omitted limit of all uses is %d", name, c.Limits.MaxUses)
		}
	}
}

func TestTheCurrencyOfADraft(t *testing.T) {
	t.Parallel()
	yen, err := pricing.ParseCurrency("JPY")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		draft    string
		fallback pricing.Currency
		want     string
	}{
		"none is EUR":                      {"", pricing.Currency{}, "EUR"},
		"none is the host's default":       {"", yen, "JPY"},
		"one of its own, in any case":      {"kwd", yen, "KWD"},
		"its own though there's a default": {"EUR", yen, "EUR"},
	} {
		d := ten()
		d.Currency = test.draft
		c, err := coupon.New(d, coupon.Creation{ID: "cpn_1", At: noon, Currency: test.fallback})
		require.NoError(t, err)
		if c.Currency.Code() != test.want {
			t.Errorf("%s: got %s", name, c.Currency)
		}
	}
}

func TestBoundsOfTheDiscount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind            pricing.DiscountType
		value, currency string
		want            validation.Code
	}{
		{pricing.Percentage, "100", "EUR", ""},
		{pricing.Percentage, "0.0001", "EUR", ""},
		{pricing.Percentage, "100.0001", "EUR", "too_large"},
		{pricing.Percentage, "101", "EUR", "too_large"},
		{pricing.Percentage, "1e400", "EUR", "too_large"},
		{pricing.Percentage, "0.00001", "EUR", "too_many_decimals"},
		{pricing.Percentage, "1e-400", "EUR", "too_many_decimals"},
		{pricing.Percentage, "0", "EUR", "too_small"},
		{pricing.Percentage, "-1", "EUR", "too_small"},
		{pricing.FixedAmount, "0.01", "EUR", ""},
		{pricing.FixedAmount, "92233720368547758.07", "EUR", ""},
		{pricing.FixedAmount, "92233720368547758.08", "EUR", "too_large"},
		{pricing.FixedAmount, "1e400", "EUR", "too_large"},
		{pricing.FixedAmount, strings.Repeat("9", 10_000), "EUR", "too_long"},
		{pricing.FixedAmount, "0.001", "EUR", "too_many_decimals"},
		{pricing.FixedAmount, "0.001", "KWD", ""},
		{pricing.FixedAmount, "0.1", "JPY", "too_many_decimals"},
		{pricing.FixedAmount, "0." + strings.Repeat("0", 9_990) + "1", "EUR", "too_long"},
		{pricing.FixedAmount, "0", "EUR", "too_small"},
		{pricing.FixedAmount, "-5", "EUR", "too_small"},
	} {
		d := ten()
		d.DiscountType, d.Percent, d.Currency = test.kind, test.value, test.currency
		if test.kind == pricing.FixedAmount {
			d.Percent, d.Amount = "", coupon.Amounts{"": test.value}
		}
		_, err := coupon.New(d, creation)
		want := map[string]validation.Code{}
		if test.want != "" {
			want["discountValue"] = test.want
		}
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s %.30s %s (-want +got):\n%s", test.kind, test.value, test.currency, diff)
		}
	}
}

// Contract section 3.3, spec 2.2.
func TestSelections(t *testing.T) {
	t.Parallel()
	some := []string{"x"}
	for _, test := range []struct {
		scope                       coupon.AppliesTo
		plans, devices, accessories []string
		want                        map[string]validation.Code
	}{
		{coupon.All, nil, nil, nil, nil},
		{coupon.All, some, some, some, map[string]validation.Code{"planIds": "not_allowed", "deviceIds": "not_allowed", "accessoryIds": "not_allowed"}},
		{coupon.Subscription, nil, nil, nil, nil},
		{coupon.Subscription, some, nil, nil, nil},
		{coupon.Subscription, some, some, some, map[string]validation.Code{"deviceIds": "not_allowed", "accessoryIds": "not_allowed"}},
		{coupon.Product, nil, nil, nil, nil},
		{coupon.Product, nil, some, some, nil},
		{coupon.Product, some, some, some, map[string]validation.Code{"planIds": "not_allowed"}},
		{coupon.Specific, some, nil, nil, nil},
		{coupon.Specific, nil, some, nil, nil},
		{coupon.Specific, nil, nil, some, nil},
		{coupon.Specific, nil, nil, nil, map[string]validation.Code{"appliesTo": "required"}},
		{9, some, []string{""}, nil, map[string]validation.Code{"appliesTo": "unknown", "deviceIds[0]": "required"}},
	} {
		d := ten()
		d.AppliesTo, d.PlanIDs, d.DeviceIDs, d.AccessoryIDs = test.scope, test.plans, test.devices, test.accessories
		_, err := coupon.New(d, creation)
		if test.want == nil {
			test.want = map[string]validation.Code{}
		}
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s with %q, %q, %q (-want +got):\n%s", test.scope, test.plans, test.devices, test.accessories, diff)
		}
	}
}

// A fault in a list is named by its place in the list as given, although
// duplicates collapse.
func TestFaultsInListsAreNamedByPosition(t *testing.T) {
	t.Parallel()
	d := ten()
	d.AppliesTo = coupon.Specific
	d.PlanIDs = []string{"a", "a", "", "b", "\x00", strings.Repeat("é", 255), strings.Repeat("é", 256), "\xff"}
	d.DeviceIDs = make([]string, coupon.MaxSelectedItems+1)
	d.Distribution = coupon.UserSpecific
	d.AllowedUserEmails = coupon.EmailList{"ann@x.org", "ann@x.org", "nobody"}
	_, err := coupon.New(d, creation)
	want := map[string]validation.Code{
		"planIds[2]": "required", "planIds[4]": "malformed", "planIds[6]": "too_long", "planIds[7]": "malformed",
		"deviceIds": "too_long", "allowedUserEmails[2]": "malformed",
	}
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Contract section 6: entries that are none do not hide that there may be no such list at all,
// in a draft, in its JSON beside a field that cannot be read, and in a patch. A list of
// nothing else is none that is missing.
func TestFaultsInListsAreToldBesideThoseOfTheList(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scope        coupon.AppliesTo
		distribution coupon.Distribution
		want         map[string]validation.Code
	}{
		{coupon.All, coupon.General, map[string]validation.Code{
			"planIds": "not_allowed", "deviceIds": "not_allowed", "accessoryIds": "not_allowed", "allowedUserEmails": "not_allowed",
		}},
		{coupon.Product, coupon.PointsRedeemable, map[string]validation.Code{"planIds": "not_allowed", "allowedUserEmails": "not_allowed"}},
		{coupon.Subscription, coupon.UserSpecific, map[string]validation.Code{"deviceIds": "not_allowed", "accessoryIds": "not_allowed"}},
		{coupon.Specific, coupon.UserSpecific, map[string]validation.Code{}},
	} {
		d := ten()
		d.AppliesTo, d.Distribution = test.scope, test.distribution
		if d.Distribution == coupon.PointsRedeemable {
			d.PointsRequired = 5
		}
		plain, err := coupon.New(ten(), creation)
		require.NoError(t, err)
		d.PlanIDs, d.DeviceIDs, d.AccessoryIDs = []string{"a", "a", ""}, []string{""}, []string{"\x00", "a"}
		d.AllowedUserEmails = coupon.EmailList{"nobody"}
		maps.Copy(test.want, map[string]validation.Code{
			"planIds[2]": "required", "deviceIds[0]": "required", "accessoryIds[0]": "malformed", "allowedUserEmails[0]": "malformed",
		})
		_, err = coupon.New(d, creation)
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("a draft for %s, %s (-want +got):\n%s", d.AppliesTo, d.Distribution, diff)
		}
		_, err = plain.Apply(coupon.Patch{
			AppliesTo: coupon.Set(d.AppliesTo), Distribution: coupon.Set(d.Distribution), PointsRequired: coupon.Set(d.PointsRequired),
			PlanIDs: coupon.Set(d.PlanIDs), DeviceIDs: coupon.Set(d.DeviceIDs), AccessoryIDs: coupon.Set(d.AccessoryIDs),
			AllowedUserEmails: coupon.Set(d.AllowedUserEmails),
		}, coupon.Edit{At: noon})
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("a patch to %s, %s (-want +got):\n%s", d.AppliesTo, d.Distribution, diff)
		}
		text, err := json.Marshal(d)
		require.NoError(t, err)
		unread := strings.Replace(string(text), `"name":`, `"maxUses":{},"name":`, 1)
		maps.Copy(test.want, map[string]validation.Code{"maxUses": "malformed"})
		_, err = newFromJSON(unread)
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", unread, diff)
		}
		_, err = applyJSON(plain, unread)
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("a patch of %s (-want +got):\n%s", unread, diff)
		}
	}
}

// Spec 2.3: what belongs to which distribution.
func TestDistributions(t *testing.T) {
	t.Parallel()
	ann := coupon.EmailList{"ann@x.org"}
	for _, test := range []struct {
		distribution coupon.Distribution
		emails       coupon.EmailList
		points       int64
		want         map[string]validation.Code
	}{
		{coupon.General, nil, 0, map[string]validation.Code{}},
		{coupon.General, ann, 5, map[string]validation.Code{"allowedUserEmails": "not_allowed", "pointsRequired": "not_allowed"}},
		{coupon.General, nil, -5, map[string]validation.Code{"pointsRequired": "not_allowed"}},
		{coupon.PointsRedeemable, nil, 1, map[string]validation.Code{}},
		{coupon.PointsRedeemable, nil, coupon.MaxPointsRequired, map[string]validation.Code{}},
		{coupon.PointsRedeemable, nil, coupon.MaxPointsRequired + 1, map[string]validation.Code{"pointsRequired": "too_large"}},
		{coupon.PointsRedeemable, ann, 0, map[string]validation.Code{"allowedUserEmails": "not_allowed", "pointsRequired": "required"}},
		{coupon.UserSpecific, ann, 0, map[string]validation.Code{}},
		{coupon.UserSpecific, nil, 3, map[string]validation.Code{"allowedUserEmails": "required", "pointsRequired": "not_allowed"}},
		{9, ann, 3, map[string]validation.Code{"distribution": "unknown"}},
	} {
		d := ten()
		d.Distribution, d.AllowedUserEmails, d.PointsRequired = test.distribution, test.emails, test.points
		_, err := coupon.New(d, creation)
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s with %q and %d points (-want +got):\n%s", test.distribution, test.emails, test.points, diff)
		}
	}
}

func TestNamesAndDescriptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, description string
		want              map[string]validation.Code
	}{
		{strings.Repeat("é", 255), strings.Repeat("é", 2_000), map[string]validation.Code{}},
		{strings.Repeat("é", 256), strings.Repeat("é", 2_001), map[string]validation.Code{"name": "too_long", "description": "too_long"}},
		{"", "", map[string]validation.Code{"name": "required"}},
		{" \t\u00a0", "", map[string]validation.Code{"name": "required"}},
		{"two\nlines", "two\r\n\tlines", map[string]validation.Code{"name": "malformed"}},
		{"x\x00", "x\x00", map[string]validation.Code{"name": "malformed", "description": "malformed"}},
		{"x\u0085", "x\x1b[31m", map[string]validation.Code{"name": "malformed", "description": "malformed"}},
		{"x\xff", "\xff", map[string]validation.Code{"name": "malformed", "description": "malformed"}},
		{"'; DROP TABLE coupons; --", "עברית \u202e %_ e\u0301 👩‍👩‍👧", map[string]validation.Code{}},
	} {
		d := ten()
		d.Name, d.Description = test.name, test.description
		_, err := coupon.New(d, creation)
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%+.20q, %+.20q (-want +got):\n%s", test.name, test.description, diff)
		}
	}
}

func TestTheWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		start, end calendar.Moment
		want       map[string]validation.Code
	}{
		{calendar.At(noon), calendar.At(noon.Add(time.Microsecond)), map[string]validation.Code{}},
		{calendar.At(noon), calendar.At(noon), map[string]validation.Code{"startsAt": "mismatch", "expiresAt": "mismatch"}},
		{calendar.At(noon), calendar.At(noon.Add(999)), map[string]validation.Code{"startsAt": "mismatch", "expiresAt": "mismatch"}},
		{calendar.On(2026, 11, 20), calendar.On(2026, 11, 20), map[string]validation.Code{}}, // all of that day
		{calendar.On(2026, 11, 20), calendar.On(2026, 11, 19), map[string]validation.Code{"startsAt": "mismatch", "expiresAt": "mismatch"}},
		{"", calendar.On(9999, 12, 31), map[string]validation.Code{}}, // a date that says "never"
		{calendar.On(9999, 12, 31), calendar.On(9999, 12, 31), map[string]validation.Code{}},
		{"", calendar.On(10000, 1, 1), map[string]validation.Code{"expiresAt": "malformed"}},
		{calendar.On(-5, 1, 1), "", map[string]validation.Code{"startsAt": "malformed"}},
		{"", calendar.On(0, 12, 31), map[string]validation.Code{"expiresAt": "too_small"}}, // not "never"
		{"", calendar.At(time.Time{}.Add(1)), map[string]validation.Code{"expiresAt": "too_small"}},
		{calendar.On(123456, 1, 1), "", map[string]validation.Code{"startsAt": "malformed"}},
	} {
		d := ten()
		d.StartsAt, d.ExpiresAt = test.start, test.end
		_, err := coupon.New(d, coupon.Creation{ID: "cpn_1"}) // before anything expires
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", test.start, test.end, diff)
		}
	}
}

// A coupon that is over when it is made can never apply. To end a coupon is a change.
func TestANewCouponHasNotExpired(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("Tokyo", 9*3600)
	for name, test := range map[string]struct {
		end      calendar.Moment
		location *time.Location
		want     map[string]validation.Code
	}{
		"long over":               {calendar.On(2020, 12, 31), nil, map[string]validation.Code{"expiresAt": "too_small"}},
		"over now":                {calendar.At(noon), nil, map[string]validation.Code{"expiresAt": "too_small"}},
		"less than a microsecond": {calendar.At(noon.Add(999)), nil, map[string]validation.Code{"expiresAt": "too_small"}},
		"a microsecond":           {calendar.At(noon.Add(time.Microsecond)), nil, map[string]validation.Code{}},
		"today":                   {calendar.On(noon.Year(), noon.Month(), noon.Day()), nil, map[string]validation.Code{}},
		"yesterday":               {calendar.On(noon.Year(), noon.Month(), noon.Day()-1), nil, map[string]validation.Code{"expiresAt": "too_small"}},
		"today elsewhere":         {calendar.On(noon.Year(), noon.Month(), noon.Day()), tokyo, map[string]validation.Code{}},
	} {
		d := ten()
		d.ExpiresAt = test.end
		_, err := coupon.New(d, coupon.Creation{ID: "cpn_1", At: noon, Location: test.location})
		if diff := cmp.Diff(test.want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err != nil && !strings.Contains(err.Error(), noon.UTC().Format(time.RFC3339)) {
			t.Errorf("%v does not say the bound", err)
		}
		c, err := coupon.New(ten(), creation)
		require.NoError(t, err)
		c, err = c.Apply(coupon.Patch{ExpiresAt: coupon.Set(test.end)}, coupon.Edit{At: noon, Location: test.location})
		require.NoError(t, err)
		end, err := test.end.End(test.location)
		require.NoError(t, err)
		require.Equal(t, end, c.ExpiresAt, "a coupon can be ended at once")
	}
}
