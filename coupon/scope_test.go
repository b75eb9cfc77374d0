package coupon_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 3: kinds, categories and exclusions, as a draft, a patch and JSON.
func TestScopeOfOpenKinds(t *testing.T) {
	t.Parallel()
	const text = `{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10",
		"kinds":["book","map"],"categories":["new","new"],"excludedItemIds":["b1"],"excludedCategories":["sale"]}`
	var draft coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(text), &draft))
	c, err := coupon.New(draft, coupon.Creation{ID: "cpn_1"})
	require.NoError(t, err)
	want := coupon.Scope{
		AppliesTo: coupon.All, Kinds: coupon.NewItems("book", "map"), Categories: coupon.NewItems("new"),
		ExcludedItems: coupon.NewItems("b1"), ExcludedCategories: coupon.NewItems("sale"),
	}
	if diff := cmp.Diff(want, c.Scope); diff != "" {
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	written, err := json.Marshal(c)
	require.NoError(t, err)
	var read coupon.Coupon
	require.NoError(t, json.Unmarshal(written, &read))
	if diff := cmp.Diff(c, read); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	written, err = json.Marshal(draft)
	require.NoError(t, err)
	var again coupon.Draft
	require.NoError(t, json.Unmarshal(written, &again))
	if diff := cmp.Diff(draft, again, cmpopts.EquateComparable("", coupon.Optional[int]{})); diff != "" {
		t.Errorf("draft read again (-want +got):\n%s", diff)
	}

	var patch coupon.Patch
	require.NoError(t, json.Unmarshal([]byte(`{"kinds":null,"categories":["old"],"excludedItemIds":[],"excludedCategories":["new"]}`), &patch))
	c, err = c.Apply(patch, coupon.Edit{})
	require.NoError(t, err)
	want = coupon.Scope{AppliesTo: coupon.All, Categories: coupon.NewItems("old"), ExcludedCategories: coupon.NewItems("new")}
	if diff := cmp.Diff(want, c.Scope); diff != "" {
		t.Errorf("changed scope (-want +got):\n%s", diff)
	}
}

// Every field of a scope that can never apply is named, all at once.
func TestScopeFaults(t *testing.T) {
	t.Parallel()
	draft := coupon.Draft{
		Code: "A", Name: "A", DiscountType: pricing.Percentage, Percent: "10", AppliesTo: coupon.Subscription,
		Kinds: []string{"plan", "device", "shipping", "Book", ""}, Categories: []string{"sale", "\x00"},
		ExcludedItemIDs: []string{"ok", ""}, ExcludedCategories: []string{"sale", ""},
	}
	_, err := coupon.New(draft, coupon.Creation{ID: "cpn_1"})
	want := map[string]validation.Code{
		"kinds[1]": validation.NotAllowed, "kinds[2]": validation.NotAllowed, "kinds[3]": validation.Malformed,
		"kinds[4]": validation.Required, "categories[1]": validation.Malformed,
		"excludedItemIds[1]": validation.Required, "excludedCategories[1]": validation.Required,
		"categories[0]": validation.Mismatch, "excludedCategories[0]": validation.Mismatch,
	}
	if diff := cmp.Diff(want, codesOf(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	draft.Kinds, draft.ExcludedItemIDs = []string{"plan"}, nil
	draft.Categories, draft.ExcludedCategories = []string{"sale"}, []string{"new", "sale"}
	_, err = coupon.New(draft, coupon.Creation{ID: "cpn_1"})
	if diff := cmp.Diff(map[string]validation.Code{"categories[0]": validation.Mismatch, "excludedCategories[1]": validation.Mismatch}, codesOf(err)); diff != "" {
		t.Errorf("a category both covered and excluded (-want +got):\n%s", diff)
	}
}

// codesOf returns the code of every field that an error names.
func codesOf(err error) map[string]validation.Code {
	codes := map[string]validation.Code{}
	if invalid, ok := errors.AsType[*validation.Error](err); ok {
		for _, f := range invalid.Fields {
			codes[f.Path] = f.Code
		}
	}
	return codes
}

// FuzzScopeJSON: what is read as a scope is valid and comes back; a refusal names a field.
func FuzzScopeJSON(f *testing.F) {
	f.Add([]byte(`{"appliesTo":"SPECIFIC","planIds":["a"],"kinds":["plan"],"categories":["x"],"excludedItemIds":["b"],"excludedCategories":["y"]}`))
	f.Add([]byte(`{"appliesTo":"ALL","planIds":["a"],"kinds":["Plan"],"categories":[""]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s coupon.Scope
		if err := json.Unmarshal(data, &s); err != nil {
			if json.Valid(data) && len(codesOf(err)) == 0 {
				t.Errorf("%v names no field", err)
			}
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again coupon.Scope
		if err := json.Unmarshal(text, &again); err != nil || !again.Equal(s) {
			t.Errorf("%s is read as %+v, %v", text, again, err)
		}
	})
}
