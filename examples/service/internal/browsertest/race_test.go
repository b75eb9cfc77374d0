package browsertest_test

import (
	"sync"
	"testing"
)

// Contract 5.2: two customers, each with a quote that shows the discount, go for the
// last use at the same moment. One gets to the payment page, the other one is told.
func TestTwoBrowsersRaceForTheLastUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	racers := []page{w.as(ann), w.as(ben)}
	for _, p := range racers {
		p.fillCart(earbuds())
		p.apply("LASTONE")
		p.applied("LASTONE", "€39.60", "€59.40")
	}

	const outcome = `location.pathname.startsWith("/simulator/pay/") ? "paying"
		: document.querySelector("#coupon-message [data-code=usage_limit_reached]") ? "refused" : null`
	outcomes := make([]string, len(racers))
	failures := make([]error, len(racers))
	start := make(chan struct{})
	var race sync.WaitGroup
	for i, p := range racers {
		race.Go(func() {
			<-start
			if failures[i] = p.Eval(`document.querySelector("#pay-now").click()`, nil); failures[i] != nil {
				return
			}
			if failures[i] = p.Wait(outcome); failures[i] == nil {
				failures[i] = p.Eval(outcome, &outcomes[i])
			}
		})
	}
	close(start)
	race.Wait()
	winner := racers[0]
	for i := range racers {
		racers[i].must(failures[i])
		if outcomes[i] == "paying" {
			winner = racers[i]
		}
	}
	if outcomes[0] == outcomes[1] {
		t.Fatalf("the outcomes are %q", outcomes)
	}
	w.expectUses("LASTONE", uses{Reserved: 1})
	winner.see("#total", "59.40 EUR")
	winner.pay()
	w.expectUses("LASTONE", uses{Used: 1, Completed: 1})
}
