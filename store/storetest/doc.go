// Package storetest checks that a store keeps the contract of package store. Hosts
// that bring a database of their own run it in their tests.
//
// # Idea
//
// [Run] checks the contract clause by clause, each in a subtest of its own with a
// new, empty store. A failure quotes the sentence of the contract that does not
// hold, and tells what was seen instead:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return open(t) }, storetest.Capabilities{})
//	}
//
// Where the contract leaves the decision to a pure function (redemption.Apply,
// store.Order.After, store.WithinLimits), the suite compares the store's answer with
// that function, so that a store which has the rules in SQL is held to the same ones.
//
// [Agree] looks for what no clause has thought of: it plays random histories on the
// store and on a reference, memstore for instance, and compares every answer.
//
// [CheckInvariants] checks what must be true of any store at any quiet moment,
// whatever was done to it: after a test under load, or in production on a replica.
//
// Nothing depends on the time of day, and nothing waits. The clauses about
// concurrency use up to [DefaultGoroutines] goroutines at once, or as many as
// [Capabilities].Goroutines tells.
//
// Most clauses make a few records; "totals are exact" makes [store.ExactTotal] coupons, as
// many reservations, and a few more, for up to there a total has to be exact. A store that
// reads or copies all that it has in every call may take minutes for it: the flag -timeout of
// go test gives it time, and -skip '/totals_are_exact$' leaves it out while there is no other
// way.
package storetest
