package sqldb_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// writeSchema1 writes the databases of the first schema again. Once that is
// released they stay as they are: that is their point.
var writeSchema1 = flag.Bool("write-schema-1", false, "write testdata/schema-1.*.sql")

func schema1(d sqlstore.Dialect) string {
	return filepath.Join("testdata", "schema-1."+d.String()+".sql")
}

// tour fills a shop with one of everything, and is what a reader finds in it.
type tour struct {
	coupons     []coupon.Coupon
	redemptions map[string]redemption.State
	orders      map[string]store.OrderState
}

func newTour() tour {
	percent := limitedCoupon("PERCENT", 100, 2)
	percent.Description, percent.MinPurchase = "It's 100 % – «quoted» \\ and_more", 1000
	percent.StartsAt, percent.ExpiresAt = noon().Add(-time.Hour), noon().Add(1000*time.Hour)
	amount := limitedCoupon("AMOUNT", 0, 0)
	amount.Discount = must(pricing.AmountOff(pricing.NewMoney(1050, pricing.EUR())))
	amount.Scope = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems("phone", "watch"), Plans: coupon.NewItems("basic")}
	amount.State = coupon.Inactive
	listed := limitedCoupon("LISTED", 0, 1)
	listed.Distribution = coupon.UserSpecific
	listed.AllowedUserEmails = must(coupon.NewEmailSet("zoe@example.org", "ann@example.org"))
	points := limitedCoupon("POINTS", 5, 1)
	points.Distribution, points.PointsRequired = coupon.PointsRedeemable, 500
	points.Mirror = coupon.Mirror{CouponID: "co_1", PromotionCodeID: "promo_1", Revision: 1}
	return tour{
		coupons: []coupon.Coupon{percent, amount, listed, points},
		redemptions: map[string]redemption.State{
			"rsv_paid": redemption.Completed, "rsv_open": redemption.Reserved, "rsv_gone": redemption.Released,
			"rsv_points": redemption.Reserved,
		},
		orders: map[string]store.OrderState{
			"ord_paid": store.OrderPaid, "ord_open": store.OrderOpen, "ord_gone": store.OrderCancelled, "ord_plain": store.OrderOpen,
		},
	}
}

func (w tour) fill(t *testing.T, s store.Store) {
	t.Helper()
	for _, c := range w.coupons {
		require.NoError(t, s.CreateCoupon(t.Context(), c))
	}
	percent, points := w.coupons[0], w.coupons[3]
	for _, name := range []string{"paid", "open", "gone"} {
		kept, err := s.Reserve(t.Context(), checkoutOf(percent, "customer of "+name, name))
		require.NoError(t, err)
		_, err = s.AttachSession(t.Context(), store.Attachment{
			OrderID: kept.Order.ID, SessionID: "cs_" + name, SessionURL: "https://pay.example/" + name,
			Deadline: noon().Add(2 * time.Hour), At: noon(),
		})
		require.NoError(t, err)
		if kind := map[string]redemption.EventKind{
			"paid": redemption.SessionCompleted, "gone": redemption.SessionExpired,
		}[name]; kind != 0 {
			_, err = s.Settle(t.Context(), settlementOf(kind, kept.Redemption, "cs_"+name))
			require.NoError(t, err)
		}
	}
	_, err := s.Reserve(t.Context(), store.Reservation{Redemption: redemption.Redemption{
		ID: "rsv_points", Key: "key-points", CouponID: points.ID, CustomerID: "ann", State: redemption.Reserved,
		Origin: redemption.FromPoints, Points: 500, PointsState: redemption.PointsPending,
		Deadline: noon().Add(time.Minute), CreatedAt: noon(), UpdatedAt: noon(),
	}})
	require.NoError(t, err)
	plain := checkoutOf(percent, "ann", "plain").Order
	quote := must(pricing.Price(shopCart(), pricing.Discount{}, nil))
	plain.CouponID, plain.Coupon, plain.ReservationID, plain.Quote, plain.DiscountAmount = "", nil, "", quote, 0
	plain.Metadata = map[string]string{"note": "it's \"quoted\""}
	_, _, err = s.CreateOrder(t.Context(), *plain)
	require.NoError(t, err)
}

// find reads everything back and uses it.
func (w tour) find(t *testing.T, s store.Store) {
	t.Helper()
	require.NoError(t, storetest.CheckInvariants(t.Context(), s))
	for _, want := range w.coupons {
		got, err := s.Coupon(t.Context(), want.ID)
		require.NoError(t, err)
		got.UsedCount, got.ReservedCount = 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("coupon (-want +got):\n%s", diff)
		}
	}
	for id, state := range w.redemptions {
		r, err := s.Redemption(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, state, r.State, id)
	}
	for id, state := range w.orders {
		o, err := s.Order(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, state, o.State, id)
		require.NoError(t, o.Validate())
	}
	page, err := s.ListCoupons(t.Context(), store.CouponList{Search: "«QUOTED» \\"})
	require.NoError(t, err)
	require.EqualValues(t, 1, page.Total)
	again, err := s.Reserve(t.Context(), checkoutOf(w.coupons[0], "customer of paid", "paid"))
	require.NoError(t, err)
	require.True(t, again.Replayed, "a key of before the upgrade")
	ok, err := use(t.Context(), s, w.coupons[0], "customer of paid", "after")
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, storetest.CheckInvariants(t.Context(), s))
}

