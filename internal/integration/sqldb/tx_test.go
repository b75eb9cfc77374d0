package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// forEachDatabase runs a test on SQLite by both drivers and on MariaDB.
func forEachDatabase(t *testing.T, test func(t *testing.T, s shop)) {
	t.Helper()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sqliteShop(t, driver))
		})
	}
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, mariadbShop(t))
	})
}

// begin begins a transaction that writes.
func (s shop) begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func TestWithTxIsCommittedWithTheHost(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		_, err := db.ExecContext(t.Context(), "CREATE TABLE shop_orders (id VARCHAR(100) PRIMARY KEY)")
		require.NoError(t, err)
		c := limitedCoupon("TX", 2, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		for _, commit := range []bool{false, true} {
			name := map[bool]string{false: "undone", true: "kept"}[commit]
			tx := s.begin(t, db)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO shop_orders VALUES (?)", name)
			require.NoError(t, err)
			view := opened.WithTx(tx)
			kept, err := view.Reserve(t.Context(), checkoutOf(c, "ann", name))
			require.NoError(t, err)
			_, err = view.Settle(t.Context(), settlementOf(redemption.SessionCompleted, kept.Redemption, "cs_"+name))
			require.NoError(t, err)
			seen, err := view.Coupon(t.Context(), c.ID)
			require.NoError(t, err)
			require.EqualValues(t, 1, seen.UsedCount, "seen within the transaction")
			require.NoError(t, view.Close())
			if commit {
				require.NoError(t, tx.Commit())
			} else {
				require.NoError(t, tx.Rollback())
			}
			var rows int64
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM shop_orders").Scan(&rows))
			found, err := opened.Coupon(t.Context(), c.ID)
			require.NoError(t, err)
			require.Equal(t, rows, found.UsedCount, "the host's row and the use exist together")
		}
		require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	})
}

// A refusal or a conflict in the view leaves what the host did before.
func TestWithTxUndoesOnlyWhatFails(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		c := limitedCoupon("TX", 0, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		tx := s.begin(t, db)
		view := opened.WithTx(tx)
		_, err := view.Reserve(t.Context(), checkoutOf(c, "ann", "a"))
		require.NoError(t, err)
		_, err = view.Reserve(t.Context(), checkoutOf(c, "ann", "b"))
		require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached)
		clash := checkoutOf(c, "bob", "c") // its order is new, its redemption is not
		clash.Redemption.ID, clash.Order.ReservationID = redemption.IDPrefix+"a", redemption.IDPrefix+"a"
		_, err = view.Reserve(t.Context(), clash)
		require.ErrorIs(t, err, store.ErrConflict)
		_, err = view.Order(t.Context(), clash.Order.ID)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = view.Reserve(t.Context(), checkoutOf(c, "bob", "d"))
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		page, err := opened.ListRedemptions(t.Context(), store.RedemptionList{CouponID: c.ID})
		require.NoError(t, err)
		require.EqualValues(t, 2, page.Total)
		require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	})
}

// onOlderStates runs a test on MariaDB with innodb_snapshot_isolation off, and on where
// the server has it: from 11.6.2 that is the default. With it a repeatable-read
// transaction ends when it would lock a row that was changed since it began to read.
func onOlderStates(t *testing.T, test func(t *testing.T, s shop, ends bool)) {
	t.Helper()
	for name, ends := range map[string]bool{"locks": false, "ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mariadbShop(t)
			var setting, now string
			err := openMariaDB(t, s.dsn).QueryRowContext(t.Context(), "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").Scan(&setting, &now)
			switch {
			case errors.Is(err, sql.ErrNoRows) && ends:
				t.Skip("the server has no innodb_snapshot_isolation")
			case err == nil:
				config := must(mysql.ParseDSN(s.dsn))
				config.Params = map[string]string{setting: fmt.Sprint(ends)}
				s.dsn = config.FormatDSN()
			case !errors.Is(err, sql.ErrNoRows):
				require.NoError(t, err)
			}
			test(t, s, ends)
		})
	}
}

