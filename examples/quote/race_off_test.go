//go:build !race

package main

// manyDocuments is how many are sent where memory is looked at.
const manyDocuments = 100_000
