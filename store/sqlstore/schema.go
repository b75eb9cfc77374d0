package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"
)

//go:embed schema
var schemaFiles embed.FS

// SchemaVersion is the version of the tables that this package works with.
const SchemaVersion = 1

// SchemaError tells that a database has tables of another version.
type SchemaError struct {
	// Table is where the version is recorded.
	Table string
	// Found is the version of the tables; 0 is none: they have not been made.
	Found int
}

// Error names both versions.
func (e *SchemaError) Error() string {
	if e.Found == 0 {
		return fmt.Sprintf("the database has no tables of couponkit (%s): call Migrate", e.Table)
	}
	return fmt.Sprintf("the tables of couponkit have version %d (%s), this program needs %d", e.Found, e.Table, SchemaVersion)
}

const (
	versionTable  = `CREATE TABLE IF NOT EXISTS {schema} (version INTEGER NOT NULL PRIMARY KEY)`
	insertVersion = `INSERT INTO {schema} (version) VALUES (%d)`
	selectVersion = `SELECT COALESCE(MAX(version), 0) FROM {schema}`
)

// Schema returns the statements that make the tables, for hosts that run them with a tool
// of their own. A prefix that would need quotes, or an unknown dialect, is
// validation.ErrInvalid.
func Schema(d Dialect, o Options) (string, error) {
	g, err := d.grammar(o)
	if err != nil {
		return "", err
	}
	statements, err := g.statements()
	return strings.Join(statements, ";\n\n") + ";\n", err
}

func (g *grammar) statements() ([]string, error) {
	text, err := schemaFiles.ReadFile("schema/" + g.dialect.String() + ".sql")
	if err != nil {
		return nil, err
	}
	statements := []string{g.sql(versionTable)}
	for statement := range strings.SplitSeq(g.sql(string(text)), ";\n") {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return append(statements, g.sql(fmt.Sprintf(insertVersion, SchemaVersion))), nil
}

// Migrate makes the tables, if they are not there. Any number of processes may call it at
// once, at every start; on Galera one process does. Errors:
//
//   - [*SchemaError]: the tables have another version. Nothing was changed.
//   - [*GaleraError]: the server belongs to a cluster, see [Options].SingleWriter.
//   - [*LibraryError]: the driver brings a SQLite before [LeastSQLite].
//   - validation.ErrInvalid: db is nil, the dialect is unknown, or an option is out of bounds.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, o Options) error {
	g, err := d.grammarOf(db, o)
	if err != nil {
		return err
	}
	if err := g.guard(ctx, db, o); err != nil {
		return err
	}
	statements, err := g.statements()
	if err != nil {
		return err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer c.Close() //nolint:errcheck // it goes back to the pool
	migrate := g.migrateMySQL
	if d == SQLite {
		migrate = g.migrateSQLite
	}
	if err := migrate(ctx, c, statements); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// migrateSQLite creates the tables in one transaction. Other processes wait for it.
func (g *grammar) migrateSQLite(ctx context.Context, c *sql.Conn, statements []string) error {
	err := patiently(ctx, time.Minute, sqliteBusy, func() error {
		_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
		return err
	})
	done := false
	if err == nil {
		done, err = g.migrated(ctx, c)
	}
	if err == nil && !done {
		err = execAll(ctx, c, statements)
	}
	if err == nil {
		_, err = c.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		return errors.Join(err, leave(ctx, c))
	}
	return nil
}

// migrateMySQL needs no lock, because each statement creates only missing tables. The last statement
// records the version. Another process may have recorded it before.
func (g *grammar) migrateMySQL(ctx context.Context, c *sql.Conn, statements []string) error {
	done, err := g.migrated(ctx, c)
	if err != nil || done {
		return err
	}
	if err = execAll(ctx, c, statements); err != nil && g.duplicate(err) {
		_, err = g.migrated(ctx, c)
	}
	return err
}

func execAll(ctx context.Context, c *sql.Conn, statements []string) error {
	for _, statement := range statements {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// migrated reports whether the tables exist.
func (g *grammar) migrated(ctx context.Context, on plain) (bool, error) {
	err := g.check(ctx, on)
	var other *SchemaError
	if errors.As(err, &other) && other.Found == 0 {
		return false, nil
	}
	return err == nil, err
}

// check returns nil if the tables have the version that this package needs.
func (g *grammar) check(ctx context.Context, on plain) error {
	version, err := g.on(on).number(ctx, selectVersion)
	switch {
	case err != nil && !missingTable(err):
		return fmt.Errorf("read the version of the tables: %w", err)
	case err != nil || version != SchemaVersion:
		return &SchemaError{Table: g.sql("{schema}"), Found: int(version)}
	}
	return nil
}
