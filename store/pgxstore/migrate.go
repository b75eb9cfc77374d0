package pgxstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationLock is the key of the advisory lock under which migrations run.
const migrationLock = 0x636f75706f6e6b // "couponk"

// Migration is one step of the schema. Steps are never changed once released; a
// database is brought up by running those that it has not, in order.
type Migration struct {
	// Version counts from 1.
	Version int
	// Name says what the step is about.
	Name string
	// SQL is the script: several statements, to be run in one transaction.
	SQL string
}

// Migrations returns all steps for hosts that run migrations with a tool of their
// own. The schema comes before them: CREATE SCHEMA, unless it is public. [SearchIndex] comes
// after them. Beside running calls some steps need tables that are
// locked first, which [Migrate] does and docs/stores.md describes. Migrate does not know what
// others have run, and fails; how to go over to it is described there too. A namespace that
// cannot be quoted is a pricing.ErrInvalid.
func Migrations(in Namespace) ([]Migration, error) {
	if err := in.validate(); err != nil {
		return nil, err
	}
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]Migration, len(files))
	for i, file := range files { // Glob sorts
		text, err := fs.ReadFile(migrationFiles, file)
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", file, i+1)
		}
		steps[i] = Migration{Version: version, Name: name, SQL: in.expand(string(text))}
	}
	return steps, nil
}

// SearchIndex returns the script that adds a trigram index for the search over
// coupons where the extension pg_trgm is installed in the database, in a schema that the
// role may use, and does nothing where it is not, or where the role does not own the table of
// coupons or may make nothing in its schema. It can be repeated, after the extension was
// installed.
// A namespace that cannot be quoted is a pricing.ErrInvalid.
func SearchIndex(in Namespace) (string, error) {
	if err := in.validate(); err != nil {
		return "", err
	}
	return in.expand(searchIndex), nil
}

// Coupons are seldom written: with fastupdate off, no search has a list of what is yet
// to be entered to read through.
const searchIndex = `DO $couponkit$
DECLARE
    trigram text;
BEGIN
    SELECT n.nspname INTO trigram FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'pg_trgm' AND has_schema_privilege(n.oid, 'USAGE');
    IF FOUND AND to_regclass($name${coupons_search_idx}$name$) IS NULL -- to look takes no lock
        AND (SELECT pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE')
            FROM pg_class WHERE oid = to_regclass($name${coupons}$name$)) THEN
        EXECUTE $statement$CREATE INDEX IF NOT EXISTS {=coupons_search_idx} ON {coupons}
            USING gin (search_text $statement$ || quote_ident(trigram) || '.gin_trgm_ops) WITH (fastupdate = off)';
    END IF;
END
$couponkit$;
`

// Migrate brings the database up: it makes the schema if it is missing, and runs
// the steps that the database has not, in one transaction under an advisory lock, and
// makes the index of [SearchIndex] in another. What PostgreSQL ends because of others, as a
// deadlock, is begun anew a bounded number of times.
// Any number of processes may call it at once, at every start. Where something is there that
// it has not made, as when a tool of the host has run steps, it says so and has done nothing.
// A database that a later version has migrated is left as it is: steps only add. Without a
// step to run and an index to make it locks no table and only reads, which a role may do that
// owns nothing; the privileges of such a role are in docs/stores.md.
//
// Steps that change tables lock them against everybody, for as long as all of them take.
// Whoever asks for such a table waits meanwhile, and already while Migrate waits for the
// transactions that use one, the longest of them. With lock_timeout set on the pool's
// connections that wait is bounded: Migrate then fails, has done none of the steps, and can be
// called again.
func Migrate(ctx context.Context, pool *pgxpool.Pool, in Namespace) error {
	steps, err := Migrations(in)
	if err != nil {
		return err
	}
	if err := in.migrateOn(ctx, pool, func(tx pgx.Tx) error { return runPending(ctx, tx, in, steps) }); err != nil {
		return err
	}
	return in.migrateOn(ctx, pool, func(tx pgx.Tx) error {
		if err := runScript(ctx, tx, in.expand(searchIndex)); err != nil {
			return fmt.Errorf("search index: %w", err)
		}
		return nil
	})
}

