package coupon_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// Unknown names and malformed values are named by their path.
func TestTermsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const start = `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",`
	for text, want := range map[string]map[string]validation.Code{
		`"schedule":{"timeZone":"Europe/Atlantis","hours":[]}`:                                                 {"schedule.timeZone": "unknown"},
		`"schedule":{"timeZone":"Local","hours":[{"day":"MONTAG","from":"9:00","until":"25:00"}]}`:             {"schedule.timeZone": "unknown", "schedule.hours[0].day": "unknown", "schedule.hours[0].from": "malformed", "schedule.hours[0].until": "malformed"},
		`"schedule":{"timeZone":"UTC","hours":[{"from":"09:60"},{"day":"MONDAY","from":"10:00"}]}`:             {"schedule.hours[0].from": "malformed", "schedule.hours[1].until": "required"},
		`"schedule":{"timeZone":"../../etc/passwd","hours":[{"day":"MONDAY","from":"00:00","until":"24:00"}]}`: {"schedule.timeZone": "unknown"},
		`"schedule":{}`:                                {"schedule.timeZone": "required", "schedule.hours": "required"},
		`"customerTags":{"some":["a"]}`:                {"customerTags.some": "unknown"},
		`"customerTags":{"all":["a",5]}`:               {"customerTags.all[1]": "malformed"},
		`"budget":{"EUR":"1.005","EUX":"1","USD":"x"}`: {"budget.EUR": "too_many_decimals", "budget.EUX": "unknown", "budget.USD": "malformed"},
		`"budget":{"EUR":"1","EUR":"2"}`:               {"budget.EUR": "malformed"},
		`"budget":{}`:                                  {"budget": "required"},
		`"budget":5.001`:                               {"budget": "too_many_decimals"},
		`"budget":true`:                                {"budget": "malformed"},
		`"periodLimits":[{"per":"HOUSE","period":"YEAR","timeZone":"Mars","maxUses":"many"}]`: {"periodLimits[0].per": "unknown", "periodLimits[0].period": "unknown", "periodLimits[0].timeZone": "unknown", "periodLimits[0].maxUses": "malformed"},
		`"minQuantity":1.5,"firstOrder":"yes"`:                                                {"minQuantity": "malformed", "firstOrder": "malformed"},
	} {
		_, err := newFromJSON(start + text + "}")
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// The JSON of further terms, which a coupon without them does not have.
func TestConditionsAndLimitsInJSON(t *testing.T) {
	t.Parallel()
	const terms = `"minQuantity":3,"customerTags":{"any":["gold"],"none":["staff"]},"firstOrder":true,` +
		`"schedule":{"timeZone":"Europe/Berlin","hours":[{"day":"SATURDAY","from":"22:00","until":"24:00"}]},` +
		`"budget":{"EUR":"1000.00","JPY":"150000"},` +
		`"periodLimits":[{"per":"CUSTOMER","period":"WEEK","timeZone":"Europe/Berlin","maxUses":1}]`
	var d coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(`{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",`+terms+`}`), &d))
	c := mustNew(t, d)
	for name, v := range map[string]any{"draft": d, "coupon": c} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.Contains(t, string(data), terms, name)
	}
	var p coupon.Patch
	require.NoError(t, json.Unmarshal([]byte(`{"minQuantity":null,"customerTags":null,"firstOrder":null,"schedule":null,"budget":null,"periodLimits":null}`), &p))
	cleared, err := c.Apply(p, coupon.Edit{At: noon})
	require.NoError(t, err)
	if diff := cmp.Diff(mustNew(t, ten()).Conditions, cleared.Conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.True(t, cleared.Limits.Equal(coupon.Limits{MaxUsesPerUser: 1}))
}
