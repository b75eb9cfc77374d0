package web

import (
	"html/template"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// option is an entry of a choice.
type option struct{ Value, Label string }

// couponForm has the choices in the form of a coupon.
type couponForm struct{}

// Types returns the types of discounts.
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

// ValueTypes returns the discount types that have a value.
func (couponForm) ValueTypes() string {
	return "PERCENTAGE CHEAPEST_UNITS BUY_X_GET_Y FIXED_AMOUNT FIXED_AMOUNT_PER_UNIT FIXED_UNIT_PRICE"
}

// unpaid are codes of ISO 4217 that customers do not pay in: funds, units of account, and withdrawn
// currencies.
const unpaid = "ANG BGN BOV CHE CHW CLF COU CUC HRK MXV SLL USN UYI UYW XAD ZWL"

// Currencies returns the currencies that customers pay in. The shop's currency comes first.
func (couponForm) Currencies() []option {
	options := []option{{Value: "EUR", Label: "EUR"}}
	for _, c := range pricing.Currencies() {
		if code := c.Code(); code != "EUR" && !strings.Contains(unpaid, code) {
			options = append(options, option{Value: code, Label: code})
		}
	}
	return options
}

// Lanes returns the amounts from which a percentage can be computed.
func (couponForm) Lanes() []option {
	return []option{{Value: "", Label: "What discounts of items leave"}, {Value: "item", Label: "List prices"}}
}

// TierBases returns the quantities that tiers can be based on.
func (couponForm) TierBases() []option {
	return []option{{Value: "AMOUNT", Label: "The amount"}, {Value: "QUANTITY", Label: "The number of units"}}
}

// RefundPolicies returns the policies for a refund after which the order no longer meets a threshold.
func (couponForm) RefundPolicies() []option {
	return []option{
		{Value: "", Label: "As usual for this discount"},
		{Value: "keep", Label: "The rest keeps its discount"},
		{Value: "rebill", Label: "The refund is lowered"},
	}
}

// Scopes returns the scopes of a coupon.
func (couponForm) Scopes() []option {
	return []option{{Value: "ALL", Label: "Everything"}, {Value: "SUBSCRIPTION", Label: "Subscriptions"}, {Value: "PRODUCT", Label: "Products"}, {Value: "SPECIFIC", Label: "Specific items"}}
}

// BoughtScopes returns the scopes of the items that must be bought.
func (f couponForm) BoughtScopes() []option {
	return append([]option{{Value: "", Label: "Of what the coupon covers"}}, f.Scopes()...)
}

// ContentScopes returns the scopes of the items that a cart must contain or must not contain.
func (f couponForm) ContentScopes() []option {
	return append([]option{{Value: "", Label: "None"}}, f.Scopes()...)
}

// Distributions returns the groups of customers who may use a coupon.
func (couponForm) Distributions() []option {
	return []option{{Value: "GENERAL", Label: "Everybody"}, {Value: "POINTS_REDEEMABLE", Label: "For points"}, {Value: "USER_SPECIFIC", Label: "Listed customers"}}
}

// Days returns the days of the week.
func (couponForm) Days() []option {
	options := []option{{Value: "", Label: "Choose"}}
	for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		options = append(options, option{Value: strings.ToUpper(day), Label: day})
	}
	return options
}

// Subjects returns the choices for the uses that a limit counts.
func (couponForm) Subjects() []option {
	return []option{{Value: "", Label: "Choose"}, {Value: "CUSTOMER", Label: "One customer"}, {Value: "COUPON", Label: "All customers"}, {Value: "CODE", Label: "All customers, of the code"}}
}

// Periods returns the choices for the period of a limit.
func (couponForm) Periods() []option {
	return []option{{Value: "", Label: "Choose"}, {Value: "DAY", Label: "Day"}, {Value: "WEEK", Label: "Week"}, {Value: "MONTH", Label: "Month"}}
}

// formField is a field of a form, for a template.
type formField struct {
	Form                          couponForm
	Name, ID, Label, Value        string
	Hint, Types, Mode             string
	Placeholder, List, DataScopes string
	Part, PartScopes              string
	Area, Hides                   bool
	Options                       []option
}

// newField returns a field. The time zone of a period limit has a default.
func newField(f couponForm, name, id, label string) formField {
	field := formField{Form: f, Name: name, ID: id, Label: label}
	if name == "periodLimits[0].timeZone" {
		field.Value = "UTC"
	}
	return field
}

// formPart is a repeated part of a form, such as a scope.
type formPart struct {
	Form             couponForm
	Prefix, ID       string
	Name, Participle string // name and verb of a scope besides the coupon's own, such as "Bought"
}

// formFunctions returns the functions for the templates of forms.
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
