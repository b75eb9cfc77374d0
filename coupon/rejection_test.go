package coupon_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// section6 is the table of contract section 6, row by row: code and parameters.
var section6 = []struct {
	code     string
	sentinel error
	params   string
}{
	{"code_required", coupon.ErrCodeRequired, ``},
	{"coupon_not_found", coupon.ErrNotFound, ``},
	{"coupon_inactive", coupon.ErrInactive, ``},
	{"coupon_not_started", coupon.ErrNotStarted, `"startsAt":"2026-11-20T12:00:00Z"`},
	{"coupon_expired", coupon.ErrExpired, `"expiresAt":"2026-11-21T12:00:00.5Z"`},
	{"outside_schedule", coupon.ErrOutsideSchedule, `"timeZone":"Europe/Berlin","opensAt":"2026-11-23T08:00:00Z"`},
	{"channel_not_allowed", coupon.ErrChannelNotAllowed, `"channel":"web","channels":["app","store"]`},
	{"country_not_allowed", coupon.ErrCountryNotAllowed, `"country":"DE","countries":["AT","CH"]`},
	{"processor_out_of_sync", coupon.ErrProcessorOutOfSync, ``},
	{"usage_limit_reached", coupon.ErrUsageLimitReached, `"maxUses":3`},
	{"user_usage_limit_reached", coupon.ErrUserUsageLimitReached, `"maxUsesPerUser":1`},
	{
		"period_limit_reached", coupon.ErrPeriodLimitReached,
		`"maxUses":3,"timeZone":"Europe/Berlin","per":"CUSTOMER","period":"WEEK","endsAt":"2026-11-22T23:00:00Z"`,
	},
	{"budget_exhausted", coupon.ErrBudgetExhausted, `"missing":"50.00","budget":"1000.00","remaining":"0.00"`},
	{"minimum_purchase_not_met", coupon.ErrMinimumPurchaseNotMet, `"minPurchase":"50.00","eligibleSubtotal":"0.00","missing":"50.00"`},
	{"maximum_purchase_exceeded", coupon.ErrMaximumPurchaseExceeded, `"eligibleSubtotal":"0.00","maxPurchase":"200.00","excess":"8.00"`},
	{
		"minimum_quantity_not_met", coupon.ErrMinimumQuantityNotMet,
		`"minQuantity":5,"eligibleQuantity":3,"missingQuantity":2`,
	},
	{"maximum_quantity_exceeded", coupon.ErrMaximumQuantityExceeded, `"eligibleQuantity":3,"maxQuantity":2,"excessQuantity":1`},
	{
		"required_items_missing", coupon.ErrRequiredItemsMissing,
		`"minPurchase":"50.00","missing":"50.00","missingQuantity":2,"contains":{"appliesTo":"PRODUCT","kinds":["device"],"quantity":4,"minPurchase":{"EUR":"50.00"}},` +
			`"containedQuantity":2,"containedSubtotal":"12.00"`,
	},
	{"excluded_items_contained", coupon.ErrExcludedItemsContained, `"containsNot":{"appliesTo":"ALL","categories":["sale"]},"excludedQuantity":7`},
	{"user_required", coupon.ErrUserRequired, ``},
	{"user_not_allowed", coupon.ErrUserNotAllowed, ``},
	{
		"customer_tags_not_met", coupon.ErrCustomerTagsNotMet,
		`"anyOfTags":["gold","silver"],"missingTags":["member"],"hasExcludedTag":true`,
	},
	{"not_first_order", coupon.ErrNotFirstOrder, `"orders":2`},
	{"points_not_redeemed", coupon.ErrPointsNotRedeemed, `"pointsRequired":500`},
	{"no_eligible_items", coupon.ErrNoEligibleItems, ``},
	{"no_discount", coupon.ErrNoDiscount, ``},
	{"currency_mismatch", coupon.ErrCurrencyMismatch, `"couponCurrency":"EUR","cartCurrency":"USD"`},
	{"not_combinable", coupon.ErrNotCombinable, `"excludedBy":["ONE","TWO"]`},
	{"code_taken", coupon.ErrCodeTaken, ``},
	{"cart_totals_invalid", coupon.ErrCartTotalsInvalid, `"field":"discount","submitted":"1.00","computed":"12.50"`},
	{"below_minimum_charge", coupon.ErrBelowMinimumCharge, `"total":"0.10","minimum":"0.50"`},
}

