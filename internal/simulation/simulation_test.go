package simulation_test

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store/storetest"
)

// longSeeds is the number of lives of the long form. All kinds of events happen in them.
const longSeeds = 2_500

var (
	seeds   = flag.Uint64("seeds", testsize.Of[uint64](80, longSeeds), "how many lives are lived")
	first   = flag.Uint64("first", 1, "the seed of the first of them")
	seed    = flag.Uint64("seed", 0, "the one life to live, with its trace when it fails; 0 lives as many as -seeds tells")
	large   = flag.Uint64("large", testsize.Of[uint64](0, 1), "how many lives of thousands of customers and processors are lived")
	shorten = flag.Bool("shorten", false, "look for the shortest life of every planted fault")
)

// TestNothingImpossibleHappens lives many lives; a failure names the seed that
// leads to it again, and the shortest life that shows it.
func TestNothingImpossibleHappens(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		_, err := simulation.Run(simulation.Config{Seed: *seed, Check: storetest.Check, CheckOrder: checkOrder})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	all := lives(t, *first, *first+*seeds-1, simulation.Config{Check: storetest.Check, CheckOrder: checkOrder})
	t.Logf("what has happened in the lives %d to %d:\n%s", *first, *first+*seeds-1, all)
	if *seeds >= longSeeds {
		checkCoverage(t, all)
	}
}

// TestNothingImpossibleHappensToHostsThatRecord: their transactions are rolled back, and answers of commits are lost.
func TestNothingImpossibleHappensToHostsThatRecord(t *testing.T) {
	t.Parallel()
	all := lives(t, 1, uint64(testsize.Of(20, 250)), simulation.Config{Recorders: true, Check: storetest.Check, CheckOrder: checkOrder})
	for _, fate := range []string{"", "lost before it took effect", "its answer is lost"} { // "" is all of them
		if testsize.Long() && all.Of("fate", "Record", fate) == 0 {
			t.Errorf("no recorded payment %s", fate)
		}
	}
}

// TestNothingImpossibleHappensWithAutomaticCoupons: processes find coupons in indexes that are old.
func TestNothingImpossibleHappensWithAutomaticCoupons(t *testing.T) {
	t.Parallel()
	all := lives(t, *first, *first+uint64(testsize.Of(10, 250))-1, simulation.Config{Check: storetest.Check, CheckOrder: checkOrder, Parts: automatic})
	for _, l := range []struct {
		kind, what, how string
		times           int
	}{
		{"step", "index", "", 100},
		{"index", "has read coupons", "", 100},
		{"fate", "LookUp", "", 100},
		{"order", "new", "with an automatic coupon", 200},
		{"order", "new", "replaces another one", 50},
		{"rejection", "not_combinable", "", 10},
		{"rejection", "cart_totals_invalid", "", 20},
		{"use", "completed", "given back", 20},
		{"use", "completed", "over the limit", 1},
		{"automatic", "at rest", "", 20},
	} {
		if n := all.Of(l.kind, l.what, l.how); testsize.Long() && n < l.times {
			t.Errorf("%s %s %s: happened %d times, at least %d are wanted", l.kind, l.what, l.how, n, l.times)
		}
	}
	t.Logf("%d orders with automatic coupons", all.Of("order", "new", "with an automatic coupon"))
}

func automatic() simulation.Parts { return simulation.Parts{Automatic: true} }

// TestNothingImpossibleHappensInLargeWorlds: thousands of customers and processors, each with
// a shop, share a few processes.
func TestNothingImpossibleHappensInLargeWorlds(t *testing.T) {
	t.Parallel()
	if *seed != 0 || *large == 0 {
		return
	}
	all := lives(t, 1, *large, simulation.Config{
		Steps: 20_000, Customers: 3_000, Shops: 1_000, Nodes: 8, InFlight: 64, ScanEvery: 200, KeepTrace: true,
	})
	t.Logf("%d checkouts, %d payments, %d stops in %d worlds", all.Of("step", "checkout", ""),
		all.Of("use", "reserved", "completed"), all.Of("step", "process stops", ""), *large)
}

