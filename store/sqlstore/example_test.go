package sqlstore_test

import (
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/store/sqlstore"
)

// A host without Migrate runs the statements with its own tool.
func ExampleSchema() {
	script, err := sqlstore.Schema(sqlstore.SQLite, sqlstore.Options{TablePrefix: "shop_"})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _, _ := strings.Cut(script, ";")
	fmt.Println(first)
	// Output:
	// CREATE TABLE IF NOT EXISTS shop_schema (version INTEGER NOT NULL PRIMARY KEY)
}
