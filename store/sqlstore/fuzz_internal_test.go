package sqlstore

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// An unreadable row is a failure of the database and never looks like a mistake of
// the caller.
func wantFailure(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, pricing.ErrInvalid) || errors.Is(err, coupon.ErrNotFound) || errors.Is(err, store.ErrNotFound) {
		t.Errorf("a row that cannot be read looks like an answer: %v", err)
	}
}

// FuzzCouponRow: columns of a coupon are a coupon that is written into the same
// columns, or a failure.
func FuzzCouponRow(f *testing.F) {
	f.Add("TEN", "PERCENTAGE", "EUR", "ALL", "GENERAL", "active", `[]`, `["phone"]`, int64(125_000), int64(0), int64(5), int64(1_700_000_000_000_000))
	f.Add("TEN", "FIXED_AMOUNT", "KWD", "SPECIFIC", "USER_SPECIFIC", "inactive", `["a","b"]`, `[]`, int64(0), int64(12_345), int64(0), int64(0))
	f.Add("ten", "", "EURO", "all", "x", "y", `null`, `{`, int64(-1), int64(-1), int64(-1), int64(-1))
	f.Fuzz(func(t *testing.T, code, kind, currency, appliesTo, distribution, state, plans, devices string, percent, amount, most, starts int64) {
		row := couponRow{
			c: coupon.Coupon{ID: "cpn_1", Name: "Ten", Revision: 1}, code: code, discountType: kind, currency: currency,
			appliesTo: appliesTo, distribution: distribution, state: state, plans: plans, devices: devices, accessories: "[]",
			created: starts, updated: starts,
		}
		row.percent.V, row.percent.Valid = percent, kind == "PERCENTAGE"
		row.amount.V, row.amount.Valid = amount, kind != "PERCENTAGE"
		row.most.V, row.most.Valid = most, most != 0
		row.starts.V, row.starts.Valid = starts, starts != 0
		c, err := row.coupon()
		if err != nil {
			wantFailure(t, err)
			return
		}
		if c.Code.String() != code && coupon.NormalizeEmail(c.Code.String()) == "" {
			t.Errorf("the code %q is read as %q", code, c.Code)
		}
		written, err := prepareCoupon(c, "")
		if err != nil {
			return // a coupon that no version has written
		}
		checkCouponColumns(t, row, written)
	})
}

