package coupon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 7: these names, and no other.
const fullJSON = `{"id":"cpn_1","code":"TEN","name":"Ten per cent","discountType":"FIXED_AMOUNT","discountValue":"12.50",` +
	`"currency":"EUR","description":"for regulars","appliesTo":"PRODUCT","planIds":[],"deviceIds":["phone"],` +
	`"accessoryIds":["case","cable"],"distribution":"USER_SPECIFIC","allowedUserEmails":["ann@x.org","bob@x.org"],` +
	`"pointsRequired":null,"maxUses":100,"maxUsesPerUser":2,"minPurchase":"50.00","refundPolicy":"keep","startsAt":"2026-11-01T00:00:00Z",` +
	`"expiresAt":"2026-12-01T00:00:00Z","active":true,"usedCount":7,"reservedCount":1,"processorCouponId":"co_1",` +
	`"promotionCodeId":"promo_1","createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z","revision":3}`

func TestACouponInJSON(t *testing.T) {
	t.Parallel()
	c := full(t)
	c.UsedCount, c.ReservedCount, c.Revision = 7, 1, 3
	c.Mirror = coupon.Mirror{CouponID: "co_1", PromotionCodeID: "promo_1"}
	data, err := json.Marshal(c)
	require.NoError(t, err)
	if diff := cmp.Diff(fullJSON, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got coupon.Coupon
	require.NoError(t, json.Unmarshal([]byte(fullJSON), &got))
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	data, err = json.Marshal(mustNew(t, ten()))
	require.NoError(t, err)
	for _, part := range []string{
		`"discountValue":"10"`, `"planIds":[]`, `"allowedUserEmails":[]`, `"pointsRequired":null`, `"maxUses":null`,
		`"maxUsesPerUser":1`, `"minPurchase":null`, `"startsAt":null`, `"expiresAt":null`, `"processorCouponId":""`,
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s is not in %s", part, data)
		}
	}
}

// checkRoundTrip writes want as JSON and reads it, which must yield want.
func checkRoundTrip[T any](want T, options ...cmp.Option) error {
	data, err := json.Marshal(want)
	if err != nil {
		return err
	}
	var got T
	if err := json.Unmarshal(data, &got); err != nil {
		return fmt.Errorf("%s: %w", data, err)
	}
	if diff := cmp.Diff(want, got, options...); diff != "" {
		return fmt.Errorf("%s comes back changed (-want +got):\n%s", data, diff)
	}
	return nil
}

// Active and inactive coupons come back without loss, but for the revision that
// the mirror shows, which is not among the names of the contract.
func TestCouponsComeBackFromJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := coupontest.Coupon().Draw(t, "coupon")
		c.Mirror.Revision = 0
		if c.State != coupon.Active {
			c.State = coupon.Inactive
		}
		if err := checkRoundTrip(c); err != nil {
			t.Error(err)
		}
		if err := checkRoundTrip(c.Snapshot()); err != nil {
			t.Error(err)
		}
	})
}

// readable compares drafts and patches by what can be read of them.
var readable = cmp.Options{
	cmp.Comparer(func(a, b coupon.Optional[string]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[int]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[int64]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[[]string]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.EmailList]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.ContentsDraft]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.ScopeDraft]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.AppliesTo]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.Distribution]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[pricing.DiscountType]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[calendar.Moment]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[decimal.Decimal]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.Restore]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[pricing.RefundPolicy]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[bool]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.CustomerTags]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.Schedule]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[coupon.Amounts]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b coupon.Optional[[]coupon.PeriodLimit]) bool { return sameOptional(a, b) }),
	cmp.Comparer(func(a, b []string) bool { return slices.Equal(a, b) }), // nil is empty
}

func sameOptional[T any](a, b coupon.Optional[T]) bool {
	v, hasV := a.Value()
	w, hasW := b.Value()
	empty := fmt.Sprint(v) == "[]" // a nil list is written as null, which clears to the same
	return a.Given() == b.Given() && (hasV == hasW || empty) && fmt.Sprint(v) == fmt.Sprint(w)
}

func TestDraftsAndPatchesComeBackFromJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := coupontest.Draft().Draw(t, "draft")
		if err := checkRoundTrip(d, readable); err != nil {
			t.Error(err)
		}
		p := coupontest.Patch(coupontest.Coupon().Draw(t, "coupon")).Draw(t, "patch")
		if err := checkRoundTrip(p, readable); err != nil {
			t.Error(err)
		}
	})
}

// forgetful loses a field on the way through JSON.
type forgetful struct {
	Kept string
	Lost string `json:"-"`
}

func TestTheRoundTripCheckerNotices(t *testing.T) {
	t.Parallel()
	if checkRoundTrip(forgetful{Kept: "a", Lost: "b"}) == nil {
		t.Error("a lost field passes")
	}
	inactive := full(t)
	inactive.State = coupon.Deleting
	if checkRoundTrip(inactive) == nil {
		t.Error("a state that JSON does not have passes")
	}
	if checkRoundTrip(coupon.Coupon{}) == nil {
		t.Error("an invalid coupon is read")
	}
}

func TestReadingACouponIsStrict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replace, with string
		want          map[string]validation.Code
	}{
		"unknown field":          {`"revision":3`, `"revision":3,"state":"active"`, map[string]validation.Code{"state": "unknown"}},
		"another letter case":    {`"revision"`, `"Revision"`, map[string]validation.Code{"Revision": "unknown"}},
		"no ID":                  {`"id":"cpn_1",`, ``, map[string]validation.Code{"id": "required"}},
		"an ID that is none":     {`"cpn_1"`, `"1"`, map[string]validation.Code{"id": "malformed"}},
		"no word on active":      {`"active":true,`, ``, map[string]validation.Code{"active": "required"}},
		"null for active":        {`"active":true`, `"active":null`, map[string]validation.Code{"active": "required"}},
		"a long code":            {`"TEN"`, `"` + strings.Repeat("T", 256) + `"`, map[string]validation.Code{"code": "too_long"}},
		"no revision":            {`,"revision":3`, ``, map[string]validation.Code{"revision": "required"}},
		"null for a revision":    {`"revision":3`, `"revision":null`, map[string]validation.Code{"revision": "required"}},
		"revision 0":             {`"revision":3`, `"revision":0`, map[string]validation.Code{"revision": "too_small"}},
		"no scope":               {`"appliesTo":"PRODUCT",`, ``, map[string]validation.Code{"appliesTo": "required"}},
		"null for who may use":   {`"distribution":"USER_SPECIFIC"`, `"distribution":null`, map[string]validation.Code{"distribution": "required"}},
		"an unknown currency":    {`"EUR"`, `"EUX"`, map[string]validation.Code{"currency": "unknown"}},
		"no currency":            {`"EUR"`, `""`, map[string]validation.Code{"currency": "required"}},
		"an impossible discount": {`"12.50"`, `"12.505"`, map[string]validation.Code{"discountValue": "too_many_decimals"}},
		"no discount value":      {`"discountValue":"12.50",`, ``, map[string]validation.Code{"discountValue": "required"}},
		"a discount of 0":        {`"12.50"`, `0`, map[string]validation.Code{"discountValue": "too_small"}},
		"no discount type":       {`"FIXED_AMOUNT"`, `null`, map[string]validation.Code{"discountType": "required"}},
		"a negative count":       {`"usedCount":7,"reservedCount":1`, `"usedCount":-7,"reservedCount":-1`, map[string]validation.Code{"usedCount": "too_small", "reservedCount": "too_small"}},
		"a limit of 0":           {`"maxUses":100`, `"maxUses":0`, map[string]validation.Code{"maxUses": "too_small"}},
		"a bad address":          {`"bob@x.org"`, `"bob"`, map[string]validation.Code{"allowedUserEmails[1]": "malformed"}},
		"a date for an instant":  {`"2026-12-01T00:00:00Z"`, `"2026-12-01"`, map[string]validation.Code{"expiresAt": "malformed"}},
		"a date of creation":     {`"createdAt":"2026-11-20T12:00:00Z"`, `"createdAt":"2026-11-20"`, map[string]validation.Code{"createdAt": "malformed"}},
		"an empty item":          {`"cable"`, `""`, map[string]validation.Code{"accessoryIds[1]": "required"}},
		"an item that is none":   {`"cable"`, `7`, map[string]validation.Code{"accessoryIds[1]": "malformed"}},
		"many at once":           {`"currency":"EUR"`, `"currency":1,"a":1,"b":2`, map[string]validation.Code{"currency": "malformed", "a": "unknown", "b": "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := strings.Replace(fullJSON, test.replace, test.with, 1)
			require.NotEqual(t, fullJSON, document)
			kept := mustNew(t, ten())
			got := kept
			if diff := cmp.Diff(test.want, fieldCodes(t, json.Unmarshal([]byte(document), &got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(kept, got); diff != "" {
				t.Errorf("an error changes the coupon (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADraftInJSON(t *testing.T) {
	t.Parallel()
	var d coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(`{"code":"ten","name":"Ten","discountType":"FIXED_AMOUNT","discountValue":10.50,
		"currency":"eur","appliesTo":"SPECIFIC","planIds":["a"],"distribution":"USER_SPECIFIC",
		"allowedUserEmails":"ann@x.org\nbob@x.org","maxUses":3,"maxUsesPerUser":null,"minPurchase":"20","pointsRequired":null,
		"description":null,"expiresAt":"2026-12-31"}`), &d))
	c, err := coupon.New(d, creation)
	require.NoError(t, err)
	if c.Discount.Value() != "10.50" || !c.Conditions.MinPurchase.Equal(coupon.NewMoneySet(eur(2000))) || !c.Limits.Equal(coupon.Limits{MaxUses: 3}) || c.AllowedUserEmails.Len() != 2 ||
		!c.ExpiresAt.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", c)
	}
	data, err := json.Marshal(ten())
	require.NoError(t, err)
	if want := `{"code":"ten","name":"Ten per cent","discountType":"PERCENTAGE","discountValue":"10"}`; string(data) != want {
		t.Errorf("a draft of defaults is %s", data)
	}
}

// Contract section 7: what is not given is required, and is no wrong value.
func TestWhatADraftDoesNotGiveIsRequired(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"code", "name", "discountType", "discountValue"} {
		for _, kind := range []pricing.DiscountType{pricing.Percentage, pricing.FixedAmount} {
			draft := map[string]any{"code": "TEN", "name": "Ten", "discountType": kind, "discountValue": "10"}
			for how, spoil := range map[string]func(){
				"absent": func() { delete(draft, field) }, "null": func() { draft[field] = nil },
				"absent beside an unknown field": func() { delete(draft, field); draft["surprise"] = 1 },
			} {
				spoil()
				text, err := json.Marshal(draft)
				require.NoError(t, err)
				var read coupon.Draft
				if err = read.UnmarshalJSON(text); err == nil {
					_, err = coupon.New(read, creation)
				}
				want := map[string]validation.Code{field: "required"}
				if draft["surprise"] != nil {
					want["surprise"] = "unknown"
					delete(draft, "surprise")
				}
				if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
					t.Errorf("%s of %s is %s (-want +got):\n%s", field, kind, how, diff)
				}
			}
		}
	}
	data, err := json.Marshal(coupon.Draft{Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage})
	require.NoError(t, err)
	if want := `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE"}`; string(data) != want {
		t.Errorf("a draft without a value is %s", data)
	}
}

func TestEveryFaultOfADraftInJSONIsNamed(t *testing.T) {
	t.Parallel()
	_, err := newFromJSON(`{"code":5,"name":[],"discountType":"HALF","discountValue":"1e400","currency":{},"appliesTo":"",
		"planIds":["a",null,3],"deviceIds":"a","accessoryIds":{},"distribution":1,"allowedUserEmails":["a@x.org",{}],
		"pointsRequired":1.5,"maxUses":"3","maxUsesPerUser":9223372036854775808,"minPurchase":"12,50","startsAt":"soon",
		"expiresAt":1767225600,"usedCount":3,"active":true}`)
	want := map[string]validation.Code{
		"code": "malformed", "name": "malformed", "discountType": "unknown", "discountValue": "too_large", "currency": "malformed",
		"appliesTo": "unknown", "planIds[1]": "malformed", "planIds[2]": "malformed", "deviceIds": "malformed",
		"accessoryIds": "malformed", "distribution": "malformed", "allowedUserEmails[1]": "malformed", "pointsRequired": "malformed",
		"maxUses": "malformed", "maxUsesPerUser": "too_large", "minPurchase": "malformed", "startsAt": "malformed",
		"expiresAt": "malformed", "usedCount": "unknown", "active": "unknown",
	}
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, word := range []string{"Go ", "json", "int64", "decimal.", "coupon.", "pricing.", "struct", "cannot unmarshal"} {
		if strings.Contains(err.Error(), word) {
			t.Errorf("%q in the message for people: %v", word, err)
		}
	}
}

// What is wrong with the fields that can be read is told beside those that cannot, and
// nothing that only seems wrong without these.
func TestFaultsOfFormHideNoFaultsOfRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]validation.Code{
		`{"code":5,"name":"","discountType":"PERCENTAGE","discountValue":"1000"}`: {
			"code": "malformed", "name": "required", "discountValue": "too_large",
		},
		`{"surprise":1}`: {"surprise": "unknown", "code": "required", "name": "required", "discountType": "required", "discountValue": "required"},
		`{"code":"A","name":"A","discountType":5,"discountValue":"-1"}`: {"discountType": "malformed", "discountValue": "too_small"},
		`{"code":"A B","name":"A","discountType":"FIXED_AMOUNT","discountValue":"1.234","minPurchase":"-1","currency":5}`: {
			"code": "malformed", "currency": "malformed", "minPurchase": "too_small",
		},
		`{"code":"A","name":"A","discountType":"FIXED_AMOUNT","discountValue":"1.234","minPurchase":"1.234","active":true}`: {
			"active": "unknown", "discountValue": "too_many_decimals", "minPurchase": "too_many_decimals",
		},
		`{"code":"A","name":"A","discountType":"FIXED_AMOUNT","discountValue":"1.234","currency":"EUR","active":true}`: {
			"active": "unknown", "discountValue": "too_many_decimals",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","currency":"EURO","active":true}`: {
			"active": "unknown", "currency": "unknown",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","appliesTo":1,"planIds":["basic"],"maxUses":0}`: {
			"appliesTo": "malformed", "maxUses": "too_small",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","distribution":[],"pointsRequired":5,"planIds":["basic"]}`: {
			"distribution": "malformed", "planIds": "not_allowed",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","startsAt":"2027-01-02","expiresAt":"2027-01-01T20:00:00Z","maxUses":"1"}`: {
			"maxUses": "malformed", "startsAt": "mismatch", "expiresAt": "mismatch",
		},
		`{"code":"A","name":"A","discountType":5,"discountValue":"500"}`:                                                   {"discountType": "malformed"},                                       // a fixed amount may be
		`{"code":"A","name":"A","discountType":5,"discountValue":"500.001"}`:                                               {"discountType": "malformed", "discountValue": "too_many_decimals"}, // neither a percentage nor an amount in euros
		`{"code":"A","name":"A","discountType":5,"discountValue":"0.00001"}`:                                               {"discountType": "malformed", "discountValue": "too_many_decimals"},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","appliesTo":"SPECIFIC","planIds":5}`:      {"planIds": "malformed"},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","appliesTo":"SPECIFIC","deviceIds":5}`:    {"deviceIds": "malformed"},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","appliesTo":"SPECIFIC","accessoryIds":5}`: {"accessoryIds": "malformed"},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","appliesTo":"SPECIFIC","maxUses":"1"}`:    {"maxUses": "malformed", "appliesTo": "required"},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","appliesTo":"SUBSCRIPTION","deviceIds":["a",5]}`: {
			"deviceIds[1]": "malformed", "deviceIds": "not_allowed",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","allowedUserEmails":["a@example.com",5]}`: {
			"allowedUserEmails[1]": "malformed", "allowedUserEmails": "not_allowed",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","distribution":"USER_SPECIFIC","allowedUserEmails":["a@example.com","\ud800","nonsense"]}`: {
			"allowedUserEmails[1]": "malformed", "allowedUserEmails[2]": "malformed",
		},
		`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10","startsAt":"2027-01-02T12:00:00Z","expiresAt":"2027-01-01","maxUses":"1"}`: {
			"maxUses": "malformed", "startsAt": "mismatch", "expiresAt": "mismatch",
		},
		`{"code":"A","name":"A","discountType":"FIXED_AMOUNT","discountValue":"1000000000000000","maxUses":"1"}`: {"maxUses": "malformed"},
		`{"code":"A","code":"B","name":"A","discountType":"PERCENTAGE","discountValue":"10"}`:                    {"code": "malformed"},
		`[]`:         {"": "malformed"},
		`{"name":""`: {"": "malformed"},
	} {
		_, err := newFromJSON(text)
		if malformed, is := errors.AsType[*json.SyntaxError](err); is {
			require.Equal(t, map[string]validation.Code{"": "malformed"}, want, malformed)
			continue
		}
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAPatchInJSON(t *testing.T) {
	t.Parallel()
	var p coupon.Patch
	require.NoError(t, json.Unmarshal([]byte(`{"maxUses":null,"name":"New","expiresAt":null,"revision":4,"minPurchase":1.50}`), &p))
	name, _ := p.Name.Value()
	revision, _ := p.Revision.Value()
	minimum, _ := p.MinPurchase.Value()
	_, limited := p.MaxUses.Value()
	_, expires := p.ExpiresAt.Value()
	if name != "New" || revision != 4 || minimum[""] != "1.50" || limited || !p.MaxUses.Given() || expires || !p.ExpiresAt.Given() ||
		p.StartsAt.Given() || p.Description.Given() || p.Code.Given() {
		t.Errorf("got %+v", p)
	}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	if want := `{"name":"New","maxUses":null,"minPurchase":"1.50","expiresAt":null,"revision":4}`; string(data) != want {
		t.Errorf("got %s", data)
	}
	_, err = applyJSON(mustNew(t, ten()), `{"planIds":[1],"usedCount":4,"minPurchase":"x","discountValue":1e999,"lane":"item"}`)
	want := map[string]validation.Code{
		"planIds[0]": "malformed", "usedCount": "unknown", "minPurchase": "malformed", "discountValue": "immutable", "lane": "immutable",
		"planIds": "not_allowed",
	}
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Contract section 6: every offending field is named, beside one that cannot be read too.
// What is named is what Apply refuses once the text is mended.
func TestAPatchWithUnreadableFields(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		readable string
		want     map[string]validation.Code
	}{
		{`{}`, nil},
		{`{"name":"New","description":"Old","maxUses":3,"maxUsesPerUser":null,"planIds":null,"minPurchase":"1.50"}`, nil},
		{`{"code":"OTHER","discountType":"PERCENTAGE","distribution":"POINTS_REDEEMABLE","appliesTo":"SPECIFIC"}`, map[string]validation.Code{
			"code": validation.Immutable, "discountType": validation.Immutable, "allowedUserEmails": validation.NotAllowed, "pointsRequired": validation.Required,
		}},
		{`{"name":""}`, map[string]validation.Code{"name": validation.Required}},
		{`{"name":null,"description":"a\u0000"}`, map[string]validation.Code{"name": validation.Required, "description": validation.Malformed}},
		{`{"maxUses":0,"maxUsesPerUser":-1}`, map[string]validation.Code{"maxUses": validation.TooSmall, "maxUsesPerUser": validation.TooSmall}},
		{`{"appliesTo":"SPECIFIC","planIds":["a",""],"allowedUserEmails":"ann"}`, map[string]validation.Code{"planIds[1]": validation.Required, "allowedUserEmails[0]": validation.Malformed}},
		{`{"discountType":"FIXED_AMOUNT","discountValue":"12.5"}`, nil},
		{`{"code":"a b"}`, map[string]validation.Code{"code": validation.Immutable}},
		{`{"minPurchase":"-1"}`, map[string]validation.Code{"minPurchase": validation.TooSmall}},
	} {
		var mended coupon.Patch
		require.NoError(t, json.Unmarshal([]byte(test.readable), &mended))
		_, err := full(t).Apply(mended, coupon.Edit{At: noon})
		if refused := fieldCodes(t, err); !maps.Equal(refused, test.want) {
			t.Errorf("%s: Apply refuses %v, want %v", test.readable, refused, test.want)
		}
		whole := strings.Replace(test.readable, "{", `{"usedCount":1,`, 1)
		whole = strings.Replace(whole, ",}", "}", 1)
		want := map[string]validation.Code{"usedCount": validation.Unknown}
		maps.Copy(want, test.want)
		_, err = applyJSON(full(t), whole)
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", whole, diff)
		}
	}
	_, err := applyJSON(full(t), `{"maxUses":"3","deviceIds":["",1],"name":" "}`)
	want := map[string]validation.Code{"maxUses": validation.Malformed, "deviceIds[0]": validation.Required, "deviceIds[1]": validation.Malformed, "name": validation.Required}
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("an unreadable field is judged (-want +got):\n%s", diff)
	}
}

