package sqldb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/host"
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
	service, err := couponkit.New(s, d.pay, append(options, couponkit.WithClock(d.clock))...)
	require.NoError(d.t, err)
	d.Service = service
}

func (d *desk) create(code string) coupon.Coupon {
	c, err := d.Create(d.t.Context(), coupon.Draft{
		Code: code, Name: code, DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(10), MaxUses: coupon.Set(3),
	})
	require.NoError(d.t, err)
	return c
}

func (d *desk) buy(customer string) couponkit.Checkout {
	checkout, err := d.Checkout(d.t.Context(), couponkit.CheckoutRequest{
		Key: customer, Cart: shopCart(), Code: "ten", Customer: eligibility.Customer{ID: customer},
	})
	require.NoError(d.t, err)
	return checkout
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

// TestAnOlderCopyIsRestored: what a database has lost to an older copy of itself comes back from
// the processor, as far as that knows of it.
func TestAnOlderCopyIsRestored(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			d := newDesk(t)
			before, db := sqliteShop(t, driver).open(t)
			d.serve(before, couponkit.WithPoints(&d.ledger))
			ten, deleted := d.create("ten"), d.create("deleted")
			ann := d.buy("ann")
			file := filepath.Join(t.TempDir(), "copy.db")
			vacuumInto(t, db, file)

			_, err := d.Update(ctx, ten.ID, coupon.Patch{Name: coupon.Set("Renamed"), MaxUses: coupon.Set(9)})
			require.NoError(t, err)
			created := d.create("created")
			require.NoError(t, d.Delete(ctx, deleted.ID))
			bob := d.buy("bob")
			require.NoError(t, d.pay.Pay(ann.Session.ID))
			require.NoError(t, d.pay.Pay(bob.Session.ID))
			d.tell(d.pay.Deliveries())
			points, err := d.Create(ctx, coupon.Draft{
				Code: "points", Name: "points", DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(10),
				Distribution: coupon.PointsRedeemable, PointsRequired: 5,
			})
			require.NoError(t, err)
			d.ledger.Credit("cleo", 5)
			exchange, err := d.ExchangePoints(ctx, couponkit.ExchangeRequest{Key: "x", Coupon: points.ID, Customer: eligibility.Customer{ID: "cleo"}})
			require.NoError(t, err)

			restored := restoredStore(t, driver, file)
			d.serve(restored, couponkit.WithPoints(&d.ledger))
			require.NoError(t, storetest.CheckInvariants(ctx, restored))
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
			require.Equal(t, map[string]string{ten.ID: "ten", deleted.ID: "deleted"}, names, "as the copy has it; %s is gone", created.ID)

			d.now = d.now.Add(2 * time.Hour)
			report, err := d.Sweep(ctx, 0)
			require.NoError(t, err)
			require.Len(t, report.Paid, 1)
			require.Equal(t, ann.Order.ID, report.Paid[0].Order.ID)
			report.Paid = nil
			require.Equal(t, couponkit.SweepReport{Completed: 1}, report, "ann's session, which the copy knows")
			told := d.tell(d.pay.Redeliveries())
			require.False(t, told[ann.Session.ID].Changed)
			require.True(t, told[bob.Session.ID].Order.IsZero(), "bob's order is lost")
			record := told[bob.Session.ID].Redemption
			require.Equal(t, []any{redemption.FromPayment, "bob", ten.ID, bob.Session.ID},
				[]any{record.Origin, record.CustomerID, record.CouponID, record.SessionID})
			shown, err = d.Get(ctx, ten.ID)
			require.NoError(t, err)
			require.EqualValues(t, 2, shown.UsedCount)
			require.NoError(t, storetest.CheckInvariants(ctx, restored))

			require.Zero(t, d.ledger.Balance("cleo"), "the exchange is lost, and its points are taken")
			require.NoError(t, d.ledger.Refund(ctx, "cleo", exchange.ID))
			require.EqualValues(t, 5, d.ledger.Balance("cleo"))
		})
	}
}

func restoredStore(t *testing.T, driver, file string) *sqlstore.Store {
	t.Helper()
	db, err := openSQLite(t.Context(), driver, file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, ""))
	restored, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, restored.Close()) })
	return restored
}

// sqlLedger is a ledger of points in a table of the host's own.
type sqlLedger struct {
	on interface {
		ExecContext(ctx context.Context, statement string, arguments ...any) (sql.Result, error)
	}
}

func (l sqlLedger) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	_, err := l.on.ExecContext(ctx, "INSERT INTO ledger (customer, reservation, points) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		customerID, reservationID, points)
	return err
}

func (l sqlLedger) Refund(ctx context.Context, _, reservationID string) error {
	_, err := l.on.ExecContext(ctx, "UPDATE ledger SET points = 0 WHERE reservation = ?", reservationID)
	return err
}

// TestALedgerInTheSameFile: within a transaction of the host, a service without a ledger, or with
// one that writes beside the transaction, leaves a refund to the sweep; with one that writes in
// it, all is done with the commit.
func TestALedgerInTheSameFile(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		for at, want := range map[string]redemption.PointsState{
			"no ledger": redemption.PointsRefundDue, "beside": redemption.PointsRefundDue, "within": redemption.PointsRefunded,
		} {
			t.Run(name+" "+at, func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				s := sqliteShop(t, driver)
				opened, db := s.open(t)
				_, err := db.ExecContext(ctx, "CREATE TABLE ledger (customer TEXT, reservation TEXT PRIMARY KEY, points INTEGER)")
				require.NoError(t, err)
				impatient, err := db.Conn(ctx)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, impatient.Close()) })
				_, err = impatient.ExecContext(ctx, "PRAGMA busy_timeout = 0")
				require.NoError(t, err)
				d := newDesk(t)
				outside := couponkit.WithPoints(sqlLedger{impatient})
				d.serve(opened, outside)
				_, err = d.Create(ctx, coupon.Draft{
					Code: "ten", Name: "ten", DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(10),
					Distribution: coupon.PointsRedeemable, PointsRequired: 5,
				})
				require.NoError(t, err)
				exchange, err := d.ExchangePoints(ctx, couponkit.ExchangeRequest{Key: "x", Coupon: "ten", Customer: eligibility.Customer{ID: "cleo"}})
				require.NoError(t, err)
				d.buy("cleo")
				d.now = d.now.Add(2 * time.Hour) // the session has ended

				tx := s.begin(t, db)
				options := map[string][]couponkit.Option{
					"no ledger": nil, "beside": {outside}, "within": {couponkit.WithPoints(sqlLedger{tx})},
				}[at]
				d.serve(opened.WithTx(tx), options...)
				d.tell(d.pay.Deliveries())
				require.NoError(t, tx.Commit())
				after, err := opened.Redemption(ctx, exchange.ID)
				require.NoError(t, err)
				require.Equal(t, want, after.PointsState)

				d.serve(opened, outside)
				_, err = d.Sweep(ctx, 0)
				require.NoError(t, err)
				after, err = opened.Redemption(ctx, exchange.ID)
				require.NoError(t, err)
				require.Equal(t, redemption.PointsRefunded, after.PointsState)
				var taken int64
				require.NoError(t, impatient.QueryRowContext(ctx, "SELECT SUM(points) FROM ledger").Scan(&taken))
				require.Zero(t, taken)
			})
		}
	}
}
