// Package pgxstore keeps coupons, orders, counters and the journal in PostgreSQL, by pgx.
//
// Package engine decides. This package locks and reads rows, and writes those that the
// engine has changed. It sends plain SQL with arrays: the statements for a hundred
// reservations are those for one.
//
// # Round trips
//
// A transaction takes two round trips. The first begins it, locks rows and reads them. The
// second writes and commits, or rolls back. A reservation that takes over an order or points
// reads its counters in one more, and so does a payment that comes late. A refused reservation
// looks in one more for what others may have inserted while it waited. A reservation that replaces
// an order which waits for another one's payment begins again, to lock both orders together.
//
// # Group commit
//
// Calls of one kind that are made while a transaction is under way wait and are the next
// transaction together; see [BatchOptions].
//
// # Locks
//
// Rows are locked in one order: orders, uses, coupons (shared), counters of customers, rows that
// are inserted, and at last the counters that all customers share. Rows of one table are locked by
// their keys, byte by byte. So no two transactions of the store wait for each other.
//
// A reservation is decided by shared counters that are not locked until just before the commit.
// If they hold too much or too little by then, the transaction is run again, at last with all
// counters locked first. So a coupon that everybody wants is locked for little more than the
// commit, and nobody waits for one that is used up.
//
// Nobody waits for a part of a spread counter: a transaction takes a part that is free, or makes
// one. An administrator's change locks the coupon against everybody and counters after it.
//
// Nothing relies on isolation above READ COMMITTED, nor on functions, triggers, advisory
// locks, planner settings or system columns. [Migrate] alone takes an advisory lock.
//
// # Plans
//
// A prepared statement may be planned while a table is nearly empty, and be used when it is
// large. So rows are found in a LATERAL subquery for each key, and rows that are locked are
// written by INSERT … ON CONFLICT DO UPDATE: both go by the index whatever the planner expects.
package pgxstore