func (s shop) beginAt(t *testing.T, db *sql.DB, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// The host's transaction may read an older state than the one that counts: the
// default of MySQL is repeatable read. Limits are exact all the same.
func TestWithTxCountsWhatOthersHaveCommitted(t *testing.T) {
	t.Parallel()
	onOlderStates(t, func(t *testing.T, s shop, ends bool) {
		t.Helper()
		opened, db := s.open(t)
		c := limitedCoupon("TX", 1, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		tx := s.beginAt(t, db, sql.LevelRepeatableRead)
		var n int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM coupon_redemptions").Scan(&n))
		require.Zero(t, n, "the transaction has its state now")
		_, err := opened.Reserve(t.Context(), checkoutOf(c, "ann", "other"))
		require.NoError(t, err)
		_, err = opened.WithTx(tx).Reserve(t.Context(), checkoutOf(c, "bob", "mine"))
		if ends {
			require.True(t, opened.Retryable(err), "got: %v", err)
			require.NoError(t, tx.Rollback())
			_, err = opened.WithTx(s.beginAt(t, db, sql.LevelRepeatableRead)).Reserve(t.Context(), checkoutOf(c, "bob", "mine"))
		}
		require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
	})
}

// Hosts that begin anew when they are told to use a coupon up exactly, each use with a
// row of their own. At READ COMMITTED nobody has to.
func TestHostsUseUpACoupon(t *testing.T) {
	t.Parallel()
	const hosts, each, allowed = 8, 5, 25
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			onOlderStates(t, func(t *testing.T, s shop, _ bool) {
				t.Helper()
				opened, db := s.open(t)
				_, err := db.ExecContext(t.Context(), "CREATE TABLE shop_orders (id VARCHAR(100) PRIMARY KEY)")
				require.NoError(t, err)
				c := limitedCoupon("HOT", allowed, 1)
				require.NoError(t, opened.CreateCoupon(t.Context(), c))
				var kept, anew atomic.Int64
				var all sync.WaitGroup
				errs := make([]error, hosts)
				for host := range hosts {
					all.Go(func() {
						for i := 0; i < each && errs[host] == nil; i++ {
							name := customer(host*each + i)
							err := hostUses(t.Context(), opened, db, level, c, name)
							for opened.Retryable(err) {
								anew.Add(1)
								err = hostUses(t.Context(), opened, db, level, c, name)
							}
							if err == nil {
								kept.Add(1)
							} else if !errors.Is(err, coupon.ErrUsageLimitReached) {
								errs[host] = err
							}
						}
					})
				}
				all.Wait()
				require.NoError(t, errors.Join(errs...))
				require.EqualValues(t, allowed, kept.Load())
				if level == sql.LevelReadCommitted {
					require.Zero(t, anew.Load(), "transactions that were begun anew")
				}
				var rows int64
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM shop_orders").Scan(&rows))
				require.EqualValues(t, allowed, rows, "the hosts' rows and the uses exist together")
				require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
				t.Logf("%d transactions were begun anew", anew.Load())
			})
		})
	}
}

// hostUses uses the coupon in a transaction of the host.
func hostUses(ctx context.Context, s *sqlstore.Store, db *sql.DB, level sql.IsolationLevel, c coupon.Coupon, name string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO shop_orders VALUES (?)", name); err != nil {
		return err
	}
	if _, err := s.WithTx(tx).Reserve(ctx, checkoutOf(c, name, name)); err != nil {
		return err
	}
	return tx.Commit()
}

// On SQLite a transaction that has read an older state cannot write any more, and
// says so.
func TestWithTxRefusesAnOlderState(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, db := sqliteShop(t, driver).open(t)
			c := limitedCoupon("TX", 1, 1)
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback()
			_, err = opened.WithTx(tx).Coupon(t.Context(), c.ID)
			require.NoError(t, err)
			_, err = opened.Reserve(t.Context(), checkoutOf(c, "ann", "other"))
			require.NoError(t, err)
			_, err = opened.WithTx(tx).Reserve(t.Context(), checkoutOf(c, "bob", "mine"))
			require.Error(t, err)
			// It may be refused for the limit that it sees, or for its age.
			require.True(t, opened.Retryable(err), "got: %v", err)
		})
	}
}

