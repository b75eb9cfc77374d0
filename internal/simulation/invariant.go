package simulation

import "fmt"

// Invariant is something that must hold in every life. Its text is its name in failures.
type Invariant string

// The invariants. The package documentation tells where each comes from, and what checks it.
const (
	LimitsHold             Invariant = "limits hold"
	BudgetsHold            Invariant = "budgets hold"
	BudgetsEqualDiscounts  Invariant = "budgets equal discounts"
	BudgetsCanBeSpent      Invariant = "budgets can be spent"
	OverLimitIsFlagged     Invariant = "over the limit is flagged"
	CountersEqualRecords   Invariant = "counters equal records"
	StatesMoveForward      Invariant = "states move forward"
	UsesFollowOrders       Invariant = "uses follow their orders"
	HandOverIsWhole        Invariant = "a hand-over is whole"
	OneSessionIsOpen       Invariant = "one session for each place"
	EndsAreTrue            Invariant = "the end of a payment is true"
	AnswersAreFresh        Invariant = "claims go back for an answer"
	ClaimsAreKept          Invariant = "a second try keeps its claims"
	CancelledIsOver        Invariant = "a cancelled checkout is over"
	PaymentsWin            Invariant = "a payment wins over a cancel"
	RefreshedAgrees        Invariant = "a refreshed order agrees"
	OneOrderForEachSession Invariant = "one order for each session"
	OnlyPaidCompletes      Invariant = "only what is paid completes"
	OnlyEndedIsReleased    Invariant = "only what has ended is released"
	ChargesAreKnown        Invariant = "orders know what was charged"
	RecordsStay            Invariant = "records stay"
	CodesAreUnique         Invariant = "codes are unique"
	OnlyActiveReserves     Invariant = "only active coupons are reserved"
	PointsAreBounded       Invariant = "points are bounded"
	QuotesAddUp            Invariant = "quotes add up"
	SessionsChargeQuotes   Invariant = "sessions charge quotes"
	JournalIsWhole         Invariant = "the journal has each change once"
	ErrorsChangeNothing    Invariant = "errors change nothing"
	PreviewsChangeNothing  Invariant = "previews change nothing"
	ForgeriesAreRefused    Invariant = "forgeries are refused"
	OrdersAreTheirs        Invariant = "orders are their customers'"
	OneOrderForEachKey     Invariant = "one order for each key"
	TotalsAreCompared      Invariant = "totals are compared"
	PayersAreCounted       Invariant = "payers are counted"
	NothingTwice           Invariant = "nothing is given back twice"
	RefundsAreBounded      Invariant = "never more than was paid"
	TaxesGoBack            Invariant = "taxes go back with their goods"
	PaybacksAreBounded     Invariant = "no more goes back than came in"
	AmountsStay            Invariant = "a dispute changes no refund"
	AnswersAreTrue         Invariant = "answers are true"
	NoSurprise             Invariant = "no surprise"

	EveryPaymentCounts  Invariant = "every payment counts" // these at rest
	OrdersEnd           Invariant = "orders end"
	NothingLivesForever Invariant = "nothing is reserved for ever"
	PointsAreConserved  Invariant = "points are conserved"
	MoneyAgrees         Invariant = "orders know what went back"
	MirrorEqualsStore   Invariant = "mirror equals store"
	RestIsQuiet         Invariant = "rest is quiet"
	FreeUsesCanBeHad    Invariant = "free uses can be had"
)

// must records a fault unless the invariant holds.
func (w *world) must(i Invariant, holds bool, format string, args ...any) {
	if !holds && w.fault == nil {
		w.fault = &FaultError{Invariant: i, Fault: fmt.Sprintf(format, args...)}
	}
}

// sound records an error that callers never have to expect.
func (w *world) sound(what string, err error) {
	w.must(NoSurprise, err == nil, "%s: %v", what, err)
}