// everything is every parameter that there is.
func everything(tb testing.TB) coupon.Params {
	tb.Helper()
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(tb, err)
	amount := func(minor int64) coupon.Amount {
		return coupon.Amount{Money: pricing.NewMoney(minor, pricing.EUR())}
	}
	return coupon.Params{
		StartsAt: noon, ExpiresAt: noon.Add(24*time.Hour + 500*time.Millisecond), MaxUses: 3, MaxUsesPerUser: 1,
		MinPurchase: amount(5000), EligibleSubtotal: amount(0), Missing: amount(5000), PointsRequired: 500,
		MaxPurchase: amount(200_00), Excess: amount(8_00), MaxQuantity: 2, ExcessQuantity: 1,
		Contains: coupon.Contents{Scope: coupon.Scope{AppliesTo: coupon.Product, Kinds: coupon.NewItems("device")}, Quantity: 4, MinPurchase: coupon.NewMoneySet(eur(5000))}, ContainedQuantity: 2, ContainedSubtotal: amount(12_00),
		ContainsNot: coupon.Scope{AppliesTo: coupon.All, Categories: coupon.NewItems("sale")}, ExcludedQuantity: 7,
		CouponCurrency: pricing.EUR(), CartCurrency: usd, Field: "discount", Submitted: amount(100), Computed: amount(1250),
		Total: amount(10), Minimum: amount(50), Budget: amount(100_000), Remaining: amount(0),
		MinQuantity: 5, EligibleQuantity: 3, MissingQuantity: 2, Orders: 2,
		AnyOfTags: []string{"gold", "silver"}, MissingTags: []string{"member"}, HasExcludedTag: true,
		TimeZone: "Europe/Berlin", OpensAt: time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC),
		Per: coupon.PerCustomer, Period: calendar.Week, EndsAt: time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC),
		ExcludedBy: []string{"ONE", "TWO"}, Channel: "web", Channels: []string{"app", "store"},
		Country: "DE", Countries: []string{"AT", "CH"},
	}
}

func TestTheSetOfRejectionCodesIsClosed(t *testing.T) {
	t.Parallel()
	codes := coupon.RejectionCodes()
	got, want := make([]string, len(codes)), make([]string, len(section6))
	for i, c := range codes {
		got[i] = c.String()
	}
	for i, row := range section6 {
		want[i] = row.code
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes and their order (-contract +got):\n%s", diff)
	}
	for i, code := range codes {
		if code.Rank() != i {
			t.Errorf("%s has the rank %d, want %d", code, code.Rank(), i)
		}
	}
	slices.Sort(codes)
	if codes[0] != 1 || codes[len(codes)-1] != coupon.RejectionCode(len(codes)) {
		t.Errorf("a number is left out or used twice: %v", codes)
	}
	for _, none := range []coupon.RejectionCode{0, codes[len(codes)-1] + 1, 255} {
		if none.String() != "" || none.Message() != "" || none.Sentinel() != nil || none.Rank() != -1 {
			t.Errorf("%d is a code", none)
		}
	}
}

func TestEachRowOfTheRejections(t *testing.T) {
	t.Parallel()
	messages := map[string]string{}
	for i, code := range coupon.RejectionCodes() {
		row := section6[i]
		t.Run(row.code, func(t *testing.T) {
			if code.Sentinel() != row.sentinel || row.sentinel.Error() != row.code { //nolint:errorlint // the very value is meant
				t.Errorf("the sentinel is %v", code.Sentinel())
			}
			if parsed, err := named[coupon.RejectionCode](row.code); err != nil || parsed != code {
				t.Errorf("the name gives %v, %v", parsed, err)
			}
			message := code.Message()
			if other, taken := messages[message]; taken || !strings.HasSuffix(message, ".") {
				t.Errorf("the message %q is no sentence or is that of %s, too", message, other)
			}
			messages[message] = row.code
			data, err := json.Marshal(coupon.Reason{Code: code, Params: everything(t)})
			require.NoError(t, err)
			want := fmt.Sprintf(`{"code":%q,"message":%q,"params":{%s}}`, row.code, message, row.params)
			if diff := cmp.Diff(want, string(data)); diff != "" {
				t.Errorf("only the parameters of the row (-want +got):\n%s", diff)
			}
		})
	}
}

// A reason is read back from JSON as it was, and refused where it has amounts: their
// currency is not beside them.
func TestAReasonInJSONIsReadBackOrRefused(t *testing.T) {
	t.Parallel()
	for _, code := range coupon.RejectionCodes() {
		text, err := json.Marshal(coupon.Reason{Code: code, Params: everything(t)})
		require.NoError(t, err)
		var read coupon.Reason
		err = json.Unmarshal(text, &read)
		withAmounts := []coupon.RejectionCode{
			coupon.MinimumPurchaseNotMet, coupon.MaximumPurchaseExceeded, coupon.RequiredItemsMissing, coupon.BudgetExhausted, coupon.CartTotalsInvalid, coupon.BelowMinimumCharge,
		}
		if slices.Contains(withAmounts, code) {
			require.ErrorContains(t, err, "does not tell its currency", code)
			continue
		}
		require.NoError(t, err, code)
		again, err := json.Marshal(read)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again))
	}
	var amount coupon.Amount
	require.ErrorContains(t, json.Unmarshal([]byte(`{}`), &amount), "pricing.ParseMoney")
}

