#!/usr/bin/env bash
# PGlite behind its socket server, and a pool of connections: is each a session of its own?
#
# Guess before the run: no; a transaction of one connection holds up the others, and names of
# prepared statements may collide.
# Seen (@electric-sql/pglite 0.5.14, pglite-socket 0.2.17, pgx v5.13.0):
#   - Both are so. The second connection of a pool fails with 42P05 at the first statement that
#     the first one has prepared, since pgx names statements after their text.
#   - Also shared: settings, and advisory locks. Two connections hold the same lock at once, so
#     whatever migrates under one migrates twice.
# What follows: tests of a store that locks need a server with sessions.
set -euo pipefail
dir=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17 >/dev/null
cat >server.mjs <<'JS'
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
const db = await PGlite.create();
const server = new PGLiteSocketServer({ db, port: Number(process.argv[2]), host: "127.0.0.1", maxConnections: 10 });
await server.start();
console.log("ready");
JS
cat >go.mod <<'MOD'
module findings

go 1.26.0

require github.com/jackc/pgx/v5 v5.13.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	ctx := context.Background()
	connect := func(mode pgx.QueryExecMode) *pgx.Conn {
		config, err := pgx.ParseConfig("postgres://postgres@127.0.0.1:" + os.Args[1] + "/postgres?sslmode=disable")
		if err != nil {
			panic(err)
		}
		config.DefaultQueryExecMode = mode
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			panic(err)
		}
		return conn
	}
	one, two := connect(pgx.QueryExecModeSimpleProtocol), connect(pgx.QueryExecModeSimpleProtocol)
	text := func(conn *pgx.Conn, query string) (s string) {
		if err := conn.QueryRow(ctx, query).Scan(&s); err != nil {
			return err.Error()
		}
		return s
	}
	text(one, "SELECT set_config('application_name', 'of the first', false)")
	fmt.Println("name of the second:", text(two, "SELECT current_setting('application_name')"))
	fmt.Println("lock of the first:", text(one, "SELECT pg_try_advisory_lock(7)::text"))
	fmt.Println("lock of the second:", text(two, "SELECT pg_try_advisory_lock(7)::text"))

	tx, err := one.Begin(ctx)
	if err != nil {
		panic(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = two.Exec(short, "SELECT 1")
	fmt.Println("the second waits for a transaction of the first:", errors.Is(err, context.DeadlineExceeded))
	_ = tx.Rollback(ctx)

	three, four := connect(pgx.QueryExecModeCacheStatement), connect(pgx.QueryExecModeCacheStatement)
	for _, conn := range []*pgx.Conn{three, four} {
		var n int
		err := conn.QueryRow(ctx, "SELECT $1::integer", 1).Scan(&n)
		failed, _ := errors.AsType[*pgconn.PgError](err)
		fmt.Println("a prepared statement:", n, failed != nil && failed.Code == "42P05")
	}
}
GO
go mod tidy >/dev/null 2>&1
go build -o program .
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
node server.mjs "$port" >server.log 2>&1 &
server=$!
for _ in {1..300}; do
  ! grep -q ready server.log || break
  sleep 0.1
done
timeout 60 ./program "$port" | tee seen
diff seen - <<'SEEN'
name of the second: of the first
lock of the first: true
lock of the second: true
the second waits for a transaction of the first: true
a prepared statement: 1 false
a prepared statement: 0 true
SEEN
