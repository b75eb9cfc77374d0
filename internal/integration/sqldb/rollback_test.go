package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var errRolledBack = errors.New("the host rolls its transaction back")

// rollingHost is a host with tables of its own. It rolls one of its transactions back, at a point, and
// then does the same again with the same keys.
type rollingHost struct {
	*desk
	on    database
	db    *sql.DB
	store *sqlstore.Store
	at    int // the point
	point int // that was reached last
}

// reaches is a point inside a transaction, after a call or a statement.
func (h *rollingHost) reaches() error {
	if h.point++; h.point == h.at {
		return errRolledBack
	}
	return nil
}

// again does something until it is not rolled back, and its outcome is known.
func (h *rollingHost) again(do func() error) {
	h.t.Helper()
	err := do()
	for errors.Is(err, errRolledBack) || errors.Is(err, couponkit.ErrUnavailable) {
		err = do()
	}
	require.NoError(h.t, err)
}

// within runs calls and statements in a transaction of the host.
func (h *rollingHost) within(do func(ctx context.Context, tx *sql.Tx, s *couponkit.Service) error) error {
	h.t.Helper()
	ctx := h.t.Context()
	tx := h.on.begins(h.t, h.db)
	outside := h.Service
	h.serve(h.store.WithTx(tx), couponkit.WithPoints(&h.ledger))
	inside := h.Service
	h.Service = outside
	err := h.reaches()
	if err == nil {
		err = do(ctx, tx, inside)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// note is a statement of the host about an order.
func (h *rollingHost) note(ctx context.Context, tx *sql.Tx, what, orderID string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO notes VALUES (?, ?)", orderID, what)
	return errors.Join(err, h.reaches())
}

// buys opens a payment session and notes its order. A transaction opens none.
func (h *rollingHost) buys(customer, code string) (bought couponkit.Checkout) {
	request := couponkit.CheckoutRequest{Key: customer, Cart: shopCart(), Customer: eligibility.Customer{ID: customer}}
	if code != "" {
		request.Codes = []string{code}
	}
	h.again(func() (err error) {
		if bought, err = h.Checkout(h.t.Context(), request); err != nil {
			return err
		}
		return h.within(func(ctx context.Context, tx *sql.Tx, s *couponkit.Service) error {
			_, err := s.Checkout(ctx, request)
			require.ErrorIs(h.t, err, couponkit.ErrInTransaction)
			return h.note(ctx, tx, "bought", bought.Order.ID)
		})
	})
	return bought
}

// hears handles all events of the processor.
func (h *rollingHost) hears() {
	for _, d := range h.pay.Deliveries() {
		event, err := h.pay.ParseEvent(d.Payload, d.Signature)
		require.NoError(h.t, err)
		h.again(func() error {
			return h.within(func(ctx context.Context, tx *sql.Tx, s *couponkit.Service) error {
				o, err := s.HandleEvent(ctx, event)
				if err = errors.Join(err, h.reaches()); err != nil || !o.Changed || event.Type != processor.Completed {
					return err
				}
				return h.note(ctx, tx, "paid "+string(o.Flag), o.Order.ID)
			})
		})
	}
}

// sweeps notes what a sweep finds paid.
func (h *rollingHost) sweeps() {
	h.again(func() error {
		return h.within(func(ctx context.Context, tx *sql.Tx, s *couponkit.Service) error {
			report, err := s.Sweep(ctx, 0)
			err = errors.Join(err, h.reaches())
			for _, o := range report.Paid {
				err = errors.Join(err, h.note(ctx, tx, "paid "+string(o.Flag), o.Order.ID))
			}
			return err
		})
	})
}

// refunds returns one unit by the processor and one in cash.
func (h *rollingHost) refunds(orderID string) {
	one := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
	byProcessor := couponkit.RefundRequest{OrderID: orderID, Key: "one", Returns: one}
	cash := couponkit.RefundRequest{OrderID: orderID, Key: "cash", Returns: one, Elsewhere: true}
	h.again(func() error {
		if _, err := h.Refund(h.t.Context(), byProcessor); err != nil {
			return err
		}
		return h.within(func(ctx context.Context, tx *sql.Tx, s *couponkit.Service) error {
			_, err := s.Refund(ctx, byProcessor)
			require.ErrorIs(h.t, err, couponkit.ErrInTransaction)
			_, err = s.Refund(ctx, cash)
			if err = errors.Join(err, h.reaches()); err != nil {
				return err
			}
			return h.note(ctx, tx, "credit note", orderID)
		})
	})
}

// TestWhateverIsRolledBackMoneyMovesOnce: the host rolls back at every point of its transactions, and
// repeats with the same keys. The processor is paid once for each order and returns each refund once,
// the ledger debits and refunds points once, and the host's rows agree with the store.
func TestWhateverIsRolledBackMoneyMovesOnce(t *testing.T) {
	t.Parallel()
	for _, name := range sqlites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := dayOf(t, databases()[name](t), 0)
			require.Greater(t, points, 20)
			for at := 1; at <= points; at++ {
				require.Greater(t, dayOf(t, databases()[name](t), at), points, "point %d", at)
			}
		})
	}
}