func checkCouponColumns(t *testing.T, row couponRow, written newCoupon) {
	t.Helper()
	c := written.Coupon
	var again couponRow
	again.c = coupon.Coupon{ID: c.ID, Name: c.Name, Revision: c.Revision}
	again.code, again.discountType, again.currency = c.Code.String(), c.Discount.Type().String(), c.Currency.Code()
	again.appliesTo, again.distribution, again.state = c.Scope.AppliesTo.String(), c.Distribution.String(), c.State.String()
	lists := []*string{&again.plans, &again.devices, &again.accessories}
	for i, text := range written.editable[3:6] {
		*lists[i] = text.(string)
	}
	if percent, amount := discountValues(c.Discount); percent != nil {
		again.percent.V, again.percent.Valid = percent.(int64), true
	} else {
		again.amount.V, again.amount.Valid = amount.(int64), true
	}
	again.most, again.starts, again.created, again.updated = row.most, row.starts, row.created, row.updated
	back, err := again.coupon()
	if err != nil {
		t.Fatalf("what was written is not read: %v", err)
	}
	if diff := cmp.Diff(c, back); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// FuzzOrderDocuments: the JSON columns of an order are documents that are written
// the same, or a failure.
func FuzzOrderDocuments(f *testing.F) {
	quote := `{"currency":"EUR","subtotal":"10.00","eligibleSubtotal":"0.00","discount":"0.00","shipping":"0.00","total":"10.00",` +
		`"lines":[{"id":"1","kind":"device","itemId":"phone","quantity":1,"unitPrice":"10.00","recurs":"","eligible":false,` +
		`"subtotal":"10.00","discount":"0.00","total":"10.00","units":[{"quantity":1,"unitPrice":"10.00"}]}]}`
	f.Add(quote, ``, `{"orderId":"ord_1"}`)
	f.Add(quote, `{"id":"cpn_1","code":"TEN"}`, `{}`)
	f.Add(quote, `{"id":"cpn_1","code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","distribution":"GENERAL"}`, `{}`)
	f.Add(`{}`, `null`, `null`)
	f.Add(`{"lines":[{}]}`, `{"id":1}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, quote, snapshot, metadata string) {
		frame := store.Order{
			ID: "ord_1", Key: "k", CustomerID: "ann", State: store.OrderOpen, CouponID: "cpn_1", ReservationID: "rdm_1",
			CreatedAt: instant(1), UpdatedAt: instant(1),
		}
		row := storedOrder{Order: frame, quote: quote, snapshot: snapshot, metadata: metadata}
		o, err := new(Store).whole(row)
		if err != nil {
			wantFailure(t, err)
			return
		}
		o.DiscountAmount = o.Quote.Discount
		frame.DiscountAmount = o.DiscountAmount
		written, err := prepareOrder(o)
		if err != nil {
			return // for example a quote that was never written
		}
		documents := written.values[len(written.values)-3:]
		again := storedOrder{Order: frame, quote: documents[0].(string)}
		again.snapshot, _ = documents[1].(string)
		again.metadata, _ = documents[2].(string)
		back, err := new(Store).whole(again)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if diff := cmp.Diff(o, back); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
	})
}

// FuzzTablePrefix: a prefix that is accepted makes one name without quotes out of
// every name of a statement, and changes nothing else of it.
func FuzzTablePrefix(f *testing.F) {
	for _, seed := range []string{"", "shop_", "1a", "a-b", "a;", "a b", `a"`, "ä", "{coupons}", strings.Repeat("a", 40), "a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prefix string) {
		if checkPrefix(prefix) != nil {
			return
		}
		got := sqliteGrammar().expand("SELECT * FROM {coupons} c, {orders}", prefix)
		if got != "SELECT * FROM "+prefix+"coupons c, "+prefix+"orders" {
			t.Errorf("%q makes %q", prefix, got)
		}
		for _, r := range prefix {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", r) {
				t.Errorf("%q is accepted", prefix)
			}
		}
	})
}

// FuzzSearchText: what a person sees in a coupon is what the search finds, whatever
// the letter case, and nothing across two fields.
func FuzzSearchText(f *testing.F) {
	f.Add("Summer", "10 % off", "SUM")
	f.Add("Straße", "a\nb", "STRASSE")
	f.Add("İ", "", "i")
	f.Fuzz(func(t *testing.T, name, description, search string) {
		c := coupon.Coupon{Name: name, Description: description}
		found := strings.Contains(searchText(c), store.Fold(search))
		holds := func(text string) bool { return strings.Contains(store.Fold(text), store.Fold(search)) }
		want := slices.ContainsFunc([]string{name, description, c.Code.String()}, holds)
		if want && !found && len(searchText(c)) < maxSearchText {
			t.Errorf("%q is not found in %q, %q", search, name, description)
		}
		if found && !want {
			t.Errorf("%q is found in %q, %q", search, name, description)
		}
	})
}

// FuzzInstants: every number of microseconds is an instant that is stored as that
// number, in UTC.
func FuzzInstants(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(1_700_000_000_123_456))
	f.Add(int64(-62_135_596_800_000_000))
	f.Fuzz(func(t *testing.T, micro int64) {
		at := instant(micro)
		if at.Location() != time.UTC || at.Year() >= 1 && at.Year() <= 9999 && micros(at) != micro {
			t.Errorf("%d is %v, which is %d", micro, at, micros(at))
		}
		if text, err := json.Marshal(at); err == nil && at.Year() >= 1 {
			var back time.Time
			if err := json.Unmarshal(text, &back); err != nil || !back.Equal(at) {
				t.Errorf("%v is written as %s", at, text)
			}
		}
	})
}
