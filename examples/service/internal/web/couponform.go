package web

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// Fault is what is wrong with a field of a form. An empty Field stands for the whole form.
type Fault struct{ Field, Message string }

// Coupons creates the coupons of the form that works without scripts.
type Coupons interface {
	// Token returns what the form of a request has to repeat.
	Token(r *http.Request) string
	// Create creates the coupon of a form that was sent, and leaves the form parsed. Create
	// returns the coupon's code, or what is wrong with the form and the status of the answer.
	Create(r *http.Request) (code string, status int, faults []Fault)
}

// option is one of several choices.
type option struct{ Value, Label, Text string }

// couponForm is what the fields of a coupon show.
type couponForm struct {
	// Type is the type of the discount; empty shows the fields of all types.
	Type    string
	Token   string
	Problem string

	values url.Values
	faults []Fault
	shown  map[int]bool // the faults that are shown at a field
}

const (
	anyAmount  = "FIXED_AMOUNT FIXED_AMOUNT_PER_UNIT FIXED_UNIT_PRICE"
	anyPercent = "PERCENTAGE CHEAPEST_UNITS BUY_X_GET_Y"
)

// Types are the types of discounts.
func (couponForm) Types() []option {
	return []option{
		{"PERCENTAGE", "Percentage", "Takes a percentage off everything that the coupon covers."},
		{"FIXED_AMOUNT", "Fixed amount", "Takes an amount off the cart."},
		{"FIXED_AMOUNT_PER_UNIT", "Amount off each unit", "Takes an amount off each unit."},
		{"FIXED_UNIT_PRICE", "Fixed unit price", "Each unit costs a fixed price."},
		{"CHEAPEST_UNITS", "Cheapest units", "Takes a percentage off the cheapest units."},
		{"BUY_X_GET_Y", "Buy X, get Y", "Takes a percentage off some units for others that are bought."},
		{"TIERED", "Tiers", "Takes more off the larger the purchase is."},
	}
}

func (f couponForm) chosen() option {
	for _, each := range f.Types() {
		if each.Value == f.Type {
			return each
		}
	}
	return option{}
}

// TypeName and TypeText describe the chosen type.
func (f couponForm) TypeName() string { return f.chosen().Label }

// TypeText is a sentence about the chosen type.
func (f couponForm) TypeText() string { return f.chosen().Text }

// ValueTypes are the types that have a discount value.
func (couponForm) ValueTypes() string { return anyPercent + " " + anyAmount }

// ValueHint says what the discount value is.
func (f couponForm) ValueHint() string {
	switch {
	case f.Type == "":
		return ""
	case slices.Contains(strings.Fields(anyPercent), f.Type):
		return "A percentage: more than 0, at most 100."
	}
	return "An amount in the currency of the coupon."
}

