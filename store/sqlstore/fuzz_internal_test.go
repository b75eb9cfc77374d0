package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// oneRow is a driver of a database whose every answer is one row.
type oneRow []any

func (r oneRow) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r oneRow) Driver() driver.Driver                        { return nil }
func (r oneRow) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (r oneRow) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (r oneRow) Close() error                                 { return nil }

func (r oneRow) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &theRow{row: r}, nil
}

type theRow struct {
	row  oneRow
	read bool
}

func (r *theRow) Columns() []string { return make([]string, len(r.row)) }
func (r *theRow) Close() error      { return nil }

func (r *theRow) Next(into []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	for i, value := range r.row {
		into[i] = value
	}
	return nil
}

// scanned reads a row of the columns. What cannot be read is a failure of the database, and
// never looks like a mistake of the caller.
func scanned[R any](t *testing.T, columns []any, scan func(*sql.Rows) (R, error)) (r R, readable bool) {
	t.Helper()
	db := sql.OpenDB(oneRow(columns))
	defer db.Close()
	var all []R
	err := (&session{grammar: sqliteGrammar(Options{}), on: db}).each(t.Context(), "", collect(&all, scan))
	if err == nil && len(all) == 1 {
		return all[0], true
	}
	_, failed := verdict(err)
	for _, answer := range []error{validation.ErrInvalid, coupon.ErrNotFound, store.ErrNotFound, store.ErrConflict} {
		if failed == nil || errors.Is(err, answer) {
			t.Errorf("a row that cannot be read looks like an answer: %v", err)
		}
	}
	return r, false
}

func same(t *testing.T, read, again any) {
	t.Helper()
	if diff := cmp.Diff(read, again); diff != "" {
		t.Errorf("(-read +read again):\n%s", diff)
	}
}

// FuzzCouponRow: columns of a coupon are a coupon that is written into the same columns, or a
// failure.
func FuzzCouponRow(f *testing.F) {
	const doc = `{"name":"Ten","discount":{"type":"PERCENTAGE","value":"12.5"},"currency":"EUR","appliesTo":"SPECIFIC","plans":["a"],"devices":[],"accessories":["b"],"distribution":"GENERAL","mirror":{}}`
	f.Add("TEN", "active", doc, int64(1), int64(2), int64(1_700_000_000_000_000), int64(0), int64(3))
	f.Add("TEN", "inactive", strings.Replace(doc, `"type":"PERCENTAGE","value":"12.5"`, `"type":"FIXED_AMOUNT","value":"1.234"`, 1), int64(0), int64(0), int64(0), int64(5), int64(0))
	f.Add("ten", "x", `{`, int64(-1), int64(-1), int64(-1), int64(-1), int64(-1))
	f.Add("", "pending", `null`, int64(1), int64(1), int64(1), int64(1), int64(1<<40))
	read := func(rows *sql.Rows) (engine.StoredCoupon, error) { return scanCoupon(rows) }
	f.Fuzz(func(t *testing.T, code, state, doc string, revision, version, created, starts, emails int64) {
		stored, readable := scanned(t, []any{
			"cpn_1", code, "", "", state, revision, version, int64(1), created, created, starts, nil, emails, int64(0), "", doc,
		}, read)
		if !readable {
			return
		}
		s := &session{grammar: sqliteGrammar(Options{})}
		row, err := s.couponRow(engine.CouponWrite{Coupon: stored.Coupon, Version: stored.Version, Unlimited: stored.Unlimited})
		if err != nil {
			return // a coupon that nobody has written
		}
		if state != row[4] || revision != row[5] || version != row[6] || created != row[8] {
			t.Errorf("%q is written as %v", []any{state, revision, version, created}, row)
		}
		again, readable := scanned(t, row, read)
		if !readable {
			t.Fatal("what was written is not read")
		}
		same(t, stored, again)
	})
}

