// Package mariadbtest starts throwaway MariaDB servers for tests.
//
// # Idea
//
// A test of a store proves nothing without a real server, and nobody should have
// to prepare one. [Start] finds the installed programs, makes a fresh data
// directory with mariadb-install-db, starts a server that listens on a socket in
// that directory and nowhere else, durable as a server of a shop would be, and
// removes everything in [Server.Close]. As root it runs the server as the user
// mysql, or as nobody.
//
// The environment variable COUPONKIT_MARIADB_DSN names a server to use instead, as
// a DSN of github.com/go-sql-driver/mysql; databases are then made on it and
// dropped again, and it is never stopped.
package mariadbtest
