#!/usr/bin/env bash
# The newest reservations of one customer for one coupon, on SQLite without ANALYZE, as an
# application has it from its first day. Two indexes: (customer, coupon, state), which has the rows
# by three equalities, and (coupon, created), which has those of the coupon in the wanted order.
#
# Guess before the run: three equalities win, and the few rows are sorted.
# Seen (modernc.org/sqlite 1.59.0, SQLite 3.53.4):
#   - Without statistics the index with the order is taken. With a LIMIT that is never reached, each
#     query goes through every row of the coupon: a popular coupon makes the query slower each day.
#   - After ANALYZE, the three equalities.
#   - With an order by an expression (created + 0), the three equalities, without statistics.
# What follows: look at the plan of each statement with ORDER BY and LIMIT on an empty database, not
# only for SCAN: "SEARCH … USING INDEX" may be the search for a million rows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module seen

go 1.25
MOD
cat >main.go <<'GO'
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"

	_ "modernc.org/sqlite"
)

const query = "SELECT id FROM uses WHERE customer = 'ann' AND coupon = 'TEN' AND state = 'reserved' ORDER BY %s DESC, id DESC LIMIT 16"

func main() {
	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	db.SetMaxOpenConns(1)
	var version string
	check(db.QueryRow("SELECT sqlite_version()").Scan(&version))
	fmt.Fprintln(os.Stderr, "SQLite", version)
	for _, statement := range []string{
		"CREATE TABLE uses (id INTEGER PRIMARY KEY, customer TEXT, coupon TEXT, state TEXT, created INTEGER)",
		"CREATE INDEX equal ON uses (customer, coupon, state)",
		"CREATE INDEX ordered ON uses (coupon, created)",
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
			INSERT INTO uses SELECT i, 'customer ' || i / 4, 'TEN', 'completed', i FROM n`,
	} {
		_, err := db.Exec(statement)
		check(err)
	}
	show(db, "no statistics", "created")
	show(db, "no statistics, order by an expression", "created + 0")
	_, err = db.Exec("ANALYZE")
	check(err)
	show(db, "ANALYZE", "created")
}

func show(db *sql.DB, what, order string) {
	rows, err := db.Query("EXPLAIN QUERY PLAN " + fmt.Sprintf(query, order))
	check(err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		check(rows.Scan(&id, &parent, &unused, &step))
		fmt.Printf("%s: %s\n", what, step)
	}
	check(rows.Err())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
GO
GOFLAGS=-mod=mod GOWORK=off go get modernc.org/sqlite@v1.59.0 2>/dev/null
GOFLAGS=-mod=mod GOWORK=off go run . | tee seen
diff seen - <<'SEEN'
no statistics: SEARCH uses USING INDEX ordered (coupon=?)
no statistics, order by an expression: SEARCH uses USING INDEX equal (customer=? AND coupon=? AND state=?)
no statistics, order by an expression: USE TEMP B-TREE FOR ORDER BY
ANALYZE: SEARCH uses USING INDEX equal (customer=? AND coupon=? AND state=?)
ANALYZE: USE TEMP B-TREE FOR ORDER BY
SEEN
