package sqldb_test

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// reopener remembers the database of each store, to open it a second time.
type reopener struct {
	open   func(*testing.T, database) store.Store
	prefix string   // of the tables
	of     sync.Map // store.Store -> database
}

// damage replaces the document of a record by text that is not JSON. Of a use, it replaces the claims.
func (d database) damage(t *testing.T, prefix, kind, id string) (restore func()) {
	t.Helper()
	db, table, column := d.connect(t), prefix+kind+"s", "doc"
	if kind == "use" {
		column = "claims"
	}
	var document string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT "+column+" FROM "+table+" WHERE id = ?", id).Scan(&document))
	write := func(text string) {
		_, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET "+column+" = ? WHERE id = ?", text, id)
		require.NoError(t, err)
	}
	write("{")
	return func() { write(document) }
}

// miscount adds to a counter. SQLite stores the last part of its key first.
func (d database) miscount(t *testing.T, prefix, counter string, by eligibility.Count) {
	t.Helper()
	insert := " ON CONFLICT (counter, slot) DO UPDATE SET reserved = reserved + excluded.reserved, completed = completed + excluded.completed"
	if d.dialect == sqlstore.MySQL {
		insert = " ON DUPLICATE KEY UPDATE reserved = reserved + VALUES(reserved), completed = completed + VALUES(completed)"
	} else if last := strings.LastIndexByte(counter, '/'); last >= 0 {
		counter = counter[last+1:] + "/" + counter[:last]
	}
	_, err := d.connect(t).ExecContext(t.Context(), "INSERT INTO "+prefix+"counters (counter, slot, reserved, completed) VALUES (?, 0, ?, ?)"+insert,
		counter, by.Reserved, by.Completed)
	require.NoError(t, err)
}

func (r *reopener) fresh(t *testing.T, d database) store.Store {
	t.Helper()
	s := r.open(t, d)
	r.of.Store(s, d)
	return s
}

func (r *reopener) again(t *testing.T, s store.Store) store.Store {
	t.Helper()
	d, known := r.of.Load(s)
	require.True(t, known)
	return r.fresh(t, d.(database))
}

// fewer is how many goroutines call at once where each call is a transaction.
const fewer = 24

func runSuite(t *testing.T, goroutines int, prefix string, open func(*testing.T, database) store.Store, fresh func(testing.TB) database) {
	t.Helper()
	r := &reopener{open: open, prefix: cmp.Or(prefix, "couponkit_")}
	storetest.Run(t, func(t *testing.T) store.Store { t.Helper(); return r.fresh(t, fresh(t)) },
		storetest.Capabilities{Reopen: r.again, Goroutines: goroutines, Damage: func(t *testing.T, s store.Store, kind, id string) func() {
			t.Helper()
			d, known := r.of.Load(s)
			require.True(t, known)
			return d.(database).damage(t, r.prefix, kind, id)
		}, Miscount: func(t *testing.T, s store.Store, counter string, by eligibility.Count) {
			t.Helper()
			d, known := r.of.Load(s)
			require.True(t, known)
			d.(database).miscount(t, r.prefix, counter, by)
		}})
}

func suiteWith(t *testing.T, o sqlstore.Options, kinds ...string) {
	t.Helper()
	t.Parallel()
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goroutines := storetest.DefaultGoroutines
			if name == "mariadb" || o.MaxBatch == 1 {
				goroutines = fewer
			}
			runSuite(t, goroutines, o.TablePrefix, func(t *testing.T, d database) store.Store { t.Helper(); return d.store(t, o) }, databases()[name])
		})
	}
}

// Under the race detector the second driver runs the suite in TestContractOneByOne alone.
func TestContract(t *testing.T) {
	all := kinds()
	if underRace {
		all = []string{"modernc", "mariadb"}
	}
	suiteWith(t, sqlstore.Options{}, all...)
}

// Without batches, with a prefix, without PRAGMAs and with few arguments, as on dqlite.
func TestContractOneByOne(t *testing.T) {
	o := sqlstore.Options{MaxBatch: 1, TablePrefix: "shop_", KeepSettings: true, MaxParameters: sqlstore.MinParameters}
	suiteWith(t, o, sqlitedriver.SecondName)
}

