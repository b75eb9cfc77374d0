package simulation

// Invariant is something that must hold in every life. Its text is its name in
// failures.
type Invariant string

// The invariants; the package documentation tells where each comes from. Those that
// hold at every moment are checked after every effect.
const (
	// LimitsHold: completed and live uses never exceed a limit, save those flagged.
	LimitsHold Invariant = "limits hold"
	// OverLimitIsFlagged: a use is flagged as over the limit exactly when it is.
	OverLimitIsFlagged Invariant = "over the limit is flagged"
	// CountsEqualRows: a coupon's counts are those of its rows.
	CountsEqualRows Invariant = "counts equal rows"
	// StatesMoveForward: redemptions and orders move along the state machine alone.
	StatesMoveForward Invariant = "states move forward"
	// OneRedemptionForEachSession: a session completes one redemption.
	OneRedemptionForEachSession Invariant = "one redemption for each session"
	// OnlyPaidCompletes: a completed redemption has a session that is paid.
	OnlyPaidCompletes Invariant = "only what is paid completes"
	// OnlyUnpaidIsReleased: a reservation is not released whose session is paid, unless
	// the processor itself has said otherwise.
	OnlyUnpaidIsReleased Invariant = "only what is unpaid is released"
	// RowsStay: no redemption and no order ever goes, and what they froze stays.
	RowsStay Invariant = "rows stay"
	// CodesAreUnique: no two coupons have one code.
	CodesAreUnique Invariant = "codes are unique"
	// OnlyActiveReserves: a place is only kept of a coupon that is active.
	OnlyActiveReserves Invariant = "only active coupons are reserved"
	// PointsAreBounded: a balance is what it was at first, less the points of what is
	// debited, give or take what is on its way.
	PointsAreBounded Invariant = "points are bounded"
	// QuotesAddUp: every order is priced as the contract says.
	QuotesAddUp Invariant = "quotes add up"
	// SessionsChargeQuotes: a session asks for what its order's quote says.
	SessionsChargeQuotes Invariant = "sessions charge quotes"
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
	// PlacesAreKept: customers who try again while their session is open keep its place and
	// its points, whatever is told of the session meanwhile.
	PlacesAreKept Invariant = "a second try keeps the place"
	// TotalsAreCompared: a checkout that claims other totals is refused.
	TotalsAreCompared Invariant = "totals are compared"
	// AnswersAreTrue: what was answered is so, and stays so when a process stops.
	AnswersAreTrue Invariant = "answers are true"
	// NoSurprise: no panic, and no error that a caller need not expect.
	NoSurprise Invariant = "no surprise"

	// EveryPaymentCounts: at rest, each paid session has its redemption, no other has.
	EveryPaymentCounts Invariant = "every payment counts"
	// OrdersEnd: at rest, orders are paid or cancelled, as their session says.
	OrdersEnd Invariant = "orders end"
	// NothingLivesForever: at rest, no reservation is left that could lapse.
	NothingLivesForever Invariant = "no reservation lives for ever"
	// PointsAreConserved: at rest, balances and debited points are what was credited.
	PointsAreConserved Invariant = "points are conserved"
	// MirrorEqualsStore: after a reconcile, processor and store agree on every coupon.
	MirrorEqualsStore Invariant = "mirror equals store"
	// RestIsQuiet: at rest, sweep and reconcile find nothing more to do.
	RestIsQuiet Invariant = "rest is quiet"
	// PlacesAreOpen: at rest, a stranger may use a coupon exactly when a place is left.
	PlacesAreOpen Invariant = "places that are left can be had"
)

// Invariants returns all of them, those of every moment first.
func Invariants() []Invariant {
	return []Invariant{
		LimitsHold, OverLimitIsFlagged, CountsEqualRows, StatesMoveForward, OneRedemptionForEachSession, OnlyPaidCompletes, OnlyUnpaidIsReleased,
		RowsStay, CodesAreUnique, OnlyActiveReserves, PointsAreBounded, QuotesAddUp, SessionsChargeQuotes,
		ErrorsChangeNothing, PreviewsChangeNothing, ForgeriesAreRefused, OrdersAreTheirs, OneOrderForEachKey,
		PlacesAreKept, TotalsAreCompared, AnswersAreTrue, NoSurprise,
		EveryPaymentCounts, OrdersEnd, NothingLivesForever, PointsAreConserved, MirrorEqualsStore, RestIsQuiet, PlacesAreOpen,
	}
}
