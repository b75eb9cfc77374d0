package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// A document that is well formed but for what replaces one of its parts.
const (
	goodLine   = `{"id":"A","kind":"device","itemId":"phone","quantity":2,"unitPrice":"10.00"}`
	goodCoupon = `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`
)

func withLine(line string) string {
	return `{"id":"x","currency":"EUR","lines":[` + line + `],"coupon":` + goodCoupon + `}`
}

// withTerms has a coupon of these further fields.
func withTerms(terms string) string {
	return strings.Replace(withLine(goodLine), `"TEN",`, `"TEN",`+terms+`,`, 1)
}

// withStep has amounts in steps.
func withStep(step, lines string) string {
	return strings.Replace(withLine(lines), `"lines"`, `"step":`+step+`,"lines"`, 1)
}

// withCode has a coupon of this code, a JSON string.
func withCode(code string) string { return strings.Replace(withLine(goodLine), `"TEN"`, code, 1) }

func withDiscount(kind, value string) string {
	return strings.Replace(withLine(goodLine), `"discountType":"PERCENTAGE","discountValue":"10"`,
		`"discountType":"`+kind+`","discountValue":`+value, 1)
}

// withCoupons has n coupons.
func withCoupons(n int) string {
	coupons := make([]string, n)
	for i := range coupons {
		coupons[i] = strings.Replace(goodCoupon, `"TEN"`, fmt.Sprintf(`"CODE%d"`, i), 1)
	}
	return `{"id":"x","currency":"EUR","lines":[` + goodLine + `],"coupons":[` + strings.Join(coupons, ",") + `]}`
}

