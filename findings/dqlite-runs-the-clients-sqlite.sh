#!/usr/bin/env bash
# Which SQLite a dqlite cluster runs, asked by the Go driver that dqlite's authors publish, and
# what a PRAGMA does that SQLite answers with a row.
#
# Guess before the run: the nodes run the SQLite that libdqlite was built with, Debian's 3.40.1,
# whatever is built around them. A PRAGMA that is executed, and not queried, succeeds as with
# every driver of SQLite.
# Seen (libdqlite 1.11.1-1 and libsqlite3 3.40.1 of Debian 12, go-dqlite v1.11.5, Go 1.26):
#   - The build tag of the Go program decides: without libsqlite3, the driver brings a SQLite of
#     its own that takes the place of Debian's for the nodes of the process too: 3.35.4. Tables
#     that are STRICT (3.37) cannot be made there.
#   - "PRAGMA busy_timeout = 5" is refused by Exec: "another row available".
# What follows: the tests of dqlite need two tags, and the store leaves settings alone there.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir debs root
(cd debs && apt-get download -qq libdqlite0=1.11.1-1 libdqlite-dev=1.11.1-1 libraft2=0.15.0-1 libraft-dev=0.15.0-1 \
  libuv1 libuv1-dev libsqlite3-0 libsqlite3-dev liblz4-1 2>/dev/null)
for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/canonical/go-dqlite v1.11.5
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"

	"github.com/canonical/go-dqlite"
	"github.com/canonical/go-dqlite/client"
	"github.com/canonical/go-dqlite/driver"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := free.Addr().String()
	free.Close()
	dir, err := os.MkdirTemp("", "node-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	node, err := dqlite.New(1, address, dir, dqlite.WithBindAddress(address))
	if err != nil {
		return err
	}
	if err := node.Start(); err != nil {
		return err
	}
	defer node.Close()
	nodes := client.NewInmemNodeStore()
	if err := nodes.Set(ctx, []client.NodeInfo{{ID: 1, Address: address}}); err != nil {
		return err
	}
	d, err := driver.New(nodes)
	if err != nil {
		return err
	}
	connector, err := d.OpenConnector("test.db")
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	_, strict := db.ExecContext(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT")
	_, pragma := db.ExecContext(ctx, "PRAGMA busy_timeout = 5")
	fmt.Printf("SQLite %s, a STRICT table: %t, PRAGMA: %v\n", version, strict == nil, pragma)
	return nil
}
GO
export CGO_ENABLED=1 CGO_CFLAGS="-I$dir/root/usr/include" CGO_LDFLAGS="-L$lib -Wl,-rpath,$lib" LD_LIBRARY_PATH="$lib"
export GOWORK=off GOFLAGS=-mod=mod
for tags in none libsqlite3; do
  go build -tags "$tags" -o program . 2>/dev/null
  printf 'tags %s: ' "$tags"
  ./program
done | tee seen
diff seen - <<'SEEN'
tags none: SQLite 3.35.4, a STRICT table: false, PRAGMA: another row available
tags libsqlite3: SQLite 3.40.1, a STRICT table: true, PRAGMA: another row available
SEEN
