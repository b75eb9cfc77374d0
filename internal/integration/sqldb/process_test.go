package sqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// workVariable makes the test binary a worker process; see [work].
const workVariable = "COUPONKIT_SQLDB_NEXT_WORK"

// work is what a worker process does: it uses a coupon, and gives up every third of its
// transactions after it has written in it.
type work struct {
	Driver, DSN string
	Dialect     sqlstore.Dialect
	Name        string
	Attempts    int
}

// runWorker is the main function of a worker process.
func runWorker(text string) error {
	var w work
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	db, err := sql.Open(w.Driver, w.DSN)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(16)
	ctx := context.Background()
	s, err := sqlstore.New(ctx, db, w.Dialect, sqlstore.Options{})
	if err != nil {
		return err
	}
	err = w.run(ctx, db, s)
	return errors.Join(err, s.Close(), db.Close())
}

func (w work) run(ctx context.Context, db *sql.DB, s *sqlstore.Store) error {
	c := hotCoupon(0, 1)
	errs := make([]error, 8)
	var all sync.WaitGroup
	for caller := range errs {
		all.Go(func() {
			for i := range w.Attempts / len(errs) {
				name := fmt.Sprintf("%s-%d-%04d", w.Name, caller, i)
				if i%3 == 2 {
					errs[caller] = rolledBack(ctx, db, s, database{dialect: w.Dialect}.host(), checkoutOf(c, "customer-"+name, "", name))
				} else {
					_, errs[caller] = use(ctx, s, c, "customer-"+name, name)
				}
				if errs[caller] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// rolledBack reserves in a transaction of the host, which it rolls back.
func rolledBack(ctx context.Context, db *sql.DB, s *sqlstore.Store, options *sql.TxOptions, r store.Reservation) error {
	for {
		tx, err := db.BeginTx(ctx, options)
		if err != nil {
			return err
		}
		_, err = s.WithTx(tx).Reserve(ctx, r)
		if rand.IntN(2) == 0 && err == nil { // and seals, in the transaction
			_, err = s.WithTx(tx).Journal(ctx, 0, 10)
		}
		if failed := tx.Rollback(); err == nil || !s.Retryable(err) {
			return errors.Join(err, failed)
		}
	}
}

// TestAReaderMissesNothing reads the journal by several readers while several processes
// write and roll back.
func TestAReaderMissesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		if d.dialect == sqlstore.SQLite {
			d.dsn += "&_txlock=immediate"
		}
		s := d.store(t, sqlstore.Options{})
		create(t, s, hotCoupon(0, 1))
		const processes, attempts, readers = 3, 240, 3
		done := make(chan struct{})
		var following, working sync.WaitGroup
		read, failed := make([][]store.Entry, readers), make([]error, readers)
		for i := range readers {
			reader := d.store(t, sqlstore.Options{})
			following.Go(func() { read[i], failed[i] = storetest.Follow(t.Context(), reader, 7+50*i, done) })
		}
		for p := range processes {
			working.Go(func() { startWorker(t, work{d.driver, d.dsn, d.dialect, fmt.Sprint("p", p), attempts}) })
		}
		working.Wait()
		close(done)
		following.Wait()
		all, err := storetest.ReadJournal(t.Context(), s)
		require.NoError(t, err)
		require.Len(t, all, 1+2*processes*(attempts-attempts/8/3*8), "the coupon, and for each use that was kept an order and its payment")
		for i := range readers {
			require.NoError(t, failed[i])
			require.Equal(t, all, read[i], "what a reader has seen")
		}
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// startWorker runs a process to its end.
func startWorker(t *testing.T, w work) {
	t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		t.Error(err)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Error(err)
		return
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), workVariable+"="+string(text))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil {
		t.Errorf("a worker failed: %v\n%s", err, out.String())
	}
}

// TestExactlyTheAllowedUsesSucceed lets callers of two pools use a coupon up.
func TestExactlyTheAllowedUsesSucceed(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		const attempts, allowed = 1_500, 450
		stores := []store.Store{d.store(t, sqlstore.Options{}), d.store(t, sqlstore.Options{})}
		c := hotCoupon(allowed, 1)
		create(t, stores[0], c)
		used, err := crowd(t.Context(), stores, c, "a", 64, attempts)
		require.NoError(t, err)
		require.EqualValues(t, allowed, used)
		counts, err := stores[1].Counts(t.Context(), []string{redemption.CouponUses(c.ID)})
		require.NoError(t, err)
		require.Equal(t, []redemption.Count{{Completed: allowed}}, counts)
		require.NoError(t, storetest.Check(t.Context(), stores[0]))
	})
}

// TestACopyInMidRun copies a SQLite database while callers use a coupon.
func TestACopyInMidRun(t *testing.T) {
	t.Parallel()
	for _, name := range kinds() {
		if name == "mariadb" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := databases()[name](t)
			db := d.connect(t)
			s := d.storeOn(t, db, sqlstore.Options{})
			c := hotCoupon(300, 1)
			create(t, s, c)
			var running sync.WaitGroup
			running.Go(func() {
				if _, err := crowd(t.Context(), []store.Store{s}, c, "a", 16, 1_200); err != nil {
					t.Error(err)
				}
			})
			for i := range 3 {
				file := filepath.Join(t.TempDir(), fmt.Sprint("copy", i, ".db"))
				_, err := db.ExecContext(t.Context(), "VACUUM INTO ?", file)
				require.NoError(t, err)
				copied := database{d.driver, "file:" + file, d.dialect}.store(t, sqlstore.Options{})
				require.NoError(t, storetest.Check(t.Context(), copied))
			}
			running.Wait()
			require.NoError(t, storetest.Check(t.Context(), s))
		})
	}
}

// TestMigrate makes the tables at once, again and again, and refuses
// those of another version.
func TestMigrate(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		var missing *sqlstore.SchemaError
		_, err := sqlstore.New(t.Context(), d.connect(t), d.dialect, sqlstore.Options{})
		require.ErrorAs(t, err, &missing)
		require.Zero(t, missing.Found)
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
		_, err = db.ExecContext(t.Context(), "UPDATE couponkit_schema SET version = 7")
		require.NoError(t, err)
		_, err = sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
		require.ErrorContains(t, err, "have version 7 (couponkit_schema), this program needs 1")
		require.ErrorContains(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}), "have version 7")
		_, err = db.ExecContext(t.Context(), "DELETE FROM couponkit_schema WHERE version = 7")
		require.NoError(t, err)
	})
}
