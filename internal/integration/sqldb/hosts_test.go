package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

const shopOrders = "CREATE TABLE shop_orders (id VARCHAR(100) PRIMARY KEY)"

func number(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func completed(t *testing.T, s store.Store, c coupon.Coupon) int64 {
	t.Helper()
	counts, err := s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID)})
	require.NoError(t, err)
	return counts[0].Completed
}

// TestWithTxIsCommittedWithTheHost: the host's row and the use exist together or not at all.
func TestWithTxIsCommittedWithTheHost(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.immediate().connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		_, err := db.ExecContext(t.Context(), shopOrders)
		require.NoError(t, err)
		c := hotCoupon(2, 1)
		create(t, s, c)
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
			tx := d.begins(t, db)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO shop_orders VALUES ('kept')")
			require.NoError(t, err)
			view := s.WithTx(tx)
			used, err := use(t.Context(), view, c, "ann", "kept")
			require.NoError(t, err)
			require.True(t, used)
			require.EqualValues(t, 1, completed(t, view, c), "seen within the transaction")
			require.NoError(t, view.Close())
			require.NoError(t, end(tx))
			require.Equal(t, number(t, db, "SELECT COUNT(*) FROM shop_orders"), completed(t, s, c))
			require.NoError(t, storetest.Check(t.Context(), s))
		}
		require.EqualValues(t, 1, completed(t, s, c))
	})
}

// TestWithTxUndoesOnlyWhatFails: a call that is refused, also after it has written, leaves
// what the host did before, and the transaction goes on.
func TestWithTxUndoesOnlyWhatFails(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.immediate().connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		c := hotCoupon(0, 1)
		create(t, s, c)
		tx := d.begins(t, db)
		view := s.WithTx(tx)
		reserve := func(r store.Reservation) error {
			_, err := view.Reserve(t.Context(), r)
			return err
		}
		require.NoError(t, reserve(checkoutOf(c, "ann", "", "a")))
		require.ErrorIs(t, reserve(checkoutOf(c, "ann", "", "b")), store.ErrLimit)
		clash := checkoutOf(c, "bob", "", "c") // its order is new, its use is not
		clash.Uses[0].ID = "use_a"
		require.ErrorIs(t, reserve(clash), store.ErrConflict)
		_, err := view.Order(t.Context(), store.OrderKey{ID: clash.Order.ID})
		require.ErrorIs(t, err, store.ErrNotFound)
		require.NoError(t, reserve(checkoutOf(c, "bob", "", "d")))
		require.NoError(t, tx.Commit())
		page, err := s.ListUses(t.Context(), store.UseList{CouponID: c.ID})
		require.NoError(t, err)
		require.EqualValues(t, 2, page.Total)
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// TestWithTxRefusesAnOlderState: on SQLite a transaction that has read an older state cannot
// write any more.
func TestWithTxRefusesAnOlderState(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		c := hotCoupon(1, 1)
		create(t, s, c)
		tx := d.begins(t, db)
		_, err := s.WithTx(tx).LookUp(t.Context(), store.LookUp{Names: store.ByID(c.ID)})
		require.NoError(t, err)
		_, err = s.Reserve(t.Context(), checkoutOf(c, "ann", "", "other"))
		require.NoError(t, err)
		_, err = s.WithTx(tx).Reserve(t.Context(), checkoutOf(c, "bob", "", "mine"))
		require.True(t, s.Retryable(err), "got: %v", err)
	})
}

// TestWithTxOfNothing: a transaction that is nil has ended.
func TestWithTxOfNothing(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		view := d.storeOn(t, d.connect(t), sqlstore.Options{}).WithTx(nil)
		require.True(t, view.InTransaction())
		_, err := view.LookUp(t.Context(), store.LookUp{Names: store.ByID(hotCoupon(1, 1).ID)})
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = view.Reserve(t.Context(), checkoutOf(hotCoupon(1, 1), "ann", "", "1"))
		require.ErrorIs(t, err, store.ErrClosed)
		require.NoError(t, view.Close())
	})
}

