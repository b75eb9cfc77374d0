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

// changeText says a change in words.
func (s *Site) changeText(c Change) changeShown {
	shown := changeShown{Title: map[store.EntryKind]string{ //nolint:exhaustive // the kinds of a coupon
		store.CouponCreated: "Created", store.CouponChanged: "Changed", store.CouponDeleted: "Deleted",
		store.CouponMirrored: "Copied to the payment processor", store.CodesAdded: "Codes added", store.CodeChanged: "Code changed",
	}[c.Kind]}
	if c.Kind == store.CouponMirrored && c.Unsupported {
		shown.Title = "Not copied to the payment processor, which cannot show this discount"
	}
	for _, f := range c.Fields {
		if f.Name != "mirrorUnsupported" { // which the title says
			shown.Fields = append(shown.Fields, fieldShown{labelOf(f.Name), s.valueText(f.Name, f.Before), s.valueText(f.Name, f.After)})
		}
	}
	return shown
}

// labelOf returns what a field of the API is called on the pages.
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

// words writes a name of the API as text: "partly_refunded" is "Partly refunded".
func words(name string) string {
	text := strings.ToLower(strings.ReplaceAll(name, "_", " "))
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

const maxValue = 200 // code points of a value in a history

// valueText writes a JSON value as text, and not too much of it.
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

// plain writes a value of a field as text. Numbers are written as they are in the JSON text.
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
			if unicode.IsLower(rune(key[0])) { // and no currency
				label = strings.ToLower(labelOf(key))
			}
			parts = append(parts, label+" "+s.plain(key, v[key], compact(v[key])))
		}
		return strings.Join(parts, ", ")
	}
	return text
}

func compact(value any) string {
	text, _ := json.Marshal(value) // it was read from JSON
	return string(text)
}

// word writes the text of a field: names of the API as words, and instants in the shop's time zone.
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

// boundary writes the instant at which a coupon begins or ends. One where a day begins is that day;
// a coupon that ends there is valid through the day before.
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
