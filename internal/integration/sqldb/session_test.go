package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// bringing is a call that brings the redemption of a reservation a session.
type bringing struct {
	name   string
	stored bool // the reservation is there before
	call   func(ctx context.Context, s store.Store, r store.Reservation, session string) error
}

func bringings() []bringing {
	return []bringing{
		{"attach", true, func(ctx context.Context, s store.Store, r store.Reservation, session string) error {
			_, err := s.AttachSession(ctx, store.Attachment{
				OrderID: r.Order.ID, SessionID: session, SessionURL: "https://pay.example", Deadline: noon(), At: noon(),
			})
			return err
		}},
		{"transition", true, func(ctx context.Context, s store.Store, r store.Reservation, session string) error {
			_, err := s.Transition(ctx, r.Redemption.ID, redemption.Event{
				Kind: redemption.SessionAttached, At: noon(), SessionID: session, OrderID: r.Order.ID, Deadline: noon(),
			})
			return err
		}},
		{"reserve", false, func(ctx context.Context, s store.Store, r store.Reservation, session string) error {
			r.Redemption.SessionID = session
			_, err := s.Reserve(ctx, r)
			return err
		}},
	}
}

// meeting is two reservations that are to have one session.
type meeting struct {
	opened   *sqlstore.Store
	db       *sql.DB
	session  string
	requests [2]store.Reservation
}

// meets stores the reservations of the calls that need them stored.
func (s shop) meets(t *testing.T, opened *sqlstore.Store, db *sql.DB, name string, calls ...bringing) meeting {
	t.Helper()
	c, err := opened.Coupon(t.Context(), "cpn_MEET")
	require.NoError(t, err)
	m := meeting{opened: opened, db: db, session: "cs " + name}
	for i, by := range calls {
		m.requests[i] = checkoutOf(c, customer(i), fmt.Sprint(name, " ", i))
		if by.stored {
			_, err := opened.Reserve(t.Context(), m.requests[i])
			require.NoError(t, err)
		}
	}
	return m
}

// while lets a transaction of the host give the session to the first one, and commits it
// when the call, which began meanwhile, waits for it or has ended.
func (m meeting) while(t *testing.T, s shop, holder bringing, call func() error) error {
	t.Helper()
	host := s.begin(t, m.db)
	require.NoError(t, holder.call(t.Context(), m.opened.WithTx(host), m.requests[0], m.session))
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	for s.dialect == sqlstore.MySQL && len(ended) == 0 && !lockIsWaitedFor(t, m.db) {
		runtime.Gosched()
	}
	require.NoError(t, host.Commit())
	return <-ended
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
		found := lockWait.FindStringSubmatch(transaction)
		if found == nil {
			continue
		}
		var here bool
		require.NoError(t, db.QueryRowContext(t.Context(),
			"SELECT EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = ? AND db = DATABASE())", found[1]).Scan(&here))
		if here {
			return true
		}
	}
	return false
}

// caller is from where a call comes.
type caller func(ctx context.Context, call func(store.Store) error) error

// callers are the store and, where they do not wait for each other's whole transactions,
// hosts at the levels.
func (s shop) callers(opened *sqlstore.Store, db *sql.DB, levels ...sql.IsolationLevel) map[string]caller {
	callers := map[string]caller{
		"the store": func(_ context.Context, call func(store.Store) error) error { return call(opened) },
	}
	if s.dialect == sqlstore.SQLite {
		return callers
	}
	for _, level := range levels {
		callers["a host, "+level.String()] = func(ctx context.Context, call func(store.Store) error) error {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := call(opened.WithTx(tx)); err != nil {
				return err
			}
			return tx.Commit()
		}
	}
	return callers
}

// A session that is being given to one redemption is refused to another as soon as that
// is committed, in the words of a refusal that was found by looking.
func TestASessionThatIsBeingGiven(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("MEET", 0, 0)))
		for from, as := range s.callers(opened, db, sql.LevelReadCommitted, sql.LevelRepeatableRead) {
			for _, holder := range bringings() {
				for _, second := range bringings() {
					name := fmt.Sprintf("%s, then %s by %s", holder.name, second.name, from)
					m := s.meets(t, opened, db, name, holder, second)
					call := func() error {
						return as(t.Context(), func(from store.Store) error { return second.call(t.Context(), from, m.requests[1], m.session) })
					}
					err := m.while(t, s, holder, call)
					require.ErrorIs(t, err, store.ErrSuperseded, name)
					require.EqualError(t, call(), err.Error(), name)
					require.Equal(t, []string{m.requests[0].Redemption.ID}, owners(t, db, m.session), name)
				}
			}
		}
		require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	})
}