// TestMalformed is contract sections 2.6, 3, 4, 6 and 7: status 2, and every
// offending field is named, once.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document string
		fields   []string
	}{
		"nothing given":            {`{}`, []string{"id", "currency", "lines"}},
		"everything of null":       {`{"id":null,"currency":null,"lines":null}`, []string{"id", "currency", "lines"}},
		"empty texts":              {`{"id":"","currency":"","lines":[]}`, []string{"currency", "id"}},
		"everything of a number":   {`{"id":1,"at":2,"currency":3,"customer":4,"lines":5,"coupon":6,"usage":7}`, []string{"id", "at", "currency", "customer", "lines", "usage", "coupon"}},
		"everything of a list":     {`{"id":[],"at":[],"currency":[],"customer":[],"lines":{},"coupon":[],"usage":[]}`, []string{"id", "at", "currency", "customer", "lines", "usage", "coupon"}},
		"a coupon and coupons":     {strings.Replace(withLine(goodLine), `"coupon"`, `"coupons":[],"coupon"`, 1), []string{"coupons"}},
		"an unknown policy":        {strings.Replace(withLine(goodLine), `"coupon"`, `"conflicts":"keep_cheapest","coupon"`, 1), []string{"conflicts"}},
		"coupons that are no list": {`{"id":"x","currency":"EUR","lines":[],"coupons":{}}`, []string{"coupons"}},
		"33 coupons":               {withCoupons(33), []string{"coupons"}},
		"the same code twice":      {`{"id":"x","currency":"EUR","lines":[` + goodLine + `],"coupons":[` + goodCoupon + `,` + goodCoupon + `]}`, []string{"coupons[1].code"}},
		"one of several coupons":   {`{"id":"x","currency":"EUR","lines":[` + goodLine + `],"coupons":[` + goodCoupon + `,{"code":"B"}]}`, []string{"coupons[1].discountValue", "coupons[1].discountType", "coupons[1].name"}},
		"unknown fields of coupons": {
			`{"id":"x","currency":"EUR","lines":[` + goodLine + `],"coupons":[` + goodCoupon + `,` + strings.Replace(goodCoupon, `"TEN",`, `"TWO","stackable":true,"rank":1,`, 1) + `,5,null]}`,
			[]string{"coupons[1].stackable", "coupons[1].rank", "coupons[2]", "coupons[3]"},
		},
		"too few usages":      {`{"id":"x","currency":"EUR","lines":[` + goodLine + `],"coupons":[` + goodCoupon + `],"usage":[]}`, []string{"usage"}},
		"an unknown field":    {`{"id":"x","currency":"EUR","lines":[],"cupon":null}`, []string{"cupon"}},
		"another letter case": {`{"ID":"x","id":"x","currency":"EUR","lines":[]}`, []string{"ID"}},
		"a field given twice": {`{"id":"x","currency":"EUR","lines":[],"currency":"USD"}`, []string{"currency"}},
		"an unknown currency": {`{"id":"x","currency":"XYZ","lines":[` + goodLine + `]}`, []string{"currency"}},
		"a price without a currency is looked at all the same": {
			`{"id":"x","lines":[{"id":"A","kind":"device","itemId":"phone","quantity":2,"unitPrice":"ten"}]}`, []string{"currency", "lines[0].unitPrice"},
		},
		"a date without a time": {`{"id":"x","at":"2026-11-20","currency":"EUR","lines":[]}`, []string{"at"}},
		"an instant of nothing": {`{"id":"x","at":"0001-01-01T00:00:00Z","currency":"EUR","lines":[]}`, []string{"at"}},
		"half of a surrogate pair": {
			`{"id":"\ud800","at":"\ud800","currency":"\ud800","customer":{"id":"\ud800","email":"\ud800"},"lines":[{"id":"\ud800","kind":"device","itemId":"\ud800","quantity":1,"unitPrice":"\ud800"}]}`,
			[]string{"id", "at", "currency", "customer.id", "customer.email", "lines[0].id", "lines[0].itemId", "lines[0].unitPrice"},
		},
		"half of a surrogate pair in a coupon": {
			strings.Replace(withCode(`"\ud800"`), `"discountType"`, `"description":"\ud800","appliesTo":"SPECIFIC","planIds":["a","\ud800"],"allowedUserEmails":"\ud800","discountType"`, 1),
			[]string{"coupon.code", "coupon.description", "coupon.planIds[1]", "coupon.allowedUserEmails"},
		},
		"an instant of no zone": {`{"id":"x","at":"2026-11-20T12:00:00","currency":"EUR","lines":[]}`, []string{"at"}},

		"facts of a wrong form":          {`{"id":"x","currency":"EUR","lines":[],"facts":{"country":"de","channel":""}}`, []string{"facts.country"}},
		"unknown facts":                  {`{"id":"x","currency":"EUR","lines":[],"facts":{"contry":"DE","channel":1}}`, []string{"facts.contry", "facts.channel"}},
		"a customer without an ID":       {`{"id":"x","currency":"EUR","lines":[],"customer":{"email":"ann@example.org"}}`, []string{"customer.id"}},
		"a customer of unknown fields":   {`{"id":"x","currency":"EUR","lines":[],"customer":{"id":"u","name":"Ann","mail":1}}`, []string{"customer.name", "customer.mail"}},
		"a customer of mistyped fields":  {`{"id":"x","currency":"EUR","lines":[],"customer":{"id":1,"email":true}}`, []string{"customer.id", "customer.email"}},
		"usage below nothing":            {`{"id":"x","currency":"EUR","lines":[],"usage":{"completed":-1,"reserved":-1,"completedByCustomer":-1,"reservedByCustomer":-1}}`, []string{"usage.completed", "usage.reserved", "usage.completedByCustomer", "usage.reservedByCustomer"}},
		"usage of mistyped fields":       {`{"id":"x","currency":"EUR","lines":[],"usage":{"completed":"1","reserved":1.5,"completedByCustomer":1e-2,"reservedByCustomer":99999999999999999999,"customerHoldsReservation":1,"used":0}}`, []string{"usage.used", "usage.completed", "usage.reserved", "usage.completedByCustomer", "usage.reservedByCustomer", "usage.customerHoldsReservation"}},
		"a line of nothing":              {withLine(`{}`), []string{"lines[0].id", "lines[0].kind", "lines[0].quantity", "lines[0].unitPrice", "lines[0].itemId"}},
		"lines that are no lines":        {withLine(`null,"A",[],` + goodLine), []string{"lines[0]", "lines[1]", "lines[2]"}},
		"an unknown field of a line":     {withLine(goodLine + `,` + strings.Replace(goodLine, `"id"`, `"recurs":"month","id"`, 1)), []string{"lines[1].recurs"}},
		"an unknown kind":                {withLine(strings.Replace(goodLine, "device", "Device", 1)), []string{"lines[0].kind"}},
		"goods without an item":          {withLine(strings.Replace(goodLine, `"itemId":"phone",`, "", 1)), []string{"lines[0].itemId"}},
		"quantity 0":                     {withLine(strings.Replace(goodLine, ":2", ":0", 1)), []string{"lines[0].quantity"}},
		"a negative quantity":            {withLine(strings.Replace(goodLine, ":2", ":-3", 1)), []string{"lines[0].quantity"}},
		"half a unit":                    {withLine(strings.Replace(goodLine, ":2", ":0.5", 1)), []string{"lines[0].quantity"}},
		"a quantity of a huge exponent":  {withLine(strings.Replace(goodLine, ":2", ":1e9999999", 1)), []string{"lines[0].quantity"}},
		"a quantity as text":             {withLine(strings.Replace(goodLine, ":2", `:"2"`, 1)), []string{"lines[0].quantity"}},
		"a quantity beyond 64 bits":      {withLine(strings.Replace(goodLine, ":2", ":9223372036854775808", 1)), []string{"lines[0].quantity"}},
		"a negative price":               {withLine(strings.Replace(goodLine, "10.00", "-0.01", 1)), []string{"lines[0].unitPrice"}},
		"a third decimal of a euro":      {withLine(strings.Replace(goodLine, "10.00", "10.005", 1)), []string{"lines[0].unitPrice"}},
		"a decimal of a yen":             {strings.Replace(withLine(strings.Replace(goodLine, "10.00", "10.5", 1)), "EUR", "JPY", 1), []string{"lines[0].unitPrice"}},
		"a fourth decimal of a dinar":    {strings.Replace(withLine(strings.Replace(goodLine, "10.00", "1.0005", 1)), "EUR", "KWD", 1), []string{"lines[0].unitPrice"}},
		"a step of words":                {withStep(`"ten"`, goodLine), []string{"step"}},
		"a step of a list":               {withStep(`[]`, goodLine), []string{"step"}},
		"a negative step":                {withStep(`"-0.01"`, goodLine), []string{"step"}},
		"a step finer than the currency": {withStep(`"0.005"`, goodLine), []string{"step"}},
		"prices off the step":            {withStep(`"0.05"`, goodLine+`,`+strings.Replace(goodLine, "10.00", "10.01", 1)), []string{"lines[1].unitPrice"}},
		"an amount off the step":         {strings.Replace(withDiscount("FIXED_AMOUNT", `"0.07"`), `"lines"`, `"step":"0.05","lines"`, 1), []string{"coupon.discountValue"}},
		"tiers off the step": {
			strings.Replace(withStep(`"0.05"`, goodLine), `"discountType":"PERCENTAGE","discountValue":"10"`, `"discountType":"TIERED","tierBasis":"AMOUNT","tiers":[{"from":"0.01","amount":"0.05"},{"from":"0.02","amount":"0.07"}]`, 1),
			[]string{"coupon.tiers[1].amount"},
		},
		"an amount of a further currency off the step": {
			strings.Replace(withStep(`"0.05"`, goodLine), `"discountType":"PERCENTAGE","discountValue":"10"`, `"currency":"JPY","discountType":"FIXED_AMOUNT","discountValue":{"JPY":"7","EUR":"0.07"}`, 1),
			[]string{"coupon.discountValue.EUR"},
		},
		"a price of words":               {withLine(strings.Replace(goodLine, "10.00", "ten", 1)), []string{"lines[0].unitPrice"}},
		"a price with a comma":           {withLine(strings.Replace(goodLine, "10.00", "10,00", 1)), []string{"lines[0].unitPrice"}},
		"a price of a huge exponent":     {withLine(strings.Replace(goodLine, `"10.00"`, "1e9999999", 1)), []string{"lines[0].unitPrice"}},
		"a price beyond 64 bits":         {withLine(strings.Replace(goodLine, "10.00", "92233720368547758.08", 1)), []string{"lines[0].unitPrice"}},
		"a line beyond 64 bits":          {withLine(strings.Replace(goodLine, "10.00", "46116860184273879.04", 1)), []string{"lines[0].unitPrice"}},
		"a cart beyond 64 bits":          {withLine(goodLine + `,` + strings.Replace(goodLine, "10.00", "46116860184273879.03", 1)), []string{"lines[1].unitPrice"}},
		"faults on several lines":        {withLine(strings.Replace(goodLine, ":2", ":0", 1) + `,` + goodLine + `,` + strings.Replace(goodLine, "10.00", "-1", 1)), []string{"lines[0].quantity", "lines[2].unitPrice"}},
		"a coupon of nothing":            {`{"id":"x","currency":"EUR","lines":[],"coupon":{}}`, []string{"coupon.code", "coupon.discountValue", "coupon.discountType", "coupon.name"}},
		"an unknown field of the coupon": {withTerms(`"stackable":true`), []string{"coupon.stackable"}},
		"a coupon's field given twice":   {withTerms(`"code":"TEN"`), []string{"coupon.code"}},
		"percent 0":                      {withDiscount("PERCENTAGE", `"0"`), []string{"coupon.discountValue"}},
		"percent below 0":                {withDiscount("PERCENTAGE", `-5`), []string{"coupon.discountValue"}},
		"percent above 100":              {withDiscount("PERCENTAGE", `"100.0001"`), []string{"coupon.discountValue"}},
		"percent of five decimals":       {withDiscount("PERCENTAGE", `12.34567`), []string{"coupon.discountValue"}},
		"an amount of 0":                 {withDiscount("FIXED_AMOUNT", `0`), []string{"coupon.discountValue"}},
		"an amount below 0":              {withDiscount("FIXED_AMOUNT", `"-10"`), []string{"coupon.discountValue"}},
		"an amount of three decimals":    {withDiscount("FIXED_AMOUNT", `"0.005"`), []string{"coupon.discountValue"}},
		"an amount beyond 64 bits":       {withDiscount("FIXED_AMOUNT", `1e17`), []string{"coupon.discountValue"}},
		"a value of true":                {withDiscount("FIXED_AMOUNT", `true`), []string{"coupon.discountValue"}},
		"an unknown type":                {withDiscount("PERCENT", `"10"`), []string{"coupon.discountType"}},
		"an unknown type and value":      {withDiscount("PERCENT", `"ten"`), []string{"coupon.discountType", "coupon.discountValue"}},

		"a code of white space":            {withCode(`" \t"`), []string{"coupon.code"}},
		"a code with white space inside":   {withCode(`"TEN OFF"`), []string{"coupon.code"}},
		"a code with a zero-width space":   {withCode(`"TE\u200bN"`), []string{"coupon.code"}},
		"a code with a control character":  {withCode(`"TE\u0000N"`), []string{"coupon.code"}},
		"a code of 256 characters":         {withCode(`"` + strings.Repeat("X", 256) + `"`), []string{"coupon.code"}},
		"a name of white space":            {strings.Replace(withLine(goodLine), `"Ten"`, `"  "`, 1), []string{"coupon.name"}},
		"an unknown coupon currency":       {withTerms(`"currency":"EURO"`), []string{"coupon.currency"}},
		"an unknown scope":                 {withTerms(`"appliesTo":"EVERYTHING"`), []string{"coupon.appliesTo"}},
		"SPECIFIC without a selection":     {withTerms(`"appliesTo":"SPECIFIC"`), []string{"coupon.appliesTo"}},
		"ALL with a selection":             {withTerms(`"planIds":["gold"]`), []string{"coupon.planIds"}},
		"SUBSCRIPTION with products":       {withTerms(`"appliesTo":"SUBSCRIPTION","deviceIds":["phone"],"accessoryIds":["case"]`), []string{"coupon.deviceIds", "coupon.accessoryIds"}},
		"PRODUCT with plans":               {withTerms(`"appliesTo":"PRODUCT","planIds":["gold"]`), []string{"coupon.planIds"}},
		"a selection that is no list":      {withTerms(`"appliesTo":"SPECIFIC","planIds":"gold","deviceIds":["phone"]`), []string{"coupon.planIds"}},
		"selected items that are no IDs":   {withTerms(`"appliesTo":"SPECIFIC","planIds":["gold",1,null,""]`), []string{"coupon.planIds[1]", "coupon.planIds[2]", "coupon.planIds[3]"}},
		"an unknown distribution":          {withTerms(`"distribution":"VIP"`), []string{"coupon.distribution"}},
		"USER_SPECIFIC without addresses":  {withTerms(`"distribution":"USER_SPECIFIC"`), []string{"coupon.allowedUserEmails"}},
		"addresses that are none":          {withTerms(`"distribution":"USER_SPECIFIC","allowedUserEmails":["ann@example.org",1,"ann","@example.org"]`), []string{"coupon.allowedUserEmails[1]", "coupon.allowedUserEmails[2]", "coupon.allowedUserEmails[3]"}},
		"addresses in a text":              {withTerms(`"distribution":"USER_SPECIFIC","allowedUserEmails":"ann@example.org,\nann example.org"`), []string{"coupon.allowedUserEmails[1]"}},
		"GENERAL with addresses":           {withTerms(`"allowedUserEmails":["ann@example.org"]`), []string{"coupon.allowedUserEmails"}},
		"POINTS_REDEEMABLE without points": {withTerms(`"distribution":"POINTS_REDEEMABLE"`), []string{"coupon.pointsRequired"}},
		"GENERAL with points":              {withTerms(`"pointsRequired":5`), []string{"coupon.pointsRequired"}},
		"limits of 0 and less":             {withTerms(`"maxUses":0,"maxUsesPerUser":-1`), []string{"coupon.maxUses", "coupon.maxUsesPerUser"}},
		"limits that are no numbers":       {withTerms(`"maxUses":"5","maxUsesPerUser":1.5`), []string{"coupon.maxUses", "coupon.maxUsesPerUser"}},
		"a minimum below 0":                {withTerms(`"minPurchase":"-1"`), []string{"coupon.minPurchase"}},
		"a minimum of three decimals":      {withTerms(`"minPurchase":"1.005"`), []string{"coupon.minPurchase"}},
		"a minimum of words":               {withTerms(`"minPurchase":"five"`), []string{"coupon.minPurchase"}},
		"numbers that are empty":           {withTerms(`"minPurchase":""`), []string{"coupon.minPurchase"}},
		"a value that is empty":            {withDiscount("PERCENTAGE", `""`), []string{"coupon.discountValue"}},
		"a price that is empty":            {withLine(strings.Replace(goodLine, "10.00", "", 1)), []string{"lines[0].unitPrice"}},
		"dates that are none":              {withTerms(`"startsAt":"soon","expiresAt":"2026-02-30"`), []string{"coupon.startsAt", "coupon.expiresAt"}},
		"an expiry before the start":       {withTerms(`"startsAt":"2026-12-01","expiresAt":"2026-11-30"`), []string{"coupon.startsAt", "coupon.expiresAt"}},
		"terms that contradict each other": {withTerms(`"minPurchase":"50","budget":{"EUR":"4.99"}`), []string{"coupon.discountValue", "coupon.minPurchase", "coupon.budget.EUR"}},
		"stored fields of another form":    {withTerms(`"id":1,"active":"yes","usedCount":-1,"reservedCount":"0","processorCouponId":2,"promotionCodeId":[],"createdAt":"2026-01-01","updatedAt":0,"revision":1.5`), []string{"coupon.active", "coupon.id", "coupon.processorCouponId", "coupon.promotionCodeId", "coupon.usedCount", "coupon.reservedCount", "coupon.revision", "coupon.createdAt", "coupon.updatedAt"}},
		"faults at every level": {
			`{"id":"x","currency":"EUR","extra":1,"customer":{"age":3,"id":"u"},"lines":[` + strings.Replace(goodLine, ":2", ":0", 1) + `],"coupon":{"code":"A B","name":"n","discountType":"PERCENTAGE","discountValue":"101"},"usage":{"completed":-1}}`,
			[]string{"extra", "customer.age", "lines[0].quantity", "usage.completed", "coupon.code", "coupon.discountValue"},
		},
		"a name with a terminal's escape": {`{"id":"x","currency":"EUR","lines":[],"\u001b[31m":1}`, []string{`\x1b[31m`}},
	} {
		out, diagnostics, status := runOn(c.document)
		if out != "" || status != statusMalformed {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
		if diff := cmp.Diff(c.fields, namedFields(diagnostics)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, diff, diagnostics)
		}
	}
}

