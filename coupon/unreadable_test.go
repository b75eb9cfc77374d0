package coupon_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// What fields may say in JSON, rightly and wrongly; empty is nothing.
var (
	itemTexts   = []string{"", `[]`, `["x"]`, `[""]`, `["x",""]`}
	momentTexts = []string{"", `"2026-01-01"`, `"2026-01-02T03:00:00Z"`, `"2026-02-01"`, `"2025-12-31T20:00:00Z"`, `"9999-12-31"`}
	fieldTexts  = map[string][]string{
		"code":          {`"A"`, `"B"`, `"a b"`, `""`, ""},
		"name":          {`"n"`, `" "`, ""},
		"description":   {"", `"text"`, `"\u0000"`},
		"discountType":  {`"PERCENTAGE"`, `"FIXED_AMOUNT"`, `"BUY_X_GET_Y"`, `"TIERED"`, `"CHEAPEST_UNITS"`, ""},
		"discountValue": {`"5"`, `5.001`, `"500"`, `0`, `"-1"`, `1e15`, `"0.00001"`, `{"CLF":"5","EUR":"5","JPY":"5","KWD":"5"}`, ""},
		"currency":      {"", `"EUR"`, `"JPY"`, `"CLF"`, `"KWD"`, `"QQQ"`},
		"appliesTo":     {"", `"ALL"`, `"SPECIFIC"`, `"SUBSCRIPTION"`, `"PRODUCT"`},
		"planIds":       itemTexts, "deviceIds": itemTexts, "accessoryIds": itemTexts,
		"kinds":              {"", `[]`, `["plan"]`, `["device","book"]`, `["plan","shipping"]`, `[""]`},
		"categories":         {"", `[]`, `["x"]`, `["y","x"]`, `["x",""]`, `[" x"]`},
		"excludedItemIds":    itemTexts,
		"excludedCategories": {"", `[]`, `["x"]`, `["z"]`, `["","x"]`},
		"group":              {"", `""`, `"g"`, `" g"`, `"\u0007"`},
		"automatic":          {"", `false`, `true`, `"yes"`},
		"maxDiscount":        {"", `null`, `"9"`, `{"EUR":"9"}`, `"0"`, `"9.001"`, `{"JPY":"5"}`, `{"QQQ":"5"}`},
		"maxUnits":           {"", `null`, `2`, `0`, `-1`, `1000001`},
		"units":              {"", `2`, `-1`},
		"buyQuantity":        {"", `2`, `0`, `1000001`},
		"getQuantity":        {"", `1`, `-1`},
		"maxApplications":    {"", `1`, `0`},
		"lane":               {"", `"item"`, `"order"`},
		"buys":               {"", `{}`, `{"kinds":["plan"]}`, `{"appliesTo":"SPECIFIC"}`, `{"planIds":[""]}`},
		"tierBasis":          {"", `"AMOUNT"`, `"QUANTITY"`},
		"tiers":              {"", `[]`, `[{"from":"1","percent":"5"},{"from":"5","percent":"10"}]`, `[{"from":"x","percent":"5"}]`, `[{"from":"1","percent":"101"}]`},
		"distribution":       {"", `"GENERAL"`, `"POINTS_REDEEMABLE"`, `"USER_SPECIFIC"`},
		"allowedUserEmails":  {"", `[]`, `["a@example.com"]`, `["a@example.com","nonsense"]`, `"nonsense"`},
		"pointsRequired":     {"", `5`, `-1`, `1000000000001`},
		"maxUses":            {"", `null`, `3`, `0`},
		"maxUsesPerUser":     {"", `null`, `3`, `-1`},
		"minPurchase":        {"", `"5"`, `"5.001"`, `"5.00001"`, `"-1"`, `1e15`},
		"maxPurchase":        {"", `null`, `"9"`, `{"EUR":"9"}`, `"0"`, `"9.001"`, `{"EUR":0}`, `{"JPY":"5"}`},
		"minQuantity":        {"", `null`, `3`, `0`, `1000000001`},
		"maxQuantity":        {"", `null`, `3`, `0`, `1000000001`},
		"contains":           {"", `null`, `{}`, `{"kinds":["device"],"quantity":2}`, `{"appliesTo":"SPECIFIC"}`, `{"planIds":[""],"quantity":1000000001}`, `{"minPurchase":"9"}`, `{"minPurchase":{"EUR":"9","QQQ":"5"}}`, `{"minPurchase":{"JPY":"5"}}`},
		"containsNot":        {"", `null`, `{"kinds":["plan"]}`, `{"appliesTo":"SPECIFIC"}`, `{"planIds":[""]}`},
		"customerTags":       {"", `{}`, `{"any":["a"]}`, `{"all":["a"],"none":["a"]}`, `{"any":["a"],"none":["a"]}`, `{"all":[""]}`},
		"firstOrder":         {"", `true`, `false`},
		"refundPolicy":       {"", `"keep"`, `"rebill"`},
		"restoreOnRefund":    {"", `null`, `"always"`, `"never"`},
		"schedule":           {"", `null`, `{"timeZone":"Europe/Berlin"}`, berlin(`{"day":"MONDAY","from":"09:00","until":"17:00"}`), berlin(`{"day":"MONDAY","from":"09:00","until":"09:00"}`)},
		"channels":           {"", `[]`, `["web"]`, `["web",""]`, `[" web"]`},
		"countries":          {"", `[]`, `["DE"]`, `["DE","de"]`, `[""]`},
		"budget":             {"", `null`, `"100"`, `{"EUR":"100"}`, `{"EUR":0}`, `{"CLF":5,"JPY":"-1"}`},
		"periodLimits":       {"", `[]`, `[{"per":"CODE","period":"DAY","timeZone":"UTC","maxUses":2}]`, `[{"per":"CODE","period":"DAY","timeZone":"UTC","maxUses":0}]`, `[{}]`},
		"startsAt":           momentTexts, "expiresAt": momentTexts,
	}
	clocks = []*time.Location{time.UTC, time.FixedZone("", 9*60*60), time.FixedZone("", 16*60*60), time.FixedZone("", -16*60*60)}
)