// The payment of a session that is being given to another redemption than the one that it
// names is that one's, as it is a moment later.
func TestAPaymentOfASessionThatIsBeingGiven(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("MEET", 0, 0)))
		for from, as := range s.callers(opened, db, sql.LevelReadCommitted, sql.LevelRepeatableRead) {
			for _, holder := range bringings() {
				name := fmt.Sprintf("%s, then a payment by %s", holder.name, from)
				m := s.meets(t, opened, db, name, holder, bringing{stored: true})
				payment := settlementOf(redemption.SessionCompleted, m.requests[1].Redemption, m.session)
				var settled store.Settled
				require.NoError(t, m.while(t, s, holder, func() error {
					return as(t.Context(), func(from store.Store) (err error) {
						settled, err = from.Settle(t.Context(), payment)
						return err
					})
				}), name)
				got := []string{settled.Redemption.ID, settled.Redemption.State.String()}
				if diff := cmp.Diff([]string{m.requests[0].Redemption.ID, "completed"}, got); diff != "" {
					t.Errorf("%s: whose payment it is (-want +got):\n%s", name, diff)
				}
				require.Equal(t, got[:1], owners(t, db, m.session), name)
			}
		}
	})
}

// An event that does not name the reservation is about the one that is being given the
// session, and not about its order alone.
func TestAnEventOfASessionThatIsBeingGiven(t *testing.T) {
	t.Parallel()
	s := mariadbShop(t)
	opened, db := s.open(t)
	require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("MEET", 0, 0)))
	for from, as := range s.callers(opened, db, sql.LevelReadCommitted, sql.LevelRepeatableRead) {
		for _, event := range []struct {
			kind redemption.EventKind
			want []string
		}{
			{redemption.SessionExpired, []string{"released", "cancelled"}},
			{redemption.PaymentFailed, []string{"released", "cancelled"}},
			{redemption.SessionUnpaid, []string{"reserved", "awaiting_payment"}},
			{redemption.SessionCompleted, []string{"completed", "paid"}},
		} {
			name := fmt.Sprintf("%s by %s", event.kind, from)
			m := s.meets(t, opened, db, name, bringings()[0])
			told := settlementOf(event.kind, m.requests[0].Redemption, m.session).Event
			var settled store.Settled
			require.NoError(t, m.while(t, s, bringings()[0], func() error {
				return as(t.Context(), func(from store.Store) (err error) {
					settled, err = from.Settle(t.Context(), store.Settlement{Event: told})
					return err
				})
			}), name)
			if diff := cmp.Diff(event.want, []string{settled.Redemption.State.String(), settled.Order.State.String()}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			stored, err := opened.Redemption(t.Context(), m.requests[0].Redemption.ID)
			require.NoError(t, err)
			if diff := cmp.Diff(settled.Redemption, stored); diff != "" {
				t.Errorf("%s: redemption (-told +stored):\n%s", name, diff)
			}
		}
	}
	require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
}

// Many pairs of calls that each come with one session, by the store or in transactions of
// hosts: one of each pair brings it to its redemption, and a payment settles whichever has
// it. What is told to begin anew does. At REPEATABLE READ hosts that look for sessions next
// to each other lock the gap between them, and would mostly begin anew.
func TestPairsRaceForASession(t *testing.T) {
	t.Parallel()
	const pairs = 40
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		db.SetMaxOpenConns(16)
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("MEET", 0, 0)))
		for from, as := range s.callers(opened, db, sql.LevelReadCommitted) {
			for _, second := range append(bringings(), paying()) {
				meetings, errs := make([]meeting, pairs), make([]error, 2*pairs)
				calls := [2]bringing{bringings()[0], second}
				for i := range meetings {
					meetings[i] = s.meets(t, opened, db, fmt.Sprint(from, " ", second.name, " ", i), calls[:]...)
				}
				var running sync.WaitGroup
				for i := range errs {
					running.Go(func() {
						m := meetings[i/2]
						call := func(from store.Store) error {
							return calls[i%2].call(context.WithoutCancel(t.Context()), from, m.requests[i%2], m.session)
						}
						errs[i] = as(context.WithoutCancel(t.Context()), call)
						for opened.Retryable(errs[i]) {
							errs[i] = as(context.WithoutCancel(t.Context()), call)
						}
					})
				}
				running.Wait()
				for i, m := range meetings {
					require.Len(t, owners(t, db, m.session), 1, "%v", errs[2*i:2*i+2])
					refused := errors.Join(errs[2*i : 2*i+2]...)
					if second.name == "pay" {
						require.NoError(t, errs[2*i+1], from)
					}
					if second.name != "pay" || refused != nil {
						require.ErrorIs(t, refused, store.ErrSuperseded, from)
					}
				}
			}
		}
	})
}

