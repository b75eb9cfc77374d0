package pgxstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// FuzzCouponRow: columns of a coupon are a coupon that is written into the same
// columns, or a failure.
func FuzzCouponRow(f *testing.F) {
	f.Add("TEN", "PERCENTAGE", "12.5000", "EUR", "ALL", "GENERAL", "active", "phone", int64(0))
	f.Add("TEN", "FIXED_AMOUNT", "", "KWD", "SPECIFIC", "USER_SPECIFIC", "inactive", "", int64(12_345))
	f.Add("ten", "", "1e400", "EURO", "all", "x", "y", "\xff", int64(-1))
	f.Fuzz(func(t *testing.T, code, kind, percent, currency, appliesTo, distribution, state, plan string, amount int64) {
		row := couponRow{
			record: coupon.Coupon{ID: "cpn_1", Name: "Ten", Revision: 1}, code: code, discountType: kind, percent: percent,
			amount: amount, currency: currency, appliesTo: appliesTo, distribution: distribution, state: state, plans: []string{plan},
		}
		c, err := row.coupon()
		if err != nil {
			if errors.Is(err, coupon.ErrNotFound) || errors.Is(err, store.ErrNotFound) || errors.Is(err, pricing.ErrInvalid) {
				t.Errorf("a row that cannot be read looks like an answer: %v", err)
			}
			return
		}
		columns, terms := identity(c), terms(c)
		again := couponRow{
			record: row.record, code: columns[1].(string), discountType: columns[2].(string), amount: c.Discount.Amount().Minor(),
			currency: columns[5].(string), appliesTo: terms[2].(string), distribution: terms[6].(string), state: terms[14].(string),
			plans: terms[3].([]string),
		}
		if text, given := columns[3].(*string); given && text != nil {
			again.percent = *text
		}
		back, err := again.coupon()
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if diff := cmp.Diff(c, back); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
}

// FuzzOrderDocuments: the JSON columns of an order are documents that are written
// the same, or a failure.
func FuzzOrderDocuments(f *testing.F) {
	quote := `{"currency":"EUR","subtotal":"10.00","eligibleSubtotal":"0.00","discount":"0.00","shipping":"0.00","total":"10.00",` +
		`"lines":[{"id":"1","kind":"device","itemId":"phone","quantity":1,"unitPrice":"10.00","recurs":"","eligible":false,` +
		`"subtotal":"10.00","discount":"0.00","total":"10.00","units":[{"quantity":1,"unitPrice":"10.00"}]}]}`
	terms := `{"id":"cpn_1","code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","distribution":"GENERAL"}`
	f.Add([]byte(quote), []byte(terms), []byte(`{"orderId":"ord_1"}`))
	f.Add([]byte(quote), []byte(`{"id":"cpn_1","code":"TEN"}`), []byte(`{}`))
	f.Add([]byte(`{}`), []byte(`null`), []byte(`null`))
	f.Add([]byte(`{"lines":[{}]}`), []byte(`{"id":1}`), []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, quote, snapshot, metadata []byte) {
		row := orderRow{state: "open", quote: quote, snapshot: snapshot, metadata: metadata}
		row.record = store.Order{
			ID: "ord_1", Key: "k", CustomerID: "ann", CouponID: "cpn_1", ReservationID: "rdm_1",
			CreatedAt: time.UnixMicro(1).UTC(), UpdatedAt: time.UnixMicro(1).UTC(),
		}
		o, err := row.order()
		if err != nil {
			if errors.Is(err, pricing.ErrInvalid) {
				t.Errorf("documents that cannot be read look like the caller's mistake: %v", err)
			}
			return
		}
		o.DiscountAmount = o.Quote.Discount
		written, err := documents(o)
		if err != nil {
			if !errors.Is(err, pricing.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return // for example a quote that was never written
		}
		again := orderRow{record: row.record, state: "open", quote: []byte(*written.quote)}
		again.record.DiscountAmount = o.DiscountAmount
		for _, part := range []struct {
			from *string
			into *[]byte
		}{{written.snapshot, &again.snapshot}, {written.metadata, &again.metadata}} {
			if part.from != nil {
				*part.into = []byte(*part.from)
			}
		}
		back, err := again.order()
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if diff := cmp.Diff(o, back); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
	})
}

// FuzzNamespace: a namespace that is accepted makes exactly one quoted name of a
// schema and one of a table, whatever signs it holds.
func FuzzNamespace(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""},
		{"public", "shop_"},
		{`a"b`, `c"."d`},
		{"ä", "ß"},
		{"a;DROP", "--"},
		{"$$", "$1"},
		{"a\x00", "\xff"},
		{strings.Repeat("s", 63), strings.Repeat("p", 40)},
		{"{coupons}", "{=x}"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, prefix string) {
		n := Namespace{Schema: schema, Prefix: prefix}
		if n.validate() != nil {
			return
		}
		if schema == "" {
			schema = DefaultSchema
		}
		names, rest := quotedNames(n.expand(`SELECT {coupons}, {=coupons_pkey} FROM`))
		want := []string{schema, prefix + "coupons", prefix + "coupons_pkey"}
		if diff := cmp.Diff(want, names); diff != "" || rest != "SELECT ., , FROM" && rest != "SELECT .,  FROM" {
			t.Errorf("%q %q leaves %q (-want +got):\n%s", schema, prefix, rest, diff)
		}
		for _, name := range names {
			if len(name) > maxIdentifier || strings.ContainsAny(name, "\x00$") {
				t.Errorf("%q is no name", name)
			}
		}
	})
}

