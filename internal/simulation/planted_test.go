package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
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

func inLedger(wrap func() func(simulation.Points) couponkit.Points) func() simulation.Parts {
	return func() simulation.Parts { return simulation.Parts{Points: wrap()} }
}

func inProcessor(wrap func(simulation.Processor) simulation.Processor) func() simulation.Parts {
	return func() simulation.Parts { return simulation.Parts{Processor: wrap} }
}

func withAutomatic(parts func() simulation.Parts) func() simulation.Parts {
	return func() simulation.Parts {
		p := parts()
		p.Automatic = true
		return p
	}
}

func by(i ...simulation.Invariant) []simulation.Invariant { return i }

// planted are the broken worlds. Each has to be found by an invariant that it breaks, and each
// invariant has to find one, or the simulation proves nothing.
var planted = []plant{
	{"checking limits before the transaction", by(simulation.LimitsHold), inStore(checkThenAct)},
	{"ignoring the limit of each customer", by(simulation.LimitsHold), inStore(func(f *faulty) {
		f.withoutLimits(func(counter string) bool { return !eligibility.IsShared(counter) })
	})},
	{"flagging no use over the limit", by(simulation.LimitsHold), inStore(func(f *faulty) {
		f.eachUse(func(u *redemption.Use) { u.OverLimit = false })
	})},
	{"flagging every late payment", by(simulation.OverLimitIsFlagged), inStore(flagsLate)},
	{"counting before recording", by(simulation.CountersEqualRecords), inStore(countsFirst)},
	{"counting completed uses as reserved", by(simulation.CountersEqualRecords), inStore(func(f *faulty) {
		f.eachCount(func(_ string, c *eligibility.Count) { *c = eligibility.Count{Reserved: c.Taken()} })
	})},
	{"forgetting the limits of automatic coupons", by(simulation.LimitsHold), withAutomatic(inStore(func(f *faulty) {
		f.requests(func(r *store.Reservation) {
			for i := range r.Uses {
				if u := &r.Uses[i]; u.Code.IsZero() {
					u.Claims = slices.DeleteFunc(slices.Clone(u.Claims), func(c eligibility.Claim) bool { return !eligibility.IsBudget(c.Counter) })
				}
			}
		})
	}))},
	{"giving claims back twice", by(simulation.CountersEqualRecords), inStore(onceMore(func(k store.EntryKind, o redemption.Order) bool {
		return k == store.OrderCancelled && o.ReplacedBy == ""
	}, alike(eligibility.Count{Reserved: -1})))},
	{"keeping claims at both orders", by(simulation.CountersEqualRecords), inStore(onceMore(func(k store.EntryKind, o redemption.Order) bool {
		return k == store.OrderCancelled && o.ReplacedBy != ""
	}, alike(eligibility.Count{Reserved: 1})))},
	{"checking budgets before the transaction", by(simulation.BudgetsHold), inStore(func(f *faulty) { checksFirst(f, eligibility.IsBudget) })},
	{"ignoring budgets", by(simulation.BudgetsHold), inStore(func(f *faulty) { f.withoutLimits(eligibility.IsBudget) })},
	{"giving a budget back twice", by(simulation.BudgetsEqualDiscounts), inStore(onceMore(func(k store.EntryKind, o redemption.Order) bool {
		return k == store.OrderCancelled && o.ReplacedBy == ""
	}, ofBudget(releases)))},
	{"keeping a budget at both orders", by(simulation.BudgetsEqualDiscounts), inStore(onceMore(func(k store.EntryKind, o redemption.Order) bool {
		return k == store.OrderCancelled && o.ReplacedBy != ""
	}, ofBudget(keepsIt)))},
	{"giving a refunded budget back twice", by(simulation.BudgetsEqualDiscounts), inStore(onceMore(func(k store.EntryKind, _ redemption.Order) bool {
		return k == store.OrderRefunded
	}, ofBudget(refunds)))},
	{"taking a cent less from budgets", by(simulation.LimitsHold, simulation.BudgetsEqualDiscounts), inStore(func(f *faulty) {
		f.requests(func(r *store.Reservation) {
			for _, u := range r.Uses {
				for i, c := range u.Claims {
					if eligibility.IsBudget(c.Counter) && c.Amount > 1 {
						u.Claims[i].Amount--
					}
				}
			}
		})
	})},
	{"forgetting the budget of the second coupon", by(simulation.LimitsHold, simulation.BudgetsEqualDiscounts), inStore(func(f *faulty) {
		f.requests(func(r *store.Reservation) {
			for i := 1; i < len(r.Uses); i++ {
				r.Uses[i].Claims = slices.DeleteFunc(slices.Clone(r.Uses[i].Claims), func(c eligibility.Claim) bool { return eligibility.IsBudget(c.Counter) })
			}
		})
	})},
	{"halving a budget when a customer asks", by(simulation.BudgetsCanBeSpent), inStore(halvesBudgets)},
	{"forgetting a budget when a customer asks", by(simulation.BudgetsEqualDiscounts, simulation.BudgetsCanBeSpent), inStore(forgetsBudgets)},
	{"forgetting the budget of a new coupon", by(simulation.AnswersAreTrue), inStore(forgetsFirstBudgets)},
	{"keeping the first budget of a coupon", by(simulation.AnswersAreTrue), inStore(keepsFirstBudgets)},
	{"flagging no use over a budget", by(simulation.BudgetsHold, simulation.LimitsHold), inStore(func(f *faulty) {
		f.eachUse(func(u *redemption.Use) {
			u.OverLimit = u.OverLimit && !slices.ContainsFunc(u.Claims, func(c eligibility.Claim) bool { return eligibility.IsBudget(c.Counter) })
		})
	})},
	{"giving the whole budget back at the first refund", by(simulation.NothingTwice), inStore(givesBack(func(o redemption.Order, u redemption.Use) bool {
		return u.Restore == coupon.RestoreAlways && o.State == redemption.OrderPartlyRefunded
	}, func(c eligibility.Claim) int64 { return c.Amount }))},
	{"giving back a budget that never comes back", by(simulation.NothingTwice), inStore(givesBack(func(o redemption.Order, u redemption.Use) bool {
		return u.Restore == coupon.RestoreNever && o.State == redemption.OrderRefunded
	}, func(c eligibility.Claim) int64 { return c.Amount }))},
	{"giving the use back without its budget", by(simulation.NothingTwice), inStore(givesBack(func(_ redemption.Order, u redemption.Use) bool {
		return !u.RestoredAt.IsZero()
	}, func(eligibility.Claim) int64 { return 0 }))},
	{"releasing a paid order", by(simulation.StatesMoveForward), inStore(releasesPaid)},
	{"keeping the uses of a replaced order", by(simulation.UsesFollowOrders), inStore(keepsReplaced)},
	{"completing one use of several", by(simulation.UsesFollowOrders), inStore(func(f *faulty) {
		f.records(func(o *redemption.Order, uses []redemption.Use) {
			for i := 1; i < len(uses); i++ {
				if o.State.Paid() && uses[i].State == redemption.Completed {
					uses[i].State = redemption.Reserved
				}
			}
		})
	})},
	{"handing over in two steps", by(simulation.HandOverIsWhole), inStore(handsOverInTwoSteps)},
	{"forgetting what a late payment may need", by(simulation.HandOverIsWhole), inStore(func(f *faulty) {
		f.records(func(o *redemption.Order, _ []redemption.Use) { o.Claims, o.Kept = o.OwnClaims(), 0 })
	})},
	{"ending sessions in words", by(simulation.OneSessionIsOpen, simulation.EndsAreTrue), inProcessor(func(p simulation.Processor) simulation.Processor { return endsNothing{p} })},
	{"beginning a payment while the one before can be paid", by(simulation.OneSessionIsOpen), inStore(beginsTooEarly)},
	{"forgetting at a hand-over that a payment was begun", by(simulation.EndsAreTrue), inStore(forgetsBegun)},
	{"believing too early that there is no session", by(simulation.OneSessionIsOpen, simulation.EndsAreTrue), func() simulation.Parts {
		return simulation.Parts{CreateTime: 10_000 * time.Hour}
	}},
	{"freeing what an order that is ending has", by(simulation.OneSessionIsOpen, simulation.OnlyEndedIsReleased, simulation.EndsAreTrue), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) {
			if s.Event.Kind == redemption.Cancelled && s.Event.OrderID != "" {
				s.Event.PaymentOver, s.Event.BegunBy = true, s.Event.At
			}
		})
	})},
	{"freeing what the successor of an order has", by(simulation.CountersEqualRecords), inStore(onceMore(func(k store.EntryKind, o redemption.Order) bool {
		return k == store.OrderCancelled && o.ReplacedBy != "" && o.BegunAt.IsZero()
	}, alike(eligibility.Count{Reserved: -1})))},
	{"taking claims back without asking", by(simulation.AnswersAreFresh), inStore(takesBackUnasked)},
	{"believing an answer that is older than its question", by(simulation.AnswersAreFresh), inStore(func(f *faulty) {
		f.answers(func(askedAt int64) bool { return askedAt > 0 })
	})},
	{"cancelling in words", by(simulation.CancelledIsOver), inStore(drops(func(_ redemption.Order, e redemption.Event) bool {
		return e.Kind == redemption.Cancelled
	}))},
	{"taking each session for ended unpaid", by(simulation.PaymentsWin), inProcessor(func(p simulation.Processor) simulation.Processor { return endsPaid{p} })},
	{"asking what the processor said first", by(simulation.RefreshedAgrees), func() simulation.Parts {
		said := make(map[string]processor.Session)
		return simulation.Parts{Processor: func(p simulation.Processor) simulation.Processor { return remembers{p, said} }}
	}},
	{"forgetting which order was replaced", by(simulation.ClaimsAreKept), inStore(forgetsReplaced)},
	{"ending an order with the session before", by(simulation.ClaimsAreKept), inStore(endsSuccessor)},
	{"taking each event for a payment", by(simulation.OneOrderForEachSession), inStore(eachIsAnother)},
	{"taking what is finished for paid", by(simulation.OnlyPaidCompletes), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) {
			if s.Event.Kind == redemption.PaymentPending {
				s.Event.Kind = redemption.Paid
			}
		})
	})},
	{"forgetting the tax of a payment", by(simulation.ChargesAreKnown), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) {
			if s.Event.Charge.Tax.Amount > 0 {
				s.Event.Charge.Tax = pricing.Tax{}
			}
		})
	})},
	{"releasing before completing", by(simulation.OnlyEndedIsReleased), inStore(settlesInTwoSteps)},
	{"deleting uses with their coupon", by(simulation.RecordsStay), inStore(cascades)},
	{"editing orders with their coupon", by(simulation.RecordsStay, simulation.QuotesAddUp), inStore(editsOrders)},
	{"letting two coupons have one code", by(simulation.CodesAreUnique), inStore(twoOfACode)},
	{"reserving what was switched off", by(simulation.OnlyActiveReserves), inStore(reservesInactive)},
	{"refunding what was passed on", by(simulation.PointsAreBounded), inStore(func(f *faulty) {
		f.eachUse(func(u *redemption.Use) {
			if u.PointsState == redemption.PointsPassedOn {
				u.PointsState = redemption.PointsRefundDue
			}
		})
	})},
	{"refunding twice", by(simulation.PointsAreBounded, simulation.PointsAreConserved), inLedger(func() func(simulation.Points) couponkit.Points {
		debited, refunds := make(map[string]int64), make(map[string]int)
		return func(p simulation.Points) couponkit.Points { return refundsAgain{p, debited, refunds} }
	})},
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
	{"rounding percentages in the store", by(simulation.QuotesAddUp), inStore(roundsPercent)},
	{"losing a cent of a quote", by(simulation.QuotesAddUp), inStore(func(f *faulty) {
		f.records(func(o *redemption.Order, _ []redemption.Use) {
			for i := range min(1, o.Quote.Discount, int64(len(o.Quote.Lines))) {
				o.Quote.Lines[i].Discount--
			}
		})
	})},
	{"losing a cent between two coupons", by(simulation.QuotesAddUp), inStore(func(f *faulty) {
		f.records(func(o *redemption.Order, _ []redemption.Use) {
			if k := o.Quote.Coupons; len(k) > 1 {
				k[0].Discount, k[1].Discount = k[0].Discount-1, k[1].Discount+1
			}
		})
	})},
	{"charging a cent more", by(simulation.SessionsChargeQuotes), inProcessor(func(p simulation.Processor) simulation.Processor { return chargesMore{p} })},
	{"losing an entry of the journal", by(simulation.JournalIsWhole), inStore(losesEntries)},
	{"repeating an entry of the journal", by(simulation.JournalIsWhole), inStore(repeatsEntries)},
	{"losing an entry between two pages", by(simulation.JournalIsWhole), inStore(skipsEntries)},
	{"writing the journal after the change", by(simulation.JournalIsWhole), inStore(writesLater)},
	{"failing after the commit", by(simulation.ErrorsChangeNothing), inStore(failsAfterCommit)},
	{"repairing a mirror in a preview", by(simulation.PreviewsChangeNothing), inProcessor(func(p simulation.Processor) simulation.Processor { return repairs{p} })},
	{"believing unsigned events", by(simulation.ForgeriesAreRefused), func() simulation.Parts {
		return simulation.Parts{Webhook: believesAll}
	}},
	{"sharing keys between customers", by(simulation.OrdersAreTheirs), inStore(sharesKeys)},
	{"forgetting keys", by(simulation.OneOrderForEachKey), inStore(forgetsKeys)},
	{"not comparing totals", by(simulation.TotalsAreCompared), func() simulation.Parts {
		return simulation.Parts{Checkout: trustsTotals}
	}},
	{"forgetting who has paid", by(simulation.PayersAreCounted), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) { s.Event.Learned = nil })
	})},
	{"forgetting the keys of refunds", by(simulation.NothingTwice), inStore(func(f *faulty) {
		calls := 0
		f.events(func(_ context.Context, s *store.Settlement) {
			if s.Event.Kind == redemption.Refunded {
				calls++
				s.Event.Refund.Key = fmt.Sprint(s.Event.Refund.Key, " of call ", calls)
			}
		})
	})},
	{"asking with another key each time", by(simulation.NothingTwice), func() simulation.Parts {
		asked := 0
		return simulation.Parts{Processor: func(p simulation.Processor) simulation.Processor { return anotherKey{p, &asked} }}
	}},
	{"taking disputes for refunds", by(simulation.NothingTwice), inStore(func(f *faulty) {
		f.reports(func(r *redemption.Report) {
			for _, d := range r.Disputes {
				r.Refunds = append(r.Refunds, redemption.ReportedRefund{ID: d.ID, Amount: d.Amount, State: redemption.RepaymentSucceeded})
			}
		})
	})},
	{"deducting disputes from refunds", by(simulation.AmountsStay), inStore(func(f *faulty) {
		f.repayments(func(o redemption.Order, r *redemption.Refund) {
			if len(o.Disputes) > 0 {
				r.Repayment.Amount = 0
			}
		})
	})},
	{"refunding whatever is asked for", by(simulation.PaybacksAreBounded), func() simulation.Parts {
		return simulation.Parts{Account: func(p simulation.Processor) simulation.Processor {
			return overdraws{p, map[string][]processor.Refund{}}
		}}
	}},
	{"returning what staff have returned", by(simulation.RefundsAreBounded), inStore(func(f *faulty) {
		f.repayments(func(_ redemption.Order, r *redemption.Refund) {
			if r.Repayment.State != redemption.RepaymentNone {
				r.Repayment.Amount = r.Result.Amount
			}
		})
	})},
	{"forgetting refunds by staff", by(simulation.AnswersAreTrue, simulation.RefreshedAgrees), inStore(func(f *faulty) {
		f.reports(func(r *redemption.Report) {
			r.Refunds = slices.DeleteFunc(slices.Clone(r.Refunds), func(r redemption.ReportedRefund) bool { return r.Key == "" })
		})
	})},
	{"missing that a refund fails late", by(simulation.AnswersAreTrue, simulation.RefreshedAgrees, simulation.MoneyAgrees), inStore(func(f *faulty) {
		f.reports(func(r *redemption.Report) {
			r.Refunds = slices.DeleteFunc(slices.Clone(r.Refunds), func(r redemption.ReportedRefund) bool { return r.ID != "" && r.State == redemption.RepaymentFailed })
		})
	})},
	{"forgetting repayments in the sweep", by(simulation.MoneyAgrees), inStore(forgetsRepayments)},
	{"refunding a cent more", by(simulation.RefundsAreBounded), inStore(func(f *faulty) {
		f.records(func(o *redemption.Order, _ []redemption.Use) {
			if o.State == redemption.OrderRefunded {
				o.Refunds[len(o.Refunds)-1].Result.Amount++
			}
		})
	})},
	{"forgetting the tax of a refund", by(simulation.TaxesGoBack), inStore(func(f *faulty) {
		f.repayments(func(_ redemption.Order, r *redemption.Refund) {
			r.Repayment.Amount, r.Tax = max(0, r.Repayment.Amount-r.Tax), 0
		})
	})},
	{"returning the tax twice", by(simulation.TaxesGoBack), inStore(func(f *faulty) {
		f.repayments(func(_ redemption.Order, r *redemption.Refund) {
			r.Repayment.Amount, r.Tax = r.Repayment.Amount+r.Tax, 2*r.Tax
		})
	})},
	{"returning the whole tax at the first refund", by(simulation.TaxesGoBack), inStore(func(f *faulty) {
		f.repayments(func(o redemption.Order, r *redemption.Refund) {
			if r.ID == o.Refunds[0].ID {
				r.Repayment.Amount, r.Tax = r.Repayment.Amount+o.Charge.Tax.Amount-r.Tax, o.Charge.Tax.Amount
			}
		})
	})},
	{"keeping the tax of what is refunded at the end", by(simulation.TaxesGoBack), inStore(func(f *faulty) {
		f.repayments(func(o redemption.Order, r *redemption.Refund) {
			if o.State == redemption.OrderRefunded && r.ID == o.Refunds[len(o.Refunds)-1].ID {
				r.Repayment.Amount = max(0, r.Repayment.Amount-r.Tax)
			}
		})
	})},
	{"trusting the order of events", by(simulation.AnswersAreTrue), inStore(drops(func(o redemption.Order, e redemption.Event) bool {
		return e.Kind == redemption.Paid && o.State == redemption.OrderCancelled
	}))},
	{"forgetting the crash before the session is attached", by(simulation.AnswersAreTrue), inStore(drops(func(o redemption.Order, e redemption.Event) bool {
		return e.Kind == redemption.Paid && o.SessionID == ""
	}))},
	{"noting an event before its effect", by(simulation.AnswersAreTrue, simulation.EveryPaymentCounts), func() simulation.Parts {
		return simulation.Parts{Webhook: notesFirst()}
	}},
	{"answering before committing", by(simulation.AnswersAreTrue), inStore(answersFirst)},
	{"giving up what another call has debited", by(simulation.AnswersAreTrue), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) {
			if s.Event.Kind == redemption.PointsRefused {
				s.Event.Kind = redemption.Cancelled
			}
		})
	})},
	{"leaking a driver's error", by(simulation.NoSurprise), inStore(leaksErrors)},
	{"recording unknown payments without their use", by(simulation.EveryPaymentCounts), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) { s.Unknown.Uses = nil })
	})},
	{"losing unknown payments without a coupon", by(simulation.AnswersAreTrue, simulation.EveryPaymentCounts), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) {
			if len(s.Unknown.Uses) == 0 {
				s.Unknown = store.Reservation{}
			}
		})
	})},
	{"recording unknown payments under an ID of their own", by(simulation.EveryPaymentCounts), inStore(func(f *faulty) {
		f.events(func(_ context.Context, s *store.Settlement) {
			if o := &s.Unknown.Order; !o.IsZero() {
				o.ID += "x"
				for i := range s.Unknown.Uses {
					s.Unknown.Uses[i].OrderID = o.ID
				}
			}
		})
	})},
	{"forgetting orders in the sweep", by(simulation.OrdersEnd), inStore(forgetsOrders)},
	{"opening another session for a repeated call", by(simulation.OneSessionIsOpen), func() simulation.Parts {
		made := 0
		return simulation.Parts{Processor: func(p simulation.Processor) simulation.Processor { return anotherSession{p, &made} }}
	}},
	{"forgetting exchanges in the sweep", by(simulation.NothingLivesForever), inStore(forgetsUses(func(u redemption.Use) bool {
		return u.State == redemption.Reserved
	}))},
	{"forgetting refunds in the sweep", by(simulation.PointsAreConserved), inStore(forgetsUses(func(u redemption.Use) bool {
		return u.PointsState == redemption.PointsRefundDue
	}))},
	{"leaving the code of a coupon that is off active", by(simulation.MirrorEqualsStore), inProcessor(func(p simulation.Processor) simulation.Processor { return switchesNothing{p} })},
	{"updating the mirror in words", by(simulation.RestIsQuiet, simulation.MirrorEqualsStore), inProcessor(func(p simulation.Processor) simulation.Processor { return updatesNothing{p} })},
	{"leaving the mirror of a deleted coupon", by(simulation.RestIsQuiet), inProcessor(func(p simulation.Processor) simulation.Processor { return removesNothing{p} })},
	{"counting uses twice for a customer", by(simulation.FreeUsesCanBeHad), inStore(countsTwice)},
}

