// Package simulation runs the whole service in a world that one seed decides.
//
// # Idea
//
// A [World] has a virtual clock, a store, a payment processor, a ledger of points,
// and several nodes that each run the real service. Every call that a node makes to
// the world outside stops at a gate; the schedule then picks one call, of any
// operation on any node, and decides its fate: it goes through, it is lost before
// or after it took effect, it arrives twice. Between calls customers pay, events are
// delivered late, twice or out of order, administrators interfere, the clock jumps,
// and nodes stop and come up again. Only one thing happens at a time, so that a seed
// always leads to the same life.
//
// After every step, and once everything has come to rest, the world is checked for
// what must be impossible (contract sections 2 and 5). A life that fails is run
// again without one step after the other, until every step that is left is needed;
// what remains is the trace that [FaultError] shows.
package simulation
