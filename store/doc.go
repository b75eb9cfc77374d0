// Package store defines the interface between couponkit and the host's database.
//
// A store keeps coupons, orders with their uses, counters and a journal. A store knows
// nothing about discounts or the conditions of coupons. Limits reach the store as claims on
// counters. Package engine makes every decision under the lock of a store. A store only reads
// rows, calls the engine, and writes rows.
//
// [Store] is composed of smaller interfaces, such as [Coupons] and [Orders]. Code that needs
// only coupons should ask for Coupons. New features become optional interfaces. [As] finds an
// optional interface of a store.
//
// All methods are safe for concurrent use.
package store