// stretch is after how many lives there is word of them: whoever stops a run of millions
// can go on after the last stretch.
const stretch = 10_000

// lives lives lives on all processors and adds up what happens in them.
func lives(t *testing.T, first, last uint64, c simulation.Config) simulation.Coverage {
	t.Helper()
	var mu sync.Mutex
	all := make(simulation.Coverage)
	for from := first; from <= last && !t.Failed(); from += stretch {
		until := min(from+stretch-1, last)
		each(until+1-from, func(n uint64) {
			if t.Failed() {
				return
			}
			c := c
			c.Seed = from + n - 1
			life, err := simulation.Run(c)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			all.Add(life.Coverage)
		})
		if until < last && !t.Failed() {
			t.Logf("lived up to seed %d with %d MiB of memory; -first %d goes on", until, memory(), until+1)
		}
	}
	return all
}

// memory is what the program has from the system and uses, in MiB.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return (m.Sys - m.HeapReleased) >> 20
}

// TestMemoryIsBounded: a life leaves no memory and no coroutine behind, whatever stops in it.
func TestMemoryIsBounded(t *testing.T) {
	if *seed != 0 {
		return
	}
	const stretch, most = 50, 4 << 20 // bytes
	live := func(first uint64) (bytes int64) {
		for s := first; s < first+stretch; s++ {
			if _, err := simulation.Run(simulation.Config{Seed: s}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, coroutines := live(1), runtime.NumGoroutine()
	if grown := live(1+stretch) - before; grown > most {
		t.Errorf("%d lives have left %d bytes, at most %d are expected", stretch, grown, most)
	}
	if n := runtime.NumGoroutine(); n > coroutines {
		t.Errorf("%d goroutines are there, and before %d", n, coroutines)
	}
}

// TestASeedDecidesEverything: the same seed leads to the same life, step by step, and
// a failure to the same trace.
func TestASeedDecidesEverything(t *testing.T) {
	t.Parallel()
	for s := range testsize.Of[uint64](5, 20) {
		for _, p := range []plant{{name: "sound"}, planted[0], planted[4]} {
			c := simulation.Config{Seed: s + 1, Parts: p.parts, Trace: true, KeepTrace: true}
			first, firstErr := simulation.Run(c)
			second, secondErr := simulation.Run(c)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("seed %d, %s: the second life differs (-first +second):\n%s", c.Seed, p.name, diff)
			}
			if fmt.Sprint(firstErr) != fmt.Sprint(secondErr) {
				t.Errorf("seed %d, %s: %v; the second time %v", c.Seed, p.name, firstErr, secondErr)
			}
		}
	}
}

// TestAFailureIsReplayed: the seed in a failure leads to the failure, word for word,
// and no step of its trace can be left out.
func TestAFailureIsReplayed(t *testing.T) {
	t.Parallel()
	p := testsize.Of(planted[4], planted[0]) // which is found soon, or takes a search
	found, others := find(p, 1_000)
	if found == nil {
		t.Fatal(others)
	}
	var first, second *simulation.FaultError
	_, err := simulation.Run(simulation.Config{Seed: found.Seed, Parts: p.parts})
	if !errors.As(err, &first) {
		t.Fatalf("seed %d does not fail again", found.Seed)
	}
	_, err = simulation.Run(simulation.Config{Seed: first.Seed, Parts: p.parts})
	if !errors.As(err, &second) {
		t.Fatalf("seed %d does not fail again", first.Seed)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second failure differs (-first +second):\n%s", diff)
	}
	const most = 25 // how many a check-then-act needs where nothing else is in the way
	search := *shorten || testsize.Long()
	shortest := first.Steps
	for s := first.Seed + 1; search && shortest > most && s < first.Seed+400; s++ {
		var failure *simulation.FaultError
		if _, err := simulation.Run(simulation.Config{Seed: s, Parts: p.parts}); errors.As(err, &failure) && failure.Invariant == first.Invariant {
			shortest = min(shortest, failure.Steps)
		}
	}
	if search && shortest > most {
		t.Errorf("the shortest trace of a check-then-act has %d steps, at most %d are needed", shortest, most)
	}
}
