//go:build race

package main

// manyDocuments are fewer under the race detector, which has no use for one goroutine
// and makes each several times as expensive.
const manyDocuments = 20_000
