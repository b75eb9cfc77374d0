package simulation

// Invariant is something that must hold in every life. Its text is its name in failures.
type Invariant string

// The invariants. The package documentation tells where each comes from. The first group is
// checked after every effect.
const (
	// LimitsHold: reserved and completed uses exceed a limit only if they are flagged.
	LimitsHold Invariant = "limits hold"
	// OverLimitIsFlagged: a use is flagged as over the limit exactly when it is.
	OverLimitIsFlagged Invariant = "over the limit is flagged"
	// CountersEqualRecords: each counter holds what orders and uses hold.
	CountersEqualRecords Invariant = "counters equal records"
	// StatesMoveForward: orders and uses move along the state machine alone.
	StatesMoveForward Invariant = "states move forward"
	// UsesFollowOrders: a use is reserved, completed or released as its order says.
	UsesFollowOrders Invariant = "uses follow their orders"
	// HandOverIsWhole: an order that replaces another one begins when the other one ends.
	HandOverIsWhole Invariant = "a hand-over is whole"
	// OneSessionIsOpen: an order that was replaced and its successor are never both payable.
	OneSessionIsOpen Invariant = "one of two orders can be paid"
	// ClaimsAreKept: customers who check out again keep their claims, whatever fails.
	ClaimsAreKept Invariant = "a second try keeps its claims"
	// OneOrderForEachSession: a session belongs to one order, and each of its coupons has one use.
	OneOrderForEachSession Invariant = "one order for each session"
	// OnlyPaidCompletes: a paid order has a session that is paid.
	OnlyPaidCompletes Invariant = "only what is paid completes"
	// OnlyEndedIsReleased: an order gives its claims back when its session has ended unpaid.
	OnlyEndedIsReleased Invariant = "only what has ended is released"
	// RecordsStay: no order and no use ever goes, and what they froze stays.
	RecordsStay Invariant = "records stay"
	// CodesAreUnique: no two coupons have one code.
	CodesAreUnique Invariant = "codes are unique"
	// OnlyActiveReserves: a use is reserved of active coupons only.
	OnlyActiveReserves Invariant = "only active coupons are reserved"
	// PointsAreBounded: a balance is what it was at first, less the points of what is debited,
	// give or take what is on its way.
	PointsAreBounded Invariant = "points are bounded"
	// QuotesAddUp: every order is priced as the contract says.
	QuotesAddUp Invariant = "quotes add up"
	// SessionsChargeQuotes: a session asks for what its order's quote says.
	SessionsChargeQuotes Invariant = "sessions charge quotes"
	// JournalIsWhole: the journal has each change once, and those of a record in their order.
	JournalIsWhole Invariant = "the journal has each change once"
	// ErrorsChangeNothing: a call of the store that failed has changed nothing.
	ErrorsChangeNothing Invariant = "errors change nothing"
	// PreviewsChangeNothing: looking at a coupon writes nothing.
	PreviewsChangeNothing Invariant = "previews change nothing"
	// ForgeriesAreRefused: what the processor has not signed is refused.
	ForgeriesAreRefused Invariant = "forgeries are refused"
	// OrdersAreTheirs: nobody gets somebody else's order.
	OrdersAreTheirs Invariant = "orders are their customers'"
	// OneOrderForEachKey: a repeated key answers with the first order.
	OneOrderForEachKey Invariant = "one order for each key"
	// TotalsAreCompared: a checkout that claims other totals is refused.
	TotalsAreCompared Invariant = "totals are compared"
	// AnswersAreTrue: what was answered is so, and stays so when a process stops.
	AnswersAreTrue Invariant = "answers are true"
	// NoSurprise: no panic, and no error that a caller need not expect.
	NoSurprise Invariant = "no surprise"

	// EveryPaymentCounts: at rest, each paid session has its use, and nothing else has.
	EveryPaymentCounts Invariant = "every payment counts"
	// OrdersEnd: at rest, orders are paid or cancelled, as their session says.
	OrdersEnd Invariant = "orders end"
	// NothingLivesForever: at rest, nothing is reserved that could lapse.
	NothingLivesForever Invariant = "nothing is reserved for ever"
	// PointsAreConserved: at rest, balances and debited points are what was credited.
	PointsAreConserved Invariant = "points are conserved"
	// MirrorEqualsStore: after a reconcile, processor and store agree on every coupon.
	MirrorEqualsStore Invariant = "mirror equals store"
	// RestIsQuiet: at rest, sweep and reconcile find nothing more to do.
	RestIsQuiet Invariant = "rest is quiet"
	// FreeUsesCanBeHad: at rest, a stranger may use a coupon exactly when a use is free.
	FreeUsesCanBeHad Invariant = "free uses can be had"
)

// Invariants returns all of them, those of every moment first.
func Invariants() []Invariant {
	return []Invariant{
		LimitsHold, OverLimitIsFlagged, CountersEqualRecords, StatesMoveForward, UsesFollowOrders, HandOverIsWhole,
		OneSessionIsOpen, ClaimsAreKept, OneOrderForEachSession, OnlyPaidCompletes, OnlyEndedIsReleased,
		RecordsStay, CodesAreUnique, OnlyActiveReserves, PointsAreBounded, QuotesAddUp, SessionsChargeQuotes,
		JournalIsWhole, ErrorsChangeNothing, PreviewsChangeNothing, ForgeriesAreRefused, OrdersAreTheirs,
		OneOrderForEachKey, TotalsAreCompared, AnswersAreTrue, NoSurprise,
		EveryPaymentCounts, OrdersEnd, NothingLivesForever, PointsAreConserved, MirrorEqualsStore, RestIsQuiet, FreeUsesCanBeHad,
	}
}