// A transaction of the host that reads an older state has the same refusals: the code
// that was taken meanwhile, and the coupon whose redemptions stay.
func TestWithTxRefusesCouponsOfAnOlderState(t *testing.T) {
	t.Parallel()
	onOlderStates(t, func(t *testing.T, s shop, ends bool) {
		t.Helper()
		opened, db := s.open(t)
		tx := s.beginAt(t, db, sql.LevelRepeatableRead)
		view := opened.WithTx(tx)
		_, err := view.ListCoupons(t.Context(), store.CouponList{}) // the state that it reads from now on
		require.NoError(t, err)
		taken, deleted := limitedCoupon("TAKEN", 0, 0), limitedCoupon("DELETED", 0, 0)
		for _, c := range []coupon.Coupon{taken, deleted} {
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
		}
		_, err = opened.Reserve(t.Context(), checkoutOf(deleted, "ann", "stays"))
		require.NoError(t, err)
		require.NoError(t, opened.DeleteCoupon(t.Context(), deleted.ID, 1))
		taken.ID += "-again"
		require.ErrorIs(t, view.CreateCoupon(t.Context(), taken), coupon.ErrCodeTaken)
		err = view.CreateCoupon(t.Context(), deleted)
		if ends {
			require.True(t, opened.Retryable(err), "got: %v", err)
			require.NoError(t, tx.Rollback())
			err = opened.WithTx(s.beginAt(t, db, sql.LevelRepeatableRead)).CreateCoupon(t.Context(), deleted)
		}
		require.ErrorIs(t, err, store.ErrConflict)
	})
}

// One call in a batch that fails after it has written fails alone.
func TestABadCallFailsAlone(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		c := limitedCoupon("BATCH", 1_000, 0)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		_, err := opened.Reserve(t.Context(), checkoutOf(c, "ann", "first"))
		require.NoError(t, err)
		var hold *sql.Tx
		if s.dialect == sqlstore.SQLite { // so that all of them wait for one batch
			hold = s.begin(t, db)
			_, err = hold.ExecContext(t.Context(), "UPDATE couponkit_migrations SET version = version")
			require.NoError(t, err)
		}
		const calls = 30
		errs := make(chan error, calls)
		for i := range calls {
			r := checkoutOf(c, customer(i), customer(i))
			if i%10 == 5 { // its order is new, its redemption is not
				r.Redemption.ID, r.Order.ReservationID = redemption.IDPrefix+"first", redemption.IDPrefix+"first"
			}
			go func() {
				_, err := opened.Reserve(context.WithoutCancel(t.Context()), r)
				errs <- err
			}()
		}
		if hold != nil {
			time.Sleep(20 * time.Millisecond)
			require.NoError(t, hold.Rollback())
		}
		failed := 0
		for range calls {
			if err := <-errs; err != nil {
				require.ErrorIs(t, err, store.ErrConflict)
				failed++
			}
		}
		require.Equal(t, calls/10, failed)
		found, err := opened.Coupon(t.Context(), c.ID)
		require.NoError(t, err)
		require.EqualValues(t, 1+calls-failed, found.ReservedCount)
		require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	})
}

// A caller who leaves while waiting for the database changes nothing, and nobody
// else notices.
func TestACallerMayGo(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sqliteShop(t, driver)
			opened, db := s.open(t)
			c := limitedCoupon("GO", 10, 1)
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
			hold := s.begin(t, db)
			_, err := hold.ExecContext(t.Context(), "UPDATE couponkit_migrations SET version = version")
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			gone, stays := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := opened.Reserve(ctx, checkoutOf(c, "ann", "gone"))
				gone <- err
			}()
			go func() {
				_, err := opened.Reserve(t.Context(), checkoutOf(c, "bob", "stays"))
				stays <- err
			}()
			time.Sleep(20 * time.Millisecond)
			cancel()
			require.ErrorIs(t, <-gone, context.Canceled, "the caller does not wait for the lock")
			require.NoError(t, hold.Rollback())
			require.NoError(t, <-stays)
			_, err = opened.Redemption(t.Context(), redemption.IDPrefix+"gone")
			require.ErrorIs(t, err, store.ErrNotFound)
		})
	}
}