// Every call in a transaction of the host. It is committed after an error too: a call that
// fails leaves the transaction usable, and nothing in it.
func TestContractInTransactionsOfTheHost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"modernc", "mariadb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runSuite(t, fewer, "", func(t *testing.T, d database) store.Store { t.Helper(); return openHosted(t, d) }, databases()[name])
		})
	}
}

// hosted is a host that makes every call in a transaction of its own.
type hosted struct {
	*sqlstore.Store
	db      *sql.DB
	options *sql.TxOptions
}

func openHosted(tb testing.TB, d database) *hosted {
	tb.Helper()
	d = d.immediate()
	db := d.connect(tb)
	return &hosted{d.storeOn(tb, db, sqlstore.Options{}), db, d.host()}
}

// in runs a call in a transaction, and again when others have undone it.
func in[A any](ctx context.Context, h *hosted, call func(*sqlstore.Store) (A, error)) (answer A, err error) {
	for range 50 {
		if answer, err = once(ctx, h, call); err == nil || !h.Retryable(err) {
			break
		}
	}
	return answer, err
}

func once[A any](ctx context.Context, h *hosted, call func(*sqlstore.Store) (A, error)) (answer A, err error) {
	if err := h.ready(ctx); err != nil {
		return answer, err
	}
	tx, err := h.db.BeginTx(ctx, h.options)
	if err != nil {
		return answer, err
	}
	defer tx.Rollback() // after a commit it does nothing
	answer, err = call(h.WithTx(tx))
	if err != nil && (ctx.Err() != nil || h.Retryable(err)) {
		return answer, err
	}
	if failed := tx.Commit(); failed != nil && err == nil {
		err = failed
	}
	return answer, err
}

// ready asks the store whether it was closed.
func (h *hosted) ready(ctx context.Context) error {
	_, err := h.Store.Journal(ctx, 0, 0)
	return err
}

func (h *hosted) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return in(ctx, h, func(s *sqlstore.Store) (coupon.Coupon, error) { return s.SaveCoupon(ctx, c) })
}

func (h *hosted) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	return in(ctx, h, func(s *sqlstore.Store) ([]coupon.IssuedCode, error) { return s.SaveCodes(ctx, c) })
}

func (h *hosted) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.CodePage, error) { return s.ListCodes(ctx, list) })
}

func (h *hosted) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.LookedUp, error) { return s.LookUp(ctx, by) })
}

func (h *hosted) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.CouponPage, error) { return s.ListCoupons(ctx, list) })
}

func (h *hosted) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.Reserved, error) { return s.Reserve(ctx, r) })
}

func (h *hosted) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.Settled, error) { return s.Apply(ctx, e) })
}

func (h *hosted) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.Settled, error) { return s.Order(ctx, by) })
}

func (h *hosted) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.OrderPage, error) { return s.ListOrders(ctx, list) })
}

func (h *hosted) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	return in(ctx, h, func(s *sqlstore.Store) (store.UsePage, error) { return s.ListUses(ctx, list) })
}

func (h *hosted) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	return in(ctx, h, func(s *sqlstore.Store) ([]eligibility.Count, error) { return s.Counts(ctx, keys) })
}

func (h *hosted) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return in(ctx, h, func(s *sqlstore.Store) ([]store.Entry, error) { return s.Journal(ctx, after, limit) })
}

func (h *hosted) JournalEnd(ctx context.Context) (int64, error) {
	return in(ctx, h, func(s *sqlstore.Store) (int64, error) { return s.JournalEnd(ctx) })
}

func (h *hosted) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	return in(ctx, h, func(s *sqlstore.Store) ([]store.DaySum, error) { return s.Sums(ctx, list) })
}

func (h *hosted) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	return in(ctx, h, func(s *sqlstore.Store) ([]store.Entry, error) { return s.History(ctx, couponID, before, limit) })
}
