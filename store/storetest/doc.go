// Package storetest checks that a store keeps the contract of package store. Hosts that
// bring a database of their own run it in their tests:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return open(t) }, storetest.Capabilities{})
//	}
//
// [Run] checks the contract clause by clause. Each clause is a parallel subtest with a new,
// empty store. A failure quotes the clause that does not hold. After every clause the suite
// reads the whole store and calls [Check].
//
// [Agree] plays random histories on the store and on a reference, and compares every
// answer. [Check] finds contradictions between records, counters and journal in any store
// at a quiet moment, also after a test under load. [Follow] reads a journal while others
// write, and checks that it misses no entry. [Buyers] use a coupon up while a test kills the
// server, and check that nothing acknowledged is lost.
//
// Nothing depends on the time of day.
package storetest
