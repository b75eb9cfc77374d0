package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/host"
	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// desk is a service on a database, beside a processor and a ledger that outlive it.
type desk struct {
	*couponkit.Service

	t      *testing.T
	now    time.Time
	pay    *fakeprocessor.Processor
	ledger host.Ledger
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, now: noon()}
	d.pay = fakeprocessor.New(fakeprocessor.Options{Now: d.clock, Tolerance: 100 * time.Hour})
	return d
}

func (d *desk) clock() time.Time { return d.now }

// serve lets the service work on the store.
func (d *desk) serve(s store.Store, options ...couponkit.Option) {
	service, err := couponkit.New(s, append(options, couponkit.WithProcessor(d.pay), couponkit.WithClock(d.clock))...)
	require.NoError(d.t, err)
	d.Service = service
}

func (d *desk) create(code string, points int64) coupon.Coupon {
	draft := coupon.Draft{
		Code: code, Name: code, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"}, MaxUses: coupon.Set(3),
	}
	if points > 0 {
		draft.Distribution, draft.PointsRequired = coupon.PointsRedeemable, points
	}
	c, err := d.Create(d.t.Context(), draft)
	require.NoError(d.t, err)
	return c
}

func (d *desk) buy(customer string) couponkit.Checkout {
	checkout, err := d.Checkout(d.t.Context(), couponkit.CheckoutRequest{
		Key: customer, Cart: shopCart(), Codes: []string{"ten"}, Customer: eligibility.Customer{ID: customer},
	})
	require.NoError(d.t, err)
	return checkout
}

func (d *desk) exchange(couponID string) redemption.Use {
	u, err := d.ExchangePoints(d.t.Context(), couponkit.ExchangeRequest{Key: "x", Coupon: couponID, Customer: eligibility.Customer{ID: "cleo"}})
	require.NoError(d.t, err)
	return u
}

// tell lets the service hear of deliveries.
func (d *desk) tell(deliveries []fakeprocessor.Delivery) map[string]couponkit.Outcome {
	outcomes := make(map[string]couponkit.Outcome)
	for _, delivery := range deliveries {
		event, err := d.pay.ParseEvent(delivery.Payload, delivery.Signature)
		require.NoError(d.t, err)
		outcome, err := d.HandleEvent(d.t.Context(), event)
		require.NoError(d.t, err)
		if event.Type == processor.Completed {
			outcomes[event.SessionID] = outcome
		}
	}
	return outcomes
}

// TestASweepIsCommittedWithTheHost: a host that dies after the sweep and before its own commit
// has lost nothing. The next sweep finds the same payment and the same abandoned checkout.
func TestASweepIsCommittedWithTheHost(t *testing.T) {
	onEach(t, func(t *testing.T, on database) {
		t.Helper()
		ctx := t.Context()
		db := on.immediate().connect(t)
		s := on.storeOn(t, db, sqlstore.Options{})
		_, err := db.ExecContext(ctx, "CREATE TABLE shipments (order_id VARCHAR(100) PRIMARY KEY)")
		require.NoError(t, err)
		d := newDesk(t)
		d.serve(s)
		c := d.create("ten", 0)
		bought, abandoned := d.buy("ann"), d.buy("bob")
		require.NoError(t, d.pay.Pay(bought.Session.ID)) // and its event never comes
		d.now = d.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)

		sweep := func(tx *sql.Tx) (paid []string) {
			d.serve(s.WithTx(tx))
			report, err := d.Sweep(ctx, 0)
			require.NoError(t, err)
			for _, o := range report.Paid {
				paid = append(paid, o.Order.ID)
				_, err := tx.ExecContext(ctx, "INSERT INTO shipments VALUES (?)", o.Order.ID)
				require.NoError(t, err)
			}
			require.Len(t, report.Cancelled, len(report.Paid), "a paid and an abandoned checkout")
			return paid
		}
		life, die := context.WithCancel(ctx)
		dying, err := db.BeginTx(life, on.host())
		require.NoError(t, err)
		require.Equal(t, []string{bought.Order.ID}, sweep(dying))
		die() // its connection ends, and with it the transaction
		require.Eventually(t, func() bool { return errors.Is(dying.Commit(), sql.ErrTxDone) }, time.Minute, time.Millisecond)
		order, err := s.Order(ctx, store.OrderKey{ID: bought.Order.ID})
		require.NoError(t, err)
		require.Equal(t, redemption.OrderOpen, order.Order.State, "nothing is recorded that the host has not committed")

		for _, want := range [][]string{{bought.Order.ID}, nil} {
			tx := on.begins(t, db)
			require.Equal(t, want, sweep(tx))
			require.NoError(t, tx.Commit())
		}
		require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM shipments"))
		order, err = s.Order(ctx, store.OrderKey{ID: abandoned.Order.ID})
		require.NoError(t, err)
		require.Equal(t, redemption.OrderCancelled, order.Order.State)
		require.EqualValues(t, 1, completed(t, s, c))
		require.NoError(t, storetest.Check(ctx, s))
	})
}

