package faults_test

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
)

// The first try of a call takes effect, its answer is lost, and others see the effect
// and go on before it is made again: its answer is about another state then.
func TestACallWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	on := func(name string, event redemption.EventKind) operation {
		o := operation{
			Call: name, Coupon: "cpn_a", Limits: coupon.Limits{MaxUses: 2}, Customer: "ann", Key: "k",
			ID: "rsv_a", Order: "ord_a", Session: "cs_a", Event: event, NewID: "new",
		}
		if name == "reserve" {
			o.Session = ""
		}
		return o
	}
	var history []call
	b := book{map[string]redemption.Redemption{}, map[string]lightOrder{}}
	now := int64(0)
	made := func(o operation) call {
		c := call{Operation: o, Began: now + 1, Ended: now + 2}
		now += 2
		b, c.Outcome = b.do(o)
		return c
	}
	history = append(history, made(on("reserve", 0)), made(on("attach", 0)))
	first := made(on("settle", redemption.SessionUnpaid))
	history = append(history,
		made(on("attach", 0)), // which says that a payment is waited for
		made(on("settle", redemption.SessionCompleted)))
	again := made(on("settle", redemption.SessionUnpaid))
	if first.Outcome == again.Outcome {
		t.Fatalf("both answers are %+v", first.Outcome)
	}
	check := func(again call) porcupine.CheckResult {
		return linearizable(append(slices.Clip(history), again), time.Minute)["cpn_a"]
	}
	lost := again
	lost.Lost = []int64{first.Began}
	wrong := lost
	wrong.Outcome = first.Outcome
	got := []porcupine.CheckResult{check(lost), check(again), check(wrong)}
	if diff := cmp.Diff([]porcupine.CheckResult{porcupine.Ok, porcupine.Illegal, porcupine.Illegal}, got); diff != "" {
		t.Errorf("known to be lost, not known, with the first answer (-want +got):\n%s", diff)
	}
}
