//go:build !race

package simulation_test

const (
	defaultSeeds = 3_000
	defaultLarge = 2
	shortest     = true
)