// TestAnOlderCopyIsRestored: what a database has lost to an older copy of itself comes back
// from the processor, as far as that knows of it.
func TestAnOlderCopyIsRestored(t *testing.T) {
	onSQLite(t, func(t *testing.T, on database) {
		t.Helper()
		ctx := t.Context()
		d := newDesk(t)
		db := on.connect(t)
		d.serve(on.storeOn(t, db, sqlstore.Options{}), couponkit.WithPoints(&d.ledger))
		ten, deleted := d.create("ten", 0), d.create("deleted", 0)
		ann := d.buy("ann")
		file := filepath.Join(t.TempDir(), "copy.db")
		vacuumInto(t, db, file)

		_, err := d.Update(ctx, ten.ID, coupon.Patch{Name: coupon.Set("Renamed"), MaxUses: coupon.Set(9)})
		require.NoError(t, err)
		d.create("created", 0)
		require.NoError(t, d.Delete(ctx, deleted.ID))
		bob := d.buy("bob")
		dan, err := d.Checkout(ctx, couponkit.CheckoutRequest{Key: "dan", Cart: shopCart(), Customer: eligibility.Customer{ID: "dan"}})
		require.NoError(t, err)
		require.NoError(t, d.pay.Pay(ann.Session.ID))
		require.NoError(t, d.pay.Pay(bob.Session.ID))
		require.NoError(t, d.pay.Pay(dan.Session.ID))
		d.tell(d.pay.Deliveries())
		d.ledger.Credit("cleo", 5)
		exchange := d.exchange(d.create("points", 5).ID)

		restored := database{on.driver, sqlitedriver.DSN(file), on.dialect}.store(t, sqlstore.Options{})
		d.serve(restored, couponkit.WithPoints(&d.ledger))
		require.NoError(t, storetest.Check(ctx, restored))
		shown, err := d.Get(ctx, ten.ID)
		require.NoError(t, err)
		require.Equal(t, []any{"ten", int64(3), int64(0), int64(1)}, []any{shown.Name, shown.Limits.MaxUses, shown.UsedCount, shown.ReservedCount})
		_, err = d.Get(ctx, deleted.ID)
		require.NoError(t, err, "what was deleted since is alive")

		_, err = d.Reconcile(ctx, couponkit.ReconcileOptions{})
		require.NoError(t, err)
		drifts, err := d.Reconcile(ctx, couponkit.ReconcileOptions{})
		require.NoError(t, err)
		require.Empty(t, drifts)
		names := map[string]string{}
		for _, c := range d.pay.Coupons() {
			names[c.Owner] = c.Name
		}
		require.Equal(t, map[string]string{ten.ID: "ten", deleted.ID: "deleted"}, names, "as the copy has it")

		d.now = d.now.Add(2 * time.Hour)
		report, err := d.Sweep(ctx, 0)
		require.NoError(t, err)
		require.Len(t, report.Paid, 1)
		require.Equal(t, ann.Order.ID, report.Paid[0].Order.ID)
		report.Paid = nil
		require.True(t, report.IsZero(), "ann's session is the one that the copy knows")
		told := d.tell(d.pay.Redeliveries())
		require.False(t, told[ann.Session.ID].Changed)
		record := told[bob.Session.ID]
		require.Equal(t, []any{bob.Order.ID, "bob", redemption.OrderPaid, bob.Session.ID, bob.Order.Quote.Total, 1, couponkit.FlagUnknownOrder},
			[]any{record.Order.ID, record.Order.CustomerID, record.Order.State, record.Order.SessionID, record.Order.Quote.Total, len(record.Uses), record.Flag},
			"what the payment tells; what was bought is lost")
		require.Equal(t, []any{redemption.FromPayment, "bob", ten.ID}, []any{record.Uses[0].Origin, record.Uses[0].CustomerID, record.Uses[0].CouponID})
		require.EqualValues(t, 2, completed(t, restored, ten))
		plain := told[dan.Session.ID]
		require.Equal(t, []any{dan.Order.ID, "dan", dan.Order.Quote.Total, 0, couponkit.FlagUnknownOrder},
			[]any{plain.Order.ID, plain.Order.CustomerID, plain.Order.Quote.Total, len(plain.Uses), plain.Flag}, "a payment without a coupon")
		refund, err := d.Refund(ctx, couponkit.RefundRequest{OrderID: bob.Order.ID, Key: "all", Returns: pricing.Returns{All: true}})
		require.NoError(t, err)
		require.Equal(t, bob.Order.Quote.Total, refund.Refund.Repayment.Amount)
		require.EqualValues(t, 1, completed(t, restored, ten), "the use comes back with the refund")
		require.NoError(t, storetest.Check(ctx, restored))

		require.Zero(t, d.ledger.Balance("cleo"), "the exchange is lost, and its points are taken")
		require.NoError(t, d.ledger.Refund(ctx, "cleo", exchange.ID))
		require.EqualValues(t, 5, d.ledger.Balance("cleo"))
	})
}