// FuzzOrderDocuments: the documents of an order and of a use are written the same, or are a
// failure.
func FuzzOrderDocuments(f *testing.F) {
	const quote = `{"currency":"EUR","subtotal":"10.00","eligibleSubtotal":"0.00","discount":"0.00","shipping":"0.00","total":"10.00",` +
		`"lines":[{"id":"1","kind":"device","itemId":"phone","quantity":1,"unitPrice":"10.00","recurs":"","eligible":false,` +
		`"subtotal":"10.00","discount":"0.00","total":"10.00","units":[{"quantity":1,"unitPrice":"10.00"}]}]}`
	f.Add(`{"quote":`+quote+`,"metadata":{"a":"b"},"replaces":"ord_0"}`, `{"origin":"checkout","discount":250}`, `[]`)
	f.Add(`{"quote":`+quote+`,"coupons":[{"id":"cpn_1","code":"TEN","discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","refundPolicy":"keep"}]}`, `{"origin":"checkout"}`, `[{"counter":"a","amount":1}]`)
	f.Add(`{"quote":`+quote+`,"coupons":[{"id":"cpn_1","code":"TEN"}]}`, `{"origin":"points","points":5}`, `[{"counter":"a","amount":1,"limit":2}]`)
	f.Add(`{}`, `null`, `null`)
	f.Add(`{"quote":{"lines":[{}]}}`, `{"origin":1}`, `[{}]`)
	f.Fuzz(func(t *testing.T, order, use, claims string) {
		readOrder := func(doc document) (redemption.Order, bool) {
			return scanned(t, []any{"ord_1", "ann", "k", "open", nil, "", "", nil, int64(1), int64(1), int64(1), doc.text, doc.claims}, scanOrder)
		}
		readUse := func(doc document) (redemption.Use, bool) {
			return scanned(t, []any{
				"use_1", "ord_1", "cpn_1", "ann", nil, nil, "reserved", "none", int64(0), nil, int64(1), int64(1), nil, nil, int64(1), doc.text, doc.claims,
			}, scanUse)
		}
		o, readable := readOrder(document{order, claims})
		u, readableUse := readUse(document{use, claims})
		if !readable || !readableUse || o.Validate() != nil || u.Validate() != nil {
			return // or nobody has written them
		}
		docs, err := documentsOf([]*redemption.Order{&o}, []*redemption.Use{&u})
		if err != nil {
			t.Fatal(err)
		}
		orderAgain, readable := readOrder(docs.orders[o.ID])
		useAgain, readableUse := readUse(docs.uses[u.ID])
		if !readable || !readableUse {
			t.Fatal("what was written is not read")
		}
		same(t, o, orderAgain)
		same(t, u, useAgain)
	})
}

// FuzzTablePrefix: a prefix that is accepted makes one name without quotes out of every name
// of a statement, and changes nothing else of it.
func FuzzTablePrefix(f *testing.F) {
	for _, seed := range []string{"", "shop_", "1a", "a-b", "a;", "a b", `a"`, "ä", "{coupons}", strings.Repeat("a", MaxTablePrefix), "a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prefix string) {
		g, err := SQLite.grammar(Options{TablePrefix: prefix})
		if err != nil {
			return
		}
		if prefix == "" {
			prefix = DefaultTablePrefix
		}
		if got := g.sql("SELECT * FROM {coupons} c, {orders}"); got != "SELECT * FROM "+prefix+"coupons c, "+prefix+"orders" {
			t.Errorf("%q makes %q", prefix, got)
		}
		if strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			t.Errorf("%q is accepted", prefix)
		}
	})
}

// FuzzSearchText: what a person sees in a coupon is what the search finds, whatever the
// letter case, and nothing across two fields.
func FuzzSearchText(f *testing.F) {
	f.Add("Summer", "10 % off", "SUM")
	f.Add("Straße", "a\nb", "STRASSE")
	f.Add("İ", "", "i")
	f.Add("00", "00a", "000")
	f.Fuzz(func(t *testing.T, name, description, search string) {
		c := coupon.Coupon{Name: name, Description: description}
		found := strings.Contains(engine.SearchText(c), store.Fold(search))
		want := slices.ContainsFunc([]string{name, description, c.Code.String()}, func(field string) bool {
			return strings.Contains(store.Fold(field), store.Fold(search))
		})
		if want != found {
			t.Errorf("%q is found in %q and %q: %t", search, name, description, found)
		}
	})
}

// FuzzInstants: every number of microseconds is an instant in UTC that is stored as that
// number. The zero time is stored as NULL.
func FuzzInstants(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(1_700_000_000_123_456))
	f.Add(time.Time{}.UnixMicro())
	f.Fuzz(func(t *testing.T, micro int64) {
		at := instant{sql.Null[int64]{V: micro, Valid: true}}.time()
		if at.Location() != time.UTC {
			t.Errorf("%d is %v", micro, at)
		}
		if stored := micros(at); at.IsZero() && stored != nil || !at.IsZero() && stored != micro {
			t.Errorf("%d is stored as %v", micro, stored)
		}
	})
}
