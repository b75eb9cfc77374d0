//go:build !mattn

package sqlitedriver

import (
	"fmt"

	"github.com/ncruces/go-sqlite3/driver"
)

// SecondName is what people call the second driver.
const SecondName = "ncruces"

func backup(raw any, file string) error {
	c, ok := raw.(driver.Conn)
	if !ok {
		return fmt.Errorf("%T has no backup", raw)
	}
	return c.Raw().Backup("main", "file:"+file)
}
