package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
)

// LeastSQLite is the first version of SQLite that keeps a database in WAL mode whole, whatever
// its connections do. Before it, a checkpoint beside a commit could take committed pages for
// copied, which damages the database. Versions 3.44.6 and 3.50.7 have the correction, too.
const LeastSQLite = "3.51.3"

// LibraryError tells that the driver brings a SQLite that can damage a database in WAL mode.
type LibraryError struct {
	// Found is the version of the library, as sqlite_version() tells it.
	Found string
}

// Error names both versions.
func (e *LibraryError) Error() string {
	return fmt.Sprintf("the driver brings SQLite %s, which can damage a database in WAL mode that has several connections: use a driver with SQLite %s or later",
		e.Found, LeastSQLite)
}

// guardLibrary refuses versions of SQLite that can damage a database.
func (g *grammar) guardLibrary(ctx context.Context, db *sql.DB) error {
	var version string
	if err := g.on(db).each(ctx, "SELECT sqlite_version()", func(rows *sql.Rows) error { return rows.Scan(&version) }); err != nil {
		return fmt.Errorf("ask for the version of SQLite: %w", err)
	}
	if !keepsLogs(version) {
		return &LibraryError{Found: version}
	}
	return nil
}

// keepsLogs reports whether a version of SQLite has the fix for resets of the log.
func keepsLogs(version string) bool {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return false
	}
	switch {
	case major != 3:
		return major > 3
	case minor == 44:
		return patch >= 6
	case minor == 50:
		return patch >= 7
	case minor == 51:
		return patch >= 3
	}
	return minor > 51
}
