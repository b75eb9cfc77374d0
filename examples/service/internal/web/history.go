package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/couponkit/couponkit/store"
)

// Change is a change of a coupon.
type Change struct {
	Kind   store.EntryKind
	By     string
	At     time.Time
	Fields []ChangedField
	// Unsupported is whether the processor then had no copy of the coupon.
	Unsupported bool
}

// ChangedField is a field of a coupon whose value changed. A value is JSON, and empty if there is none.
type ChangedField struct {
	Name          string
	Before, After json.RawMessage
}

// changeShown is a change in words.
type changeShown struct {
	Title  string
	Fields []fieldShown
}

type fieldShown struct{ Label, Before, After string }

// changeText describes a change in words.
func (s *Site) changeText(c Change) changeShown {
	shown := changeShown{Title: map[store.EntryKind]string{ //nolint:exhaustive // the kinds of a coupon
		store.CouponCreated: "Created", store.CouponChanged: "Changed", store.CouponDeleted: "Deleted",
		store.CouponMirrored: "Copied to the payment processor", store.CodesAdded: "Codes added", store.CodeChanged: "Code changed",
	}[c.Kind]}
	if c.Kind == store.CouponMirrored && c.Unsupported {
		shown.Title = "Not copied to the payment processor, which cannot show this discount"
	}
	for _, f := range c.Fields {
		if f.Name != "mirrorUnsupported" { // the title already says this
			shown.Fields = append(shown.Fields, fieldShown{labelOf(f.Name), s.valueText(f.Name, f.Before), s.valueText(f.Name, f.After)})
		}
	}
	return shown
}

// labelOf returns the label of an API field.
func labelOf(name string) string {
	if label, known := map[string]string{
		"maxUses": "Max total uses", "maxUsesPerUser": "Max uses per customer", "allowedUserCount": "Listed customers",
		"appliesTo": "Scope", "startsAt": "Start", "expiresAt": "Expiry", "processorCouponId": "Coupon at the payment processor",
		"promotionCodeId": "Promotion code at the payment processor",
	}[name]; known {
		return label
	}
	var text strings.Builder
	for _, r := range strings.TrimSuffix(name, "Ids") {
		if unicode.IsUpper(r) {
			text.WriteByte('_')
		}
		text.WriteRune(r)
	}
	if strings.HasSuffix(name, "Ids") {
		text.WriteByte('s')
	}
	return words(text.String())
}

// words converts a name of the API to text: "partly_refunded" becomes "Partly refunded".
func words(name string) string {
	text := strings.ToLower(strings.ReplaceAll(name, "_", " "))
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

const maxValue = 200 // in code points

// valueText returns a JSON value as text, shortened to maxValue.
func (s *Site) valueText(name string, value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	var v any
	text := string(value)
	if json.Unmarshal(value, &v) == nil {
		text = s.plain(name, v, text)
	}
	if runes := []rune(text); len(runes) > maxValue {
		text = string(runes[:maxValue]) + "…"
	}
	return text
}

// plain returns a value of a field as text. Numbers keep the digits of the JSON text.
func (s *Site) plain(name string, value any, text string) string {
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "Yes", false: "No"}[v]
	case string:
		return s.word(name, v)
	case []any:
		parts := make([]string, len(v))
		for i, each := range v {
			parts[i] = s.plain(name, each, compact(each))
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			label := key
			if unicode.IsLower(rune(key[0])) { // the key is not a currency
				label = strings.ToLower(labelOf(key))
			}
			parts = append(parts, label+" "+s.plain(key, v[key], compact(v[key])))
		}
		return strings.Join(parts, ", ")
	}
	return text
}

func compact(value any) string {
	text, _ := json.Marshal(value) // cannot fail: the value was decoded from JSON
	return string(text)
}

// word returns the text of a field. Names of the API become words. Instants are in the shop's time
// zone.
func (s *Site) word(name, text string) string {
	switch name {
	case "discountType", "appliesTo", "distribution", "tierBasis", "lane", "refundPolicy", "restoreOnRefund", "day", "per", "period", "state":
		return words(text)
	case "startsAt", "expiresAt":
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return s.boundary(at, name == "expiresAt")
		}
	}
	return text
}

// boundary returns the text for the start or the end of a coupon. An instant at the start of a day is
// shown as a date. A coupon that ends there is valid through the day before, so the end shows that day.
func (s *Site) boundary(at time.Time, end bool) string {
	at = at.In(s.zone)
	before := at.Add(-time.Nanosecond)
	switch {
	case before.Day() == at.Day():
		return at.Format(momentLayout)
	case end:
		return "through " + before.Format(dayLayout)
	}
	return at.Format(dayLayout)
}
