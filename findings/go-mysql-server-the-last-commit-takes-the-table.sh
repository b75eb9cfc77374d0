#!/usr/bin/env bash
# The double of MySQL for Go tests, and two transactions that overlap: the second begins before the first has ended. Every
# statement runs by itself, none at the same time.
#
# Guess before the run: the second waits, as in MySQL, or BEGIN and COMMIT do nothing, as its README says.
# Seen (dolthub/go-mysql-server v0.20.0 with its memory database, over the wire with go-sql-driver/mysql v1.9.3):
#   - Each transaction works on a copy of the tables that it changes. COMMIT puts the whole copy in place of the table.
#   - The last use of a coupon is given twice. Both updates report one row, both commits succeed, and the counter is 1.
#   - Two redemptions with the same unique key both succeed. The first row is gone after the second commit.
#   - A change of one coupon is gone where the other transaction inserted a different coupon.
#   - SELECT … FOR UPDATE does not wait either. ROLLBACK works. TEN and ten are two keys.
# What follows: a test on this double says nothing about limits, idempotency keys or locks. Run those against MySQL itself.
# The build takes one minute, and the download up to four.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module findings

go 1.25.0

require (
	github.com/dolthub/go-mysql-server v0.20.0
	github.com/go-sql-driver/mysql v1.9.3
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	gms "github.com/dolthub/go-mysql-server/sql"
	_ "github.com/go-sql-driver/mysql"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

var ctx = context.Background()

func do(q querier, statement string) string {
	if !strings.HasPrefix(statement, "SELECT") {
		return fmt.Sprint(must(must(q.ExecContext(ctx, statement)).RowsAffected()), " row")
	}
	rows := must(q.QueryContext(ctx, statement))
	defer rows.Close()
	all := []string{}
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			panic(err)
		}
		all = append(all, a+" "+b)
	}
	return strings.Join(all, ", ")
}

func main() {
	db := memory.NewDatabase("shop")
	db.BaseDatabase.EnablePrimaryKeyIndexes()
	provider := memory.NewDBProvider(db)
	free := must(net.Listen("tcp", "127.0.0.1:0"))
	address := free.Addr().String()
	free.Close()
	s := must(server.NewServer(server.Config{Protocol: "tcp", Address: address}, sqle.NewDefault(provider), gms.NewContext, memory.NewSessionBuilder(provider), nil))
	go s.Start()
	defer s.Close()
	pool := must(sql.Open("mysql", "root@tcp("+address+")/shop"))
	for i := 0; i < 100 && pool.Ping() != nil; i++ {
		time.Sleep(50 * time.Millisecond)
	}
	do(pool, "CREATE TABLE coupon (code varchar(20) PRIMARY KEY, used int NOT NULL, most int NOT NULL)")
	do(pool, "CREATE TABLE redemption (id varchar(20) PRIMARY KEY, coupon varchar(20), customer varchar(20), UNIQUE (coupon, customer))")
	do(pool, "INSERT INTO coupon VALUES ('TEN', 0, 1)")

	overlap := func(title, first, second, after string) {
		a, b := must(pool.BeginTx(ctx, nil)), must(pool.BeginTx(ctx, nil))
		x, y := do(a, first), do(b, second)
		fmt.Printf("%s: %s and %s, commits %v and %v; then %s\n", title, x, y, a.Commit(), b.Commit(), do(pool, after))
	}
	take := "UPDATE coupon SET used = used + 1 WHERE code = 'TEN' AND used < most"
	overlap("last use", take, take, "SELECT code, used FROM coupon")
	overlap("unique key", "INSERT INTO redemption VALUES ('1', 'TEN', 'ann')", "INSERT INTO redemption VALUES ('2', 'TEN', 'ann')", "SELECT id, customer FROM redemption")
	overlap("two coupons", "UPDATE coupon SET most = 9 WHERE code = 'TEN'", "INSERT INTO coupon VALUES ('SIX', 0, 6)", "SELECT code, most FROM coupon ORDER BY code")
	lock := "SELECT code, used FROM coupon WHERE code = 'TEN' FOR UPDATE"
	overlap("for update", lock, lock, "SELECT code, used FROM coupon WHERE code = 'TEN'")

	tx := must(pool.BeginTx(ctx, nil))
	do(tx, "UPDATE coupon SET used = 7")
	fmt.Println("rollback:", tx.Rollback(), do(pool, "SELECT code, used FROM coupon WHERE code = 'TEN'"))
	fmt.Println("ten beside TEN:", do(pool, "INSERT INTO coupon VALUES ('ten', 0, 1)"))
}
GO
GOWORK=off GOFLAGS=-mod=mod go build -o double . >build 2>&1 || { cat build; exit 1; }
./double 2>/dev/null | tee seen
diff seen - <<'SEEN'
last use: 1 row and 1 row, commits <nil> and <nil>; then TEN 1
unique key: 1 row and 1 row, commits <nil> and <nil>; then 2 ann
two coupons: 1 row and 1 row, commits <nil> and <nil>; then SIX 6, TEN 1
for update: TEN 1 and TEN 1, commits <nil> and <nil>; then TEN 1
rollback: <nil> TEN 1
ten beside TEN: 1 row
SEEN
