package coupon_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// wrongMembers has each member of a draft with a wrong value, the path of its fault, and the code in a
// draft and in a patch.
var wrongMembers = map[string]struct {
	text, path   string
	draft, patch validation.Code
}{
	"code":               {`"a b"`, "code", "malformed", "immutable"},
	"withoutCode":        {`"yes"`, "withoutCode", "malformed", "unknown"},
	"name":               {`" "`, "name", "required", "required"},
	"description":        {`"\u0007"`, "description", "malformed", "malformed"},
	"discountType":       {`"HALF"`, "discountType", "unknown", "unknown"},
	"discountValue":      {`"-1"`, "discountValue", "too_small", "immutable"},
	"lane":               {`"checkout"`, "lane", "unknown", "immutable"},
	"maxDiscount":        {`{"EUR":"0"}`, "maxDiscount.EUR", "too_small", "immutable"},
	"maxUnits":           {`0`, "maxUnits", "too_small", "immutable"},
	"units":              {`-1`, "units", "too_small", "immutable"},
	"buyQuantity":        {`1000001`, "buyQuantity", "too_large", "immutable"},
	"getQuantity":        {`1.5`, "getQuantity", "malformed", "immutable"},
	"maxApplications":    {`"3"`, "maxApplications", "malformed", "immutable"},
	"buys":               {`{"kinds":["shipping"]}`, "buys.kinds[0]", "not_allowed", "immutable"},
	"tierBasis":          {`"WEIGHT"`, "tierBasis", "unknown", "immutable"},
	"tiers":              {`[{"from":"1","percent":"101"}]`, "tiers[0].percent", "too_large", "immutable"},
	"currency":           {`"EUX"`, "currency", "unknown", "immutable"},
	"appliesTo":          {`"SOME"`, "appliesTo", "unknown", "unknown"},
	"planIds":            {`["a",""]`, "planIds[1]", "required", "required"},
	"deviceIds":          {`["\n"]`, "deviceIds[0]", "malformed", "malformed"},
	"accessoryIds":       {`[7]`, "accessoryIds[0]", "malformed", "malformed"},
	"kinds":              {`["plan","shipping"]`, "kinds[1]", "not_allowed", "not_allowed"},
	"categories":         {`["sale","sale"," new"]`, "categories[2]", "malformed", "malformed"},
	"excludedItemIds":    {`["a","a",""]`, "excludedItemIds[2]", "required", "required"},
	"excludedCategories": {`[""]`, "excludedCategories[0]", "required", "required"},
	"group":              {`"summer "`, "group", "malformed", "malformed"},
	"automatic":          {`"yes"`, "automatic", "malformed", "malformed"},
	"distribution":       {`"EVERYBODY"`, "distribution", "unknown", "unknown"},
	"allowedUserEmails":  {`["ann@example.org","bob"]`, "allowedUserEmails[1]", "malformed", "malformed"},
	"pointsRequired":     {`-1`, "pointsRequired", "too_small", "too_small"},
	"maxUses":            {`0`, "maxUses", "too_small", "too_small"},
	"maxUsesPerUser":     {`-1`, "maxUsesPerUser", "too_small", "too_small"},
	"minPurchase":        {`{"USD":"0"}`, "minPurchase.USD", "too_small", "too_small"},
	"maxPurchase":        {`"0"`, "maxPurchase", "too_small", "too_small"},
	"minQuantity":        {`1000000001`, "minQuantity", "too_large", "too_large"},
	"maxQuantity":        {`0`, "maxQuantity", "too_small", "too_small"},
	"contains":           {`{"quantity":0}`, "contains.quantity", "too_small", "too_small"},
	"containsNot":        {`{"appliesTo":"SPECIFIC"}`, "containsNot.appliesTo", "required", "required"},
	"customerTags":       {`{"any":[""]}`, "customerTags.any[0]", "required", "required"},
	"firstOrder":         {`"yes"`, "firstOrder", "malformed", "malformed"},
	"schedule":           {`{"timeZone":"Mars/Olympus","hours":[]}`, "schedule.timeZone", "unknown", "unknown"},
	"channels":           {`["web","web",""]`, "channels[2]", "required", "required"},
	"countries":          {`["DE","DE","at"]`, "countries[2]", "malformed", "malformed"},
	"budget":             {`{"EUR":"0"}`, "budget.EUR", "too_small", "too_small"},
	"periodLimits":       {`[{"per":"CODE","period":"DAY","timeZone":"UTC","maxUses":0}]`, "periodLimits[0].maxUses", "too_small", "too_small"},
	"startsAt":           {`"soon"`, "startsAt", "malformed", "malformed"},
	"expiresAt":          {`"2026-02-30"`, "expiresAt", "malformed", "malformed"},
	"refundPolicy":       {`"never"`, "refundPolicy", "unknown", "unknown"},
	"restoreOnRefund":    {`"sometimes"`, "restoreOnRefund", "unknown", "unknown"},
}

// membersOf returns the JSON names of the fields of a struct.
func membersOf[T any]() map[string]bool {
	names := map[string]bool{}
	for field := range reflect.TypeFor[T]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			names[name] = true
		}
	}
	return names
}

// wrongIn returns an object of all members that are wrong, and the code of each fault by its path. The
// patch cannot read a term that only a draft has, and names it as a whole.
func wrongIn(patch bool) (text string, want map[string]validation.Code) {
	fields, known := map[string]string{}, membersOf[coupon.Patch]()
	want = map[string]validation.Code{}
	for name, wrong := range wrongMembers {
		fields[name] = wrong.text
		switch {
		case !patch:
			want[wrong.path] = wrong.draft
		case known[name]:
			want[wrong.path] = wrong.patch
		default:
			want[name] = wrong.patch
		}
	}
	return object(fields), want
}

// A draft in which every member is wrong names every member by its path, and so does a patch.
func TestEveryMemberOfADraftIsWrong(t *testing.T) {
	t.Parallel()
	text, want := wrongIn(false)
	_, err := newFromJSON(text)
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("a draft (-want +got):\n%s", diff)
	}
	text, want = wrongIn(true)
	_, err = applyJSON(full(t), text)
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("a patch (-want +got):\n%s", diff)
	}
}

// Each wrong member alone is named, beside members that are valid.
func TestOneMemberOfADraftIsWrong(t *testing.T) {
	t.Parallel()
	for name, wrong := range wrongMembers {
		fields := map[string]string{"code": `"TEN"`, "name": `"Ten"`, "discountType": `"PERCENTAGE"`, "discountValue": `"10"`}
		fields[name] = wrong.text
		_, err := newFromJSON(object(fields))
		if got := fieldCodes(t, err); got[wrong.path] == "" {
			t.Errorf("%s: the fault of %s is not in %v", name, wrong.path, got)
		}
	}
}

// Every member of a draft and of a patch has a wrong value in this test.
func TestEveryMemberHasAWrongValue(t *testing.T) {
	t.Parallel()
	want := membersOf[coupon.Draft]()
	want["discountValue"], want["withoutCode"] = true, true // JSON has them in place of fields of Draft
	for name := range membersOf[coupon.Patch]() {
		if name != "revision" {
			want[name] = true
		}
	}
	got := map[string]bool{}
	for name := range wrongMembers {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members without a wrong value, or wrong values without a member (-want +got):\n%s", diff)
	}
	for name := range wrongMembers {
		if _, known := fieldTexts[name]; !known && name != "withoutCode" {
			t.Errorf("%s is not in fieldTexts", name)
		}
	}
}
