package coupon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/validation"
)

// contradictionCases are terms by the fields that contradict each other. Terms without fields do not
// contradict each other.
var contradictionCases = []struct {
	terms  string // beside code, name and 10 %
	fields string // separated by spaces
}{
	// The scope covers no line.
	{`"appliesTo":"SPECIFIC","accessoryIds":["case"],"excludedItemIds":["case"]`, "accessoryIds excludedItemIds"},
	{`"appliesTo":"SPECIFIC","accessoryIds":["case","cable"],"excludedItemIds":["case"]`, ""},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"deviceIds":["b"],"excludedItemIds":["a","b","c"]`, "planIds deviceIds excludedItemIds"},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"deviceIds":["b"],"excludedItemIds":["a"]`, ""},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"kinds":["device"]`, "planIds kinds"},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"kinds":["book"]`, "planIds kinds"},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"deviceIds":["b"],"kinds":["device","book"]`, ""},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"deviceIds":["b"],"kinds":["device"],"excludedItemIds":["b"]`, "deviceIds kinds excludedItemIds"},
	{`"appliesTo":"SUBSCRIPTION","planIds":["a"],"excludedItemIds":["a"]`, ""}, // subscriptions of other kinds
	{`"appliesTo":"SUBSCRIPTION","planIds":["a"],"kinds":["plan"],"excludedItemIds":["a"]`, "planIds kinds excludedItemIds"},
	{`"appliesTo":"PRODUCT","deviceIds":["a"],"kinds":["device"],"excludedItemIds":["a"]`, "deviceIds kinds excludedItemIds"},
	{`"appliesTo":"PRODUCT","deviceIds":["a"],"kinds":["device","accessory"],"excludedItemIds":["a"]`, ""},
	{`"appliesTo":"PRODUCT","deviceIds":["a"],"accessoryIds":["b"],"kinds":["device","accessory"],"excludedItemIds":["a","b"]`, "deviceIds accessoryIds kinds excludedItemIds"},
	{`"kinds":["device"],"excludedItemIds":["a"]`, ""},
	{`"categories":["new","sale"],"excludedCategories":["old","sale"]`, "categories[1] excludedCategories[1]"},
	{`"discountType":"BUY_X_GET_Y","buyQuantity":1,"getQuantity":1,"buys":{"appliesTo":"SPECIFIC","planIds":["a"],"excludedItemIds":["a"]}`, "buys.planIds buys.excludedItemIds"},
	// Nobody has such tags.
	{`"customerTags":{"all":["a","b"],"none":["b"]}`, "customerTags.all[1] customerTags.none[0]"},
	{`"customerTags":{"any":["a","b"],"none":["b","a"]}`, "customerTags.any customerTags.none"},
	{`"customerTags":{"any":["a","b"],"none":["b"]}`, ""},
	// A fixed amount above its maximum or above the budget.
	{`"discountType":"FIXED_AMOUNT","discountValue":"50","budget":{"EUR":"10"}`, "discountValue budget.EUR"},
	{`"discountType":"FIXED_AMOUNT","discountValue":"50","budget":{"EUR":"50"}`, ""},
	{`"discountType":"FIXED_AMOUNT","discountValue":"50","maxDiscount":"49.99"`, "discountValue maxDiscount"},
	{`"discountType":"FIXED_AMOUNT","discountValue":"50","maxDiscount":"50"`, ""},
	{`"discountType":"FIXED_AMOUNT","discountValue":"50","maxDiscount":"20","budget":{"EUR":"10"}`, "maxDiscount budget.EUR"},
	{`"discountType":"FIXED_AMOUNT","discountValue":{"EUR":"5","JPY":"500"},"budget":{"EUR":"10","JPY":"400"}`, "discountValue.JPY budget.JPY"},
	{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"50","budget":{"EUR":"10"}`, "discountValue budget.EUR"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"50","maxDiscount":"20","budget":{"EUR":"20"}`, ""},
	{`"maxDiscount":"50.01","budget":{"EUR":"50"}`, "maxDiscount budget.EUR"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"10","amount":"1"},{"from":"20","amount":"6"}],"maxDiscount":"5"`, "tiers[1].amount maxDiscount"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"10","amount":"1"},{"from":"20","amount":"6"}],"budget":{"EUR":"5"}`, "tiers[1].amount budget.EUR"},
	// The least discount is above the budget.
	{`"minPurchase":"100","budget":{"EUR":"9.99"}`, "discountValue minPurchase budget.EUR"},
	{`"minPurchase":"100","budget":{"EUR":"10"}`, ""},
	{`"minPurchase":"100","budget":{"EUR":"9.99"},"maxDiscount":"9"`, ""},
	{`"minPurchase":"100","budget":{"EUR":"9.99"},"maxUnits":1`, ""}, // one unit may be cheap
	{`"minPurchase":{"EUR":"100","USD":"100"},"budget":{"EUR":"9.99","USD":"10"}`, ""},
	{`"minPurchase":{"EUR":"100","USD":"100"},"budget":{"EUR":"9.99","USD":"9"}`, "discountValue minPurchase budget.EUR minPurchase.USD budget.USD"},
	{`"minPurchase":{"EUR":"100","JPY":"100"},"budget":{"EUR":"9.99","USD":"10"}`, "discountValue minPurchase budget.EUR"},
	{`"discountValue":"100","minQuantity":100,"budget":{"EUR":"0.99"}`, "discountValue minQuantity budget.EUR"},
	{`"discountValue":"100","minQuantity":100,"budget":{"EUR":"0.99"},"maxUnits":99`, ""},
	{`"discountValue":"100","minQuantity":100,"minPurchase":"5","budget":{"EUR":"0.99"}`, "discountValue minPurchase budget.EUR"}, // as small as with minQuantity
	{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"0.50","minQuantity":100,"budget":{"EUR":"0.99"}`, "discountValue minQuantity budget.EUR"},
	{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"0.50","minQuantity":50,"minPurchase":"40","budget":{"EUR":"0.98"}`, "discountValue minPurchase minQuantity budget.EUR"},
	{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"0.50","minQuantity":50,"minPurchase":"40","budget":{"EUR":"0.99"}`, ""},
	{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"0.50","minQuantity":100,"maxUnits":99,"budget":{"EUR":"0.99"}`, ""},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"0.50","minQuantity":100,"minPurchase":"60","budget":{"EUR":"0.50"}`, ""}, // one unit is just above the price
	{`"discountType":"CHEAPEST_UNITS","discountValue":"100","units":100,"minQuantity":100,"budget":{"EUR":"0.99"}`, "units discountValue minQuantity budget.EUR"},
	{`"discountType":"CHEAPEST_UNITS","discountValue":"100","units":100,"budget":{"EUR":"0.99"}`, ""}, // one unit is enough
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":100,"budget":{"EUR":"0.99"}`, "getQuantity discountValue budget.EUR"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"minQuantity":200,"budget":{"EUR":"0.99"}`, "discountValue minQuantity budget.EUR"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"maxApplications":99,"minQuantity":200,"budget":{"EUR":"0.99"}`, ""},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"buys":{"kinds":["plan"]},"minQuantity":200,"budget":{"EUR":"0.99"}`, ""}, // one plan is bought
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"buys":{},"minQuantity":200,"budget":{"EUR":"0.99"}`, "discountValue minQuantity budget.EUR"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"100","percent":"50"}],"budget":{"EUR":"49.99"}`, "tiers budget.EUR"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"10","percent":"5"},{"from":"100","percent":"50"}],"budget":{"EUR":"49.99"}`, ""},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"10","percent":"5"},{"from":"100","percent":"50"}],"minPurchase":"100","budget":{"EUR":"49.99"}`, "tiers minPurchase budget.EUR"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"QUANTITY","tiers":[{"from":"10","percent":"50"}],"minPurchase":"100","budget":{"EUR":"49.99"}`, "tiers minPurchase budget.EUR"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"QUANTITY","tiers":[{"from":"10","percent":"50"},{"from":"20","amount":"5"}],"minPurchase":"100","budget":{"EUR":"49.99"}`, ""},
	// No unit costs more than the greatest amount.
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"92233720368547758.07"`, "discountValue"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"92233720368547758.06"`, ""},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"92233720368547758.06","minQuantity":2`, "discountValue minQuantity"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":{"EUR":"92233720368547758.07","JPY":"5"}`, ""},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":{"EUR":"92233720368547758.07","JPY":"5"},"minPurchase":"5"`, "discountValue minPurchase"}, // none in JPY
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":{"EUR":"92233720368547758.07","JPY":"5"},"budget":{"EUR":"5"}`, "discountValue budget.EUR"},
	// Maximums below minimums, and below what a discount needs.
	{`"minPurchase":"20.01","maxPurchase":"20"`, "minPurchase maxPurchase"},
	{`"minPurchase":"20","maxPurchase":"20"`, ""},
	{`"minPurchase":{"EUR":"20","USD":"20"},"maxPurchase":{"EUR":"19","USD":"20"}`, ""},
	{`"minPurchase":{"EUR":"20","USD":"20"},"maxPurchase":{"EUR":"19","USD":"19"}`, "minPurchase maxPurchase minPurchase.USD maxPurchase.USD"},
	{`"minPurchase":{"EUR":"20","USD":"20"},"maxPurchase":"19"`, "minPurchase maxPurchase"},
	{`"minQuantity":3,"maxQuantity":2`, "minQuantity maxQuantity"},
	{`"minQuantity":2,"maxQuantity":2`, ""},
	{`"minQuantity":101,"maxPurchase":"1"`, "maxPurchase minQuantity"}, // a unit costs something
	{`"minQuantity":100,"maxPurchase":"1"`, ""},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"maxQuantity":2`, "buyQuantity maxQuantity"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":3,"maxQuantity":2`, "getQuantity maxQuantity"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":2,"maxQuantity":2`, "buyQuantity maxQuantity"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"maxQuantity":3`, ""},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["plan"]},"maxQuantity":1`, ""}, // what is bought is not eligible
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"buys":{"kinds":["plan"]},"maxQuantity":2`, "buyQuantity maxQuantity"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"maxPurchase":"0.02"`, "buyQuantity maxPurchase"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"1","buyQuantity":1,"getQuantity":1,"maxPurchase":"0.99"`, "buyQuantity discountValue maxPurchase"}, // 1 % of 0.49 is nothing
	{`"discountType":"BUY_X_GET_Y","discountValue":"1","buyQuantity":1,"getQuantity":1,"maxPurchase":"1"`, ""},
	{`"discountType":"CHEAPEST_UNITS","discountValue":"100","units":5,"maxQuantity":1`, ""}, // one unit is enough
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"QUANTITY","tiers":[{"from":3,"percent":"50"}],"maxQuantity":2`, "tiers maxQuantity"},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"QUANTITY","tiers":[{"from":2,"percent":"5"},{"from":3,"percent":"50"}],"maxQuantity":2`, ""},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"30","percent":"50"}],"maxPurchase":"29.99"`, "tiers maxPurchase"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10","maxPurchase":"10"`, "discountValue maxPurchase"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10","maxPurchase":"10.01"`, ""},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10","minPurchase":"30","maxQuantity":2,"budget":{"EUR":"9.99"}`, "discountValue minPurchase maxQuantity budget.EUR"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10","minPurchase":"30","maxQuantity":2,"budget":{"EUR":"10"}`, ""},
	{`"discountValue":"1","maxPurchase":"0.49"`, "discountValue maxPurchase"}, // 0.49 cents are nothing
	{`"discountValue":"1","maxPurchase":"0.50"`, ""},
	{`"discountValue":"1","maxUnits":1,"minQuantity":3,"maxPurchase":"1.49"`, "discountValue maxPurchase minQuantity"},
	{`"discountValue":"1","maxUnits":1,"minQuantity":3,"maxPurchase":"1.50"`, ""},
	// What the cart must and must not contain.
	{`"contains":{"appliesTo":"SPECIFIC","planIds":["a"],"excludedItemIds":["a"]}`, "contains.planIds contains.excludedItemIds"},
	{`"contains":{"kinds":["device"]},"containsNot":{"appliesTo":"PRODUCT"}`, "contains containsNot"},
	{`"contains":{"kinds":["device"]},"containsNot":{"appliesTo":"PRODUCT","categories":["sale"]}`, ""},
	{`"containsNot":{}`, "containsNot"},
	{`"appliesTo":"PRODUCT","containsNot":{"kinds":["device","accessory"]}`, ""}, // other kinds are products too
	{`"kinds":["device"],"containsNot":{"appliesTo":"PRODUCT"}`, "kinds containsNot"},
	{`"appliesTo":"SUBSCRIPTION","planIds":["a"],"kinds":["plan"],"containsNot":{"appliesTo":"SPECIFIC","planIds":["a","b"]}`, "planIds kinds containsNot"},
	{`"appliesTo":"SPECIFIC","planIds":["a"],"categories":["new"],"containsNot":{"appliesTo":"SUBSCRIPTION"}`, "planIds containsNot"},
	{`"categories":["new"],"containsNot":{"categories":["old"],"excludedCategories":["new"]}`, ""},
	{`"excludedCategories":["new"],"containsNot":{"excludedCategories":["new"]}`, "excludedCategories containsNot"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"buys":{"kinds":["plan"]},"containsNot":{"appliesTo":"SUBSCRIPTION"}`, "buys containsNot"},
	{`"contains":{"kinds":["device"],"quantity":3},"maxQuantity":2`, "maxQuantity contains"}, // the coupon covers them
	{`"contains":{"kinds":["device"],"quantity":3},"maxQuantity":3`, ""},
	{`"appliesTo":"SUBSCRIPTION","contains":{"kinds":["device"],"quantity":3},"maxQuantity":2`, ""},
	{`"appliesTo":"SUBSCRIPTION","contains":{"quantity":3},"containsNot":{"appliesTo":"PRODUCT"},"maxQuantity":2`, "maxQuantity contains containsNot"},
	{`"contains":{"minPurchase":"20.01"},"maxPurchase":"20"`, "maxPurchase contains"}, // the coupon covers them
	{`"contains":{"minPurchase":"20"},"maxPurchase":"20"`, ""},
	{`"kinds":["device","plan"],"contains":{"kinds":["device"],"minPurchase":"20.01"},"maxPurchase":"20"`, "maxPurchase contains"},
	{`"kinds":["device"],"contains":{"kinds":["device","plan"],"minPurchase":"20.01"},"maxPurchase":"20"`, ""}, // a plan may cost it
	{`"kinds":["device"],"contains":{"kinds":["device","plan"],"minPurchase":"20.01"},"containsNot":{"kinds":["plan"]},"maxPurchase":"20"`, "maxPurchase contains containsNot"},
	{`"contains":{"minPurchase":{"EUR":"20","USD":"20"}},"maxPurchase":{"EUR":"19","USD":"20"}`, ""},
	{`"contains":{"minPurchase":{"EUR":"20","USD":"20"}},"maxPurchase":{"EUR":"19","USD":"19"}`, "maxPurchase contains maxPurchase.USD"},
	{`"minPurchase":{"EUR":"20","USD":"20"},"contains":{"minPurchase":"20"},"maxPurchase":{"EUR":"19","USD":"20"}`, "minPurchase maxPurchase contains"},
	{`"contains":{"minPurchase":"100"},"budget":{"EUR":"9.99"}`, "discountValue contains budget.EUR"},
	{`"contains":{"minPurchase":"100"},"budget":{"EUR":"10"}`, ""},
	{`"contains":{"minPurchase":"100"},"maxUnits":1,"budget":{"EUR":"9.99"}`, ""}, // one unit may be cheap
	{`"contains":{"quantity":3,"minPurchase":"0.10"},"maxPurchase":"0.10","discountValue":"40"`, ""},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10","contains":{"minPurchase":"30"},"maxQuantity":2,"budget":{"EUR":"9.99"}`, "discountValue maxQuantity contains budget.EUR"},
	{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10","contains":{"minPurchase":"30"},"maxQuantity":2,"budget":{"EUR":"10"}`, ""},
	{`"discountType":"TIERED","discountValue":null,"tierBasis":"AMOUNT","tiers":[{"from":"10","percent":"5"},{"from":"30","percent":"100"}],"contains":{"minPurchase":"30"},"budget":{"EUR":"29.99"}`, "tiers contains budget.EUR"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"contains":{"minPurchase":"30"},"maxPurchase":"29"`, "maxPurchase contains"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["plan"]},"contains":{"kinds":["plan"],"minPurchase":"30"},"maxPurchase":"29"`, ""}, // the plan costs it
	{`"discountValue":"100","contains":{"quantity":100},"budget":{"EUR":"0.99"}`, "discountValue contains budget.EUR"},
	{`"discountValue":"100","appliesTo":"PRODUCT","contains":{"quantity":100},"budget":{"EUR":"0.99"}`, ""},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["plan"]},"minQuantity":9,"contains":{"kinds":["plan"],"quantity":9},"budget":{"EUR":"0.08"}`, "discountValue minQuantity contains budget.EUR"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["plan"]},"minQuantity":9,"contains":{"kinds":["plan"],"quantity":8},"budget":{"EUR":"0.08"}`, ""},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["plan"]},"contains":{"kinds":["device","plan"],"quantity":10},"minQuantity":5,"maxQuantity":5,"budget":{"EUR":"0.02"}`, ""}, // five devices and five plans
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["plan"]},"contains":{"kinds":["device","plan"],"quantity":10},"minQuantity":5,"maxQuantity":5,"budget":{"EUR":"0.01"}`, "discountValue minQuantity maxQuantity contains budget.EUR"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"kinds":["device","plan"],"buys":{"kinds":["plan","accessory"]},"contains":{"kinds":["plan","accessory"],"quantity":2},"minQuantity":9,"maxQuantity":9,"budget":{"EUR":"0.01"}`, ""}, // two plans, of which one is discounted
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"kinds":["device","plan"],"buys":{"kinds":["plan","accessory"]},"contains":{"kinds":["plan","accessory"],"quantity":4},"minQuantity":9,"maxQuantity":9,"budget":{"EUR":"0.01"}`, "discountValue minQuantity contains budget.EUR"},
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1,"kinds":["device"],"buys":{"kinds":["device","plan"]},"contains":{"kinds":["device","plan"],"quantity":4},"minQuantity":2,"maxQuantity":3,"budget":{"EUR":"0.01"}`, ""}, // two devices and two plans
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"buys":{"kinds":["plan"]},"contains":{"kinds":["device"],"quantity":5},"maxQuantity":5`, "buyQuantity maxQuantity contains"},                                            // and a plan
	{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":1,"getQuantity":1,"buys":{"kinds":["plan"]},"contains":{"kinds":["device"],"quantity":5},"maxQuantity":6`, ""},
	// Each channel and each country is one where a purchase can be.
	{`"channels":["store","web"],"countries":["AT","CH"],"minQuantity":2,"maxQuantity":2,"contains":{"appliesTo":"SUBSCRIPTION"},"containsNot":{"kinds":["device"]}`, ""},
	// No instant. The coupon is created on Friday, 20 November 2026 at 12:00.
	{`"startsAt":"2026-12-02","expiresAt":"2026-12-01"`, "startsAt expiresAt"},
	{`"expiresAt":"2026-11-22","schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:00"}]}`, "schedule.hours expiresAt"},
	{`"expiresAt":"2026-11-22","schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:01"}]}`, ""},
	{`"expiresAt":"2026-11-26","schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:00"}]}`, "schedule.hours expiresAt"},
	{`"expiresAt":"2026-11-27","schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:00"}]}`, ""},
	{`"startsAt":"2026-11-28","expiresAt":"2026-12-03","schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:00"}]}`, "schedule.hours startsAt expiresAt"},
	{`"startsAt":"2026-11-28","schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:00"}]}`, ""},
	// A limit that is never reached, and one that ends the coupon early.
	{`"firstOrder":true,"maxUsesPerUser":5,"maxUses":2,"periodLimits":[{"per":"COUPON","period":"DAY","timeZone":"UTC","maxUses":9}]`, ""},
	{`"distribution":"POINTS_REDEEMABLE","pointsRequired":5,"firstOrder":true,"customerTags":{"any":["a"],"all":["b"],"none":["c"]}`, ""},
}

