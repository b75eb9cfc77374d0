package pgxstore_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// writeDump writes the database of the present schema down. It is done once, by the
// code that a schema is released with; later code cannot, and must read it.
var writeDump = flag.Bool("write-dump", false, "write testdata/schema-N.sql, where N is the last migration")

func dumpFile(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("schema-%d.sql", version))
}

// dumps are the databases that former schemas have written, by version.
func dumps(t *testing.T) map[int]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "schema-*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatal("no databases of former schemas: ", err)
	}
	texts := map[int]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		version, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "schema-"), ".sql"))
		if err != nil {
			t.Fatal(err)
		}
		texts[version] = string(text)
	}
	return texts
}

// restore loads a dump into an empty database, on a connection of its own: a dump
// changes settings of it.
func restore(t *testing.T, dsn, text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// schemaOf is the schema of a database as pg_dump writes it.
func schemaOf(t *testing.T, dsn string, options ...string) string {
	t.Helper()
	text, err := shared.Need(t).Dump(t.Context(), dsn, append([]string{"--schema-only"}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// newSchema is the schema of a database that never had another.
func newSchema(t *testing.T, options ...string) string {
	t.Helper()
	dsn := shared.Need(t).NewDatabase(t)
	if err := pgxstore.Migrate(t.Context(), postgrestest.NewPool(t, dsn), pgxstore.Namespace{}); err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, dsn, options...)
}

// A database that a former schema has written is migrated, has the schema of a new
// one, holds every row as it was, and is used on.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *writeDump {
		writeDatabase(t)
	}
	want := tour{t: t, s: memstore.New()}
	want.fill()
	for version, text := range dumps(t) {
		t.Run(fmt.Sprintf("from schema %d", version), func(t *testing.T) {
			t.Parallel()
			dsn := shared.Need(t).NewDatabase(t)
			restore(t, dsn, text)
			pool := postgrestest.NewPool(t, dsn)
			if got := versionOf(t, pool); got != version {
				t.Fatalf("the dump has version %d", got)
			}
			if err := pgxstore.Migrate(t.Context(), pool, pgxstore.Namespace{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(newSchema(t), schemaOf(t, dsn)); diff != "" {
				t.Errorf("the schema is not that of a new database (-want +got):\n%s", diff)
			}
			s := newStore(t, pool, pgxstore.Options{})
			got := tour{t: t, s: s}
			got.same(want.contents())
			got.goOn()
			if err := storetest.CheckInvariants(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// goOn uses what was there before.
func (w tour) goOn() {
	w.t.Helper()
	coupons := w.coupons()
	percent, unlimited := coupons[0], coupons[5]
	again := w.reserve(percent, "open")
	if !again.Replayed {
		w.t.Error("a key of before is not known")
	}
	w.settle(w.attach(again), redemption.SessionCompleted)
	open, err := w.s.Redemption(w.t.Context(), again.Redemption.ID)
	w.ok(err)
	if open.State != redemption.Completed {
		w.t.Errorf("a reservation of before is %s after its payment", open.State)
	}
	w.settle(w.attach(w.reserve(unlimited, "newcomer")), redemption.SessionCompleted)
	after, err := w.s.Coupon(w.t.Context(), unlimited.ID)
	w.ok(err)
	if after.UsedCount != 2 {
		w.t.Errorf("a coupon that was used before and after was used %d times", after.UsedCount)
	}
	page, err := w.s.ListCoupons(w.t.Context(), store.CouponList{Search: "«QUOTED» \\"})
	w.ok(err)
	if page.Total != 1 || page.Items[0].ID != percent.ID {
		w.t.Errorf("the search finds %d coupons", page.Total)
	}
	w.ok(w.s.DeleteCoupon(w.t.Context(), unlimited.ID, 1))
}

// dumpOfAll fills an empty database and writes it down.
func dumpOfAll(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	tour{t: t, s: newStore(t, pool, pgxstore.Options{})}.fill()
	return contentsOf(t, pool)
}

// contentsOf is a database with its rows as pg_dump writes it.
func contentsOf(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	text, err := shared.Need(t).Dump(t.Context(), pool.Config().ConnString(), "--inserts")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestADumpIsRestored: also one of a host that has had all rows checked.
func TestADumpIsRestored(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"as it is": "",
		"validated": `ALTER TABLE coupon_redemptions VALIDATE CONSTRAINT coupon_redemptions_check;
			ALTER TABLE orders VALIDATE CONSTRAINT orders_check`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newDatabase(t, pgxstore.Namespace{})
			if _, err := pool.Exec(t.Context(), before, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			dump := dumpOfAll(t, pool)
			dsn := shared.Need(t).NewDatabase(t)
			restore(t, dsn, dump)
			restored := postgrestest.NewPool(t, dsn)
			if err := pgxstore.Migrate(t.Context(), restored, pgxstore.Namespace{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(dump, contentsOf(t, restored)); diff != "" {
				t.Errorf("what is restored is another database (-dumped +restored):\n%s", diff)
			}
		})
	}
}

// TestADumpOfTheSchemaIsRestored: the schema alone, as a host dumps it that has more in its
// database, once the extension of the search is there.
func TestADumpOfTheSchemaIsRestored(t *testing.T) {
	t.Parallel()
	in := pgxstore.Namespace{Schema: "promo"}
	dsn := shared.Need(t).NewDatabase(t)
	restore(t, dsn, "CREATE EXTENSION pg_trgm")
	pool := postgrestest.NewPool(t, dsn)
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, in))
	want := tour{t: t, s: newStore(t, pool, pgxstore.Options{Namespace: in})}
	want.fill()
	dump, err := shared.Need(t).Dump(t.Context(), dsn, "--schema=promo", "--inserts")
	require.NoError(t, err)

	dsn = shared.Need(t).NewDatabase(t)
	restore(t, dsn, "CREATE EXTENSION pg_trgm")
	restore(t, dsn, dump)
	pool = postgrestest.NewPool(t, dsn)
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, in))
	restored := newStore(t, pool, pgxstore.Options{Namespace: in})
	require.NoError(t, storetest.CheckInvariants(t.Context(), restored))
	got := tour{t: t, s: restored}
	got.same(want.contents())
	got.goOn()
}

// writeDatabase writes down a database that is filled.
func writeDatabase(t *testing.T) {
	t.Helper()
	pool := newDatabase(t, pgxstore.Namespace{})
	text := dumpOfAll(t, pool)
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dumpFile(versionOf(t, pool)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// versionOf is the last migration that a database has.
func versionOf(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	var version int
	err := pool.QueryRow(t.Context(), "SELECT coalesce(max(version), 0) FROM couponkit_migrations").Scan(&version)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// The printed migrations, run one by one by a tool of the host, make the same schema
// as Migrate.
func TestPrintedMigrations(t *testing.T) {
	t.Parallel()
	dsn := shared.Need(t).NewDatabase(t)
	steps, err := pgxstore.Migrations(pgxstore.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		restore(t, dsn, step.SQL)
	}
	index, err := pgxstore.SearchIndex(pgxstore.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	restore(t, dsn, index)
	const versions = "--exclude-table=couponkit_migrations"
	if diff := cmp.Diff(newSchema(t, versions), schemaOf(t, dsn, versions)); diff != "" {
		t.Errorf("printed migrations make another schema (-Migrate +printed):\n%s", diff)
	}
}

// TestMigrateMeetsWhatIsThere: what Migrate has not made, it neither takes for its own nor
// touches, and says so.
func TestMigrateMeetsWhatIsThere(t *testing.T) {
	t.Parallel()
	steps, err := pgxstore.Migrations(pgxstore.Namespace{})
	require.NoError(t, err)
	var printed strings.Builder
	for _, step := range steps {
		printed.WriteString(step.SQL + ";")
	}
	table, _, _ := strings.Cut(scriptAfter(t, "## Migrations with a tool of the host"), "INSERT")
	table = strings.ReplaceAll(table, "promo.", "")
	for name, there := range map[string]string{
		"steps that a tool has run":       printed.String(),
		"some of them":                    steps[0].SQL + ";" + steps[1].SQL,
		"and has recorded some":           table + "INSERT INTO couponkit_migrations VALUES (5, 'orders');" + printed.String(),
		"a function of a step after that": table + "INSERT INTO couponkit_migrations VALUES (2, 'reserve');" + steps[0].SQL + ";" + steps[1].SQL + ";" + steps[2].SQL,
		"an order of the host's own":      "CREATE TABLE orders (id integer)",
		"a view of the host":              "CREATE VIEW coupon_redemptions AS SELECT 1 AS id",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := shared.Need(t).NewDatabase(t)
			restore(t, dsn, there)
			before := schemaOf(t, dsn)
			err := pgxstore.Migrate(t.Context(), postgrestest.NewPool(t, dsn), pgxstore.Namespace{})
			var server *pgconn.PgError
			require.ErrorAs(t, err, &server)
			require.ErrorContains(t, err, `not as the steps recorded in "public"."couponkit_migrations" leave it`)
			if diff := cmp.Diff(before, schemaOf(t, dsn)); diff != "" {
				t.Errorf("a part of the migration stays (-before +after):\n%s", diff)
			}
		})
	}
}

// TestGoOverToMigrate: where a tool of the host has run the steps, Migrate goes on after those
// that are recorded as docs/stores.md says.
func TestGoOverToMigrate(t *testing.T) {
	t.Parallel()
	dsn := shared.Need(t).NewDatabase(t)
	in := pgxstore.Namespace{Schema: "promo"}
	pool := postgrestest.NewPool(t, dsn)
	restore(t, dsn, "CREATE SCHEMA promo;"+scriptAfter(t, "## Migrations with a tool of the host"))
	var version int
	var name string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT version, name FROM promo.couponkit_migrations").Scan(&version, &name))
	steps, err := pgxstore.Migrations(in)
	require.NoError(t, err)
	require.Equal(t, steps[version-1].Name, name)
	for _, step := range steps[:version] {
		restore(t, dsn, step.SQL)
	}
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, in))
	want := shared.Need(t).NewDatabase(t)
	require.NoError(t, pgxstore.Migrate(t.Context(), postgrestest.NewPool(t, want), in))
	if diff := cmp.Diff(schemaOf(t, want), schemaOf(t, dsn)); diff != "" {
		t.Errorf("another schema (-Migrate +tool):\n%s", diff)
	}
	require.NoError(t, newStore(t, pool, pgxstore.Options{Namespace: in}).CreateCoupon(t.Context(), newCoupon(t, "gone-over")))
}

// A migration that is cut off in the middle has done nothing, and is done by the
// next start.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	for version, text := range dumps(t) {
		t.Run(fmt.Sprintf("from schema %d", version), func(t *testing.T) {
			t.Parallel()
			dsn := shared.Need(t).NewDatabase(t)
			restore(t, dsn, text)
			pool := postgrestest.NewPool(t, dsn)
			before := schemaOf(t, dsn)
			interrupt(t, pool)
			if diff := cmp.Diff(before, schemaOf(t, dsn)); diff != "" || versionOf(t, pool) != version {
				t.Fatalf("a part of the migration stays, version %d (-before +after):\n%s", versionOf(t, pool), diff)
			}
			if err := pgxstore.Migrate(t.Context(), pool, pgxstore.Namespace{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(newSchema(t), schemaOf(t, dsn)); diff != "" {
				t.Errorf("the schema is not that of a new database (-want +got):\n%s", diff)
			}
		})
	}
}

// interrupt lets a migration wait, with all its steps done but for the record of the last
// one, and kills its connection.
func interrupt(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it only holds the record
	steps, err := pgxstore.Migrations(pgxstore.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO couponkit_migrations (version, name) VALUES ($1, 'held')", len(steps)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}) }()
	for {
		// Not in the transaction: that would see one state of the activity all the time.
		if _, err := pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Fatal("the migration did not wait for the record")
			}
			return
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
}

// migrateVariable names the database that a child process migrates.
const migrateVariable = "COUPONKIT_MIGRATE_DSN"

// TestMigratingProcess is one of the processes of TestMigrateAtOnce; by itself it
// does nothing.
func TestMigratingProcess(t *testing.T) {
	dsn := os.Getenv(migrateVariable)
	if dsn == "" {
		return
	}
	pool := postgrestest.NewPool(t, dsn)
	if err := pgxstore.Migrate(t.Context(), pool, pgxstore.Namespace{}); err != nil {
		t.Fatal(err)
	}
}

// Several processes that start at once on one database, empty or of a former schema,
// all succeed, and every step is done once.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "from schema 5": dumps(t)[5]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := shared.Need(t).NewDatabase(t)
			restore(t, dsn, text)
			const processes = 4
			ended := make(chan error, processes)
			for range processes {
				go func() {
					child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMigratingProcess$")
					child.Env = append(os.Environ(), migrateVariable+"="+dsn)
					output, err := child.CombinedOutput()
					if err != nil {
						err = fmt.Errorf("%w\n%s", err, output)
					}
					ended <- err
				}()
			}
			for range processes {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(newSchema(t), schemaOf(t, dsn)); diff != "" {
				t.Errorf("the schema is not that of a new database (-want +got):\n%s", diff)
			}
			steps, err := pgxstore.Migrations(pgxstore.Namespace{})
			if err != nil {
				t.Fatal(err)
			}
			var done int
			err = postgrestest.NewPool(t, dsn).QueryRow(t.Context(), "SELECT count(*) FROM couponkit_migrations").Scan(&done)
			if err != nil || done != len(steps) {
				t.Errorf("%d steps are recorded, want %d; %v", done, len(steps), err)
			}
		})
	}
}

// TestSearchTextsAreFoldedAnew: search texts were in lower case before step 11, and are
// what the search looks for afterwards, whatever letters they have.
func TestSearchTextsAreFoldedAnew(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	s := newStore(t, pool, pgxstore.Options{})
	var others []rune // that are no longer as they were
	for r := rune(0); r <= unicode.MaxRune; r++ {
		step11 := string(unicode.ToLower(unicode.ToUpper(r)))
		if lower := strings.ToLower(string(r)); lower != step11 && step11 == store.Fold(string(r)) {
			others = append(others, r)
		}
	}
	if len(others) < 20 {
		t.Fatalf("only %+q", others)
	}
	for id, name := range map[string]string{"others": string(others), "plain": "Summer ÉTÉ %"} {
		if err := s.CreateCoupon(t.Context(), newCoupon(t, id, func(c *coupon.Coupon) { c.Name = name })); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `UPDATE coupons SET search_text = replace(search_text, $2, $3) WHERE id = $1`,
			coupon.IDPrefix+id, store.Fold(name), strings.ToLower(name)); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := pgxstore.Migrations(pgxstore.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	found := func(text string) (ids []string) {
		t.Helper()
		page, err := s.ListCoupons(t.Context(), store.CouponList{Search: text})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Items {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]string(nil), found(string(others))); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	if _, err := pool.Exec(t.Context(), steps[10].SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{string(others): "others", store.Fold(string(others)): "others", "summer été %": "plain"} {
		if diff := cmp.Diff([]string{coupon.IDPrefix + want}, found(text)); diff != "" {
			t.Errorf("%q afterwards (-want +got):\n%s", text, diff)
		}
	}
}