// Each parameter belongs to at least one row: none is dead.
func TestEveryParameterIsUsed(t *testing.T) {
	t.Parallel()
	all := ""
	for _, row := range section6 {
		all += row.params
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[coupon.Params]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(all, `"`+name+`":`) {
			t.Errorf("no code has the parameter %s", name)
		}
	}
}

// errors.Is for every reason of a rejection, headline or not, and for no other.
func TestARejectionMatchesEachOfItsReasons(t *testing.T) {
	t.Parallel()
	codes := coupon.RejectionCodes()
	for i, headline := range codes {
		for _, second := range codes[i+1:] {
			err := fmt.Errorf("checkout: %w", fmt.Errorf("apply: %w", &coupon.Rejection{
				CouponID: "cpn_1", Reasons: []coupon.Reason{{Code: headline}, {Code: second}},
			}))
			for _, code := range codes {
				if want := code == headline || code == second; errors.Is(err, code.Sentinel()) != want {
					t.Errorf("errors.Is(%v, %s) is %t", err, code, !want)
				}
			}
			var rejection *coupon.Rejection
			if !errors.As(err, &rejection) || rejection.Headline().Code != headline || !rejection.Has(second) || rejection.CouponID != "cpn_1" {
				t.Errorf("errors.As finds %+v in %v", rejection, err)
			}
			if errors.Is(err, validation.ErrInvalid) {
				t.Errorf("%v is taken for malformed input", err)
			}
		}
	}
}

func TestRejection(t *testing.T) {
	t.Parallel()
	r := coupon.Reject("cpn_1", coupon.CouponExpired, coupon.Params{ExpiresAt: noon})
	if r.Error() != "coupon refused: coupon_expired" || r.Headline().Message() != "This coupon has expired." ||
		r.Has(coupon.CouponInactive) || !r.Headline().Params.ExpiresAt.Equal(noon) {
		t.Errorf("got %v, %+v", r, r)
	}
	r.Reasons = append(r.Reasons, coupon.Reason{Code: coupon.NoDiscount})
	if r.Error() != "coupon refused: coupon_expired, no_discount" {
		t.Errorf("got %v", r)
	}
	r.Reasons = append(r.Reasons, coupon.Reason{Code: coupon.NoDiscount})
	if r.Error() != "coupon refused: coupon_expired, no_discount" {
		t.Errorf("got %v for a repeated reason", r)
	}
	odd := &coupon.Rejection{Reasons: []coupon.Reason{{}}}
	if len(odd.Unwrap()) != 0 || !(&coupon.Rejection{}).Headline().Equal(coupon.Reason{}) {
		t.Error("a reason that is none has a sentinel")
	}
}

func TestParametersAreComparedByWhatTheyMean(t *testing.T) {
	t.Parallel()
	utc := coupon.Reason{Code: coupon.CouponExpired, Params: everything(t)}
	local := utc
	local.Params.ExpiresAt = utc.Params.ExpiresAt.In(time.FixedZone("", 3600))
	if !utc.Equal(local) {
		t.Error("one instant in two zones is two reasons")
	}
	for _, change := range []func(*coupon.Reason){
		func(r *coupon.Reason) { r.Code = coupon.CouponInactive },
		func(r *coupon.Reason) { r.Params.MaxUses++ },
		func(r *coupon.Reason) { r.Params.StartsAt = noon.Add(1) },
		func(r *coupon.Reason) { r.Params.ExpiresAt = noon },
		func(r *coupon.Reason) { r.Params.Missing = coupon.Amount{} },
	} {
		other := utc
		if change(&other); utc.Equal(other) {
			t.Errorf("%+v equals %+v", utc, other)
		}
	}
	if !(coupon.Amount{}).IsZero() || (coupon.Amount{Money: pricing.NewMoney(0, pricing.EUR())}).IsZero() {
		t.Error("an amount of 0 is an amount, none is none")
	}
	if !utc.Params.Missing.Equal(utc.Params.MinPurchase) || utc.Params.Missing.Equal(utc.Params.Total) {
		t.Error("amounts are compared wrongly")
	}
}

// text is an enumeration in its text form.
type text interface {
	fmt.Stringer
	MarshalText() ([]byte, error)
}

// named returns the value of an enumeration with the name.
func named[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](name string) (value T, err error) {
	err = P(&value).UnmarshalText([]byte(name))
	return value, err
}