func berlin(hours string) string { return `{"timeZone":"Europe/Berlin","hours":[` + hours + `]}` }

// listEntries returns three valid entries of a list of names, or nil if the field is no such list.
func listEntries(name string) []string {
	switch name {
	case "planIds", "deviceIds", "accessoryIds", "categories", "excludedItemIds", "excludedCategories", "channels":
		return []string{"x", "y", "z"}
	case "kinds":
		return []string{"book", "ticket", "seat"}
	case "countries":
		return []string{"DE", "AT", "CH"}
	}
	return nil
}

// object writes the fields that say something.
func object(fields map[string]string) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] != "" {
			members = append(members, fmt.Sprintf("%q:%s", name, fields[name]))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// noSuchField is in every mended text: contradictions are judged once the rest is valid, also in a text
// that can be read.
const noSuchField = "other"

// unreadText is a text with fields that cannot be read, and all that it may have been.
type unreadText struct {
	text   string
	unread []string // paths
	mended []string
}

// drawUnread draws the fields of a text and makes one or two unreadable.
func drawUnread(t *rapid.T) unreadText {
	names := slices.Sorted(maps.Keys(fieldTexts))
	fields := map[string]string{}
	for _, name := range names {
		fields[name] = fieldTexts[name][0]
		if rapid.IntRange(0, 2).Draw(t, name+" is not the first") == 0 {
			fields[name] = rapid.SampledFrom(fieldTexts[name]).Draw(t, name)
		}
	}
	var u unreadText
	broken, could := maps.Clone(fields), []map[string]string{fields}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID[string]).Draw(t, "unread") {
		path, text, readings := name, "{}", fieldTexts[name]
		switch how := rapid.IntRange(0, 3).Draw(t, name+" cannot be read"); {
		case how == 0: // given twice
			given := slices.DeleteFunc(slices.Clone(readings), func(text string) bool { return text == "" })
			text = rapid.SampledFrom(given).Draw(t, name)
			text = fmt.Sprintf("%s,%q:%s", text, name, text)
		case name == "customerTags", name == "schedule", name == "contains", name == "containsNot", name == "buys": // whose members are told
			text = `5`
		case how == 1: // as a whole
		case listEntries(name) != nil:
			entry := listEntries(name)
			rest := rapid.SampledFrom([]string{"", `,""`, `,"` + entry[2] + `"`}).Draw(t, name)
			path, text = name+"[1]", `["`+entry[0]+`",{}`+rest+`]`
			readings = []string{`["` + entry[0] + `","` + entry[1] + `"` + rest + `]`}
		case name == "allowedUserEmails":
			rest := rapid.SampledFrom([]string{"", `,"b"`, `,"b@example.com"`}).Draw(t, name)
			path, text, readings = name+"[1]", `["a@example.com",5`+rest+`]`, []string{`["a@example.com","c@example.com"` + rest + `]`}
		}
		u.unread, broken[name] = append(u.unread, path), text
		var next []map[string]string
		for _, each := range could {
			for _, reading := range readings {
				each = maps.Clone(each)
				each[name] = reading
				next = append(next, each)
			}
		}
		could = next
	}
	for _, each := range could {
		each[noSuchField] = "1"
		u.mended = append(u.mended, object(each))
	}
	u.text = object(broken)
	return u
}