// TestPlantedFaultsAreFound looks for every planted fault within CI's seeds and
// prints what has found it, by which seed, and how many steps it takes. The few lives of the
// short form have to find a third of the faults.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	rows, others := make([]string, len(planted)), make([]string, len(planted))
	caught, missed := make(map[simulation.Invariant]bool), 0
	var mu sync.Mutex
	each(uint64(len(planted)), func(n uint64) {
		p := planted[n-1]
		found, other := find(p, plantedSeeds())
		mu.Lock()
		defer mu.Unlock()
		others[n-1] = other
		if found == nil && !testsize.Long() {
			missed++
			return
		}
		if found == nil {
			t.Errorf("%s: %d lives have not shown it by %q; %s", p.name, plantedSeeds(), p.by, other)
			return
		}
		caught[found.Invariant] = true
		rows[n-1] = fmt.Sprintf("%-50s %-36s %5d %5d", p.name, found.Invariant, found.Seed, found.Steps)
		t.Logf("%s: %s", p.name, found)
	})
	if missed > len(planted)*2/3 {
		t.Errorf("%d lives have shown only %d of %d planted faults", plantedSeeds(), len(planted)-missed, len(planted))
	}
	for name := range rare {
		if !slices.ContainsFunc(planted, func(p plant) bool { return p.name == name }) {
			t.Errorf("no planted fault is %q", name)
		}
	}
	for _, i := range invariants(t) {
		if testsize.Long() && !caught[i] {
			t.Errorf("no planted fault is found by %q", i)
		}
	}
	t.Logf("%d of %d planted faults, found within %d seeds:\n%-50s %-36s %5s %5s\n%s", len(planted)-missed, len(planted), plantedSeeds(),
		"planted fault", "found by", "seed", "steps", strings.Join(rows, "\n"))
}