func asText[T text](read func(string) (T, error)) func(string) (text, error) {
	return func(name string) (text, error) { return read(name) }
}

func TestEnumerationsAsText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		names string
		value func(uint8) text
		read  func(string) (text, error)
	}{
		{"ALL SUBSCRIPTION PRODUCT SPECIFIC", func(n uint8) text { return coupon.AppliesTo(n) }, asText(named[coupon.AppliesTo])},
		{"GENERAL POINTS_REDEEMABLE USER_SPECIFIC", func(n uint8) text { return coupon.Distribution(n) }, asText(named[coupon.Distribution])},
		{"pending active inactive deleting", func(n uint8) text { return coupon.State(n) }, asText(named[coupon.State])},
		{"pending active inactive deleting", func(n uint8) text { return coupon.State(n) }, asText(coupon.ParseState)},
		{"DAY WEEK MONTH", func(n uint8) text { return calendar.Period(n) }, asText(named[calendar.Period])},
		{"CUSTOMER COUPON CODE", func(n uint8) text { return coupon.LimitSubject(n) }, asText(named[coupon.LimitSubject])},
		{"code_required coupon_not_found", func(n uint8) text { return coupon.RejectionCode(n) }, asText(named[coupon.RejectionCode])},
	} {
		for i, name := range strings.Fields(test.names) {
			want := test.value(uint8(i + 1))
			written, err := want.MarshalText()
			read, readErr := test.read(name)
			if err != nil || readErr != nil || want.String() != name || string(written) != name || read != want {
				t.Errorf("%s: %v, %s, %v", name, want, written, read)
			}
		}
		for _, none := range []string{"", "all", "Active", "ALL ", "GENERIC", "\xff"} {
			read, err := test.read(none)
			if fieldCodes(t, err)[""] != validation.Unknown || read != test.value(0) {
				t.Errorf("%q is read as %#v of %s: %v", none, read, test.names, err)
			}
		}
		if test.value(0).String() != "" || test.value(99).String() != "" {
			t.Errorf("a value that is none of %s has a name", test.names)
		}
	}
}

// Coupon.Validate checks what a store returns, whatever it returns.
func TestValidateFindsEveryFault(t *testing.T) {
	t.Parallel()
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		spoil func(*coupon.Coupon)
		want  map[string]validation.Code
	}{
		"nothing":          {func(*coupon.Coupon) {}, map[string]validation.Code{}},
		"an ID that is no": {func(c *coupon.Coupon) { c.ID = "x" }, map[string]validation.Code{"id": "malformed"}},
		"a state":          {func(c *coupon.Coupon) { c.State = 9 }, map[string]validation.Code{"state": "unknown"}},
		"no state":         {func(c *coupon.Coupon) { c.State = 0 }, map[string]validation.Code{"state": "unknown"}},
		"counts": {
			func(c *coupon.Coupon) { c.UsedCount, c.ReservedCount, c.Revision = -1, -1, 0 },
			map[string]validation.Code{"usedCount": "too_small", "reservedCount": "too_small", "revision": "too_small"},
		},
		"a currency beside the amount": {func(c *coupon.Coupon) { c.Currency = usd }, map[string]validation.Code{"currency": "mismatch", "minPurchase.USD": "required"}},
		"amounts and limits": {
			func(c *coupon.Coupon) {
				c.Conditions.MinPurchase, c.Limits = coupon.NewMoneySet(pricing.NewMoney(-1, c.Currency)), coupon.Limits{MaxUses: -1, MaxUsesPerUser: -1}
			},
			map[string]validation.Code{"minPurchase": "too_small", "maxUses": "too_small", "maxUsesPerUser": "too_small"},
		},
		"years": {
			func(c *coupon.Coupon) {
				c.CreatedAt, c.UpdatedAt = noon.AddDate(-3000, 0, 0), noon.AddDate(9000, 0, 0)
			},
			map[string]validation.Code{"createdAt": "too_small", "updatedAt": "too_large"},
		},
		"everything": {
			func(c *coupon.Coupon) { *c = coupon.Coupon{} },
			map[string]validation.Code{
				"id": "malformed", "state": "unknown", "revision": "too_small", "name": "required",
				"currency": "required", "discountValue": "required", "appliesTo": "unknown", "distribution": "unknown",
				"refundPolicy": "required",
			},
		},
	} {
		c := full(t)
		test.spoil(&c)
		if diff := cmp.Diff(test.want, fieldCodes(t, c.Validate())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	many := full(t)
	many.AllowedUserEmails = coupon.NarrowedEmailSet(coupon.MaxAllowedEmails+1, "ann@x.org")
	if diff := cmp.Diff(map[string]validation.Code{"allowedUserEmails": "too_long"}, fieldCodes(t, many.Validate())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
