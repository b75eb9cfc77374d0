package coupon_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// furtherTerms are coupons of every type, with every term that the type has.
func furtherTerms() map[string]string {
	return map[string]string{
		"percentage": `"discountType":"PERCENTAGE","discountValue":"20","lane":"item","maxDiscount":{"EUR":"50","USD":"55.00"},"maxUnits":3,"group":"sale"`,
		"amount":     `"discountType":"FIXED_AMOUNT","discountValue":{"EUR":"10","JPY":"1500","USD":"11"},"minPurchase":{"EUR":"50","JPY":7000,"USD":"55"}`,
		"per unit":   `"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"1.50","maxUnits":2,"maxDiscount":"2"`,
		"unit price": `"discountType":"FIXED_UNIT_PRICE","discountValue":"4.99"`,
		"cheapest":   `"discountType":"CHEAPEST_UNITS","discountValue":"100","units":1`,
		"buy get":    `"discountType":"BUY_X_GET_Y","discountValue":"50","buyQuantity":2,"getQuantity":1,"maxApplications":4,"buys":{"appliesTo":"PRODUCT","kinds":["book"]}`,
		"amounts":    `"discountType":"TIERED","tierBasis":"AMOUNT","tiers":[{"from":"50","percent":"10"},{"from":"100.00","amount":"15"}]`,
		"quantities": `"discountType":"TIERED","tierBasis":"QUANTITY","tiers":[{"from":3,"percent":"10"},{"from":"6","percent":"20"}],"maxDiscount":"30"`,
	}
}

// Every term survives a draft, a coupon and a snapshot in JSON.
func TestFurtherTermsInJSON(t *testing.T) {
	t.Parallel()
	for name, terms := range furtherTerms() {
		var draft coupon.Draft
		require.NoError(t, json.Unmarshal([]byte(`{"code":"A","name":"A",`+terms+`}`), &draft), name)
		c, err := coupon.New(draft, coupon.Creation{ID: "cpn_1"})
		require.NoError(t, err, name)
		text, err := json.Marshal(c)
		require.NoError(t, err, name)
		var read coupon.Coupon
		require.NoError(t, json.Unmarshal(text, &read), "%s: %s", name, text)
		if diff := cmp.Diff(c, read); diff != "" {
			t.Errorf("%s, read again (-want +got):\n%s", name, diff)
		}
		text, err = json.Marshal(draft)
		require.NoError(t, err, name)
		var again coupon.Draft
		require.NoError(t, json.Unmarshal(text, &again), "%s: %s", name, text)
		same, err := coupon.New(again, coupon.Creation{ID: "cpn_1"})
		require.NoError(t, err, name)
		if diff := cmp.Diff(c, same); diff != "" {
			t.Errorf("%s, from the draft read again (-want +got):\n%s", name, diff)
		}
		text, err = json.Marshal(c.Snapshot())
		require.NoError(t, err, name)
		var snapshot coupon.Snapshot
		require.NoError(t, json.Unmarshal(text, &snapshot), "%s: %s", name, text)
		if diff := cmp.Diff(c.Snapshot(), snapshot); diff != "" {
			t.Errorf("%s, snapshot (-want +got):\n%s", name, diff)
		}
	}
}

