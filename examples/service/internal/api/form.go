package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// CreateFromForm creates the coupon of a form that a browser sent without scripts. The field csrf
// of the form stands for the header. The names of the other fields are the paths of the JSON
// fields, such as tiers[0].from. In lists and amounts, each line is one entry.
func (a *API) CreateFromForm(r *http.Request) (coupon.Coupon, error) {
	if err := r.ParseForm(); err != nil {
		return coupon.Coupon{}, problem{Status: http.StatusBadRequest, Code: "bad_request", Title: "The form could not be read."}
	}
	r.Header.Set(CSRFHeader, r.PostFormValue("csrf"))
	r, err := a.admit(call{access: administrator}, r)
	if err != nil {
		return coupon.Coupon{}, err
	}
	body, err := json.Marshal(draftOf(r.PostForm))
	if err != nil {
		return coupon.Coupon{}, err
	}
	as := r.Clone(r.Context())
	as.Header.Set("Content-Type", "application/json")
	as.Body = io.NopCloser(bytes.NewReader(body))
	return a.create(as)
}

// Problem returns the status of the answer to an error, what happened, and the faults of fields.
func Problem(err error) (status int, text string, faults []pricing.FieldError) {
	p := problemOf(err)
	if p.Detail == "" || len(p.Errors) > 0 {
		p.Detail = p.Title
	}
	return p.Status, p.Detail, p.Errors
}

// The fields of a form that are not text.
var (
	wholeFields = fieldSet("pointsRequired maxUses maxUsesPerUser minQuantity maxUnits units buyQuantity getQuantity maxApplications")
	listFields  = fieldSet("planIds deviceIds accessoryIds kinds categories excludedItemIds excludedCategories any all none")
	moneyFields = fieldSet("discountValues maxDiscounts minPurchases budget")
	rowName     = regexp.MustCompile(`^(tiers|schedule\.hours|periodLimits)\[([0-9]{1,3})\]\.([a-zA-Z]+)$`)
)

func fieldSet(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// draftOf returns the JSON object of a form. Fields without an entry are left out.
func draftOf(form url.Values) map[string]any {
	draft := map[string]any{}
	rows := map[string]map[int]map[string]any{}
	for name, values := range form {
		text := strings.TrimSpace(strings.ReplaceAll(values[0], "\r\n", "\n"))
		if name == "maxUsesPerUser" && text == "" {
			draft[name] = nil // no limit
		}
		if name == "csrf" || text == "" {
			continue
		}
		if parts := rowName.FindStringSubmatch(name); parts != nil {
			addCell(rows, parts, text)
			continue
		}
		in := draft
		group, member, grouped := strings.Cut(name, ".")
		if grouped {
			in, _ = draft[group].(map[string]any)
			if in == nil {
				in = map[string]any{}
				draft[group] = in
			}
			name = member
		}
		in[name] = valueOf(name, text)
	}
	addRows(draft, rows)
	if buys, is := draft["buys"].(map[string]any); is && buys["appliesTo"] == nil {
		delete(draft, "buys") // the units are bought of what the coupon covers
	}
	return draft
}

// valueOf returns the value of a field as JSON has it. What is malformed stays text, which the
// library refuses by its field.
func valueOf(name, text string) any {
	switch {
	case wholeFields[name]:
		return wholeOrText(text)
	case listFields[name]:
		return nonemptyLines(text)
	case moneyFields[name]:
		amounts := map[string]string{}
		for _, line := range nonemptyLines(text) {
			currency, amount, _ := strings.Cut(line, " ")
			amounts[currency] = strings.TrimSpace(amount)
		}
		return amounts
	case name == "firstOrder":
		return text == "true"
	}
	return text
}

func wholeOrText(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

func nonemptyLines(text string) []string {
	found := []string{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			found = append(found, line)
		}
	}
	return found
}

// addCell adds a field of an entry of a list.
func addCell(rows map[string]map[int]map[string]any, parts []string, text string) {
	list, member := parts[1], parts[3]
	index, _ := strconv.Atoi(parts[2]) // at most three digits
	if rows[list] == nil {
		rows[list] = map[int]map[string]any{}
	}
	if rows[list][index] == nil {
		rows[list][index] = map[string]any{}
	}
	rows[list][index][member] = text
	if list == "periodLimits" && member == "maxUses" {
		rows[list][index][member] = wholeOrText(text)
	}
}

// addRows adds the entries of lists. An entry with only a time zone was not filled in. The fault
// of an entry is shown in its row as long as no row before it is empty.
func addRows(draft map[string]any, rows map[string]map[int]map[string]any) {
	const most = 1_000 // three digits
	for list, entries := range rows {
		all := []map[string]any{}
		for i := range most {
			entry := entries[i]
			if _, zoned := entry["timeZone"]; len(entry) == 0 || zoned && len(entry) == 1 {
				continue
			}
			all = append(all, entry)
		}
		if len(all) == 0 {
			continue
		}
		group, member, grouped := strings.Cut(list, ".")
		if !grouped {
			draft[list] = all
			continue
		}
		in, _ := draft[group].(map[string]any)
		if in == nil {
			in = map[string]any{}
			draft[group] = in
		}
		in[member] = all
	}
}