// TestInvalidTerms is the table of package coupon: every field by its path, all at once, with the
// bound that was broken, in a coupon alone and in a list.
func TestInvalidTerms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../coupon/testdata/invalid_terms.json")
	require.NoError(t, err)
	var table []struct {
		Name   string
		Terms  json.RawMessage
		Faults map[string][2]string
	}
	require.NoError(t, json.Unmarshal(text, &table))
	require.NotEmpty(t, table)
	for _, c := range table {
		made := `{"code":"BAD","name":"Bad",` + string(c.Terms[1:])
		for prefix, coupons := range map[string]string{"coupon.": `"coupon":` + made, "coupons[1].": `"coupons":[` + goodCoupon + `,` + made + `]`} {
			_, diagnostics, status := runOn(`{"id":"x","currency":"EUR","lines":[` + goodLine + `],` + coupons + `}`)
			require.Equal(t, statusMalformed, status, c.Name)
			var want []string
			for field, fault := range c.Faults {
				want = append(want, prefix+field)
				at := strings.Index(diagnostics, "\n  "+prefix+field+": ")
				require.GreaterOrEqual(t, at, 0, "%s: %s in %s", c.Name, field, diagnostics)
				line, _, _ := strings.Cut(diagnostics[at+1:], "\n")
				require.Contains(t, line, fault[1], c.Name)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(namedFields(diagnostics)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Name, diff)
			}
		}
	}
}

