package simulation_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

var beginning = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// plant is a world with one broken part, and what has to find it.
type plant struct {
	name string
	by   []simulation.Invariant
	// parts makes the part anew for each life: a broken part may remember things.
	parts func() simulation.Parts
}

func inStore(wrap func(store.Store, func()) store.Store) func() simulation.Parts {
	return func() simulation.Parts { return simulation.Parts{Database: simulation.Memory(wrap)} }
}

func inLedger(wrap func() func(simulation.Points) couponkit.Points) func() simulation.Parts {
	return func() simulation.Parts { return simulation.Parts{Points: wrap()} }
}

func inProcessor(wrap func(simulation.Processor) processor.Processor) func() simulation.Parts {
	return func() simulation.Parts { return simulation.Parts{Processor: wrap} }
}

func by(i ...simulation.Invariant) []simulation.Invariant { return i }

// planted are the broken worlds. Each has to be found by an invariant that it breaks,
// and each invariant has to find one, or the simulation proves nothing.
var planted = []plant{
	{"check-then-act", by(simulation.LimitsHold), inStore(newCheckThenAct)},
	{"counting before recording", by(simulation.CountsEqualRows), inStore(newCountsFirst)},
	{"releasing a completed session", by(simulation.StatesMoveForward), inStore(newReleasesCompleted)},
	{"refunding twice", by(simulation.PointsAreBounded, simulation.PointsAreConserved), inLedger(func() func(simulation.Points) couponkit.Points {
		debited, refunds := make(map[string]int64), make(map[string]int)
		return func(p simulation.Points) couponkit.Points { return refundsAgain{p, debited, refunds} }
	})},
	{"trusting event order", by(simulation.AnswersAreTrue), inStore(newDropsLatePayments)},
	{"forgetting the crash between session and attach", by(simulation.AnswersAreTrue), inStore(newAttachedOnly)},
	{"matching by event ID", by(simulation.OneRedemptionForEachSession), inStore(newByEventID)},
	{"noting an event before its effect", by(simulation.AnswersAreTrue, simulation.EveryPaymentCounts), func() simulation.Parts {
		return simulation.Parts{Webhook: notesFirst()}
	}},
	{"ignoring the limit of each customer", by(simulation.LimitsHold), inStore(newNoUserLimit)},
	{"flagging no use over the limit", by(simulation.LimitsHold), inStore(newFlagsNothing)},
	{"flagging every late payment", by(simulation.OverLimitIsFlagged), inStore(newFlagsLate)},
	{"taking what is finished for paid", by(simulation.OnlyPaidCompletes), inStore(newTrustsFinished)},
	{"releasing before completing", by(simulation.OnlyUnpaidIsReleased), inStore(newSettlesInTwoSteps)},
	{"dropping payments without a reservation", by(simulation.EveryPaymentCounts), inStore(newNeedsReservation)},
	{"answering before committing", by(simulation.AnswersAreTrue), inStore(newAnswersFirst)},
	{"giving up what another call has debited", by(simulation.AnswersAreTrue), inStore(newRefusesDebited)},
	{"forgetting refunds in the sweep", by(simulation.PointsAreConserved), inStore(newForgetsRefunds)},
	{"forgetting reservations in the sweep", by(simulation.NothingLivesForever), inStore(newForgetsDeadlines)},
	{"forgetting orders in the sweep", by(simulation.OrdersEnd), inStore(newForgetsOrders)},
	{"sharing keys between customers", by(simulation.OrdersAreTheirs), inStore(newSharedKeys)},
	{"forgetting keys", by(simulation.OneOrderForEachKey), inStore(newForgetsKeys)},
	{"deleting redemptions with their coupon", by(simulation.RowsStay), inStore(newCascadingDelete)},
	{"editing orders with their coupon", by(simulation.RowsStay, simulation.QuotesAddUp), inStore(newEditsOrders)},
	{"rounding percentages in the store", by(simulation.QuotesAddUp), inStore(newRoundsPercent)},
	{"failing after the commit", by(simulation.ErrorsChangeNothing), inStore(newFailsAfterCommit)},
	{"letting two coupons have one code", by(simulation.CodesAreUnique), inStore(newTwoOfACode)},
	{"reserving what was switched off", by(simulation.OnlyActiveReserves), inStore(newReservesInactive)},
	{"counting uses twice", by(simulation.PlacesAreOpen), inStore(newCountsTwice)},
	{"leaking a driver's error", by(simulation.NoSurprise), inStore(newLeaksErrors)},
	{"debiting again when a call is repeated", by(simulation.PointsAreBounded), inLedger(func() func(simulation.Points) couponkit.Points {
		debits := 0
		return func(p simulation.Points) couponkit.Points { return debitsAgain{p, &debits} }
	})},
	{"debiting after the refund", by(simulation.PointsAreBounded), inLedger(func() func(simulation.Points) couponkit.Points {
		return func(p simulation.Points) couponkit.Points { return debitsClosed{p} }
	})},
	{"refunding in words", by(simulation.PointsAreBounded, simulation.PointsAreConserved), inLedger(func() func(simulation.Points) couponkit.Points {
		return func(p simulation.Points) couponkit.Points { return refundsNothing{p} }
	})},
	{"leaving the mirror of a deleted coupon", by(simulation.RestIsQuiet), inProcessor(func(p simulation.Processor) processor.Processor { return removesNothing{p} })},
	{"leaving the code of a coupon that is off active", by(simulation.MirrorEqualsStore), inProcessor(func(p simulation.Processor) processor.Processor { return switchesNothing{p} })},
	{"updating the mirror in words", by(simulation.RestIsQuiet, simulation.MirrorEqualsStore), inProcessor(func(p simulation.Processor) processor.Processor { return updatesNothing{p} })},
	{"mending a mirror in a preview", by(simulation.PreviewsChangeNothing), inProcessor(func(p simulation.Processor) processor.Processor { return repairs{p} })},
	{"opening another session for a repeated call", by(simulation.EveryPaymentCounts, simulation.OrdersEnd), func() simulation.Parts {
		made := 0
		return simulation.Parts{Processor: func(p simulation.Processor) processor.Processor { return anotherSession{p, &made} }}
	}},
	{"charging a cent more", by(simulation.SessionsChargeQuotes), inProcessor(func(p simulation.Processor) processor.Processor { return chargesMore{p} })},
	{"believing unsigned events", by(simulation.ForgeriesAreRefused), func() simulation.Parts {
		return simulation.Parts{Webhook: believesAll}
	}},
	{"giving away what is about to be taken over", by(simulation.PlacesAreKept), inStore(newGivesAway)},
	{"not comparing totals", by(simulation.TotalsAreCompared), func() simulation.Parts {
		return simulation.Parts{Checkout: trustsTotals}
	}},
}

