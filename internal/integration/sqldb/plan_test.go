package sqldb_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// scan is a step of a plan that reads a table or an index from its beginning.
var scan = regexp.MustCompile(`^SCAN (?:couponkit_\w+|[a-z])\b(.*)`)

// TestStatementsFindRowsByAnIndex: no statement reads a whole table. A page of a list goes
// along an index, up to its LIMIT. The coupons alone are all counted and searched. The
// records of a customer are found by the customer, since a coupon may have millions of uses.
func TestStatementsFindRowsByAnIndex(t *testing.T) {
	t.Parallel()
	d := databases()["modernc"](t)
	var mu sync.Mutex
	heard := map[string]bool{}
	s := d.storeOn(t, d.wired(t, func(query string, _ driver.Conn) error {
		mu.Lock()
		defer mu.Unlock()
		heard[query] = true
		return nil
	}), sqlstore.Options{})
	tour(t, s)
	plain, used := d.connect(t), map[string]bool{}
	asked, owned := 0, 0
	for query := range heard {
		if !strings.Contains(query, "couponkit_") || !regexp.MustCompile(`^(SELECT|UPDATE|DELETE)`).MatchString(query) || strings.Contains(query, "couponkit_schema") {
			continue
		}
		asked++
		steps := plan(t, plain, query)
		if strings.Contains(query, "customer_id = ?") {
			require.Contains(t, strings.Join(steps, "; "), "customer_id=?", query)
		}
		if strings.Contains(query, "batch <> ''") && strings.Contains(query, "owner") && strings.Contains(query, " IN (") {
			owned++
			require.Contains(t, strings.Join(steps, "; "), "owner=?", query)
		}
		if strings.Contains(query, "(customer_id, idempotency_key) IN") {
			require.Contains(t, strings.Join(steps, "; "), "_key (customer_id=? AND idempotency_key=?)", query)
		}
		for _, step := range steps {
			for index := range strings.FieldsSeq(step) {
				used[index] = true
			}
			found := scan.FindStringSubmatch(step)
			if found == nil || query == "SELECT COUNT(*) FROM couponkit_coupons" || strings.Contains(query, "INSTR(") {
				continue
			}
			require.Contains(t, query, "LIMIT ?", "%s: %s", step, query)
			require.Contains(t, found[1], "INDEX", "%s: %s", step, query)
			require.NotContains(t, query, "deadline <=", step)
		}
	}
	require.Greater(t, asked, 30)
	require.Positive(t, owned)
	for _, index := range []string{"key", "session", "due", "list"} {
		require.True(t, used["couponkit_orders_"+index], "the index %s of orders", index)
	}
	for _, index := range []string{"key", "order", "exchange", "held", "due", "refund", "list", "coupon"} {
		require.True(t, used["couponkit_uses_"+index], "the index %s of uses", index)
	}
}

// tour makes every call.
func tour(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	c, listed := hotCoupon(3, 2), withCode("LISTED")
	listed.Distribution, listed.AllowedUserEmails = coupon.UserSpecific, must(coupon.NewEmailSet("ann@example.org"))
	create(t, s, c)
	create(t, s, listed)
	points := exchangeOf(checkoutOf(c, "ann", "", "points"))
	takes := checkoutOf(c, "ann", "", "takes")
	u := &takes.Uses[0]
	u.Origin, u.ExchangeID, u.Points, u.PointsState = redemption.FromPoints, points.Uses[0].ID, 5, redemption.PointsDebited
	next := checkoutOf(c, "bob", "", "next")
	next.Order.Replaces = "ord_first"
	reserve := func(r store.Reservation) {
		require.NoError(t, reserving(t, s, r)())
	}
	reserve(points)
	_, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.PointsExchanged, At: noon(), UseID: points.Uses[0].ID}})
	require.NoError(t, err)
	reserve(takes)
	reserve(checkoutOf(c, "bob", "", "first"))
	reserve(next)
	reserve(checkoutOf(listed, "cem", "", "free"))
	for _, order := range []string{"ord_takes", "ord_takes", "ord_first", "ord_none"} {
		_, err = s.Apply(ctx, pay(order))
		require.NoError(t, err)
	}
	for _, by := range []store.LookUp{{Names: store.ByCode(c.Code), CustomerID: "ann", Identities: []string{"ann"}}, {Names: store.ByID(listed.ID), Email: "ann@example.org", Whole: true}} {
		_, err = store.Find(ctx, s, by)
		require.NoError(t, err)
	}
	for _, by := range []store.OrderKey{{ID: "ord_first"}, {SessionID: "cs_ord_first"}, {CustomerID: "bob", Key: "key-next"}} {
		_, err = s.Order(ctx, by)
		require.NoError(t, err)
	}
	for _, list := range []store.CouponList{{}, {PageSize: 1, Search: "hot"}} {
		_, err = s.ListCoupons(ctx, list)
		require.NoError(t, err)
	}
	after := store.Cursor{CreatedAt: time.Now().UTC(), ID: "z"}.String()
	for _, list := range []store.OrderList{{}, {CustomerID: "bob", After: after}, {CustomerID: "bob", State: redemption.OrderOpen}, {DueAt: noon()}} {
		_, err = s.ListOrders(ctx, list)
		require.NoError(t, err)
	}
	for _, list := range []store.UseList{
		{},
		{CouponID: c.ID, After: after},
		{CustomerID: "bob"},
		{CustomerID: "bob", Key: "k"},
		{CouponID: c.ID, CustomerID: "bob", State: redemption.Reserved, After: after},
		{CouponID: c.ID, DueAt: noon()},
		{ExchangeID: points.Uses[0].ID},
		{DueAt: noon()},
	} {
		_, err = s.ListUses(ctx, list)
		require.NoError(t, err)
	}
	tourCodes(t, s, c)
	_, err = s.Counts(ctx, []string{eligibility.CouponUses(c.ID), "none"})
	require.NoError(t, err)
	_, err = s.Journal(ctx, 0, 3)
	require.NoError(t, err)
	listed.Limits.MaxUses, listed.AllowedUserEmails = 5, must(coupon.NewEmailSet("*@example.org"))
	for _, kind := range []store.ChangeKind{store.EditCoupon, store.DeleteCoupon} {
		_, err = s.SaveCoupon(ctx, store.CouponChange{Kind: kind, Coupon: listed, At: noon()})
		require.NoError(t, err)
		listed.Revision++
	}
}

