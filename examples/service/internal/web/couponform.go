package web

import (
	"html/template"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// option is one of several choices.
type option struct{ Value, Label string }

// couponForm has the choices of the form of a coupon.
type couponForm struct{}

// Types are the types of discounts.
func (couponForm) Types() []option {
	return []option{
		{"PERCENTAGE", "Percentage"},
		{"FIXED_AMOUNT", "Fixed amount"},
		{"FIXED_AMOUNT_PER_UNIT", "Amount off each unit"},
		{"FIXED_UNIT_PRICE", "Fixed unit price"},
		{"CHEAPEST_UNITS", "Cheapest units"},
		{"BUY_X_GET_Y", "Buy X, get Y"},
		{"TIERED", "Tiers"},
	}
}

// ValueTypes are the types that have a discount value.
func (couponForm) ValueTypes() string {
	return "PERCENTAGE CHEAPEST_UNITS BUY_X_GET_Y FIXED_AMOUNT FIXED_AMOUNT_PER_UNIT FIXED_UNIT_PRICE"
}

// unpaid are codes of ISO 4217 in which nobody pays: funds, units of account, and currencies that
// were withdrawn.
const unpaid = "ANG BGN BOV CHE CHW CLF COU CUC HRK MXV SLL USN UYI UYW XAD ZWL"

// Currencies are the currencies that customers pay in, that of the shop first.
func (couponForm) Currencies() []option {
	options := []option{{Value: "EUR", Label: "EUR"}}
	for _, c := range pricing.Currencies() {
		if code := c.Code(); code != "EUR" && !strings.Contains(unpaid, code) {
			options = append(options, option{Value: code, Label: code})
		}
	}
	return options
}

// Lanes are from what a percentage is computed.
func (couponForm) Lanes() []option {
	return []option{{Value: "", Label: "What discounts of items leave"}, {Value: "item", Label: "List prices"}}
}

// TierBases are what tiers compare.
func (couponForm) TierBases() []option {
	return []option{{Value: "AMOUNT", Label: "The amount"}, {Value: "QUANTITY", Label: "The number of units"}}
}

// RefundPolicies are what a refund does if the rest of an order no longer meets a threshold.
func (couponForm) RefundPolicies() []option {
	return []option{
		{Value: "", Label: "As usual for this discount"},
		{Value: "keep", Label: "The rest keeps its discount"},
		{Value: "rebill", Label: "The refund is lowered"},
	}
}

// Scopes are what a coupon applies to.
func (couponForm) Scopes() []option {
	return []option{{Value: "ALL", Label: "Everything"}, {Value: "SUBSCRIPTION", Label: "Subscriptions"}, {Value: "PRODUCT", Label: "Products"}, {Value: "SPECIFIC", Label: "Specific items"}}
}

// BoughtScopes are what has to be bought.
func (f couponForm) BoughtScopes() []option {
	return append([]option{{Value: "", Label: "Of what the coupon covers"}}, f.Scopes()...)
}

// ContentScopes are what a cart must contain, or must not.
func (f couponForm) ContentScopes() []option {
	return append([]option{{Value: "", Label: "None"}}, f.Scopes()...)
}

// Distributions are who may use a coupon.
func (couponForm) Distributions() []option {
	return []option{{Value: "GENERAL", Label: "Everybody"}, {Value: "POINTS_REDEEMABLE", Label: "For points"}, {Value: "USER_SPECIFIC", Label: "Listed customers"}}
}

// Days are the days of the week.
func (couponForm) Days() []option {
	options := []option{{Value: "", Label: "Choose"}}
	for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		options = append(options, option{Value: strings.ToUpper(day), Label: day})
	}
	return options
}

// Subjects are whose uses a limit counts.
func (couponForm) Subjects() []option {
	return []option{{Value: "", Label: "Choose"}, {Value: "CUSTOMER", Label: "One customer"}, {Value: "COUPON", Label: "All customers"}, {Value: "CODE", Label: "All customers, of the code"}}
}

// Periods are in what a limit counts.
func (couponForm) Periods() []option {
	return []option{{Value: "", Label: "Choose"}, {Value: "DAY", Label: "Day"}, {Value: "WEEK", Label: "Week"}, {Value: "MONTH", Label: "Month"}}
}

// formField is a field as a template shows it.
type formField struct {
	Form                          couponForm
	Name, ID, Label, Value        string
	Hint, Types, Mode             string
	Placeholder, List, DataScopes string
	Part, PartScopes              string
	Area, Hides                   bool
	Options                       []option
}

// newField returns a field. A limit in a period has a time zone unless somebody chooses another.
func newField(f couponForm, name, id, label string) formField {
	field := formField{Form: f, Name: name, ID: id, Label: label}
	if name == "periodLimits[0].timeZone" {
		field.Value = "UTC"
	}
	return field
}

// formPart is a part of a form that occurs more than once, such as a scope.
type formPart struct {
	Form             couponForm
	Prefix, ID       string
	Name, Participle string // of a scope beside that of the coupon, such as "Bought"
}

// formFunctions are what the templates of forms are written with.
func formFunctions() template.FuncMap {
	return template.FuncMap{
		"field": newField,
		"part":  func(f couponForm, prefix, id string) formPart { return formPart{Form: f, Prefix: prefix, ID: id} },
		"scope": func(f couponForm, name, id, participle string) formPart {
			return formPart{f, name + ".", id, name, participle}
		},
		"hint":        func(text string, f formField) formField { f.Hint = text; return f },
		"types":       func(types string, f formField) formField { f.Types = types; return f },
		"mode":        func(mode string, f formField) formField { f.Mode = mode; return f },
		"placeholder": func(text string, f formField) formField { f.Placeholder = text; return f },
		"list":        func(id string, f formField) formField { f.List = id; return f },
		"area":        func(f formField) formField { f.Area = true; return f },
		"options":     func(o []option, f formField) formField { f.Options = o; return f },
		"scopes":      func(s string, f formField) formField { f.DataScopes, f.Hides = s, true; return f },
		"within": func(part, scopes string, f formField) formField {
			f.Part, f.PartScopes, f.Hides = part, scopes, true
			return f
		},
	}
}