// same compares the faults that are told of a text with those that every mended one has.
func (u unreadText) same(t *rapid.T, told error, refusals iter.Seq[error]) {
	t.Helper()
	got := fieldsOf(t, told)
	unread := map[string]bool{}
	for field := range got {
		for _, path := range u.unread {
			if field == path {
				unread[path] = true
				delete(got, field)
			}
		}
	}
	require.Len(t, unread, len(u.unread), "%s: an unreadable field is not named: %v", u.text, told)
	var want map[string]bool
	for refused := range refusals {
		fields := fieldsOf(t, refused)
		if slices.ContainsFunc(u.unread, func(path string) bool { return fields[path] }) {
			continue // not mended
		}
		require.True(t, fields[noSuchField])
		delete(fields, noSuchField)
		if want == nil {
			want = fields
		}
		maps.DeleteFunc(want, func(field string, _ bool) bool { return !fields[field] })
		if len(want) == 0 {
			break
		}
	}
	if want == nil {
		return // the coupon refuses each reading of the field
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-what every mended text is refused for +what is told):\n%s", u.text, diff)
	}
}

func fieldsOf(t *rapid.T, err error) map[string]bool {
	t.Helper()
	fields := map[string]bool{}
	if err == nil {
		return fields
	}
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	for _, f := range faults.Fields {
		fields[f.Path] = true
	}
	return fields
}

// Contract section 6: beside fields that cannot be read, all faults are told that the draft
// has whatever those say, and none that it might not have.
func TestWhatIsToldOfAnUnreadableDraft(t *testing.T) {
	t.Parallel()
	currencies := make([]pricing.Currency, 4)
	for i, code := range []string{"EUR", "JPY", "KWD", "CLF"} {
		var err error
		currencies[i], err = pricing.ParseCurrency(code)
		require.NoError(t, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		u := drawUnread(t)
		by := coupon.Creation{
			ID: "cpn_1", Currency: rapid.SampledFrom(currencies).Draw(t, "currency"), Location: rapid.SampledFrom(clocks).Draw(t, "clock"),
		}
		made := func(text string) error {
			var d coupon.Draft
			require.NoError(t, json.Unmarshal([]byte(text), &d), text)
			_, err := coupon.New(d, by)
			return err
		}
		u.same(t, made(u.text), func(yield func(error) bool) {
			for _, text := range u.mended {
				if !yield(made(text)) {
					return
				}
			}
		})
	})
}

