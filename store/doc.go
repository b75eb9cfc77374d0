// Package store is the contract with the host's database.
//
// A store keeps coupons, orders with their uses, counters and a journal. It knows nothing
// of discounts or conditions: what limits an order arrives as claims on counters. Every
// decision that is made under a store's lock is in package engine. A store reads rows,
// lets the engine decide, and writes rows.
//
// [Store] is composed of roles. Code that needs one role asks for that role. The contract
// grows by optional interfaces: a new ability is an interface of its own, found by [As].
//
// All methods may be called from many goroutines.
package store