// draftOf returns a draft with a code, a name, 10 % and the given terms.
func draftOf(t *testing.T, terms string) (d coupon.Draft) {
	t.Helper()
	members := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(`{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10"}`), &members))
	require.NoError(t, json.Unmarshal([]byte("{"+terms+"}"), &members), terms)
	text, err := json.Marshal(members)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d), terms)
	return d
}

// Terms that no cart, customer or instant meets are refused. The fault names the smallest set of
// fields, each beside the others.
func TestContradictionsAtCreation(t *testing.T) {
	t.Parallel()
	for _, test := range contradictionCases {
		c, err := coupon.New(draftOf(t, test.terms), creation)
		if test.fields == "" {
			require.NoError(t, err, test.terms)
			cart, q, found := purchaseOf(c)
			require.True(t, found, "%s: no cart", test.terms)
			require.NoError(t, cart.Validate())
			require.NoError(t, q.Customer.Validate())
			continue
		}
		want := strings.Fields(test.fields)
		require.Equal(t, want, contradicted(t, err), "%s: %v", test.terms, err)
	}
}

// contradicted returns the fields of a contradiction. Each has a message that names the others.
func contradicted(t require.TestingT, err error) (fields []string) {
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	for _, f := range faults.Fields {
		require.Equal(t, validation.Mismatch, f.Code, err)
		fields = append(fields, f.Path)
	}
	for _, f := range faults.Fields {
		for _, other := range fields {
			require.True(t, other == f.Path || strings.Contains(f.Message, other), "%s: %s", f.Path, f.Message)
		}
	}
	return fields
}