// onOlderStates runs a test on MariaDB with innodb_snapshot_isolation off, and on where the
// server has it: from 11.6.2 that is the default. With it a repeatable-read transaction ends
// when it would lock a row that was changed since it began to read.
func onOlderStates(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Parallel()
	for name, value := range map[string]string{"locks": "OFF", "ends": "ON"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := databases()["mariadb"](t)
			var setting, now string
			err := d.connect(t).QueryRowContext(t.Context(), "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").Scan(&setting, &now)
			if errors.Is(err, sql.ErrNoRows) && value == "ON" {
				t.Skip("the server has no innodb_snapshot_isolation")
			}
			config, failed := mysql.ParseDSN(d.dsn)
			require.NoError(t, failed)
			if err == nil {
				config.Params = map[string]string{setting: value}
			}
			d.dsn = config.FormatDSN()
			test(t, d)
		})
	}
}

// repeatable is the default of MySQL, at which a transaction reads an older state.
var repeatable = &sql.TxOptions{Isolation: sql.LevelRepeatableRead}

// TestMariaDBHostsOfOlderStates: what others have committed since the host began to read
// counts all the same, or the host is told to begin anew.
func TestMariaDBHostsOfOlderStates(t *testing.T) {
	onOlderStates(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		last, deleted, taken := hotCoupon(1, 1), withCode("DELETED"), withCode("TAKEN")
		create(t, s, last)
		create(t, s, deleted)
		makes := func(c coupon.Coupon) func(store.Store) error {
			return func(s store.Store) error {
				_, err := s.SaveCoupon(t.Context(), store.CouponChange{Kind: store.CreateCoupon, Coupon: c, Unlimited: true, At: noon()})
				return err
			}
		}
		again := taken
		again.ID += "-again"
		event := func(kind redemption.EventKind, order string) func(store.Store) error {
			return func(s store.Store) error {
				_, err := s.Apply(t.Context(), store.Settlement{Event: redemption.Event{
					Kind: kind, At: time.Now().UTC(), OrderID: order, SessionID: "cs_" + order, Deadline: time.Now().UTC().Add(time.Hour),
				}})
				return err
			}
		}
		begins := func(order string) func(store.Store) error { return event(redemption.PaymentBegun, order) }
		orders := withCode("ORDERS")
		create(t, s, orders)
		places := func(name, replaces string) {
			r := checkoutOf(orders, "cem", "", name)
			r.Order.Replaces = replaces
			_, err := s.Reserve(t.Context(), r)
			require.NoError(t, err)
		}
		places("known", "")
		calls := []struct {
			want error
			call func(store.Store) error
		}{
			{store.ErrLimit, func(s store.Store) error {
				_, err := s.Reserve(t.Context(), checkoutOf(last, "bob", "", "mine"))
				return err
			}},
			{coupon.ErrCodeTaken, makes(again)},
			{store.ErrConflict, makes(deleted)},
			{nil, func(s store.Store) error { _, err := s.Apply(t.Context(), pay("ord_other")); return err }},
			{store.ErrPaymentOpen, begins("ord_known-next")},
			{store.ErrPaymentOpen, begins("ord_new-next")},
		}
		begin := func() *sql.Tx {
			tx, err := db.BeginTx(t.Context(), repeatable)
			require.NoError(t, err)
			t.Cleanup(func() { _ = tx.Rollback() })
			_, err = s.WithTx(tx).ListCoupons(t.Context(), store.CouponList{}) // the state that it reads from now on
			require.NoError(t, err)
			return tx
		}
		var hosts []*sql.Tx
		for range calls {
			hosts = append(hosts, begin())
		}
		create(t, s, taken)
		places("new", "")
		for _, name := range []string{"known", "new"} { // it is replaced while its payment is open
			require.NoError(t, event(redemption.SessionAttached, "ord_"+name)(s))
			places(name+"-next", "ord_"+name)
		}
		for _, r := range []store.Reservation{checkoutOf(last, "ann", "", "other"), checkoutOf(deleted, "ann", "", "stays")} {
			_, err := s.Reserve(t.Context(), r)
			require.NoError(t, err)
		}
		_, err := s.SaveCoupon(t.Context(), store.CouponChange{Kind: store.DeleteCoupon, Coupon: deleted, At: noon()})
		require.NoError(t, err)
		for i, c := range calls {
			tx := hosts[i]
			err := c.call(s.WithTx(tx))
			if s.Retryable(err) {
				require.NoError(t, tx.Rollback())
				tx = begin()
				err = c.call(s.WithTx(tx))
			}
			require.ErrorIs(t, err, c.want, "call %d", i)
			require.NoError(t, tx.Commit())
		}
		order, err := s.Order(t.Context(), store.OrderKey{ID: "ord_other"})
		require.NoError(t, err)
		require.Equal(t, redemption.OrderPaid, order.Order.State)
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

func withCode(name string) coupon.Coupon {
	c := hotCoupon(0, 0)
	c.ID, c.Code = coupon.IDPrefix+strings.ToLower(name), must(coupon.ParseCode(name))
	return c
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// TestHostsUseUpACoupon lets hosts that begin anew when they are told to use a coupon up,
// each use with a row of their own. With the transactions of the documentation nobody has to
// begin anew.
func TestHostsUseUpACoupon(t *testing.T) {
	onEach(t, func(t *testing.T, d database) { t.Helper(); require.Zero(t, hostsUseUp(t, d.immediate(), d.host())) })
}

func TestHostsUseUpACouponOnMariaDBAtRepeatableRead(t *testing.T) {
	onOlderStates(t, func(t *testing.T, d database) { t.Helper(); hostsUseUp(t, d, repeatable) })
}

func hostsUseUp(t *testing.T, d database, options *sql.TxOptions) (anew int64) {
	t.Helper()
	const hosts, each, allowed = 8, 5, 25
	db := d.connect(t)
	s := d.storeOn(t, db, sqlstore.Options{})
	_, err := db.ExecContext(t.Context(), shopOrders)
	require.NoError(t, err)
	c := hotCoupon(allowed, 1)
	create(t, s, c)
	host := func(name string) error {
		return inHost(t.Context(), db, options, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO shop_orders VALUES (?)", name); err != nil {
				return err
			}
			_, err := s.WithTx(tx).Reserve(t.Context(), checkoutOf(c, name, "", name))
			return err
		})
	}
	var begun atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, hosts)
	for i := range hosts {
		all.Go(func() {
			for n := 0; n < each && errs[i] == nil; n++ {
				name := fmt.Sprintf("host-%d-%d", i, n)
				err := host(name)
				for ; s.Retryable(err); err = host(name) {
					begun.Add(1)
				}
				if !errors.Is(err, store.ErrLimit) {
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, allowed, number(t, db, "SELECT COUNT(*) FROM shop_orders"), "the hosts' rows and the uses exist together")
	counts, err := s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID)})
	require.NoError(t, err)
	require.EqualValues(t, allowed, counts[0].Reserved)
	require.NoError(t, storetest.Check(t.Context(), s))
	return begun.Load()
}

// inHost runs calls in a transaction of the host.
func inHost(ctx context.Context, db *sql.DB, options *sql.TxOptions, calls func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := calls(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type hostCall func(ctx context.Context, s store.Store, r store.Reservation) error

// hostPair is two calls about one order, each in a transaction of a host.
type hostPair struct {
	name    string
	before  hostCall // by the store, or none
	calls   [2]hostCall
	refusal error // that one of them may be told, depending on who is first
}

func hostPairs(c coupon.Coupon) []hostPair {
	apply := func(kind redemption.EventKind) hostCall {
		return func(ctx context.Context, s store.Store, r store.Reservation) error {
			_, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{
				Kind: kind, At: r.Order.CreatedAt, OrderID: r.Order.ID, SessionID: "cs_" + r.Order.ID, Deadline: r.Order.Deadline,
			}})
			return err
		}
	}
	reserve := func(prefix string, change func(next *store.Reservation, r store.Reservation)) hostCall {
		var made atomic.Int64
		return func(ctx context.Context, s store.Store, r store.Reservation) error {
			next := checkoutOf(c, r.Order.CustomerID, prefix, fmt.Sprint(r.Order.Key, "-", made.Add(1)))
			if change != nil {
				change(&next, r)
			}
			_, err := s.Reserve(ctx, next)
			return err
		}
	}
	again := reserve("again-", func(next *store.Reservation, r store.Reservation) { next.Order.Key = r.Order.Key })
	another := reserve("another-", nil)
	handOver := reserve("next-", func(next *store.Reservation, r store.Reservation) { next.Order.Replaces = r.Order.ID })
	exchange := reserve("points-", func(next *store.Reservation, _ store.Reservation) { *next = exchangeOf(*next) })
	paid, expired, attached := apply(redemption.Paid), apply(redemption.SessionExpired), apply(redemption.SessionAttached)
	return []hostPair{
		{"a payment that is delivered twice", nil, [2]hostCall{paid, paid}, nil},
		{"an expiry that is delivered twice", nil, [2]hostCall{expired, expired}, nil},
		{"a payment beside the attachment of its session", nil, [2]hostCall{paid, attached}, nil},
		{"a payment beside the repeated checkout", nil, [2]hostCall{paid, again}, nil},
		{"a payment beside another checkout of the customer", nil, [2]hostCall{paid, another}, nil},
		{"an expiry beside another checkout of the customer", nil, [2]hostCall{expired, another}, nil},
		{"a late payment that is delivered twice", expired, [2]hostCall{paid, paid}, nil},
		{"a late payment beside another checkout of the customer", expired, [2]hostCall{paid, another}, nil},
		{"a payment of an order that was replaced, twice", handOver, [2]hostCall{paid, paid}, nil},
		{"an expiry beside a checkout that replaces the order", attached, [2]hostCall{expired, handOver}, store.ErrSuperseded},
		{"a payment beside a checkout that replaces the order", nil, [2]hostCall{paid, handOver}, store.ErrSuperseded},
		{"two checkouts that replace the order", nil, [2]hostCall{handOver, handOver}, store.ErrSuperseded},
		{"an exchange that is repeated", nil, [2]hostCall{exchange, exchange}, nil},
		{"an attachment that is repeated", nil, [2]hostCall{attached, attached}, nil},
	}
}

// exchangeOf makes a points reservation of a checkout.
func exchangeOf(r store.Reservation) store.Reservation {
	r.Order = redemption.Order{}
	u := &r.Uses[0]
	u.Key, u.OrderID, u.ExchangeID, u.Origin, u.Points, u.PointsState = "key-"+u.ID, "", u.ID, redemption.FromPoints, 5, redemption.PointsPending
	u.Deadline = u.CreatedAt.Add(time.Hour)
	return r
}

// TestHostsMeetOnMariaDB: two hosts that tell of one order at once wait for each other, and
// neither is told to begin anew. Every row is locked at once as it will be needed, always in
// one order.
func TestHostsMeetOnMariaDB(t *testing.T) {
	t.Parallel()
	const rounds = 20
	d := databases()["mariadb"](t)
	db := d.connect(t)
	s := d.storeOn(t, db, sqlstore.Options{})
	for i, c := range []coupon.Coupon{hotCoupon(1_000_000, 1000), hotCoupon(0, 1000), hotCoupon(1_000_000, 0)} {
		c.ID, c.Code = fmt.Sprint(coupon.IDPrefix, "meet-", i), must(coupon.ParseCode(fmt.Sprint("MEET-", i)))
		create(t, s, c)
		for _, pair := range hostPairs(c) {
			t.Run(fmt.Sprint(i, " ", pair.name), func(t *testing.T) {
				for round := range rounds {
					name := strings.ReplaceAll(fmt.Sprint(i, pair.name, round), " ", "-")
					r := checkoutOf(c, name, "", name)
					_, err := s.Reserve(t.Context(), r)
					require.NoError(t, err)
					if pair.before != nil {
						require.NoError(t, pair.before(t.Context(), s, r))
					}
					var calls sync.WaitGroup
					errs := make([]error, 2)
					for i, call := range pair.calls {
						calls.Go(func() {
							errs[i] = inHost(t.Context(), db, d.host(), func(tx *sql.Tx) error { return call(t.Context(), s.WithTx(tx), r) })
						})
					}
					calls.Wait()
					for _, err := range errs {
						if pair.refusal == nil || !errors.Is(err, pair.refusal) {
							require.NoError(t, err, "round %d", round)
						}
					}
				}
			})
		}
	}
	require.NoError(t, storetest.Check(t.Context(), s))
}

// lockWait finds the connection of a transaction that waits, in its part of the report.
var lockWait = regexp.MustCompile(`\nLOCK WAIT (?s:.*?) thread id (\d+),`)

// lockIsWaitedFor reports whether a transaction in the database waits for another one. The
// table innodb_trx is no use: it does not change while it is being read again and again.
func lockIsWaitedFor(t *testing.T, db *sql.DB) bool {
	t.Helper()
	var kind, name, report string
	require.NoError(t, db.QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &report))
	for transaction := range strings.SplitSeq(report, "\n---TRANSACTION ") {
		if found := lockWait.FindStringSubmatch(transaction); found != nil && number(t, db,
			"SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id = "+found[1]) > 0 {
			return true
		}
	}
	return false
}