// Every field by its path, all at once, with a code for the bound that is broken.
func TestFurtherTermsThatAreInvalid(t *testing.T) {
	t.Parallel()
	const (
		required   = validation.Required
		notAllowed = validation.NotAllowed
		tooSmall   = validation.TooSmall
		tooLarge   = validation.TooLarge
		mismatch   = validation.Mismatch
		unknown    = validation.Unknown
		malformed  = validation.Malformed
		tooFine    = validation.TooManyDecimals
	)
	for terms, want := range map[string]map[string]validation.Code{
		`"discountType":"FIXED_AMOUNT","discountValue":"10","lane":"item"`:                                                 {"lane": notAllowed},
		`"discountType":"CHEAPEST_UNITS","discountValue":"100","lane":"order"`:                                             {"lane": notAllowed, "units": required},
		`"discountType":"PERCENTAGE","discountValue":"10","lane":"cart"`:                                                   {"lane": unknown},
		`"discountType":"PERCENTAGE","discountValue":"10","units":2,"tiers":[{"from":1,"percent":1}],"tierBasis":"AMOUNT"`: {"units": notAllowed, "tiers": notAllowed, "tierBasis": notAllowed},
		`"discountType":"BUY_X_GET_Y","discountValue":"101","buyQuantity":-1,"getQuantity":1000001,"maxUnits":2`:           {"discountValue": tooLarge, "buyQuantity": tooSmall, "getQuantity": tooLarge, "maxUnits": notAllowed},
		`"discountType":"TIERED","discountValue":"10","tierBasis":"WEIGHT"`:                                                {"tierBasis": unknown, "discountValue": notAllowed, "tiers": required},
		`"discountType":"TIERED"`: {"tierBasis": required, "tiers": required},
		`"discountType":"TIERED","tierBasis":"AMOUNT","tiers":[{"from":"10","percent":"5"},{"from":"10","amount":"0"},{"from":"5.001"},{"from":"20","percent":"5","amount":"1"}]`: {
			"tiers[1].from": mismatch, "tiers[1].amount": tooSmall, "tiers[2].from": tooFine, "tiers[1].percent": required, "tiers[2].percent": required, "tiers[3].amount": notAllowed,
		},
		`"discountType":"TIERED","tierBasis":"QUANTITY","tiers":[{"from":1.5,"percent":"5"},{"from":1000001,"percent":"6"}]`: {"tiers[0].from": tooFine, "tiers[1].from": tooLarge},
		`"discountType":"PERCENTAGE","discountValue":"10","maxDiscount":{"USD":"-1","EUR":"0","XXX":"1"}`:                    {"maxDiscount.EUR": tooSmall, "maxDiscount.USD": tooSmall, "maxDiscount.XXX": unknown},
		`"discountType":"PERCENTAGE","discountValue":"10","maxDiscount":{"USD":"1"}`:                                         {"maxDiscount.EUR": required},
		`"discountType":"PERCENTAGE","discountValue":"10","maxDiscount":{"USD":"1","KWD":"1"}`:                               {"maxDiscount.EUR": required},
		`"discountType":"PERCENTAGE","discountValue":{"USD":"1"},"maxDiscount":"1"`:                                          {"discountValue": notAllowed},
		`"discountType":"FIXED_AMOUNT","discountValue":{"EUR":10,"USD":"0","JPY":"1.5"}`:                                     {"discountValue.USD": tooSmall, "discountValue.JPY": tooFine},
		`"discountType":"FIXED_AMOUNT","discountValue":{"EUR":10,"USD":"1"},"maxDiscount":5`:                                 {"maxDiscount.USD": required},
		`"discountType":"FIXED_AMOUNT","discountValue":["USD"]`:                                                              {"discountValue": malformed},
		`"discountType":"PERCENTAGE","discountValue":"10","minPurchase":{"USD":"5"}`:                                         {"minPurchase.EUR": required},
		`"discountType":"PERCENTAGE","discountValue":"10","buys":{"appliesTo":"ALL"}`:                                        {"buys": notAllowed},
		`"discountType":"BUY_X_GET_Y","discountValue":"10","buyQuantity":1,"getQuantity":1,"buys":{"appliesTo":"SPECIFIC","kinds":["Book"]}`: {
			"buys.appliesTo": required, "buys.kinds[0]": malformed,
		},
		`"discountType":"BUY_X_GET_Y","discountValue":"10","buyQuantity":1,"getQuantity":1,"buys":{"items":[]}`: {"buys.items": unknown},
		`"discountType":"PERCENTAGE","discountValue":"10","group":"\u0007"`:                                     {"group": malformed},
	} {
		var draft coupon.Draft
		err := json.Unmarshal([]byte(`{"code":"A","name":"A",`+terms+`}`), &draft)
		if err == nil {
			_, err = coupon.New(draft, coupon.Creation{ID: "cpn_1"})
		}
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", terms, diff)
		}
	}
}

// The terms of a discount never change; the group and the minimum purchases do.
func TestFurtherTermsInAPatch(t *testing.T) {
	t.Parallel()
	var patch coupon.Patch
	_, err := applyJSON(mustNew(t, ten()), `{"lane":"item","units":2,"tiers":[],"buys":null,"maxDiscount":"1"}`)
	want := map[string]validation.Code{}
	for _, field := range []string{"lane", "units", "tiers", "buys", "maxDiscount"} {
		want[field] = validation.Immutable
	}
	if diff := cmp.Diff(want, codesOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, terms := range furtherTerms() {
		var draft coupon.Draft
		require.NoError(t, json.Unmarshal([]byte(`{"code":"A","name":"A",`+terms+`}`), &draft), name)
		c, err := coupon.New(draft, coupon.Creation{ID: "cpn_1"})
		require.NoError(t, err, name)
		text := fmt.Sprintf(`{"group":"other","minPurchase":{"%s":"5","GBP":"4"},"discountType":"%s"}`, c.Currency, c.Discount.Type())
		whole := map[string]json.RawMessage{}
		data, err := json.Marshal(c)
		require.NoError(t, err, name)
		require.NoError(t, json.Unmarshal(data, &whole), name)
		if value := whole["discountValue"]; value != nil {
			text = text[:len(text)-1] + `,"discountValue":` + string(value) + `}`
		}
		patch = coupon.Patch{}
		require.NoError(t, json.Unmarshal([]byte(text), &patch), name)
		changed, err := c.Apply(patch, coupon.Edit{})
		require.NoError(t, err, name)
		gbp, ok := changed.Minimum(pricing.GBP())
		require.True(t, ok && gbp == 400 && changed.Group == "other" && changed.Discount.Equal(c.Discount), name)
		_, ok = changed.Minimum(pricing.JPY())
		require.False(t, ok, name)
	}
}