// A change is refused like a draft. It may always end a coupon: its dates are not compared.
func TestContradictionsOfAChange(t *testing.T) {
	t.Parallel()
	const terms = `"discountType":"FIXED_AMOUNT","discountValue":"50","appliesTo":"SPECIFIC","accessoryIds":["case"],"startsAt":"2027-01-01",
		"schedule":{"timeZone":"UTC","hours":[{"day":"FRIDAY","from":"09:00","until":"12:00"}]}`
	c, err := coupon.New(draftOf(t, terms), creation)
	require.NoError(t, err)
	for text, want := range map[string]string{
		`{"excludedItemIds":["case"]}`:                                 "accessoryIds excludedItemIds",
		`{"excludedItemIds":["case"],"accessoryIds":["case","cable"]}`: "",
		`{"kinds":["plan"]}`:                                           "accessoryIds kinds",
		`{"containsNot":{"appliesTo":"PRODUCT"}}`:                      "accessoryIds containsNot",
		`{"contains":{"appliesTo":"PRODUCT"}}`:                         "",
		`{"budget":{"EUR":"49.99"}}`:                                   "discountValue budget.EUR",
		`{"customerTags":{"all":["a"],"none":["a"]}}`:                  "customerTags.all[0] customerTags.none[0]",
		`{"expiresAt":"2026-11-20"}`:                                   "", // before it starts
		`{"expiresAt":"2027-01-01"}`:                                   "", // a Friday
		`{"startsAt":"2027-01-02","expiresAt":"2027-01-03"}`:           "", // no Friday
	} {
		var p coupon.Patch
		require.NoError(t, json.Unmarshal([]byte(text), &p), text)
		changed, err := c.Apply(p, coupon.Edit{At: noon})
		if want == "" {
			require.NoError(t, err, text)
			require.NoError(t, changed.Validate(), text)
			continue
		}
		require.Equal(t, strings.Fields(want), contradicted(t, err), text)
	}
}

