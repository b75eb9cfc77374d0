//go:build mattn

package sqlitedriver

import (
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// SecondName is what people call the second driver.
const SecondName = "mattn"

func backup(raw any, file string) (err error) {
	from, ok := raw.(*sqlite3.SQLiteConn)
	if !ok {
		return fmt.Errorf("%T has no backup", raw)
	}
	opened, err := new(sqlite3.SQLiteDriver).Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	to, ok := opened.(*sqlite3.SQLiteConn)
	if !ok {
		return fmt.Errorf("%T is no copy's connection", opened)
	}
	copying, err := to.Backup("main", from, "main")
	if err != nil {
		return err
	}
	done, err := copying.Step(-1)
	if err == nil && !done {
		err = errors.New("the copy is not complete")
	}
	return errors.Join(err, copying.Finish())
}