// A database that the first schema has written is migrated and read.
func TestUpgradeFromTheFirstSchema(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		if *writeSchema1 {
			writeDump(t, s)
			s = map[sqlstore.Dialect]func() shop{
				sqlstore.SQLite: func() shop { return sqliteShop(t, s.driver) },
				sqlstore.MySQL:  func() shop { return mariadbShop(t) },
			}[s.dialect]()
		}
		text, err := os.ReadFile(schema1(s.dialect))
		require.NoError(t, err)
		db := s.connect(t)
		for statement := range strings.SplitSeq(takenBy(t, s, db, string(text)), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			_, err := db.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		opened, _ := s.open(t)
		newTour().find(t, opened)
	})
}

// TestMigrateMeetsWhatIsThere: a table that Migrate has not made, it neither takes for its own
// nor touches, and says so.
func TestMigrateMeetsWhatIsThere(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		db := s.connect(t)
		steps, err := sqlstore.Migrations(s.dialect, "")
		require.NoError(t, err)
		made := regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`).FindAllStringSubmatch(steps[0].SQL(), -1)
		require.Len(t, made, 5)
		for _, table := range made {
			_, err := db.ExecContext(t.Context(), "CREATE TABLE "+table[1]+" (number INTEGER)")
			require.NoError(t, err)
			err = sqlstore.Migrate(t.Context(), db, s.dialect, "")
			require.ErrorContains(t, err, "the table "+table[1]+" is there, and couponkit_migrations is not")
			_, err = db.ExecContext(t.Context(), "DROP TABLE "+table[1])
			require.NoError(t, err)
		}
		_, err = db.ExecContext(t.Context(), "SELECT * FROM couponkit_migrations")
		require.Error(t, err, "a part of the migration stays")
		require.NoError(t, sqlstore.Migrate(t.Context(), db, s.dialect, ""), "nothing is in the way any more")
	})
}

// TestGoOverToMigrate: where a tool of the host has run the steps, Migrate goes on after those
// that are recorded as docs/stores.md says.
func TestGoOverToMigrate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "stores.md"))
	require.NoError(t, err)
	_, record, found := strings.Cut(string(text), "```sql\nCREATE TABLE couponkit_migrations")
	require.True(t, found, "docs/stores.md has no such script")
	record, _, _ = strings.Cut("CREATE TABLE couponkit_migrations"+record, "```")
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		db := s.connect(t)
		steps, err := sqlstore.Migrations(s.dialect, "")
		require.NoError(t, err)
		last := steps[len(steps)-1]
		c, err := db.Conn(t.Context())
		require.NoError(t, err)
		run := func(statement string) {
			_, err := c.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		for _, step := range steps {
			for _, statement := range step.Statements {
				run(statement)
			}
		}
		for statement := range strings.SplitSeq(strings.TrimSpace(record), ";\n") {
			statement = strings.TrimSuffix(statement, ";")
			run(strings.ReplaceAll(statement, "(4, 'leaving')", fmt.Sprintf("(%d, '%s')", last.Version, last.Name)))
		}
		require.NoError(t, c.Close())
		opened, _ := s.open(t)
		newTour().fill(t, opened)
		newTour().find(t, opened)
	})
}

// takenBy returns the first schema as the server took it. MySQL takes no CASE for a
// condition: what it has had from the beginning is compared, as in the present schema.
func takenBy(t *testing.T, s shop, db *sql.DB, text string) string {
	t.Helper()
	if s.dialect != sqlstore.MySQL {
		return text
	}
	var version string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version))
	if strings.Contains(version, "MariaDB") {
		return text
	}
	return strings.ReplaceAll(text, "ELSE 0 END", "ELSE FALSE END = TRUE")
}

// writeDump fills an empty database and writes it down.
func writeDump(t *testing.T, s shop) {
	t.Helper()
	opened, db := s.open(t)
	newTour().fill(t, opened)
	steps, err := sqlstore.Migrations(s.dialect, "")
	require.NoError(t, err)
	require.Len(t, steps, 1, "the first schema is frozen")
	var out strings.Builder
	out.WriteString("CREATE TABLE couponkit_migrations (version INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL);\n\n")
	out.WriteString(steps[0].SQL())
	for _, table := range []string{
		"couponkit_migrations", "coupons", "coupon_allowed_emails", "coupon_counts", "coupon_redemptions", "orders",
	} {
		writeRows(t.Context(), t, db, s.dialect, table, &out)
	}
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(schema1(s.dialect), []byte(out.String()), 0o644))
}

func writeRows(ctx context.Context, t *testing.T, db *sql.DB, d sqlstore.Dialect, table string, out *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+" ORDER BY 1")
	require.NoError(t, err)
	defer rows.Close()
	all, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values, targets := make([]any, len(all)), make([]any, len(all))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(t, rows.Scan(targets...))
		var columns, literals []string
		for i, column := range all {
			if column != "paid_session" { // computed
				columns, literals = append(columns, column), append(literals, literal(d, values[i]))
			}
		}
		fmt.Fprintf(out, "\nINSERT INTO %s (%s) VALUES\n  (%s);\n", table, strings.Join(columns, ", "), strings.Join(literals, ", "))
	}
	require.NoError(t, rows.Err())
}

// literal writes a value. MySQL gives most of them as bytes.
func literal(d sqlstore.Dialect, value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case int64:
		return fmt.Sprint(v)
	case []byte:
		if d == sqlstore.MySQL && strings.ContainsAny(string(v), "\\'") {
			return "X'" + hex.EncodeToString(v) + "'"
		}
		return literal(d, string(v))
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	panic(fmt.Sprintf("%T", value))
}
