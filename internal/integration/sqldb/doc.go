// Package sqldb proves store/sqlstore on real databases: SQLite by two drivers, and
// MariaDB on a throwaway server. It is a module of its own, so that nobody else
// gets their drivers.
package sqldb
