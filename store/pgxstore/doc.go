// Package pgxstore is a store.Store in PostgreSQL 14 or later, on pgx, for any
// number of machines.
//
// # Idea
//
// A look-up, a reservation, a payment is one round trip: a statement, or a call of a
// function in the database that locks, decides and writes. What administrators do,
// and lists, take a few. The functions come with the migrations
// ([Migrate], or [Migrations] for hosts that run their own). The state machine of
// package redemption is written there a second time; a test holds both together
// over all states and events.
//
// # Exactness
//
// A reservation is stored first and counted last, at the coupon's gate, a short row
// beside the coupon that has its limits and counts. What was done by those who held the
// gate before is looked at in a later statement, whose snapshot, at READ COMMITTED, is
// younger than the lock; a reservation for which there is no place is removed again in
// the same transaction. A coupon without a
// limit over all customers has no row that its customers share: its uses are
// counted in rows of which each transaction takes one that is free, and two
// concurrent uses of one customer meet in a unique index.
//
// What takes a place of a coupon with a limit over all customers is counted at its gate, and
// what gives one back in rows beside it, which waits for nobody. The gate knows the most that
// these rows may have together: where its own counts and that leave room, there is room, and
// they are summed up where it is needed to tell.
//
// One thing is left to the caller: the key of a reservation by points and that of an
// order without a coupon are in different tables. Used by one customer for both, one
// after the other, the second is store.ErrKeyReused; used at the same instant, both
// may be stored. No limit is exceeded by it. Keys that are made for one request each
// never meet so.
//
// # Speed
//
// The gate is held by one transaction at a time, from counting to the end of its commit:
// a hot coupon would go no faster than the disk commits. Concurrent calls in one process
// are therefore joined into one transaction (group commit, see [BatchOptions]), without a
// timer: whoever waits when a transaction returns is the next batch, and one batch is
// carried out while another is being committed. Nearly every batch is plain: its coupons
// have places for all, the keys are new, nobody is beyond their limit. Three statements store
// it, without looking for it before; what is not plain comes to light then, is undone, and
// judged request by request. In the batches after such a one, and for coupons without a
// limit over all, requests are looked for first, with one probe of an index each. Processes
// wait for each other at the gate only, not while they store. A coupon that is used up is
// not locked at all, and those who ask for it write nothing.
//
// # Transactions of the host
//
// [Store.WithTx] is the store within a transaction of the host, so that redeeming
// and the host's own writes are committed together. A couponkit.Service on that view
// costs next to nothing to make and does its whole work there. Do so with HandleEvent,
// which records a payment: the host's own order is paid with it or not at all. Checkout
// asks the processor while the transaction is open, so that everybody else waits that
// long for a coupon with a limit over all customers, and the session that it opens is
// there also when the transaction is not committed. Commit the host's order before
// instead, and name it in the Metadata of the checkout, which Outcome.Order brings back.
//
// # Proxies
//
// The store keeps no state in sessions and works behind a proxy that pools
// transactions; [Options].QueryExecMode then decides whether statements are
// prepared. Leave DateStyle at ISO, which is PostgreSQL's default: pgx reads no other in
// the answers of statements that are not prepared, as searches are not. TimeZone may be any.
// A reservation that runs alone is prepared and sent without pgx's own layer, unless the pool
// has a tracer or a BeforeConnect.
// The database's encoding is UTF8: no other holds all text that the contract admits.
//
// # Errors
//
// Errors of the contract are those of package store and the rejections of package
// coupon. What PostgreSQL or the connection reports is passed on wrapped, so that
// errors.As finds a *pgconn.PgError. Serialisation failures, deadlocks and
// connections that were lost before anything was sent are retried within the call;
// after any other lost connection the caller repeats the call, which does no harm.
package pgxstore