// namedFields reads the fields from a message of the program.
func namedFields(diagnostics string) []string {
	var fields []string
	for line := range strings.Lines(diagnostics) {
		if rest, ok := strings.CutPrefix(line, "  "); ok {
			field, _, _ := strings.Cut(rest, ": ")
			fields = append(fields, field)
		}
	}
	return fields
}

// TestNotJSON is what no field can be named for.
func TestNotJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ document, want string }{
		"a syntax error": {
			small("a") + "\n" + `{"id":"b","lines":[}`,
			`document 2 (id "b") is malformed; nothing after it was read` + "\n" + fmt.Sprintf("  not JSON at byte %d of the input", len(small("a"))+1+20),
		},
		"an end too early":  {`{"id":"b","lines":[`, `document 1 (id "b") is malformed; nothing after it was read` + "\n" + `  the JSON text ends too early`},
		"an open text":      {`{"id":"b`, `document 1 is malformed; nothing after it was read` + "\n" + `  the JSON text ends too early`},
		"words":             {`id,currency`, `document 1 is malformed; nothing after it was read` + "\n" + `  not JSON at byte 1 of the input`},
		"a list of carts":   {`[` + small("a") + `]`, `document 1 is malformed; nothing after it was read` + "\n" + `  must be a JSON object`},
		"a number":          {small("a") + `5`, `document 2 is malformed; nothing after it was read` + "\n" + `  must be a JSON object`},
		"null":              {`null`, `document 1 is malformed; nothing after it was read` + "\n" + `  must be a JSON object`},
		"text of Latin-1":   {small("caf\xe9"), `document 1 is malformed; nothing after it was read` + "\n" + `  the text is not UTF-8`},
		"a stray separator": {small("a") + ",\n" + small("b"), `document 2 is malformed; nothing after it was read` + "\n" + fmt.Sprintf("  not JSON at byte %d of the input", len(small("a"))+1)},
	} {
		_, diagnostics, status := runOn(c.document)
		if status != statusMalformed || diagnostics != "quote: "+c.want+"\n" {
			t.Errorf("%s: status %d, %q, want %q", name, status, diagnostics, c.want)
		}
	}
}

