// Package sqldb proves store/sqlstore on real databases: SQLite by two drivers, and
// MariaDB on a throwaway server. It is a module of its own, so that nobody else
// gets their drivers.
//
// With the build tag mattn one of the drivers is the C library; see sqlitedriver.
package sqldb