// paying is the payment of a session that names a redemption which has none.
func paying() bringing {
	return bringing{"pay", true, func(ctx context.Context, s store.Store, r store.Reservation, session string) error {
		_, err := s.Settle(ctx, settlementOf(redemption.SessionCompleted, r.Redemption, session))
		return err
	}}
}

// owners are the redemptions that have the session.
func owners(t *testing.T, db *sql.DB, session string) (ids []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT id FROM coupon_redemptions WHERE session_id = ? ORDER BY id", session)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}

// A database in which redemptions share a session, as processes of before could leave it,
// is migrated, from wherever an earlier attempt was interrupted. They keep the session, no
// other redemption gets it, and what they get later is theirs alone.
func TestUpgradeWithASharedSession(t *testing.T) {
	t.Parallel()
	steps, err := sqlstore.Migrations(sqlstore.MySQL, "")
	require.NoError(t, err)
	for done := range len(steps[1].Statements) + 1 {
		t.Run(fmt.Sprintf("after %d statements", done), func(t *testing.T) {
			t.Parallel()
			s := mariadbShop(t)
			db := openMariaDB(t, s.dsn)
			// Step 3 adds a column that today's store writes; it can be repeated.
			runOn(t, db, slices.Concat(steps[0].Statements, steps[2].Statements, []string{
				"CREATE TABLE couponkit_migrations (version INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL)",
				"INSERT INTO couponkit_migrations VALUES (1, 'tables')",
			}))
			before, err := sqlstore.New(db, sqlstore.MySQL, sqlstore.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, before.Close()) })
			c := limitedCoupon("SHARED", 0, 0)
			require.NoError(t, before.CreateCoupon(t.Context(), c))
			for i, name := range []string{"a", "b", "c", "free", "later"} {
				_, err := before.Reserve(t.Context(), checkoutOf(c, customer(i), name))
				require.NoError(t, err)
			}
			share := "UPDATE coupon_redemptions SET session_id = '%s' WHERE id IN ('rsv_a', 'rsv_b', 'rsv_c')"
			runOn(t, db, []string{fmt.Sprintf(share, "cs_shared")})
			runOn(t, db, steps[1].Statements[:done])

			opened, _ := s.open(t) // migrates
			require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.MySQL, ""))
			sharing := []string{"rsv_a", "rsv_b", "rsv_c"}
			require.Equal(t, sharing, owners(t, db, "cs_shared"))
			for _, by := range bringings()[:2] {
				require.ErrorIs(t, by.call(t.Context(), opened, checkoutOf(c, "", "free"), "cs_shared"), store.ErrSuperseded, by.name)
			}
			paid := settlementOf(redemption.SessionCompleted, checkoutOf(c, customer(1), "b").Redemption, "cs_shared")
			for range 2 {
				settled, err := opened.Settle(t.Context(), paid)
				require.NoError(t, err)
				require.Equal(t, redemption.Completed, settled.Redemption.State)
			}
			require.Equal(t, sharing, owners(t, db, "cs_shared"))
			_, err = db.ExecContext(t.Context(), "UPDATE coupon_redemptions SET session_id = 'cs_shared' WHERE id = 'rsv_free'")
			require.ErrorContains(t, err, "1062", "a session that others share")
			_, err = db.ExecContext(t.Context(), "UPDATE coupon_redemptions SET session_id = 'cs_later' WHERE id IN ('rsv_b', 'rsv_later')")
			require.ErrorContains(t, err, "1062", "another session of one that shares")
		})
	}
}

// runOn runs the statements on a connection that nobody has used and nobody uses again.
func runOn(t *testing.T, db *sql.DB, statements []string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	for _, statement := range statements {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
	require.ErrorIs(t, conn.Close(), sql.ErrConnDone)
}

// What a call returns beside its error is no record, lest it be taken for what is stored.
func TestATransitionThatIsRefusedReturnsNoRecord(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		c := limitedCoupon("REFUSED", 0, 0)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		reserved := must(opened.Reserve(t.Context(), checkoutOf(c, "ann", "refused")))
		for what, e := range map[string]redemption.Event{
			"an illegal event":             {Kind: redemption.Cancelled, At: noon(), SessionID: "another session"},
			"a session that is no text":    {Kind: redemption.SessionAttached, At: noon(), SessionID: "\x00", OrderID: reserved.Order.ID},
			"an event without an instant":  {Kind: redemption.Cancelled},
			"an event that is a session's": {Kind: redemption.SessionExpired, At: noon(), OrderID: reserved.Order.ID},
		} {
			got, err := opened.Transition(t.Context(), reserved.Redemption.ID, e)
			require.Error(t, err, what)
			if diff := cmp.Diff(redemption.Redemption{}, got); diff != "" {
				t.Errorf("%s: the record beside the error (-want +got):\n%s", what, diff)
			}
		}
	})
}