// plantedSeeds is how many lives each fault has, at most: in the long form those that -seeds
// tells, or a thousand if that is fewer.
func plantedSeeds() uint64 { return testsize.Of(8, max(*seeds, 1_000)) }

// rare are the faults that few lives show, each with a life that does. The search begins with that life. If a change of
// the simulation makes it harmless, the search finds another one, but takes far longer.
var rare = map[string]uint64{
	"checking budgets before the transaction":             1651,
	"giving up what another call has debited":             1293,
	"ending an order with the session before":             1037,
	"forgetting which order was replaced":                 427,
	"believing too early that there is no session":        418,
	"ignoring budgets":                                    399,
	"handing over in two steps":                           338,
	"believing an answer that is older than its question": 320,
	"flagging no use over a budget":                       281,
	"taking claims back without asking":                   145,
}

// find lives so many lives, at most, until one ends with an invariant that the fault has to
// break, and then looks for the shortest such life.
func find(p plant, seeds uint64) (*simulation.FaultError, string) {
	others := make(map[simulation.Invariant]int)
	first := max(rare[p.name], 1)
	for s := first; s < first+seeds; s++ {
		_, err := simulation.Run(simulation.Config{Seed: s, Parts: p.parts, CheckOrder: checkOrder, KeepTrace: true})
		var failure *simulation.FaultError
		if !errors.As(err, &failure) {
			continue
		}
		if !slices.Contains(p.by, failure.Invariant) {
			others[failure.Invariant]++
			continue
		}
		if *shorten {
			_, err = simulation.Run(simulation.Config{Seed: s, Parts: p.parts, CheckOrder: checkOrder})
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

// invariants are those that the package declares.
func invariants(t *testing.T) (all []simulation.Invariant) {
	t.Helper()
	source, err := os.ReadFile("invariant.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`Invariant += "(.+)"`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, simulation.Invariant(found[1]))
	}
	return all
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
	for _, i := range invariants(t) {
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
