package coupon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

type settings struct {
	Limit coupon.Optional[int]            `json:"limit,omitzero"`
	IDs   coupon.Optional[[]string]       `json:"ids,omitzero"`
	Price coupon.Optional[coupon.Amounts] `json:"price,omitzero"`
}

func TestAnOptionalFieldHasThreeStates(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]struct {
		given, has bool
		value      int
	}{
		`{}`:             {},
		`{"limit":null}`: {given: true},
		`{"limit":0}`:    {given: true, has: true},
		`{"limit":5}`:    {given: true, has: true, value: 5},
	} {
		var s settings
		require.NoError(t, json.Unmarshal([]byte(document), &s))
		value, has := s.Limit.Value()
		if s.Limit.Given() != want.given || s.Limit.IsZero() == want.given || has != want.has || value != want.value {
			t.Errorf("%s: given %t, has %t, value %d", document, s.Limit.Given(), has, value)
		}
		data, err := json.Marshal(s)
		if err != nil || string(data) != document {
			t.Errorf("%s is written as %s, %v", document, data, err)
		}
	}
}

func TestOptionalsAreReadStrictly(t *testing.T) {
	t.Parallel()
	var s settings
	require.NoError(t, json.Unmarshal([]byte(`{"ids":["a","b"],"price":12.50}`), &s))
	ids, _ := s.IDs.Value()
	price, _ := s.Price.Value()
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" || price[""] != "12.50" {
		t.Errorf("got %q, %v", ids, price)
	}
	for document, field := range map[string]string{
		`["a",1]`: "[1]", `"a"`: "", `[null]`: "[0]",
	} {
		o := coupon.Set([]string{"kept"})
		codes := fieldCodes(t, json.Unmarshal([]byte(document), &o))
		if diff := cmp.Diff(map[string]validation.Code{field: "malformed"}, codes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", document, diff)
		}
		ids, _ := o.Value()
		want := map[string][]string{`["a",1]`: {"a", ""}, `"a"`: {"kept"}, `[null]`: {""}}[document]
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s: what could be read (-want +got):\n%s", document, diff)
		}
	}
}

// Without omitzero a field that is left alone is written as null, which clears:
// the documentation says so, and a cleared field reads the same.
func TestAnOptionalThatIsLeftAloneIsNullByItself(t *testing.T) {
	t.Parallel()
	for _, o := range []coupon.Optional[int]{{}, coupon.Clear[int]()} {
		if data, err := json.Marshal(o); err != nil || string(data) != "null" {
			t.Errorf("got %s, %v", data, err)
		}
	}
}

// Numbers are given as they are written, in drafts and patches.
func TestALimitIsGivenAsAConstant(t *testing.T) {
	t.Parallel()
	d := ten()
	d.MaxUses, d.MaxUsesPerUser = coupon.Set(100), coupon.Set(2)
	c, err := coupon.New(d, creation)
	require.NoError(t, err)
	require.Equal(t, coupon.Limits{MaxUses: 100, MaxUsesPerUser: 2}, c.Limits)
	c, err = c.Apply(coupon.Patch{
		MaxUses: coupon.Set(5), Distribution: coupon.Set(coupon.PointsRedeemable), PointsRequired: coupon.Set[int64](40),
	}, coupon.Edit{At: noon})
	require.NoError(t, err)
	require.EqualValues(t, 5, c.Limits.MaxUses)
	require.EqualValues(t, 40, c.PointsRequired)
}

// An amount of two billion digits is refused before a digit is computed.
func TestAmountsThatAreTooLong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]validation.Code{
		"1e2147483647": validation.TooLarge, "1e-2147483648": validation.TooManyDecimals, strings.Repeat("1", 65): validation.TooLong,
	} {
		d := ten()
		d.Percent, d.MinPurchase = text, coupon.Amounts{"": text}
		_, err := coupon.New(d, creation)
		require.Equal(t, map[string]validation.Code{"discountValue": want, "minPurchase": want}, fieldCodes(t, err))
		p := coupon.Patch{DiscountValue: coupon.Set(coupon.Amounts{"": text}), MinPurchase: coupon.Set(coupon.Amounts{"USD": text})}
		_, err = full(t).Apply(p, coupon.Edit{At: noon})
		require.Equal(t, map[string]validation.Code{"discountValue": "immutable", "minPurchase.USD": want}, fieldCodes(t, err))
	}
}
