package simulation_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

var (
	seeds = flag.Uint64("seeds", 500, "how many lives are lived")
	seed  = flag.Uint64("seed", 0, "the one life to live; 0 lives as many as -seeds tells")
)

func memory(func()) store.Store { return memstore.New() }

// TestNothingImpossibleHappens lives many lives; a failure names the seed that
// leads to it again.
func TestNothingImpossibleHappens(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), *seeds
	if *seed != 0 {
		first, last = *seed, *seed
	}
	var all simulation.Stats
	for s := first; s <= last; s++ {
		stats, err := simulation.Run(simulation.Config{Seed: s, Parts: simulation.Parts{Store: memory}})
		if err != nil {
			t.Fatal(err)
		}
		all.Add(stats)
	}
	t.Logf("%d lives: %+v", last-first+1, all)
}

// TestASeedDecidesEverything: the same seed leads to the same life, and a failure to
// the same trace.
func TestASeedDecidesEverything(t *testing.T) {
	t.Parallel()
	for s := uint64(1); s <= 20; s++ {
		for name, parts := range map[string]simulation.Parts{
			"sound": {Store: memory}, "broken": planted["a finished session is a paid one"],
		} {
			first, firstErr := simulation.Run(simulation.Config{Seed: s, Parts: parts})
			second, secondErr := simulation.Run(simulation.Config{Seed: s, Parts: parts})
			if first != second || fmt.Sprint(firstErr) != fmt.Sprint(secondErr) {
				t.Errorf("seed %d, %s: %+v, %v; the second time %+v, %v", s, name, first, firstErr, second, secondErr)
			}
		}
	}
}
