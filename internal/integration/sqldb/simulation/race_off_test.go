//go:build !race

package simulation_test

import "github.com/couponkit/couponkit/internal/testsize"

var defaultSeeds = testsize.Of[uint64](20, 60)
