package browsertest_test

import (
	"fmt"
	"sync"
	"testing"
)

// purchase is one of the three ways to buy, up to the point where the coupon is
// applied and the next click leads to the payment page.
type purchase struct {
	name string
	// ready brings a customer there with the coupon LASTONE.
	ready func(page)
	// total is what the payment page then asks for.
	total string
}

func purchases() []purchase {
	return []purchase{
		{"plan", func(p page) {
			p.visit("/plans")
			p.withoutCoupons()
			p.click("[data-item=family] button")
			p.see("[data-total=total]", "€49.00")
			p.apply("LASTONE")
			p.applied("LASTONE", "€19.60", "€29.40")
		}, "29.40 EUR"},
		{"product", func(p page) {
			p.visit("/accessories")
			p.withoutCoupons()
			p.click("[data-item=watch] [data-action=buy]")
			p.see("[data-total=total]", "€229.00")
			p.apply("LASTONE")
			p.applied("LASTONE", "€91.60", "€137.40")
		}, "137.40 EUR"},
		{"cart", func(p page) {
			p.fillCart(earbuds())
			p.apply("LASTONE")
			p.applied("LASTONE", "€39.60", "€59.40")
		}, "59.40 EUR"},
	}
}

// outcome is where a click on the button has led, or null as long as it leads nowhere.
const outcome = `location.pathname.startsWith("/simulator/pay/") ? "paying"
	: document.querySelector("#coupon-message [data-code=usage_limit_reached]") ? "refused" : null`

// race lets customers go for the payment at the same moment and returns what came of
// it for each.
func race(racers []page) []string {
	outcomes, failures := make([]string, len(racers)), make([]error, len(racers))
	start := make(chan struct{})
	var running sync.WaitGroup
	for i, p := range racers {
		running.Go(func() {
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
	running.Wait()
	for i, p := range racers {
		p.must(failures[i])
	}
	return outcomes
}

// Contract 5.2: two customers, each with a quote that shows the discount, go for the
// last use at the same moment, in each of the three flows and from two of them. One
// gets to the payment page, the other one is told; when the first one gives up, the
// place is the other's.
func TestTwoBrowsersRaceForTheLastUse(t *testing.T) {
	onEveryStore(t, func(w *world) {
		ways := purchases()
		people := []page{w.as(ann), w.as(ben)}
		for _, pair := range [][]purchase{{ways[0], ways[0]}, {ways[1], ways[1]}, {ways[2], ways[2]}, {ways[0], ways[1]}} {
			where := fmt.Sprintf("%s and %s", pair[0].name, pair[1].name)
			for i, p := range people {
				pair[i].ready(p)
			}
			outcomes := race(people)
			winner := 0
			if outcomes[1] == "paying" {
				winner = 1
			}
			if outcomes[0] == outcomes[1] {
				w.t.Fatalf("%s: the outcomes are %q", where, outcomes)
			}
			w.expectUses("LASTONE", uses{Reserved: 1})
			people[winner].see("#total", pair[winner].total)
			people[1-winner].see("#coupon-message", "This coupon has been used up.")
			people[winner].click("#expire")
			people[winner].orderIs("cancelled")
			w.expectUses("LASTONE", uses{})
		}
		for i, p := range people {
			ways[i].ready(p)
		}
		outcomes := race(people)
		for i, p := range people {
			if outcomes[i] == "paying" {
				p.pay()
			}
		}
		w.expectUses("LASTONE", uses{Used: 1, Completed: 1})
	})
}