func TestManyLines(t *testing.T) {
	t.Parallel()
	most := strings.Repeat(goodLine+",", pricing.MaxLines-1) + goodLine
	if out, diagnostics, status := runOn(withLine(most)); status != statusDone || !strings.Contains(out, `"discount":"20000.00"`) {
		t.Errorf("the most lines: status %d, %s", status, diagnostics)
	}
	_, diagnostics, status := runOn(withLine(most + "," + goodLine))
	if diff := cmp.Diff([]string{"lines"}, namedFields(diagnostics)); diff != "" || status != statusMalformed {
		t.Errorf("one more: status %d (-want +got):\n%s", status, diff)
	}
}

// TestLargeAllowList is contract section 4.4: 100,000 addresses are normal.
func TestLargeAllowList(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&list, `"customer-%d@example.org",`, i)
	}
	document := withTerms(`"distribution":"USER_SPECIFIC","allowedUserEmails":[` + list.String() + `"last@example.org"]`)
	document = strings.Replace(document, `"lines"`, `"customer":{"id":"u","email":"LAST@example.org"},"lines"`, 1)
	if out, diagnostics, status := runOn(document); status != statusDone || !strings.Contains(out, `"applied":true`) {
		t.Errorf("status %d, %s%s", status, out, diagnostics)
	}
}
