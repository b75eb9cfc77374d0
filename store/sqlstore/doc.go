// Package sqlstore is a store behind database/sql: SQLite for a service on one
// machine, MySQL or MariaDB for several. The host brings the driver.
//
//	db, err := sql.Open("sqlite", "file:shop.db?_pragma=busy_timeout(10000)")
//	err = sqlstore.Migrate(ctx, db, sqlstore.SQLite, "")
//	coupons, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
//
// # Idea
//
// Every method is one transaction. It takes its locks, reads, lets the functions of
// packages store and redemption decide, and writes: no rule is written a second
// time in SQL. What differs between databases is a [Dialect]: how rows are locked,
// and what its errors mean. Tables have names that a host can read in (coupons,
// coupon_redemptions, orders, and three that begin with coupon), with constraints
// for what SQL can state; instants are integers of microseconds, money is in minor
// units, and text is compared byte by byte.
//
// # Choosing a dialect
//
// [SQLite] needs no server and is exact and fast as long as all processes are on
// one machine: several may use one file. One transaction writes at a time, which
// the store turns into an advantage: calls that wait while another transaction is
// written to the disk are joined into the next one, so that a crowd on one coupon
// costs few waits for the disk, and few statements: what they need is read for many
// at once, and their rows are written several to a statement. Each call has its own
// answer; a call that fails does so alone; one that is alone does not wait for
// company.
//
// [MySQL] is for services on several machines. Calls about one coupon that has a
// limit over all customers wait for each other; a coupon without one has no row
// that all customers write. A call that writes is tried again, ten times in all, when the
// database has undone it because of others: after a deadlock, a lock timeout and, on
// MariaDB, a row that was changed since the transaction began to read. One that meets a
// row which somebody has inserted meanwhile is tried once more; nothing else is. Each attempt
// waits for a lock as long as the server lets it (innodb_lock_wait_timeout, 50 seconds by
// default), which is over eight minutes in all beside a transaction that never ends: the
// deadline of the context is what bounds a call.
// PostgreSQL, by package pgxstore, is the faster choice where it is to be had.
//
// # Settings of SQLite
//
// The store switches the file to write-ahead logging (WAL), once and for good, and keeps
// one connection of the pool for writing, from its first write to [Store.Close], which
// gives it back with the settings that it had; reads take others and wait for nobody. It
// sets synchronous for that connection: [Full] by default, so that what was acknowledged
// survives a loss of power, whatever default the driver has. That connection keeps up to
// 8 MiB of pages in memory (cache_size), and copies the log into the file when it has
// grown by 32 MiB (wal_autocheckpoint): the file beside the database with the ending -wal
// is about as large. It begins anew when for a moment nobody reads; where reads always
// overlap, the store lets them end, every few thousand calls, before it writes on.
// Against a transaction of the host that reads for long nothing helps, and the file grows
// until it ends. The file must be on a local disk: WAL does not work over a network.
//
// Give the connections of the host a busy timeout (modernc.org/sqlite and
// github.com/ncruces/go-sqlite3: _pragma=busy_timeout(10000); github.com/mattn/go-sqlite3:
// _busy_timeout=10000), and begin the host's own transactions that write as such
// (_txlock=immediate): the store writes often, and a transaction that reads first and
// then writes is refused by SQLite when somebody else has written in between. A
// database in memory belongs to its connection: call SetMaxOpenConns(1), and the store
// shares that one. Between its transactions it has the settings of the host.
//
// To copy a database in use, run VACUUM INTO on any connection, or the backup
// interface of the driver; never copy the file alone.
//
// # Settings of MySQL and MariaDB
//
// Tables are InnoDB. The DSN of github.com/go-sql-driver/mysql needs nothing but the
// database; utf8mb4 is its default. Statements that repeat are prepared, so that
// interpolateParams brings little: up to about 50 for each connection of a pool. Where a
// server keeps no more (max_prepared_stmt_count, for all its clients), a store gives its
// own up until it is opened again, and prepares for each call what it runs. Bound the
// pool with SetMaxOpenConns: calls beyond it wait for a connection and not for a lock.
// Keep innodb_flush_log_at_trx_commit at 1, lest a crash takes acknowledged uses back. An
// order of the largest cart, 10,000 lines with the longest IDs, is a document of 20 MiB:
// max_allowed_packet, of the server and of the driver, is the most that can be stored,
// and what is larger ends the connection. 64 MiB is enough.
//
// # What is guaranteed
//
// Whatever the interleaving of goroutines, processes and transactions of the host,
// with batches and without: no limit is exceeded, no acknowledged use is lost, a
// session is one redemption's, counts equal records, and a call that returned an error
// has changed nothing, unless the connection was lost; then repeat it with the same key.
// The suite of package storetest, runs in which processes and servers are killed, and
// copies made in mid-run show it, in internal/integration/sqldb.
//
// # Transactions of the host
//
// [Store.WithTx] joins a transaction of the host, so that the use of a coupon and
// the host's own rows are committed together: best what Service.HandleEvent records,
// with a couponkit.Service on the view. Service.Checkout asks the processor while the
// transaction is open, and others wait that long (see [Store.WithTx]); commit the host's
// order before, and name it in the Metadata of the checkout. A limit is exact at every
// isolation level. On MySQL and MariaDB let it be READ COMMITTED: at their default,
// REPEATABLE READ, MariaDB 11.6.2 or later ends a transaction that comes to a coupon
// which others have used since it began to read (innodb_snapshot_isolation).
// [Store.Retryable] tells, and the host begins anew. At READ COMMITTED transactions that
// make one call each about a checkout wait for each other and are not undone: rows are
// locked as they will be needed, in one order.
//
// # Migrations
//
// [Migrate] brings the tables up under a lock, at every start and from any number
// of processes; [Migrations] returns the statements for a tool of the host, beside
// which Migrate is not called (docs/stores.md tells how to go over to it). Tables
// can have a prefix. On SQLite processes that were built before a step are ended first:
// they may know indexes that are gone.
package sqlstore