// dayOf is a day of a host with a rollback at the point, and returns how many points there were.
func dayOf(t *testing.T, on database, at int) int {
	t.Helper()
	ctx := t.Context()
	h := &rollingHost{desk: newDesk(t), on: on.immediate(), at: at}
	h.db = h.on.connect(t)
	h.store = on.storeOn(t, h.db, sqlstore.Options{})
	_, err := h.db.ExecContext(ctx, "CREATE TABLE notes (order_id TEXT, what TEXT, PRIMARY KEY (order_id, what))")
	require.NoError(t, err)
	h.serve(h.store, couponkit.WithPoints(&h.ledger))
	ten, points := h.create("ten", 0), h.create("points", 5)
	h.ledger.Credit("cleo", 5)
	h.exchange(points.ID)

	ann, bob, plain, cleo := h.buys("ann", "ten"), h.buys("bob", "ten"), h.buys("dan", ""), h.buys("cleo", "points")
	for _, c := range []couponkit.Checkout{ann, bob, plain} {
		require.NoError(t, h.pay.Pay(c.Session.ID))
	}
	lost := h.pay.Deliveries() // bob's event is lost, and so is the order of a session that is paid
	request, err := h.pay.Request(plain.Session.ID)
	require.NoError(t, err)
	request.Key, request.OrderID = "lost", "ord_lost"
	request.Metadata[processor.MetadataOrderID] = request.OrderID
	forgotten, err := h.pay.CreateSession(ctx, request)
	require.NoError(t, err)
	require.NoError(t, h.pay.Pay(forgotten.ID))
	h.hears()
	for _, d := range lost {
		if d.SessionID != bob.Session.ID {
			require.NoError(t, h.pay.Repeat(d.SessionID))
		}
	}
	h.hears()
	h.pay.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.LostAfter, Times: 1})
	h.refunds(ann.Order.ID)
	h.now = h.now.Add(2 * time.Hour) // cleo's session has ended
	h.sweeps()
	h.hears()
	_, err = h.Sweep(ctx, 0) // points are given back outside of the host's transactions
	require.NoError(t, err)
	h.hears()

	sessions := h.pay.Sessions()
	require.Len(t, sessions, 5, "one for each order")
	for id, want := range map[string]struct {
		state redemption.OrderState
		flag  couponkit.Flag
	}{
		ann.Order.ID:   {redemption.OrderPartlyRefunded, ""},
		bob.Order.ID:   {redemption.OrderPaid, ""},
		plain.Order.ID: {redemption.OrderPaid, ""},
		cleo.Order.ID:  {redemption.OrderCancelled, ""},
		"ord_lost":     {redemption.OrderPaid, couponkit.FlagUnknownOrder},
	} {
		o, err := h.store.Order(ctx, store.OrderKey{ID: id})
		require.NoError(t, err)
		require.Equal(t, want.state, o.Order.State, id)
		require.Equal(t, want.flag, couponkit.FlagOf(o), id)
		require.Empty(t, o.Order.ExternalRefunds, id)
		require.Empty(t, o.Order.OtherPayments, id)
		told, err := h.pay.Refunds(ctx, o.Order.SessionID)
		require.NoError(t, err)
		if want.state != redemption.OrderPartlyRefunded {
			require.Empty(t, told.Refunds, id)
			continue
		}
		require.Len(t, o.Order.Refunds, 2)
		byProcessor, recorded := o.Order.RefundOf("one")
		require.True(t, recorded)
		require.Len(t, told.Refunds, 1, "the money goes back once")
		require.Equal(t, byProcessor.Result.Amount, told.Refunds[0].Amount)
	}
	require.EqualValues(t, 2, completed(t, h.store, ten))
	require.EqualValues(t, 5, h.ledger.Balance("cleo"))
	require.EqualValues(t, 4, number(t, h.db, "SELECT COUNT(*) FROM notes WHERE what = 'bought'"))
	require.EqualValues(t, 3, number(t, h.db, "SELECT COUNT(*) FROM notes WHERE what = 'paid '"))
	require.EqualValues(t, 1, number(t, h.db, "SELECT COUNT(*) FROM notes WHERE what = 'paid unknown_order'"))
	require.EqualValues(t, 1, number(t, h.db, "SELECT COUNT(*) FROM notes WHERE what = 'credit note'"))
	require.NoError(t, storetest.Check(ctx, h.store))
	return h.point
}
