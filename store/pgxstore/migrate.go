package pgxstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
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
// own. [SearchIndex] comes after them. A namespace that cannot be quoted is a
// pricing.ErrInvalid.
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
// role may use, and does nothing where it is not. It can be repeated, after the extension
// was installed.
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
    IF FOUND THEN
        EXECUTE $statement$CREATE INDEX IF NOT EXISTS {=coupons_search_idx} ON {coupons}
            USING gin (search_text $statement$ || quote_ident(trigram) || '.gin_trgm_ops) WITH (fastupdate = off)';
    END IF;
END
$couponkit$;
`

// Migrate brings the database up: it makes the schema if it is missing, and runs
// the steps that the database has not, in one transaction under an advisory lock.
// Any number of processes may call it at once, at every start. A database that a
// later version has migrated is left as it is: steps only add.
func Migrate(ctx context.Context, pool *pgxpool.Pool, in Namespace) error {
	steps, err := Migrations(in)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		done, err := beginMigrations(ctx, tx, in)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if step.Version <= done {
				continue
			}
			if err := runScript(ctx, tx, step.SQL); err != nil {
				return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
			}
			if _, err := tx.Exec(ctx, in.expand(`INSERT INTO {couponkit_migrations} (version, name) VALUES ($1, $2)`),
				pgx.QueryExecModeExec, step.Version, step.Name); err != nil {
				return fmt.Errorf("record migration %d: %w", step.Version, err)
			}
		}
		if err := runScript(ctx, tx, in.expand(searchIndex)); err != nil {
			return fmt.Errorf("search index: %w", err)
		}
		return nil
	})
}

// beginMigrations takes the lock, which the end of the transaction frees, and
// returns the version that the database has.
func beginMigrations(ctx context.Context, tx pgx.Tx, in Namespace) (done int, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, pgx.QueryExecModeExec, int64(migrationLock)); err != nil {
		return 0, fmt.Errorf("lock migrations: %w", err)
	}
	var exists bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`,
		pgx.QueryExecModeExec, in.schema()).Scan(&exists); err != nil {
		return 0, fmt.Errorf("look for the schema: %w", err)
	}
	script := `CREATE TABLE IF NOT EXISTS {couponkit_migrations} (
		version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());`
	if !exists {
		script = "CREATE SCHEMA " + pgx.Identifier{in.schema()}.Sanitize() + ";" + script
	}
	if err := runScript(ctx, tx, in.expand(script)); err != nil {
		return 0, fmt.Errorf("prepare migrations: %w", err)
	}
	err = tx.QueryRow(ctx, in.expand(`SELECT coalesce(max(version), 0) FROM {couponkit_migrations}`),
		pgx.QueryExecModeExec).Scan(&done)
	return done, err
}

// runScript runs several statements at once, which only the simple protocol can.
func runScript(ctx context.Context, tx pgx.Tx, script string) error {
	_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}