// TestPlantedFaultsAreFound looks for every planted fault within CI's seeds and
// prints what has found it, by which seed, and how many steps it takes.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	rows, others := make([]string, len(planted)), make([]string, len(planted))
	caught := make(map[simulation.Invariant]bool)
	var mu sync.Mutex
	each(uint64(len(planted)), func(n uint64) {
		p := planted[n-1]
		found, other := find(p)
		mu.Lock()
		defer mu.Unlock()
		others[n-1] = other
		if found == nil {
			t.Errorf("%s: %d lives have not shown it by %q; %s", p.name, plantedSeeds(), p.by, other)
			return
		}
		caught[found.Invariant] = true
		rows[n-1] = fmt.Sprintf("%-50s %-36s %5d %5d", p.name, found.Invariant, found.Seed, found.Steps)
		t.Logf("%s: %s", p.name, found)
	})
	for _, i := range simulation.Invariants() {
		if !caught[i] {
			t.Errorf("no planted fault is found by %q", i)
		}
	}
	t.Logf("%d planted faults, found within %d seeds:\n%-50s %-36s %5s %5s\n%s", len(planted), plantedSeeds(),
		"planted fault", "found by", "seed", "steps", strings.Join(rows, "\n"))
}

// plantedSeeds is how many lives each fault has, at most: those that -seeds tells, or a
// thousand if that is fewer.
func plantedSeeds() uint64 { return max(*seeds, 1_000) }

// find lives the first lives until one ends with an invariant that the fault has to
// break, and then looks for the shortest such life.
func find(p plant) (*simulation.FaultError, string) {
	others := make(map[simulation.Invariant]int)
	for s := uint64(1); s <= plantedSeeds(); s++ {
		_, err := simulation.Run(simulation.Config{Seed: s, Parts: p.parts, KeepTrace: true})
		var failure *simulation.FaultError
		if !errors.As(err, &failure) {
			continue
		}
		if !slices.Contains(p.by, failure.Invariant) {
			others[failure.Invariant]++
			continue
		}
		if *shorten {
			_, err = simulation.Run(simulation.Config{Seed: s, Parts: p.parts})
			errors.As(err, &failure)
		}
		return failure, fmt.Sprint(others)
	}
	return nil, fmt.Sprint(others)
}

// each calls f with 1 to n, on all processors.
func each(n uint64, f func(uint64)) {
	var mu sync.Mutex
	next := uint64(0)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				mu.Lock()
				next++
				mine := next
				mu.Unlock()
				if mine > n {
					return
				}
				f(mine)
			}
		})
	}
	all.Wait()
}

// TestTheTableOfInvariantsIsTrue holds the package documentation to the code: every
// invariant is in it, with a planted fault that it finds.
func TestTheTableOfInvariantsIsTrue(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[simulation.Invariant]string)
	for line := range strings.Lines(string(doc)) {
		name, rest, found := strings.Cut(strings.TrimPrefix(line, "//\t"), "  ")
		if found && strings.HasPrefix(line, "//\t") {
			rows[simulation.Invariant(name)] = strings.TrimSpace(rest)
		}
	}
	for _, i := range simulation.Invariants() {
		finds := slices.ContainsFunc(planted, func(p plant) bool {
			return slices.Contains(p.by, i) && strings.HasSuffix(rows[i], "  "+p.name)
		})
		if !finds {
			t.Errorf("the table says of %q: %q; its last column is to be a planted fault that it finds", i, rows[i])
		}
	}
}

// BenchmarkLife tells how long a life takes.
func BenchmarkLife(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		seed++
		if _, err := simulation.Run(simulation.Config{Seed: seed}); err != nil {
			b.Fatal(err)
		}
	}
}
