// Package dqlite runs store/sqlstore on dqlite, which is SQLite replicated by Raft. It is a
// module of its own, so that nobody else gets the driver.
//
// The tests need a C compiler and two packages of Debian 12:
//
//	apt-get install libdqlite-dev libraft-dev
//	go test -tags dqlite,libsqlite3 .
//
// go-dqlite 1.11.5 fits Debian's libdqlite 1.11.1, and 1.11.9 does not compile with it. The
// tag libsqlite3 selects Debian's SQLite. Without the tag, go-dqlite brings SQLite 3.35,
// which has no STRICT tables.
package dqlite