func vacuumInto(t *testing.T, db *sql.DB, file string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "VACUUM INTO ?", file)
	require.NoError(t, err)
}

// sqlLedger is a ledger of points in a table of the host's own.
type sqlLedger struct {
	on interface {
		ExecContext(ctx context.Context, statement string, arguments ...any) (sql.Result, error)
	}
}

func (l sqlLedger) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	_, err := l.on.ExecContext(ctx, "INSERT INTO ledger (customer, exchange, points) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		customerID, exchangeID, points)
	return err
}

func (l sqlLedger) Refund(ctx context.Context, _, exchangeID string) error {
	_, err := l.on.ExecContext(ctx, "UPDATE ledger SET points = 0 WHERE exchange = ?", exchangeID)
	return err
}

// TestALedgerInTheSameFile: within a transaction of the host, a service leaves a refund of points
// to the sweep, wherever its ledger writes.
func TestALedgerInTheSameFile(t *testing.T) {
	t.Parallel()
	for _, name := range sqlites() {
		for _, at := range []string{"no ledger", "beside", "within"} {
			t.Run(name+" "+at, func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				on := databases()[name](t)
				db := on.immediate().connect(t)
				s := on.storeOn(t, db, sqlstore.Options{})
				_, err := db.ExecContext(ctx, "CREATE TABLE ledger (customer TEXT, exchange TEXT PRIMARY KEY, points INTEGER)")
				require.NoError(t, err)
				impatient, err := db.Conn(ctx)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, impatient.Close()) })
				_, err = impatient.ExecContext(ctx, "PRAGMA busy_timeout = 0")
				require.NoError(t, err)
				d := newDesk(t)
				outside := couponkit.WithPoints(sqlLedger{impatient})
				d.serve(s, outside)
				exchange := d.exchange(d.create("ten", 5).ID)
				bought := d.buy("cleo").Order
				d.now = d.now.Add(2 * time.Hour) // the session has ended
				after := func() redemption.PointsState {
					order, err := s.Order(ctx, store.OrderKey{ID: bought.ID})
					require.NoError(t, err)
					require.Len(t, order.Uses, 1)
					require.Equal(t, exchange.ExchangeID, order.Uses[0].ExchangeID)
					return order.Uses[0].PointsState
				}

				tx := on.begins(t, db)
				options := map[string][]couponkit.Option{
					"no ledger": nil, "beside": {outside}, "within": {couponkit.WithPoints(sqlLedger{tx})},
				}[at]
				d.serve(s.WithTx(tx), options...)
				d.tell(d.pay.Deliveries())
				require.NoError(t, tx.Commit())
				require.Equal(t, redemption.PointsRefundDue, after())
				require.Equal(t, int64(5), number(t, db, "SELECT SUM(points) FROM ledger"))

				d.serve(s, outside)
				_, err = d.Sweep(ctx, 0)
				require.NoError(t, err)
				require.Equal(t, redemption.PointsRefunded, after())
				require.Zero(t, number(t, db, "SELECT SUM(points) FROM ledger"))
			})
		}
	}
}

