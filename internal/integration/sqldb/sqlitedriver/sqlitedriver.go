// Package sqlitedriver names the drivers by which SQLite is tested and measured:
// modernc.org/sqlite and a second one. That is ncruces/go-sqlite3, or with the build tag
// mattn mattn/go-sqlite3, which is the C library itself and needs a C compiler. Both call
// themselves "sqlite3", so that no program can have them together.
package sqlitedriver

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// Names of the drivers in database/sql.
const (
	Modernc = "sqlite"
	Second  = "sqlite3"
)

// ByName returns the names in database/sql by the names that people use.
func ByName() map[string]string { return map[string]string{"modernc": Modernc, SecondName: Second} }

// DSN opens the file with any of the drivers, and waits ten seconds for others. Its
// transactions are deferred: that is SQLite's default, but not that of every driver.
func DSN(file string) string {
	return fmt.Sprintf("file:%s?_pragma=busy_timeout(10000)&_busy_timeout=10000&_txlock=deferred", file)
}

// Backup copies the main database of a driver's connection to a file, page by page, while
// others write.
func Backup(raw any, file string) error {
	c, ok := raw.(interface {
		NewBackup(file string) (*sqlite.Backup, error)
	})
	if !ok {
		return backup(raw, file)
	}
	copying, err := c.NewBackup(file)
	if err != nil {
		return err
	}
	_, err = copying.Step(-1)
	return errors.Join(err, copying.Finish())
}
