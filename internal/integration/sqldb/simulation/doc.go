// Package simulation lives the lives of internal/simulation on SQLite.
//
// # Idea
//
// A life on SQLite has the same schedule as one in memory: the seed decides what
// happens, and the database decides nothing. So the two must be equal, step by step
// and in everything that is left at the end; and the invariants hold here as they do
// there. Every process of the world has its own connections to one file. A process
// stops between two calls or in the middle of a transaction, which then must have
// left nothing behind; when the power fails, the next process finds a copy of the
// file and its log as they were at that moment.
//
// Each life runs in a bubble of testing/synctest, whose clock stands as long as
// somebody works: what would wait for the wall clock would show as time that has
// passed, and is a failure.
//
//	go test ./simulation                    # from internal/integration/sqldb
//	go test ./simulation -seeds 5000
//	go test ./simulation -seed 17
package simulation
