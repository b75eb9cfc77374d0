package sqldb_test

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// rounds of the tests that kill processes; a night's run takes thousands.
var rounds = flag.Int("rounds", 4, "rounds of killed processes, of which half under the race detector")

func roundsNow() int {
	if underRace {
		return (*rounds + 1) / 2
	}
	return *rounds
}

const workers = 3

func TestThreeProcessesShareSQLite(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempts, allowed := 3_334, 3_000
			if name != "modernc" { // one at full size is enough
				attempts, allowed = 1_000, 900
			}
			if underRace {
				attempts, allowed = 400, 360
			}
			shareLimit(t, sqliteShop(t, driver), attempts, allowed)
		})
	}
}

func TestThreeProcessesShareMariaDB(t *testing.T) {
	t.Parallel()
	shareLimit(t, mariadbShop(t), 400, 360)
}

// shareLimit lets processes want more than there is. Exactly that is given, and
// nobody sees an error.
func shareLimit(t *testing.T, s shop, attempts, allowed int) {
	t.Helper()
	opened, _ := s.open(t)
	c := limitedCoupon("HOT", int64(allowed), 3)
	require.NoError(t, opened.CreateCoupon(t.Context(), c))
	running := make([]*worker, workers)
	for i := range running {
		running[i] = startWorker(t, s.work(c, fmt.Sprintf("w%d", i), attempts, 64))
	}
	kept := 0
	for _, p := range running {
		kept += len(p.acknowledged(t))
	}
	require.Equal(t, allowed, kept)
	require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
}

func TestKilledProcessesLoseNothingOnSQLite(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range roundsNow() {
				killWorkers(t, sqliteShop(t, driver), uint64(round), nil)
			}
		})
	}
}

func TestKilledProcessesLoseNothingOnMariaDB(t *testing.T) {
	t.Parallel()
	for round := range (roundsNow() + 1) / 2 {
		killWorkers(t, mariadbShop(t), uint64(round), nil)
	}
}

// killWorkers kills processes in mid-run. What they had acknowledged is there
// afterwards, what they were doing is there as a whole or not at all, and the
// sweep frees the rest.
func killWorkers(t *testing.T, s shop, seed uint64, meanwhile func()) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	opened, _ := s.open(t)
	c := limitedCoupon("HOT", 1_000_000, 1_000)
	require.NoError(t, opened.CreateCoupon(t.Context(), c))
	running := make([]*worker, workers)
	for i := range running {
		running[i] = startWorker(t, s.work(c, fmt.Sprintf("w%d", i), 0, 16))
	}
	var names []string
	for _, p := range running {
		for range 20 + random.IntN(60) { // it is at work
			name, open := <-p.lines
			require.True(t, open, "the worker ended")
			names = append(names, name)
		}
		if meanwhile != nil {
			meanwhile()
		}
		p.kill(t)
	}
	for _, p := range running {
		names = append(names, p.acknowledged(t)...)
	}
	for _, name := range names {
		r, err := opened.Redemption(t.Context(), redemption.IDPrefix+name)
		require.NoError(t, err, "an acknowledged use")
		require.Equal(t, redemption.Completed, r.State, "an acknowledged use")
	}
	require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	sweep(t, opened)
	found, err := opened.Coupon(t.Context(), c.ID)
	require.NoError(t, err)
	require.Zero(t, found.ReservedCount, "places that leaked")
	require.GreaterOrEqual(t, found.UsedCount, int64(len(names)))
	require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
}

// sweep releases what was reserved and never paid.
func sweep(t *testing.T, s store.Store) {
	t.Helper()
	late := noon().Add(24 * time.Hour)
	for {
		due, err := s.Due(t.Context(), late, 100)
		require.NoError(t, err)
		if len(due) == 0 {
			return
		}
		for _, r := range due {
			_, err := s.Transition(t.Context(), r.ID, redemption.Event{Kind: redemption.Lapsed, At: late, SessionID: r.SessionID})
			require.NoError(t, err)
		}
	}
}

// A server that is killed loses nothing that was acknowledged. It has to be a
// server of its own: the other tests use theirs.
func TestKilledMariaDBLosesNothing(t *testing.T) {
	t.Parallel()
	killServer(t)
}

// A copy that is made in mid-run opens, is sound, and contradicts itself nowhere.
func TestCopyInMidRun(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, db := sqliteShop(t, driver).open(t)
			c := limitedCoupon("HOT", 1_000_000, 5)
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
			ended := make(chan error, 1)
			go func() {
				_, err := useUp(t.Context(), opened, c, "copied", 400)
				ended <- err
			}()
			var files []string
			for i, copyInto := range []func(*testing.T, *sql.DB, string){vacuumInto, backup, vacuumInto, backup} {
				require.Eventually(t, func() bool {
					found, err := opened.Coupon(t.Context(), c.ID)
					return err == nil && found.UsedCount > int64(50*(i+1))
				}, time.Minute, time.Millisecond)
				files = append(files, filepath.Join(t.TempDir(), fmt.Sprintf("copy%d.db", i)))
				copyInto(t, db, files[i])
			}
			select {
			case err := <-ended:
				t.Fatalf("the run was over before the last copy: %v", err)
			default:
			}
			require.NoError(t, <-ended)
			for _, file := range files {
				checkCopy(t, driver, file)
			}
			require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
		})
	}
}

func vacuumInto(t *testing.T, db *sql.DB, file string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "VACUUM INTO ?", file)
	require.NoError(t, err)
}

// backup copies by the backup interface of the driver.
func backup(t *testing.T, db *sql.DB, file string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Raw(func(raw any) error { return sqlitedriver.Backup(raw, file) }))
}

func checkCopy(t *testing.T, driver, file string) {
	t.Helper()
	db, err := openSQLite(t.Context(), driver, file)
	require.NoError(t, err)
	defer db.Close()
	var verdict string
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
	copied, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	require.NoError(t, storetest.CheckInvariants(t.Context(), copied))
	require.NoError(t, copied.Close())
}
