package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed migrations
var migrationFiles embed.FS

// Migration is one step of the schema. Steps are never changed once released; a
// database is brought up by running those that it has not, in order.
type Migration struct {
	// Version counts from 1.
	Version int
	// Name says what the step is about.
	Name string
	// Statements are run one by one, on one connection. On MySQL, which commits each, they
	// can be repeated after a crash in between.
	Statements []string
}

// SQL returns the step as a script.
func (m Migration) SQL() string { return strings.Join(m.Statements, ";\n\n") + ";\n" }

// Migrations returns all steps, for hosts that run migrations with a tool of their
// own. [Migrate] does not know what others have run, and fails; docs/stores.md tells how to go
// over to it. A prefix that would need quotes, or an unknown dialect, is a
// pricing.ErrInvalid.
func Migrations(d Dialect, tablePrefix string) ([]Migration, error) {
	g, err := d.grammar()
	if err != nil {
		return nil, err
	}
	if err := checkPrefix(tablePrefix); err != nil {
		return nil, err
	}
	files, err := fs.Glob(migrationFiles, "migrations/"+d.String()+"/*.sql")
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
		steps[i] = Migration{Version: version, Name: name, Statements: statementsOf(g.expand(string(text), tablePrefix))}
	}
	return steps, nil
}

// statementsOf splits a script at the semicolons that end a line.
func statementsOf(script string) []string {
	var statements []string
	for statement := range strings.SplitSeq(script, ";\n") {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}

// Migrate brings the tables up: it runs the steps that the database has not, under
// a lock. Any number of processes may call it at once, at every start: who comes while
// another one migrates waits for it as long as the context lives. Where a table is there
// that it has not made, as when a tool of the host has run steps, it says so and has done
// nothing. A database that a later version has migrated is left as it is: steps take no
// table or column away.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, tablePrefix string) (err error) {
	steps, err := Migrations(d, tablePrefix)
	if err != nil {
		return err
	}
	g, err := d.grammar()
	if err != nil {
		return err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer c.Close() //nolint:errcheck // it goes back to the pool
	unlock, err := g.lockMigrations(ctx, c, tablePrefix)
	if err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	defer func() {
		if failed := unlock(context.WithoutCancel(ctx), err == nil); failed != nil {
			err = errors.Join(err, fmt.Errorf("unlock migrations: %w", failed))
		}
	}()
	return runMigrations(ctx, c, steps, func(text string) string { return g.expand(text, tablePrefix) })
}

func runMigrations(ctx context.Context, c *sql.Conn, steps []Migration, expand func(string) string) error {
	if err := checkUnrecorded(ctx, c, expand); err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, expand(`CREATE TABLE IF NOT EXISTS {couponkit_migrations} (
		version INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL)`)); err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	done, err := schemaVersion(ctx, c, expand)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if step.Version <= done {
			continue
		}
		for _, statement := range step.Statements {
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
			}
		}
		if _, err := c.ExecContext(ctx, expand(`INSERT INTO {couponkit_migrations} (version, name) VALUES (?, ?)`),
			step.Version, step.Name); err != nil {
			return fmt.Errorf("record migration %d: %w", step.Version, err)
		}
	}
	return nil
}

// checkUnrecorded refuses a database with a table of the store and without the record of who
// has made it. On MySQL the steps would take any for their own.
func checkUnrecorded(ctx context.Context, c *sql.Conn, expand func(string) string) error {
	there := func(table string) bool {
		var count int
		return c.QueryRowContext(ctx, expand("SELECT COUNT(*) FROM "+table+" WHERE 1 = 0")).Scan(&count) == nil
	}
	const record = "{couponkit_migrations}"
	if there(record) {
		return nil
	}
	for _, table := range [...]string{"{coupons}", "{coupon_allowed_emails}", "{coupon_counts}", "{coupon_redemptions}", "{orders}"} {
		if there(table) {
			return errors.New(expand("the table " + table + " is there, and " + record + " is not; make that and record " +
				"the steps that were run, do not call Migrate, or choose another prefix"))
		}
	}
	return nil
}

func schemaVersion(ctx context.Context, c *sql.Conn, expand func(string) string) (version int, err error) {
	err = c.QueryRowContext(ctx, expand(`SELECT COALESCE(MAX(version), 0) FROM {couponkit_migrations}`)).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the version of the tables: %w", err)
	}
	return version, nil
}

// lockSQLite holds the database: its schema changes in the same transaction.
func lockSQLite(ctx context.Context, c *sql.Conn, _ string) (func(context.Context, bool) error, error) {
	var before int64 // the connection goes back to the host's pool
	if err := c.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&before); err != nil {
		return nil, err
	}
	wait := func(ctx context.Context, milliseconds int64) error {
		_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", milliseconds))
		return err
	}
	unlock := func(ctx context.Context, ok bool) (err error) {
		if ok {
			_, err = c.ExecContext(ctx, "COMMIT")
		}
		if !ok || err != nil {
			err = errors.Join(err, leave(ctx, c))
		}
		return errors.Join(err, wait(ctx, before))
	}
	if err := wait(ctx, 60_000); err != nil {
		return nil, errors.Join(err, unlock(context.WithoutCancel(ctx), false))
	}
	_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
	for err != nil && sqliteBusy(err) && pause(ctx, lastPoll) == nil {
		_, err = c.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		return nil, errors.Join(err, unlock(context.WithoutCancel(ctx), false))
	}
	return unlock, nil
}

// lockMySQL holds a named lock of the server, which the end of the connection frees.
func lockMySQL(ctx context.Context, c *sql.Conn, prefix string) (func(context.Context, bool) error, error) {
	var database string
	if err := c.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return nil, err
	}
	// A name has at most 64 characters.
	digest := sha256.Sum256([]byte(database + "/" + prefix))
	name := "couponkit_" + hex.EncodeToString(digest[:16])
	var held sql.Null[int64]
	for held.V != 1 { // another process is migrating, for as long as it takes
		if err := c.QueryRowContext(ctx, "SELECT GET_LOCK(?, 60)", name).Scan(&held); err != nil {
			return nil, err
		}
		if !held.Valid {
			return nil, errors.New("the server gives no lock")
		}
	}
	return func(ctx context.Context, _ bool) error {
		return c.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", name).Scan(&held)
	}, nil
}