// Contract section 7: limits, points and revisions are whole numbers in whatever exact
// form.
func TestWholeNumbersOfAnyForm(t *testing.T) {
	t.Parallel()
	var d coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(`{"maxUses":3.0,"maxUsesPerUser":2e0,"pointsRequired":1.5e2}`), &d))
	all, _ := d.MaxUses.Value()
	each, _ := d.MaxUsesPerUser.Value()
	require.Equal(t, []int64{3, 2, 150}, []int64{int64(all), int64(each), d.PointsRequired})
	var p coupon.Patch
	require.NoError(t, json.Unmarshal([]byte(`{"maxUses":3.0,"pointsRequired":150.0,"revision":4e0}`), &p))
	all, _ = p.MaxUses.Value()
	points, _ := p.PointsRequired.Value()
	revision, _ := p.Revision.Value()
	require.Equal(t, []int64{3, 150, 4}, []int64{int64(all), points, revision})
	var c coupon.Coupon
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(fullJSON, `"usedCount":7`, `"usedCount":7.0`, 1)), &c))
	require.EqualValues(t, 7, c.UsedCount)
	_, err := applyJSON(full(t), `{"maxUses":1e400,"revision":2.5}`)
	if diff := cmp.Diff(map[string]validation.Code{"maxUses": "too_large", "revision": "malformed"}, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A digit costs a digit: no number of any length or exponent is computed with.
func TestNumbersOfAnySize(t *testing.T) {
	t.Parallel()
	for _, number := range []string{
		"1e400", "1e-400", "1e9999999", `"1e2147483648"`, strings.Repeat("9", 10_000), `"` + strings.Repeat("9", 10_000) + `"`,
		"0." + strings.Repeat("1", 10_000), fmt.Sprint(uint64(math.MaxUint64)),
	} {
		var d coupon.Draft
		if err := json.Unmarshal([]byte(`{"discountValue":`+number+`,"minPurchase":`+number+`}`), &d); err == nil {
			d.Code, d.Name, d.DiscountType = "x", "x", pricing.FixedAmount
			_, err = coupon.New(d, creation)
			require.Error(t, err)
		} else if codes := fieldCodes(t, err); codes["discountValue"] == "" || codes["minPurchase"] == "" || len(err.Error()) > 1_000 {
			t.Errorf("%.30s: %.200v", number, err)
		}
	}
}

func TestASnapshotHoldsNoAddress(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(full(t).Snapshot())
	require.NoError(t, err)
	want := `{"id":"cpn_1","code":"TEN","name":"Ten per cent","discountType":"FIXED_AMOUNT","discountValue":"12.50","currency":"EUR",` +
		`"appliesTo":"PRODUCT","planIds":[],"deviceIds":["phone"],"accessoryIds":["case","cable"],` +
		`"minPurchase":"50.00","refundPolicy":"keep","startsAt":"2026-11-01T00:00:00Z","expiresAt":"2026-12-01T00:00:00Z","revision":1}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestItemsInJSON(t *testing.T) {
	t.Parallel()
	items := coupon.NewItems("kept")
	codes := fieldCodes(t, json.Unmarshal([]byte(`["a",1]`), &items))
	if codes["[1]"] != validation.Malformed || !items.Has("kept") {
		t.Errorf("got %v, %v", codes, items.Slice())
	}
	require.NoError(t, json.Unmarshal([]byte(`null`), &items))
	if items.Len() != 0 {
		t.Error("null is the empty set")
	}
}

func FuzzDraftJSON(f *testing.F) {
	for _, seed := range []string{
		`{"code":"ten","name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`,
		`{"code":"","discountValue":1e400,"planIds":["a",1],"x":0}`, `{"allowedUserEmails":"a@x.org,b","expiresAt":"2026-12-31"}`, `[]`, `{"maxUses":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d coupon.Draft
		if err := json.Unmarshal(data, &d); err != nil {
			checkReadError(t, data, err)
			return
		}
		c, err := coupon.New(d, creation)
		checkOutcome(t, c, err)
		again, err := json.Marshal(d)
		require.NoError(t, err)
		var back coupon.Draft
		if err := json.Unmarshal(again, &back); err != nil {
			t.Errorf("%s is written as %s, which is not read: %v", data, again, err)
		}
	})
}

func FuzzPatchJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":null,"maxUses":5}`, `{"code":"TEN","discountValue":10.50}`, `{"planIds":null,"appliesTo":"SPECIFIC"}`, `{"revision":-1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p coupon.Patch
		if err := json.Unmarshal(data, &p); err != nil {
			checkReadError(t, data, err)
			return
		}
		before := full(t)
		after, err := before.Apply(p, coupon.Edit{At: noon})
		checkOutcome(t, after, err)
		if err == nil {
			require.NoError(t, checkKept(before, after))
		}
	})
}

func FuzzCouponJSON(f *testing.F) {
	f.Add([]byte(fullJSON))
	f.Add([]byte(`{}`))
	f.Add([]byte(strings.Replace(fullJSON, "12.50", "1e-9", 1)))
	f.Add([]byte(strings.Replace(fullJSON, `"createdAt":"2026-11-20T12:00:00Z",`, "", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c coupon.Coupon
		if err := json.Unmarshal(data, &c); err != nil {
			checkReadError(t, data, err)
			return
		}
		require.NoError(t, c.Validate())
		require.NoError(t, checkRoundTrip(c))
	})
}

// Terms are embedded in coupons and snapshots, and do not take over their JSON. A type of a host that
// embeds a coupon has the JSON of the coupon.
func TestTheJSONOfTheTermsIsNotThatOfTheWhole(t *testing.T) {
	t.Parallel()
	c, err := coupon.New(coupon.Draft{Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10"}, coupon.Creation{
		ID: "cpn_ten", Currency: pricing.EUR(), At: time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC),
	})
	require.NoError(t, err)
	members := func(v any) (names map[string]any) {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &names))
		return names
	}
	for what, v := range map[string]any{"coupon": c, "snapshot": c.Snapshot(), "host": struct{ coupon.Coupon }{c}} {
		require.Subset(t, members(v), map[string]any{"id": "cpn_ten", "code": "TEN", "discountValue": "10"}, what)
	}
	require.NotContains(t, members(c.Terms), "id")
	require.Equal(t, "10", members(c.Terms)["discountValue"])
}

// checkReadError accepts errors of the JSON decoder about syntax and our own with
// fields.
func checkReadError(t *testing.T, data []byte, err error) {
	t.Helper()
	var (
		syntax  *json.SyntaxError
		invalid *validation.Error
	)
	if !errors.As(err, &syntax) && (!errors.As(err, &invalid) || len(invalid.Fields) == 0) {
		t.Errorf("%q: %v", data, err)
	}
}
