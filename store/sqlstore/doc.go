// Package sqlstore is a store behind database/sql: SQLite for a service on one machine,
// MySQL or MariaDB for several. The host brings the driver.
//
//	db, err := sql.Open("sqlite", "file:shop.db?_pragma=busy_timeout(10000)")
//	err = sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{})
//	coupons, err := sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{})
//
// Package engine decides; this package finds rows, locks and keeps them. Both dialects have
// the same tables and statements. They differ in a few words of SQL, in who runs a
// transaction and in how entries of the journal get their positions.
//
// # SQLite
//
// One transaction writes at a time. Calls that wait while another transaction is written to
// the disk are joined into the next one. Each call has its own answer, and a call that
// fails does so alone. Several processes may use one file, on one machine.
//
// The store switches the file to write-ahead logging (WAL) and keeps one connection of the
// pool for writing, from its first write to [Store.Close]. Other connections read and wait
// for nobody. The store sets synchronous for that connection, to FULL by default, and
// cache_size and wal_autocheckpoint. When it gives the connection back, the connection has
// the host's settings again. A database in memory belongs to its connection: call
// SetMaxOpenConns(1), and the store shares that connection.
//
// The driver's SQLite has to be version [LeastSQLite] or later: before it, several connections
// to a file in WAL mode could damage the file. [New] and [Migrate] refuse an older one with a
// [*LibraryError].
//
// Give the connections of the host a busy timeout, and begin its transactions that write
// as such (_txlock=immediate). ncruces/go-sqlite3 v0.37 does so by default: begin transactions
// that only read as ReadOnly. To copy a database in use run VACUUM INTO; never copy the file
// alone.
//
// # MySQL and MariaDB
//
// Each call is a transaction at READ COMMITTED. Rows are locked in the order orders and
// uses, coupons, counters, each by the bytes of its keys. A transaction that the database
// undoes because of others is tried again, ten times in all. Each attempt waits for a lock
// as long as the server lets it (innodb_lock_wait_timeout): the deadline of the context
// bounds a call. Nothing is prepared: arguments are written into the statements, text in
// hexadecimal digits. A statement is about twice as long as the documents in it, for which
// max_allowed_packet has to be large enough: 64 MiB is.
//
// On a Galera cluster locks end at the node. [New] and [Migrate] refuse such a server with
// a [*GaleraError], unless the host declares that it writes to one node alone.
package sqlstore