// A caller who leaves does not wait for a row that a transaction of the host has locked, on
// MariaDB, though the server would wait for long, and again.
func TestACallerMayGoFromARow(t *testing.T) {
	t.Parallel()
	s := mariadbShop(t)
	opened, db := s.open(t)
	c := limitedCoupon("GO", 10, 1)
	require.NoError(t, opened.CreateCoupon(t.Context(), c))
	host := s.begin(t, db)
	_, err := opened.WithTx(host).Reserve(t.Context(), checkoutOf(c, "ann", "ann"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := opened.Reserve(ctx, checkoutOf(c, "bob", "bob"))
		gone <- err
	}()
	for len(gone) == 0 && !lockIsWaitedFor(t, db) {
		runtime.Gosched()
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.NoError(t, host.Commit())
	_, err = opened.Redemption(t.Context(), redemption.IDPrefix+"bob")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// Somebody who keeps the write lock too long is an error that says so, and passes.
func TestABusyDatabase(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sqliteShop(t, driver)
			_, db := s.open(t)
			opened, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{BusyTimeout: 30 * time.Millisecond})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, opened.Close()) })
			c := limitedCoupon("BUSY", 10, 1)
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
			hold := s.begin(t, db)
			_, err = hold.ExecContext(t.Context(), "UPDATE couponkit_migrations SET version = version")
			require.NoError(t, err)
			_, err = opened.Reserve(t.Context(), checkoutOf(c, "ann", "a"))
			require.True(t, opened.Retryable(err), "got: %v", err)
			require.NoError(t, hold.Rollback())
			_, err = opened.Reserve(t.Context(), checkoutOf(c, "ann", "a"))
			require.NoError(t, err)
		})
	}
}

// A database in memory has one connection, which the store shares with the host.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open(driver, "file::memory:")
			require.NoError(t, err)
			db.SetMaxOpenConns(1)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, ""))
			opened, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, opened.Close()) })
			exhaust(t, opened, 300, 100)
			require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
		})
	}
}

// An allow-list of a hundred thousand addresses is not moved for one look-up.
func TestLookUpNarrowsTheAllowList(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		addresses := make([]string, 20_000)
		for i := range addresses {
			addresses[i] = customer(i) + "@example.org"
		}
		c := limitedCoupon("LIST", 0, 1)
		c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, must(coupon.NewEmailSet(addresses...))
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		for email, allowed := range map[string]bool{" Customer-19999@EXAMPLE.org ": true, "eve@example.org": false, "\xff": false, "": false} {
			found, err := opened.LookUp(t.Context(), store.LookUp{Code: c.Code, Email: email})
			require.NoError(t, err)
			got := found.Coupon.AllowedUserEmails
			require.Equal(t, allowed, got.Has(email), email)
			require.Equal(t, len(addresses), got.Len())
			held := 0
			for range got.All() {
				held++
			}
			require.LessOrEqual(t, held, 1, "addresses that were moved")
		}
		whole, err := opened.Coupon(t.Context(), c.ID)
		require.NoError(t, err)
		if diff := cmp.Diff(c.AllowedUserEmails, whole.AllowedUserEmails); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
		whole.AllowedUserEmails = whole.AllowedUserEmails.Narrow("")
		whole.Name = "Edited"
		updated, err := opened.UpdateCoupon(t.Context(), whole)
		require.NoError(t, err)
		require.Equal(t, len(addresses), updated.AllowedUserEmails.Len())
		require.False(t, updated.AllowedUserEmails.Narrowed())
	})
}

// Earlier builds stored the digest of one address beside a list of several, and then took
// that address for the whole list.
func TestAnAllowListWithTheDigestOfOneAddressIsReplaced(t *testing.T) {
	t.Parallel()
	both, ann := must(coupon.NewEmailSet("ann@example.org", "bob@example.org")), must(coupon.NewEmailSet("ann@example.org"))
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		for _, told := range []int{2, 1} { // before and after an update that named the address alone
			c, other := limitedCoupon(fmt.Sprintf("BOTH%d", told), 0, 1), limitedCoupon(fmt.Sprintf("ANN%d", told), 0, 1)
			c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, both
			other.Distribution, other.AllowedUserEmails = coupon.UserSpecific, ann
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
			require.NoError(t, opened.CreateCoupon(t.Context(), other))
			var digest string
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT emails_digest FROM coupons WHERE id = ?", other.ID).Scan(&digest))
			_, err := db.ExecContext(t.Context(), "UPDATE coupons SET emails_digest = ?, allowed_emails = ? WHERE id = ?", digest, told, c.ID)
			require.NoError(t, err)
			c.AllowedUserEmails = ann
			updated, err := opened.UpdateCoupon(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, ann.Slice(), updated.AllowedUserEmails.Slice())
			found, err := opened.LookUp(t.Context(), store.LookUp{CouponID: c.ID, Email: "bob@example.org"})
			require.NoError(t, err)
			require.False(t, found.Coupon.AllowedUserEmails.Has("bob@example.org"))
		}
	})
}

