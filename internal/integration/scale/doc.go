// Package scale fills a PostgreSQL database with a shop of any size, and checks it.
//
// # Idea
//
// What is fast on a thousand rows proves nothing about twenty million. [Load]
// writes coupons, redemptions and orders as a shop has them after years: a few
// coupons that everybody uses and a long tail, all kinds of limits, allow-lists,
// points, redemptions in every state, a search text with rare and frequent words.
// The same [Size] gives the same rows. They are copied into tables without indexes,
// which are made again afterwards, and [Check] reads everything back in the
// database: what it finds wrong is a fault of the generator or of the schema.
//
// The tests of this package hold every statement of store/pgxstore to a bounded
// piece of work on such a database. Command generate fills a database of yours, and
// internal/benchmarks/scale compares a large one with a small one.
package scale