// meanwhile begins a call while the host's transaction is open, and commits that when the call
// waits for it or has ended.
func (d database) meanwhile(t *testing.T, db *sql.DB, tx *sql.Tx, call func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	for d.dialect == sqlstore.MySQL && len(ended) == 0 && !lockIsWaitedFor(t, db) {
		runtime.Gosched()
	}
	require.NoError(t, tx.Commit())
	return <-ended
}

// TestASessionThatIsBeingGiven: a session that a host is giving to one order is refused to
// another as soon as the host has committed, and its payment is about the order that has it.
func TestASessionThatIsBeingGiven(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.immediate().connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		c := hotCoupon(0, 0)
		create(t, s, c)
		hosts := map[string]*sql.TxOptions{"the store": nil}
		if d.dialect == sqlstore.MySQL {
			hosts["a host"], hosts["a host that reads an older state"] = d.host(), repeatable
		}
		for from, options := range hosts {
			for _, kind := range []redemption.EventKind{redemption.SessionAttached, redemption.Paid, redemption.SessionExpired} {
				name := strings.ReplaceAll(fmt.Sprint(kind, " by ", from), " ", "-")
				var orders []string
				for i := range 2 {
					r := checkoutOf(c, name, "", fmt.Sprint(name, "-", i))
					orders = append(orders, r.Order.ID)
					_, err := s.Reserve(t.Context(), r)
					require.NoError(t, err)
				}
				event := func(on store.Store, kind redemption.EventKind, order string) (store.Settled, error) {
					return on.Apply(t.Context(), store.Settlement{Event: redemption.Event{
						Kind: kind, At: time.Now().UTC(), OrderID: order, SessionID: "cs_" + name, Deadline: noon(),
					}})
				}
				tx := d.begins(t, db)
				_, err := event(s.WithTx(tx), redemption.SessionAttached, orders[0])
				require.NoError(t, err)
				var settled store.Settled
				err = d.meanwhile(t, db, tx, func() (err error) {
					if options == nil {
						settled, err = event(s, kind, orders[1])
						return err
					}
					return inHost(t.Context(), db, options, func(tx *sql.Tx) (err error) {
						settled, err = event(s.WithTx(tx), kind, orders[1])
						return err
					})
				})
				if kind == redemption.SessionAttached {
					require.ErrorIs(t, err, store.ErrSuperseded, name)
					continue
				}
				require.NoError(t, err, name)
				require.Equal(t, orders[0], settled.Order.ID, name)
				other, err := s.Order(t.Context(), store.OrderKey{ID: orders[1]})
				require.NoError(t, err)
				require.Equal(t, redemption.OrderOpen, other.Order.State, name)
			}
		}
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// TestNobodyWaitsForAHostOfMariaDB: an open transaction of a host keeps nobody waiting who
// wants other rows, however few rows there are. That is so for whoever reads the journal,
// and for whoever changes a coupon.
func TestNobodyWaitsForAHostOfMariaDB(t *testing.T) {
	t.Parallel()
	d := databases()["mariadb"](t)
	db := d.connect(t)
	s := d.storeOn(t, db, sqlstore.Options{})
	c, other := withCode("MINE"), withCode("OTHER")
	other.Distribution, other.AllowedUserEmails = coupon.UserSpecific, must(coupon.NewEmailSet("ann@example.org"))
	create(t, s, c)
	tx := d.begins(t, db)
	require.NoError(t, reserving(t, s.WithTx(tx), checkoutOf(c, "ann", "", "host"))())
	_, err := s.WithTx(tx).Apply(t.Context(), pay("ord_host"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	save := func(kind store.ChangeKind, c coupon.Coupon) {
		_, err := s.SaveCoupon(ctx, store.CouponChange{Kind: kind, Coupon: c, Unlimited: c.Limits.MaxUses == 0, At: noon()})
		require.NoError(t, err)
	}
	save(store.CreateCoupon, other)
	_, err = s.Reserve(ctx, checkoutOf(other, "bob", "", "other"))
	require.NoError(t, err)
	other.Limits.MaxUses = 5 // its counter becomes one row
	save(store.EditCoupon, other)
	other.Revision++
	_, err = s.Reserve(ctx, checkoutOf(other, "cem", "", "another"))
	require.NoError(t, err)
	_, err = s.Apply(ctx, pay("ord_another"))
	require.NoError(t, err)
	save(store.DeleteCoupon, other)
	entries, err := s.Journal(ctx, 0, store.MaxJournalLimit)
	require.NoError(t, err)
	require.Len(t, entries, 7, "all but the host's")
	require.NoError(t, tx.Commit())
	require.NoError(t, storetest.Check(t.Context(), s))
}

// TestACallerMayGoFromARowOfMariaDB: a caller who leaves does not wait for a row that a host
// has locked, though the server would wait for long, and again.
func TestACallerMayGoFromARowOfMariaDB(t *testing.T) {
	t.Parallel()
	d := databases()["mariadb"](t)
	db := d.connect(t)
	s := d.storeOn(t, db, sqlstore.Options{})
	c := hotCoupon(10, 1)
	create(t, s, c)
	tx := d.begins(t, db)
	_, err := s.WithTx(tx).Reserve(t.Context(), checkoutOf(c, "ann", "", "ann"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := s.Reserve(ctx, checkoutOf(c, "bob", "", "bob"))
		gone <- err
	}()
	for len(gone) == 0 && !lockIsWaitedFor(t, db) {
		runtime.Gosched()
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.NoError(t, tx.Commit())
	_, err = s.Order(t.Context(), store.OrderKey{ID: "ord_bob"})
	require.ErrorIs(t, err, store.ErrNotFound)
}

// TestAViewEndsWithItsTransaction: a call after the host has ended its transaction is
// store.ErrClosed, and changes nothing.
func TestAViewEndsWithItsTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.immediate().connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		require.False(t, s.InTransaction())
		c := hotCoupon(2, 1)
		create(t, s, c)
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
			tx := d.begins(t, db)
			view := s.WithTx(tx)
			require.True(t, view.InTransaction())
			require.NoError(t, end(tx))
			require.ErrorIs(t, reserving(t, view, checkoutOf(c, "ann", "", "late"))(), store.ErrClosed)
			_, err := view.Order(t.Context(), store.OrderKey{ID: "ord_late"})
			require.ErrorIs(t, err, store.ErrClosed)
			_, err = view.Apply(t.Context(), pay("ord_late"))
			require.ErrorIs(t, err, store.ErrClosed)
			_, err = view.Journal(t.Context(), 0, 10)
			require.ErrorIs(t, err, store.ErrClosed)
		}
		page, err := s.ListOrders(t.Context(), store.OrderList{})
		require.NoError(t, err)
		require.Empty(t, page.Items)
	})
}
