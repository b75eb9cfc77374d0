//go:build !dqlite || !libsqlite3

package dqlite_test

import "testing"

func TestDqlite(t *testing.T) {
	t.Skip("needs libdqlite: apt-get install libdqlite-dev libraft-dev; go test -tags dqlite,libsqlite3 .")
}