// TestReadiness: New tells whether the tables are there. Later, to look for an order that
// nobody has tells whether the database answers.
func TestReadiness(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db, err := sql.Open(d.driver, d.dsn)
		require.NoError(t, err)
		_, err = sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
		var missing *sqlstore.SchemaError
		require.ErrorAs(t, err, &missing)
		require.Zero(t, missing.Found, "there are no tables")
		require.NoError(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}))
		s, err := sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
		require.NoError(t, err)
		look := func() error { _, err := s.Order(t.Context(), store.OrderKey{ID: "ord_ready"}); return err }
		require.ErrorIs(t, look(), store.ErrNotFound)
		require.NoError(t, db.Close())
		require.Error(t, look())
		require.NotErrorIs(t, look(), store.ErrNotFound, "there is no database")
		require.NoError(t, s.Close())
		require.ErrorIs(t, look(), store.ErrClosed)
	})
}

// TestCopyInMidRun: copies that are made while callers use a coupon open, are sound, and
// contradict themselves nowhere.
func TestCopyInMidRun(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		c := hotCoupon(1_000_000, 1)
		create(t, s, c)
		ctx, end := context.WithCancel(t.Context())
		running := make(chan error, 1)
		go func() {
			_, err := crowd(ctx, []store.Store{s}, c, "a", 16, 1_000_000)
			running <- err
		}()
		backup := func(t *testing.T, db *sql.DB, file string) {
			t.Helper()
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.Raw(func(raw any) error { return sqlitedriver.Backup(raw, file) }))
		}
		var files []string
		for i, copyInto := range []func(*testing.T, *sql.DB, string){vacuumInto, backup, vacuumInto, backup} {
			require.Eventually(t, func() bool { return completed(t, s, c) > int64(50*(i+1)) }, time.Minute, time.Millisecond)
			files = append(files, filepath.Join(t.TempDir(), fmt.Sprint("copy", i, ".db")))
			copyInto(t, db, files[i])
		}
		end()
		require.ErrorIs(t, <-running, context.Canceled)
		for _, file := range files {
			copied := database{d.driver, sqlitedriver.DSN(file), d.dialect}
			db := copied.connect(t)
			var verdict string
			require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
			require.Equal(t, "ok", verdict)
			require.NoError(t, storetest.Check(t.Context(), copied.storeOn(t, db, sqlstore.Options{})))
		}
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// TestMigrateAtOnceAndAgain: many processes may make the tables at once and again. Tables of
// another version are refused by an error that says which.
func TestMigrateAtOnceAndAgain(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			db := d.connect(t)
			all.Go(func() {
				errs[i] = errors.Join(
					sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}),
					sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}))
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		db := d.connect(t)
		_, err := db.ExecContext(t.Context(), "UPDATE couponkit_schema SET version = 7")
		require.NoError(t, err)
		_, err = sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
		require.ErrorContains(t, err, "have version 7 (couponkit_schema), this program needs 1")
		require.ErrorContains(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}), "have version 7")
		_, err = db.ExecContext(t.Context(), "DELETE FROM couponkit_schema WHERE version = 7")
		require.NoError(t, err)
	})
}

