//go:build race

package simulation_test

// SQLite in Go under the race detector is some thirty times slower.
const defaultSeeds = 4