// manyCoupons are coupons of all kinds that matter to a patch.
func manyCoupons(t *testing.T) []coupon.Coupon {
	t.Helper()
	var drafts []string
	add := func(code, discount, scope, distribution string) {
		drafts = append(drafts, fmt.Sprintf(`{"code":%q,"name":"n","discountType":%s,"appliesTo":%s,"distribution":%s}`, code, discount, scope, distribution))
	}
	for _, discount := range []string{
		`"PERCENTAGE","discountValue":"5","currency":"EUR"`, `"PERCENTAGE","discountValue":"5.001","currency":"JPY"`, `"FIXED_AMOUNT","discountValue":"5","currency":"CLF"`,
		`"FIXED_AMOUNT","discountValue":"500","currency":"JPY"`, `"FIXED_AMOUNT","discountValue":"5.001","currency":"KWD"`, `"FIXED_AMOUNT","discountValue":"1000000000000000","currency":"JPY"`,
	} {
		add("A", discount, `"ALL"`, `"GENERAL"`)
		add("A", discount, `"ALL"`, `"GENERAL","refundPolicy":"rebill"`)
		add("B", discount, `"ALL"`, `"GENERAL","refundPolicy":"rebill"`)
		add("B", discount, `"ALL"`, `"GENERAL"`)
	}
	for _, scope := range []string{`"ALL"`, `"SUBSCRIPTION"`, `"SPECIFIC","planIds":["p"]`, `"SPECIFIC","planIds":["p"],"deviceIds":["d"],"accessoryIds":["a"]`, `"PRODUCT","deviceIds":["d"]`} {
		for _, distribution := range []string{`"GENERAL"`, `"POINTS_REDEEMABLE","pointsRequired":5`, `"USER_SPECIFIC","allowedUserEmails":["z@example.com"]`} {
			add("A", `"PERCENTAGE","discountValue":"5"`, scope, distribution)
		}
	}
	coupons := make([]coupon.Coupon, len(drafts))
	for i, text := range drafts {
		var d coupon.Draft
		require.NoError(t, json.Unmarshal([]byte(text), &d))
		var err error
		coupons[i], err = coupon.New(d, coupon.Creation{ID: "cpn_1", At: noon})
		require.NoError(t, err, text)
	}
	return coupons
}

// The same of a patch, whatever the coupon is.
func TestWhatIsToldOfAnUnreadablePatch(t *testing.T) {
	t.Parallel()
	coupons := manyCoupons(t)
	rapid.Check(t, func(t *rapid.T) {
		u, c, clock := drawUnread(t), rapid.SampledFrom(coupons).Draw(t, "coupon"), rapid.SampledFrom(clocks).Draw(t, "clock")
		changed := func(text string) error {
			var p coupon.Patch
			require.NoError(t, json.Unmarshal([]byte(text), &p), text)
			_, err := c.Apply(p, coupon.Edit{At: noon, Location: clock})
			return err
		}
		u.same(t, changed(u.text), func(yield func(error) bool) {
			for _, text := range u.mended {
				if !yield(changed(text)) {
					return
				}
			}
		})
	})
}

// TestAnEntryThatCannotBeReadIsCountedOnce: also beyond the faults that are named, beside
// entries that can be read and are refused.
func TestAnEntryThatCannotBeReadIsCountedOnce(t *testing.T) {
	t.Parallel()
	const numbers, texts = 1_500, 700
	entries := strings.Repeat("7,", numbers) + strings.TrimSuffix(strings.Repeat(`"no address",`, texts), ",")
	for name, read := range map[string]func(string) (coupon.Coupon, error){
		"draft": newFromJSON,
		"patch": func(text string) (coupon.Coupon, error) { return applyJSON(full(t), text) },
	} {
		var faults *validation.Error
		_, err := read(`{"allowedUserEmails":[` + entries + `]}`)
		require.ErrorAs(t, err, &faults, name)
		var more []string
		for _, f := range faults.Fields {
			if f.Code == validation.More {
				more = append(more, f.Message)
			}
		}
		require.Equal(t, []string{"1200 more faults in this list"}, more, name)
	}
}