// tourCodes makes every call about codes of a batch, with as many codes as a call may have: the plan of a statement may depend
// on their number.
func tourCodes(t *testing.T, s store.Store, c coupon.Coupon) {
	t.Helper()
	code := coupon.IssuedCode{Code: coupon.StoredCode("SPRING-1"), CouponID: c.ID, Batch: "spring", Active: true, Revision: 1, CreatedAt: noon(), UpdatedAt: noon()}
	change := store.CodeChange{CouponID: c.ID, Batch: "spring", Fingerprint: "f", At: noon()}
	for i := range coupon.MaxCodes {
		code.Code = coupon.StoredCode(fmt.Sprintf("SPRING-%d", i))
		change.Codes, change.Owners = append(change.Codes, code), append(change.Owners, coupon.OwnerID(fmt.Sprint("owner-", i)))
	}
	for _, kind := range []store.CodeChangeKind{store.AddCodes, store.ImportCodes, store.AssignCodes, store.SwitchCodes, store.RemoveCodes} {
		change.Kind = kind
		_, err := s.SaveCodes(t.Context(), change)
		require.NoError(t, err)
	}
	for _, list := range []store.CodeList{{}, {Batch: "spring", State: coupon.Inactive}, {Owner: coupon.OwnerID("owner-1"), Unused: true}} {
		list.CouponID = c.ID
		_, err := s.ListCodes(t.Context(), list)
		require.NoError(t, err)
	}
	_, err := s.ListBatches(t.Context(), store.BatchList{CouponID: c.ID})
	require.NoError(t, err)
}

// plan returns the steps in which SQLite runs a statement.
func plan(t *testing.T, db *sql.DB, statement string) (steps []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
	require.NoError(t, err, statement)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int64
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// TestLookUpsTakeOneStatementForAllNames: a look-up of 32 codes asks the database as often as a
// look-up of one.
func TestLookUpsTakeOneStatementForAllNames(t *testing.T) {
	t.Parallel()
	d := databases()["modernc"](t)
	var mu sync.Mutex
	asked := 0
	s := d.storeOn(t, d.wired(t, func(query string, _ driver.Conn) error {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(query, "SELECT") {
			asked++
		}
		return nil
	}), sqlstore.Options{})
	by := store.LookUp{CustomerID: "ann", Identities: []string{"ann", "ann@example.org"}, Email: "ann@example.org", Orders: store.MaxHeld}
	for i := range pricing.MaxCoupons {
		c := withCode(fmt.Sprint("CODE", i))
		c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, must(coupon.NewEmailSet("ann@example.org"))
		create(t, s, c)
		by.Names = append(by.Names, store.Name{Code: c.Code})
	}
	count := func(names int) int {
		asked = 0
		one := by
		one.Names = by.Names[:names]
		found, err := s.LookUp(t.Context(), one)
		require.NoError(t, err)
		require.True(t, found.Coupons[names-1].Coupon.AllowedUserEmails.Has("ann@example.org"))
		return asked
	}
	require.Equal(t, count(1), count(pricing.MaxCoupons))
	require.LessOrEqual(t, asked, 6)
}
