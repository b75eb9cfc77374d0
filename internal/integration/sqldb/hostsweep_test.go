package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// sweepInto sweeps within a transaction of the host, and notes what was paid there.
func (d *desk) sweepInto(ctx context.Context, tx *sql.Tx, view store.Store) couponkit.SweepReport {
	d.serve(view, couponkit.WithPoints(&d.ledger))
	report, err := d.Sweep(ctx, 0)
	require.NoError(d.t, err)
	for _, paid := range report.Paid {
		_, err := tx.ExecContext(ctx, "INSERT INTO shipments VALUES (?)", paid.Order.ID)
		require.NoError(d.t, err)
	}
	return report
}

// TestASweepIsCommittedWithTheHost: a host that dies after the sweep and before its own commit
// has lost nothing. The next sweep finds the same payment and the same abandoned checkout.
func TestASweepIsCommittedWithTheHost(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		ctx := t.Context()
		opened, db := s.open(t)
		_, err := db.ExecContext(ctx, "CREATE TABLE shipments (order_id VARCHAR(100) PRIMARY KEY)")
		require.NoError(t, err)
		d := newDesk(t)
		d.serve(opened)
		c := d.create("ten")
		bought, abandoned := d.buy("ann"), d.buy("bob")
		require.NoError(t, d.pay.Pay(bought.Session.ID)) // and its event never comes
		d.now = d.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)

		told := func(report couponkit.SweepReport) []string {
			ids := []string{}
			for _, paid := range report.Paid {
				require.Equal(t, store.OrderPaid, paid.Order.State)
				ids = append(ids, paid.Order.ID)
			}
			require.Equal(t, len(ids), report.Released, "of a paid and an abandoned checkout")
			return ids
		}
		life, die := context.WithCancel(ctx)
		dying, err := db.BeginTx(life, nil)
		require.NoError(t, err)
		require.Equal(t, []string{bought.Order.ID}, told(d.sweepInto(ctx, dying, opened.WithTx(dying))))
		die() // its connection ends, and with it the transaction
		require.Eventually(t, func() bool { return errors.Is(dying.Commit(), sql.ErrTxDone) }, time.Minute, time.Millisecond)
		order, err := opened.Order(ctx, bought.Order.ID)
		require.NoError(t, err)
		require.Equal(t, store.OrderOpen, order.State, "nothing is recorded that the host has not committed")

		for _, want := range [][]string{{bought.Order.ID}, {}} {
			tx := s.begin(t, db)
			require.Equal(t, want, told(d.sweepInto(ctx, tx, opened.WithTx(tx))))
			require.NoError(t, tx.Commit())
		}
		var shipped string
		require.NoError(t, db.QueryRowContext(ctx, "SELECT order_id FROM shipments").Scan(&shipped))
		require.Equal(t, bought.Order.ID, shipped)
		released, err := opened.Redemption(ctx, abandoned.Order.ReservationID)
		require.NoError(t, err)
		require.Equal(t, redemption.Released, released.State)
		stored, err := opened.Coupon(ctx, c.ID)
		require.NoError(t, err)
		require.EqualValues(t, 1, stored.UsedCount)
		require.NoError(t, storetest.CheckInvariants(ctx, opened))
	})
}