// Currencies are the currencies of amounts, the usual one first.
func (couponForm) Currencies() []option {
	options := []option{{Value: "EUR", Label: "EUR"}}
	for _, c := range pricing.Currencies() {
		if code := c.Code(); code != "EUR" {
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

// Scopes are what a coupon applies to.
func (couponForm) Scopes() []option {
	return []option{{Value: "ALL", Label: "Everything"}, {Value: "SUBSCRIPTION", Label: "Subscriptions"}, {Value: "PRODUCT", Label: "Products"}, {Value: "SPECIFIC", Label: "Specific items"}}
}

// BoughtScopes are what has to be bought.
func (f couponForm) BoughtScopes() []option {
	return append([]option{{Value: "", Label: "Of what the coupon covers"}}, f.Scopes()...)
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

// defaults are the values of a form that nobody has filled in.
func defaults(name string) string {
	switch {
	case name == "maxUsesPerUser":
		return "1"
	case name == "appliesTo":
		return "ALL"
	case name == "distribution":
		return "GENERAL"
	case strings.HasPrefix(name, "periodLimits[") && strings.HasSuffix(name, "].timeZone"):
		return "UTC"
	}
	return ""
}

// Value is what a field holds.
func (f couponForm) Value(name string) string {
	if f.values == nil {
		return defaults(name)
	}
	return f.values.Get(name)
}

// Is reports whether a field holds a value.
func (f couponForm) Is(name, value string) bool { return f.Value(name) == value }

// Has reports whether fields of one of these types are shown.
func (f couponForm) Has(types string) bool {
	return f.Type == "" || types == "" || slices.Contains(strings.Fields(types), f.Type)
}

// Open reports whether a part of the form with these fields is unfolded. Without scripts, all
// parts can be unfolded by hand.
func (f couponForm) Open(names ...string) bool {
	within := func(field string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			rest, below := strings.CutPrefix(field, name)
			return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	}
	return slices.ContainsFunc(f.faults, func(fault Fault) bool { return within(fault.Field) })
}

// Rows are the names of the entries of a list. A form without scripts has empty ones to fill in.
func (f couponForm) Rows(list string) []string {
	count := 1
	if f.Type != "" {
		count = map[string]int{"tiers": 6, "schedule.hours": 7, "periodLimits": 3}[list]
	}
	rows := make([]string, count)
	for i := range rows {
		rows[i] = fmt.Sprintf("%s[%d]", list, i)
	}
	return rows
}

// formField is a field as a template shows it.
type formField struct {
	Name, ID, Label, Value                  string
	Hint, Types, Mode, Class                string
	Placeholder, List, DataScopes, DataBuys string
	Area, Page, Shown, Hides                bool
	Faults                                  []string
	Options                                 []option

	form       couponForm
	hintBeside bool
}

// newField returns a field with its value and its faults.
func newField(f couponForm, name, id, label string) formField {
	return formField{
		Name: name, ID: id, Label: label, Value: f.Value(name), Page: f.Type != "", Shown: true, form: f, Faults: f.faultsOf(name),
	}
}

// groups are the fields that have fields of their own, which show their own faults.
func groups() []string { return []string{"tiers", "schedule.hours", "periodLimits", "buys"} }

// faultsOf returns what is wrong with a field. A fault of one entry names the entry.
func (f couponForm) faultsOf(name string) (found []string) {
	for i, fault := range f.faults {
		rest, below := strings.CutPrefix(fault.Field, name)
		entry := strings.Trim(rest, "[].")
		switch {
		case !below || name == "" || rest != "" && rest[0] != '[' && rest[0] != '.':
			continue
		case slices.Contains(groups(), name) && (strings.Contains(entry, ".") || rest != "" && rest[0] == '.'):
			continue
		case rest == "":
			found = append(found, fault.Message)
		default:
			if n, err := strconv.Atoi(entry); err == nil {
				entry = fmt.Sprintf("Entry %d", n+1)
			}
			found = append(found, entry+": "+fault.Message)
		}
		f.shown[i] = true
	}
	return found
}

// DescribedBy names what describes the control of the field.
func (f formField) DescribedBy() string {
	var ids []string
	if len(f.Faults) > 0 {
		ids = append(ids, "error-"+f.Name)
	}
	if f.Hint != "" || f.hintBeside {
		ids = append(ids, f.ID+"-hint")
	}
	return strings.Join(ids, " ")
}

// formPart is a part of a form that occurs twice.
type formPart struct {
	Form       couponForm
	Prefix, ID string
}

// formFunctions are what the templates of forms are written with.
func formFunctions() template.FuncMap {
	return template.FuncMap{
		"field":       newField,
		"part":        func(f couponForm, prefix, id string) formPart { return formPart{f, prefix, id} },
		"hint":        func(text string, f formField) formField { f.Hint = text; return f },
		"types":       func(types string, f formField) formField { f.Types, f.Shown = types, f.form.Has(types); return f },
		"mode":        func(mode string, f formField) formField { f.Mode = mode; return f },
		"placeholder": func(text string, f formField) formField { f.Placeholder = text; return f },
		"list":        func(id string, f formField) formField { f.List = id; return f },
		"area":        func(f formField) formField { f.Area = true; return f },
		"describes":   func(f formField) formField { f.hintBeside = true; return f },
		"options":     func(o []option, f formField) formField { f.Options = o; return f },
		"scopes":      func(s string, f formField) formField { f.DataScopes, f.Hides = s, !f.Page; return f },
		"buys":        func(s string, f formField) formField { f.DataBuys, f.Hides = s, !f.Page; return f },
	}
}

// maxForm is the size of a form that is read.
const maxForm = 8 << 20

// newCoupon is the page of the form that works without scripts. The type of the discount is
// chosen first; it is a parameter of the address.
func (s *Site) newCoupon(p page) (http.Handler, error) {
	t, err := s.parse(p)
	if err != nil {
		return nil, err
	}
	show := func(w http.ResponseWriter, status int, form couponForm) {
		body, err := s.fill(t, p, view{Form: form})
		if err != nil {
			http.Error(w, "The page could not be shown.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		documentWith(status, body).ServeHTTP(w, &http.Request{Method: http.MethodGet})
	}
	return s.administered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form := couponForm{Type: r.URL.Query().Get("type")}
		if form.chosen().Value == "" {
			form.Type = ""
		}
		if s.coupons != nil {
			form.Token = s.coupons.Token(r)
		}
		if r.Method != http.MethodPost || s.coupons == nil {
			show(w, http.StatusOK, form)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		code, status, faults := s.coupons.Create(r)
		if len(faults) == 0 {
			http.Redirect(w, r, "/admin/coupons?search="+url.QueryEscape(code), http.StatusSeeOther)
			return
		}
		form.values, form.faults, form.shown = r.PostForm, faults, map[int]bool{}
		if _, err := s.fill(t, p, view{Form: form}); err == nil { // which finds the faults that have no field
			form.Problem = form.unplaced()
		}
		show(w, status, form)
	})), nil
}

// unplaced says what is wrong beside the fields.
func (f couponForm) unplaced() string {
	texts := []string{"The coupon was not created."}
	for i, fault := range f.faults {
		switch {
		case f.shown[i]:
		case fault.Field == "":
			texts = append(texts, fault.Message)
		default:
			texts = append(texts, fault.Field+": "+fault.Message+".")
		}
	}
	return strings.Join(texts, " ")
}