// migrateOn runs work in a transaction that holds the lock of migrations, which the end of
// the transaction frees.
func (n Namespace) migrateOn(ctx context.Context, pool *pgxpool.Pool, work func(pgx.Tx) error) error {
	return n.retry(ctx, func() error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, pgx.QueryExecModeExec, int64(migrationLock)); err != nil {
				return fmt.Errorf("lock migrations: %w", err)
			}
			return work(tx)
		})
	})
}

// runPending runs the steps that the database has not.
func runPending(ctx context.Context, tx pgx.Tx, in Namespace, steps []Migration) error {
	done, err := versionOf(ctx, tx, in)
	if err != nil || done >= len(steps) {
		return err
	}
	if lock := lockFor(done); lock != "" {
		if err := runScript(ctx, tx, in.expand(lock)); err != nil {
			return fmt.Errorf("lock the tables: %w", err)
		}
	}
	for _, step := range steps[done:] {
		if err := runScript(ctx, tx, step.SQL); err != nil {
			return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, in.unlikeRecorded(err))
		}
		if _, err := tx.Exec(ctx, in.expand(`INSERT INTO {couponkit_migrations} (version, name) VALUES ($1, $2)`),
			pgx.QueryExecModeExec, step.Version, step.Name); err != nil {
			return fmt.Errorf("record migration %d: %w", step.Version, err)
		}
	}
	return nil
}

// unlikeRecorded tells what is the matter where a step meets what is there, or is not, otherwise
// than the recorded steps have left it: a tool of the host has run steps, or a table of its own
// has a name of the store's.
func (n Namespace) unlikeRecorded(err error) error {
	var server *pgconn.PgError
	if !errors.As(err, &server) || !strings.HasPrefix(server.Code, "42") || server.Code == insufficientPrivilege {
		return err
	}
	return fmt.Errorf("the schema is not as the steps recorded in %s leave it; record those that were run, "+
		"do not call Migrate, or choose another namespace: %w", n.expand("{couponkit_migrations}"), err)
}

// lockFor locks what the steps after a version change, in the order in which most calls
// write the tables, before anything is held that a call could wait for. The steps would do
// so one after the other, in orders of their own: a call that has one table waits for the
// next one then, and the migration for the call. Calls that begin with an order are met
// even so; PostgreSQL ends one of the two, which begins anew.
func lockFor(done int) string {
	if done == 0 { // nobody uses what is not there
		return ""
	}
	var tables []string
	for _, of := range [...]struct {
		table string
		last  int // step that changes it
	}{
		{"{coupon_redemptions}", 26},
		{"{coupon_counters}", 26},
		{"{coupons}", 8},
		{"{orders}", 21},
	} {
		if done < of.last {
			tables = append(tables, of.table)
		}
	}
	if len(tables) == 0 {
		return ""
	}
	return "LOCK TABLE " + strings.Join(tables, ", ") + " IN ACCESS EXCLUSIVE MODE"
}

// versionOf returns the version that the database has, 0 for one that has none, in which it
// makes the table of versions.
func versionOf(ctx context.Context, tx pgx.Tx, in Namespace) (done int, err error) {
	var schema, table bool
	if err := tx.QueryRow(ctx, `SELECT count(n.oid) > 0, count(c.oid) > 0
		FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2 WHERE n.nspname = $1`,
		pgx.QueryExecModeExec, in.schema(), in.Prefix+"couponkit_migrations").Scan(&schema, &table); err != nil {
		return 0, fmt.Errorf("look for the schema: %w", err)
	}
	var script string
	if !schema {
		script = "CREATE SCHEMA " + pgx.Identifier{in.schema()}.Sanitize() + ";"
	}
	if !table { // to make what is there already is refused to a role that may only use it
		script += in.expand(`CREATE TABLE {couponkit_migrations} (
			version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());`)
	}
	if script != "" {
		if err := runScript(ctx, tx, script); err != nil {
			return 0, fmt.Errorf("prepare migrations: %w", err)
		}
	}
	if err := tx.QueryRow(ctx, in.expand(`SELECT coalesce(max(version), 0) FROM {couponkit_migrations}`),
		pgx.QueryExecModeExec).Scan(&done); err != nil {
		return 0, fmt.Errorf("read the version of the schema: %w", err)
	}
	return done, nil
}

// runScript runs several statements at once, which only the simple protocol can.
func runScript(ctx context.Context, tx pgx.Tx, script string) error {
	_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}
