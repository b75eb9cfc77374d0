//go:build race

package simulation_test

// The race detector slows lives down about ten times. What it looks for does not
// depend on the seed.
const (
	defaultSeeds = 250
	defaultLarge = 0
	shortest     = false
)