// TestSchema: a host may run the statements with a tool of its own. Migrate finds the work
// done. On SQLite it changes nothing where a table is not its own.
func TestSchema(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.connect(t)
		script, err := sqlstore.Schema(d.dialect, sqlstore.Options{})
		require.NoError(t, err)
		for statement := range strings.SplitSeq(script, ";\n\n") {
			_, err := db.ExecContext(t.Context(), strings.TrimSuffix(statement, ";\n"))
			require.NoError(t, err, statement)
		}
		require.NoError(t, reserving(t, d.storeOn(t, db, sqlstore.Options{}), plain("ann", "a"))())
		if d.dialect == sqlstore.SQLite {
			_, err := db.ExecContext(t.Context(), "CREATE TABLE shop_uses (mine INTEGER)")
			require.NoError(t, err)
			require.ErrorContains(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{TablePrefix: "shop_"}), "shop_uses")
			require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'shop%'"))
		}
	})
}

// TestKilledMariaDBLosesNothing kills a server in mid-run and starts it again. Callers whose
// connection was lost repeat the call with the same key. The server is the test's own.
func TestKilledMariaDBLosesNothing(t *testing.T) {
	t.Parallel()
	mariadb.Need(t) // skips where there is none
	server, err := mariadbtest.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	if server.Foreign() {
		t.Skip("the server is not ours to kill")
	}
	dsn, _, err := server.Database(t.Context())
	require.NoError(t, err)
	d := database{"mysql", dsn, sqlstore.MySQL}
	db := d.connect(t)
	s := d.storeOn(t, db, sqlstore.Options{})
	const callers = 16
	each := int64(full(100))
	c := hotCoupon(callers*each, each)
	create(t, s, c)

	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				name := fmt.Sprintf("k%d-%d", caller, i)
				for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
					used, err := use(t.Context(), s, c, fmt.Sprint("customer-", caller), name)
					if err == nil && used {
						acknowledged.Add(1)
						break
					}
					if err == nil || time.Now().After(deadline) {
						t.Errorf("use %s: %v", name, errors.Join(err, errors.New("no use is left for the own key")))
						return
					}
				}
			}
		})
	}
	for kills := range int64(2) { // in the middle, however fast the machine is
		for acknowledged.Load() < callers*each*(kills+1)/4 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, server.Kill())
		require.NoError(t, server.Resume(t.Context()))
	}
	all.Wait()
	for caller := range callers {
		for i := range each {
			order, err := s.Order(t.Context(), store.OrderKey{ID: fmt.Sprintf("ord_k%d-%d", caller, i)})
			require.NoError(t, err)
			require.Equal(t, redemption.OrderPaid, order.Order.State)
		}
	}
	require.Equal(t, callers*each, completed(t, s, c))
	require.NoError(t, storetest.Check(t.Context(), s))
}

// TestVerifyNamesADamagedRecord: claims that cannot be read are an error of Verify that names their record.
func TestVerifyNamesADamagedRecord(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		desk, db := newDesk(t), d.connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		desk.serve(s)
		desk.create("ten", 0)
		bought := desk.buy("ann")
		for _, claims := range []string{"{", `{"counter":"a"}`, `[{"amount":1}]`, `[{"counter":"a"}]`, `["a"]`, "7"} {
			for table, id := range map[string]string{"order": bought.Order.ID, "use": bought.Uses[0].ID} {
				var sound string
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT claims FROM couponkit_"+table+"s WHERE id = ?", id).Scan(&sound))
				write := func(claims string) {
					_, err := db.ExecContext(t.Context(), "UPDATE couponkit_"+table+"s SET claims = ? WHERE id = ?", claims, id)
					require.NoError(t, err)
				}
				write(claims)
				var failed error
				for _, err := range s.Verify(t.Context()) {
					failed = errors.Join(failed, err)
				}
				var named *store.UnreadableError
				require.ErrorAs(t, failed, &named, "%s of %s", claims, table)
				require.Equal(t, []string{table, id}, []string{named.Kind, named.ID})
				write(sound)
				for difference, err := range s.Verify(t.Context()) {
					require.NoError(t, err)
					t.Errorf("sound claims differ: %+v", difference)
				}
			}
		}
	})
}