func TestTheDatabaseHoldsTheLimitsThatItCan(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		c := limitedCoupon("CHECK", 5, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		for i, name := range []string{"a", "b"} {
			ok, err := use(t.Context(), opened, c, customer(i), name)
			require.NoError(t, err)
			require.True(t, ok)
		}
		for what, statement := range map[string]string{
			"a limit of 0":                     "UPDATE coupons SET max_uses = 0",
			"no code":                          "UPDATE coupons SET code = ''",
			"a percentage above 100":           "UPDATE coupons SET percent_off = 1000001",
			"an unknown state":                 "UPDATE coupons SET state = 'open'",
			"a count below 0":                  "UPDATE coupon_counts SET completed = -1",
			"two completed for one session":    "UPDATE coupon_redemptions SET session_id = 'cs_a'",
			"completed without a session":      "UPDATE coupon_redemptions SET session_id = ''",
			"completed and not yet":            "UPDATE coupon_redemptions SET state = 'reserved'",
			"two exchanges with one key":       "UPDATE coupon_redemptions SET customer_id = 'x', idempotency_key = 'k', origin = 'points', points = 1, points_state = 'debited'",
			"two orders with one key":          "UPDATE orders SET customer_id = 'x', idempotency_key = 'k'",
			"an order with an unknown state":   "UPDATE orders SET state = 'lost'",
			"a coupon order without a reserve": "UPDATE orders SET reservation_id = ''",
		} {
			_, err := db.ExecContext(t.Context(), statement)
			require.Error(t, err, what)
		}
		if s.dialect == sqlstore.MySQL { // SQLite has the keys of checkouts in the index of orders
			_, err := db.ExecContext(t.Context(), "UPDATE coupon_redemptions SET customer_id = 'x', idempotency_key = 'k'")
			require.Error(t, err, "two uses of a key")
		}
		require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	})
}

func TestMigrateAtOnceAndAgain(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		db := s.connect(t)
		errs := make(chan error, 6)
		for range cap(errs) {
			go func() { errs <- sqlstore.Migrate(context.WithoutCancel(t.Context()), db, s.dialect, "p_") }()
		}
		for range cap(errs) {
			require.NoError(t, <-errs)
		}
		opened, err := sqlstore.New(db, s.dialect, sqlstore.Options{TablePrefix: "p_"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("A", 0, 0)))
		require.NoError(t, sqlstore.Migrate(t.Context(), db, s.dialect, "p_"))
		_, err = opened.Coupon(t.Context(), coupon.IDPrefix+"A")
		require.NoError(t, err)
	})
}

// TestReadiness: New asks nothing of the database. To look for an order that nobody has shows
// whether the tables are there and the database answers.
func TestReadiness(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		db := s.connect(t)
		opened, err := sqlstore.New(db, s.dialect, sqlstore.Options{})
		require.NoError(t, err)
		look := func() error { _, err := opened.Order(t.Context(), "ord_ready"); return err }
		require.Error(t, look())
		require.NotErrorIs(t, look(), store.ErrNotFound, "there are no tables")
		require.NoError(t, sqlstore.Migrate(t.Context(), db, s.dialect, ""))
		require.ErrorIs(t, look(), store.ErrNotFound)
		require.NoError(t, db.Close())
		require.NotErrorIs(t, look(), store.ErrNotFound, "there is no database")
		require.NoError(t, opened.Close())
		require.ErrorIs(t, look(), store.ErrClosed)
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sqlstore.Options{
		"prefix": {TablePrefix: "a-b"}, "batch": {MaxBatch: -1}, "timeout": {BusyTimeout: -1}, "synchronous": {Synchronous: 9},
	} {
		_, err := sqlstore.New(nil, sqlstore.SQLite, o)
		require.ErrorIs(t, err, pricing.ErrInvalid, name)
	}
	_, err := sqlstore.New(nil, 0, sqlstore.Options{})
	require.ErrorIs(t, err, pricing.ErrInvalid)
}