// Stored terms that contradict each other are valid. They can be changed, and so corrected.
func TestAContradictionThatIsStored(t *testing.T) {
	t.Parallel()
	c, err := coupon.New(draftOf(t, `"discountType":"FIXED_AMOUNT","discountValue":"50"`), creation)
	require.NoError(t, err)
	c.Limits.Budget = coupon.NewMoneySet(eur(10_00))
	require.NoError(t, c.Validate())
	require.Equal(t, []string{"discountValue", "budget.EUR"}, contradicted(t, c.Contradictions()))
	renamed, err := c.Apply(coupon.Patch{Name: coupon.Set("Other")}, coupon.Edit{At: noon})
	require.NoError(t, err)
	corrected, err := renamed.Apply(coupon.Patch{Budget: coupon.Set(coupon.NewAmounts(eur(50_00)))}, coupon.Edit{At: noon})
	require.NoError(t, err)
	require.NoError(t, corrected.Contradictions())
}

// A line of an example is covered by its scope, and not by the others.
func TestExamplesOfScopes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, other := coupontest.Scope().Draw(t, "scope"), coupontest.Scope().Draw(t, "other scope")
		if line, found := s.Example(); !found || !s.Covers(&line) {
			t.Errorf("no example: %+v", line)
		}
		line, found := s.Example(other)
		if found && (!s.Covers(&line) || other.Covers(&line)) {
			t.Errorf("a wrong example: %+v", line)
		}
		if _, found := s.Example(s); found {
			t.Error("a scope has no line outside itself")
		}
	})
}