// quotedNames reads a statement as PostgreSQL does: names between quotes, in which
// two quotes are one, and what is left.
func quotedNames(statement string) (names []string, rest string) {
	for {
		before, after, found := strings.Cut(statement, `"`)
		rest += before
		if !found {
			return names, rest
		}
		var name strings.Builder
		for {
			part, more, closed := strings.Cut(after, `"`)
			name.WriteString(part)
			if !closed {
				return append(names, name.String()), rest + "unclosed"
			}
			if !strings.HasPrefix(more, `"`) {
				after = more
				break
			}
			name.WriteByte('"')
			after = more[1:]
		}
		names, statement = append(names, name.String()), after
	}
}

// FuzzLikePattern: LIKE finds with the pattern what holds the text, letter case
// aside. likes is LIKE as PostgreSQL's manual describes it.
func FuzzLikePattern(f *testing.F) {
	for _, seed := range [][2]string{{"10% off", "0%"}, {"a_b", "_"}, {`c\d`, `\`}, {"Straße", "STRASSE"}, {"", ""}, {"x", "%"}, {`\%`, `\%`}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, search string) {
		if !storable(text) || !storable(search) || len(text) > 200 || len(search) > 50 {
			return
		}
		if got, want := likes([]rune(store.Fold(text)), []rune(likePattern(store.Fold(search)))), strings.Contains(store.Fold(text), store.Fold(search)); got != want {
			t.Errorf("%q in %q: LIKE says %t", search, text, got)
		}
		escaped := pgx.Identifier{text}.Sanitize()
		if names, rest := quotedNames(escaped); len(names) != 1 || names[0] != text || rest != "" {
			t.Errorf("%q is quoted as %s", text, escaped)
		}
	})
}

// FuzzSearchPart: the part of a text by which the index is asked is the longest that is
// made of adjacent rare pieces; seed draws which are rare.
func FuzzSearchPart(f *testing.F) {
	for _, text := range []string{"summer-jnp2g9wva", "winter sale", "größe größe größe", "日本語日本語日本語", "abcdefghijkl", "a-b-c-d-e-f"} {
		f.Add(text, uint64(1))
		f.Add(text, uint64(0b1010))
		f.Add(text, ^uint64(0))
	}
	f.Fuzz(func(t *testing.T, search string, seed uint64) {
		text := store.Fold(search)
		pieces := piecesOf(text)
		rare, rareAt := make([]bool, len(pieces)), make([]bool, len(text))
		end := 0
		for i, p := range pieces {
			if p.from < end || p.to > len(text) || p.to-p.from < trigram {
				t.Fatalf("%q has the piece %v after %d", text, p, end)
			}
			end, rare[i] = p.to, seed>>(i%64)&1 == 1
			for at := p.from; at < p.to; at++ {
				if rareAt[at] = rare[i]; !inWord(text[at]) {
					t.Fatalf("the piece %v of %q is in no word", p, text)
				}
			}
		}
		longest, run := 0, 0
		for _, is := range rareAt {
			if run++; !is {
				run = 0
			}
			longest = max(longest, run)
		}
		if longest < shortPart || !slices.Contains(rare, false) {
			longest = len(text)
		}
		if part := rarest(text, pieces, rare); len(part) != longest || !strings.Contains(text, part) {
			t.Errorf("%q in pieces %v, rare %v, is looked for as %q", text, pieces, rare, part)
		}
	})
}

func likes(text, pattern []rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch pattern[0] {
	case '%':
		for i := range len(text) + 1 {
			if likes(text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case '_':
		return len(text) > 0 && likes(text[1:], pattern[1:])
	case '\\':
		return len(pattern) > 1 && len(text) > 0 && text[0] == pattern[1] && likes(text[1:], pattern[2:])
	}
	return len(text) > 0 && text[0] == pattern[0] && likes(text[1:], pattern[1:])
}
