package simulation

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
)

// check holds what has changed to the invariants of every moment.
func (w *world) check(s *shop, t touched, c *change) {
	if c.any && t.failed != nil {
		w.fail(ErrorsChangeNothing, "a call of the store answered %q and has changed something", t.failed)
	}
	for _, o := range c.orders {
		w.checkOrder(s, o)
	}
	for _, o := range c.orders { // once all of them are known
		w.checkEnd(s, o)
	}
	var customers []string
	for _, u := range c.uses {
		w.checkUse(s, u)
		w.checkLimits(s, u, c)
		customers = append(customers, u.now.CustomerID)
	}
	w.checkCounters(s, t, c)
	w.checkJournal(s, c)
	if t.points {
		customers = slices.Collect(maps.Keys(s.book.accounts))
	}
	for _, id := range unique(customers) {
		w.checkPoints(s, id)
	}
	for _, id := range t.sessions {
		w.checkSession(s, id)
	}
}

// frozen is an order without what may change.
func frozen(o redemption.Order) redemption.Order {
	o.State, o.SessionID, o.SessionURL, o.ReplacedBy = 0, "", "", ""
	o.Deadline, o.UpdatedAt, o.Version = time.Time{}, time.Time{}, 0
	return o
}

// checkOrder holds an order to what it froze, and to the ways it may go.
func (w *world) checkOrder(s *shop, o orderChange) {
	before, now := o.before, o.now
	if before.IsZero() {
		w.checkNewOrder(s, now)
		return
	}
	if before.State != now.State {
		w.coverage.count("order", before.State.String(), now.State.String())
	}
	resumed := before.State == redemption.OrderCancelled && now.State == redemption.OrderAwaitingPayment
	switch {
	case !reflect.DeepEqual(frozen(before), frozen(now)):
		w.fail(RecordsStay, "order %s is not the one that was placed", now.ID)
	case before.State == redemption.OrderPaid && now.State != redemption.OrderPaid,
		before.State != redemption.OrderOpen && now.State == redemption.OrderOpen,
		resumed && before.ReplacedBy == "":
		w.fail(StatesMoveForward, "order %s was %s, and is %s", now.ID, before.State, now.State)
	case before.SessionID != "" && before.SessionID != now.SessionID && now.State != redemption.OrderPaid:
		w.fail(RecordsStay, "order %s had session %s, and has %q", now.ID, before.SessionID, now.SessionID)
	}
	if before.SessionID != now.SessionID {
		w.attached(s, now)
	}
	if resumed {
		w.coverage.count("order", "cancelled", "resumed after its hand-over")
	}
}

// attached notes the order of a session.
func (w *world) attached(s *shop, o redemption.Order) {
	if other := s.book.sessions[o.SessionID]; other != "" && other != o.ID {
		w.fail(OneOrderForEachSession, "session %s is that of orders %s and %s", o.SessionID, other, o.ID)
	}
	s.book.sessions[o.SessionID] = o.ID
}

func (w *world) checkNewOrder(s *shop, o redemption.Order) {
	w.coverage.count("order", "new", o.State.String())
	if o.Key == "" { // that of an unknown payment
		w.attached(s, o)
		return
	}
	w.checkQuote(o)
	for _, k := range o.Coupons {
		if seen, known := s.book.terms[terms{k.ID, k.Revision}]; !known || !reflect.DeepEqual(seen, k) {
			w.fail(QuotesAddUp, "order %s keeps terms of coupon %s that revision %d never had", o.ID, k.ID, k.Revision)
		}
	}
	key := o.CustomerID + " " + o.Key
	if other, used := s.book.keys[key]; used {
		w.fail(OneOrderForEachKey, "orders %s and %s have the key %q", other, o.ID, key)
	}
	s.book.keys[key] = o.ID
	if own := []redemption.Claim{{Counter: redemption.CustomerOrders(o.CustomerID), Amount: 1}}; !slices.Equal(o.Claims, own) {
		w.fail(LimitsHold, "order %s claims %v", o.ID, o.Claims)
	}
}

// checkEnd checks how an order begins and ends beside the orders before and after it.
func (w *world) checkEnd(s *shop, o orderChange) {
	before, now := o.before, o.now
	if older := s.book.orders[now.Replaces]; before.IsZero() && now.Replaces != "" {
		w.coverage.count("order", "new", "replaces another one")
		if older.ReplacedBy != now.ID || older.State != redemption.OrderCancelled || older.CustomerID != now.CustomerID {
			w.fail(HandOverIsWhole, "order %s of %s replaces %s of %s, which is %s and replaced by %q",
				now.ID, now.CustomerID, older.ID, older.CustomerID, older.State, older.ReplacedBy)
		}
	}
	if before.ReplacedBy == "" && now.ReplacedBy != "" && s.book.orders[now.ReplacedBy].Replaces != now.ID {
		w.fail(HandOverIsWhole, "order %s is replaced by %s, which does not know of it", now.ID, now.ReplacedBy)
	}
	switch {
	case now.State == redemption.OrderPaid && before.State != redemption.OrderPaid:
		w.checkPaid(s, now)
	case now.State == redemption.OrderCancelled && before.State != redemption.OrderCancelled && now.ReplacedBy == "":
		w.checkReleased(s, before)
	}
}

// checkPaid asks the processor whether an order was paid.
func (w *world) checkPaid(s *shop, o redemption.Order) {
	session, err := s.fake.Session(background(), o.SessionID)
	if err != nil || session.Status != processor.SessionComplete || !session.PaymentStatus.Settled() {
		w.fail(OnlyPaidCompletes, "order %s is paid, and its session %q is %s and %s (%v)",
			o.ID, o.SessionID, session.Status, session.PaymentStatus, err)
	}
}

// checkReleased asks the processor whether the session of an order has ended unpaid, unless a
// payment for an older order has superseded it.
func (w *world) checkReleased(s *shop, o redemption.Order) {
	for older := o; older.Replaces != ""; {
		older = s.book.orders[older.Replaces]
		if older.State == redemption.OrderPaid || older.State == redemption.OrderAwaitingPayment {
			w.coverage.count("order", "cancelled", "superseded by a payment")
			return
		}
	}
	if t := w.active; o.Replaces != "" && t != nil && (t.kind == "checkout" || t.kind == "payment link") {
		w.fail(ClaimsAreKept, "%s has cancelled order %s, which has the claims of %s", t.name, o.ID, o.Replaces)
	}
	if o.SessionID == "" || s.contradicted[o.SessionID] {
		return
	}
	session, err := s.fake.Session(background(), o.SessionID)
	if err == nil && session.Status != processor.SessionExpired && !session.PaymentFailed {
		w.fail(OnlyEndedIsReleased, "order %s is cancelled, and its session %s is %s and %s", o.ID, session.ID, session.Status, session.PaymentStatus)
	}
}

// checkUse holds a use to the state machine and to its order.
func (w *world) checkUse(s *shop, u useChange) {
	before, now := u.before, u.now
	w.countUse(before, now)
	fresh, order := before.IsZero(), s.book.orders[now.OrderID]
	follows := map[redemption.OrderState]redemption.State{
		redemption.OrderOpen: redemption.Reserved, redemption.OrderAwaitingPayment: redemption.Reserved,
		redemption.OrderPaid: redemption.Completed, redemption.OrderCancelled: redemption.Released,
	}
	wins := before.PointsState == redemption.PointsPassedOn && now.PointsState == redemption.PointsDebited
	switch {
	case now.OrderID != "" && follows[order.State] != now.State:
		w.fail(UsesFollowOrders, "use %s is %s, and its order %s is %s", now.ID, now.State, order.ID, order.State)
	case fresh && now.State == redemption.Released, fresh && (now.State == redemption.Completed) != (now.Origin == redemption.FromPayment),
		before.State == redemption.Completed && now.State != redemption.Completed:
		w.fail(StatesMoveForward, "use %s was %q, and is %s", now.ID, before.State, now.State)
	case !fresh && now.PointsState < before.PointsState && !wins:
		w.fail(StatesMoveForward, "points of %s were %s, and are %s", now.ID, before.PointsState, now.PointsState)
	case now.State == redemption.Released && (now.PointsState == redemption.PointsDebited || now.PointsState == redemption.PointsPending):
		w.fail(PointsAreBounded, "%s is released, and its points are %s", now.ID, now.PointsState)
	case !fresh && (before.CouponID != now.CouponID || before.CustomerID != now.CustomerID || before.OrderID != now.OrderID ||
		before.Origin != now.Origin || before.ExchangeID != now.ExchangeID || before.Points != now.Points || before.Key != now.Key ||
		before.Discount != now.Discount || !slices.Equal(before.Claims, now.Claims) || !before.CreatedAt.Equal(now.CreatedAt)):
		w.fail(RecordsStay, "use %s is not the one that was made", now.ID)
	case before.State == redemption.Completed && (before.OverLimit != now.OverLimit || !before.CompletedAt.Equal(now.CompletedAt)):
		w.fail(RecordsStay, "use %s was completed, and is completed in another way", now.ID)
	}
	if now.OrderID != "" && len(s.book.usesOf[now.OrderID]) > 1 {
		w.fail(OneOrderForEachSession, "order %s has the uses %v for one coupon", now.OrderID, s.book.usesOf[now.OrderID])
	}
	w.checkExchange(s, before, now)
}

// checkExchange holds the points of an exchange to one use, and that use to its customer, who
// was told of it, until they give it up or take it into a checkout.
func (w *world) checkExchange(s *shop, before, now redemption.Use) {
	if now.ExchangeID == "" {
		return
	}
	holder := s.book.holders[now.ExchangeID]
	if now.PointsState != redemption.PointsPassedOn {
		if other := s.book.uses[holder]; holder != "" && holder != now.ID && other.PointsState != redemption.PointsPassedOn {
			w.fail(PointsAreBounded, "uses %s and %s have the points of one exchange: %s and %s", holder, now.ID, other.PointsState, now.PointsState)
		}
		s.book.holders[now.ExchangeID] = now.ID
	}
	_, asked := s.book.givenUp[now.ExchangeID]
	if before.Free() && now.PointsState == redemption.PointsRefundDue && !asked {
		w.fail(AnswersAreTrue, "exchange %s was paid and is in no checkout, and is given up", now.ID)
	}
}

// checkLimits holds a use that begins to hold its claims to the limits at that moment. Who
// adds nothing to a counter exceeds nothing: the claims of another order were taken over.
func (w *world) checkLimits(s *shop, u useChange, c *change) {
	before, now := u.before, u.now
	holds := func(u redemption.Use) bool { return u.State == redemption.Reserved || u.State == redemption.Completed }
	if !holds(now) || holds(before) {
		return
	}
	k, there := s.book.coupons[now.CouponID]
	if before.IsZero() && now.State == redemption.Reserved {
		if !there || k.State != coupon.Active {
			w.fail(OnlyActiveReserves, "%s was reserved of coupon %s, which is %q", now.ID, now.CouponID, k.State)
		}
		want := []redemption.Claim{
			{Counter: redemption.CouponUses(k.ID), Amount: 1, Limit: k.Limits.MaxUses},
			{Counter: redemption.CustomerUses(k.ID, now.CustomerID), Amount: 1, Limit: k.Limits.MaxUsesPerUser},
		}
		if there && !slices.Equal(now.Claims, want) {
			w.fail(LimitsHold, "%s claims %v of coupon %s, not %v", now.ID, now.Claims, k.ID, want)
		}
	}
	over := false
	for _, claim := range now.Claims {
		taken := s.book.held[claim.Counter].Taken()
		free := claim.Limit == 0 || there && k.Limits.MaxUses == 0 && claim.Counter == redemption.CouponUses(k.ID)
		over = over || !free && taken > c.before[claim.Counter].Taken() && taken > claim.Limit
	}
	switch {
	case over && !now.OverLimit:
		w.fail(LimitsHold, "%s holds %v, and the counters hold %v", now.ID, now.Claims, w.counts(s, now))
	case !over && now.OverLimit:
		w.fail(OverLimitIsFlagged, "%s is flagged and holds %v, and the counters hold %v", now.ID, now.Claims, w.counts(s, now))
	}
}

func (w *world) counts(s *shop, u redemption.Use) (counts []int64) {
	for _, claim := range u.Claims {
		counts = append(counts, s.book.held[claim.Counter].Taken())
	}
	return counts
}

// checkCounters compares counters with what records hold, and the counts of coupons with both.
func (w *world) checkCounters(s *shop, t touched, c *change) {
	keys := slices.Sorted(maps.Keys(c.before))
	for chunk := range slices.Chunk(keys, 500) {
		counts, err := s.eyes.Counts(background(), chunk)
		if err != nil || len(counts) != len(chunk) {
			w.fail(NoSurprise, "read counters: %d of %d (%v)", len(counts), len(chunk), err)
			return
		}
		for i, key := range chunk {
			if counts[i] != s.book.held[key] {
				w.fail(CountersEqualRecords, "counter %s holds %+v, and its records hold %+v", key, counts[i], s.book.held[key])
			}
		}
	}
	for _, id := range unique(t.coupons) {
		k, there := s.book.coupons[id]
		if want := s.book.held[redemption.CouponUses(id)]; there && (redemption.Count{Reserved: k.ReservedCount, Completed: k.UsedCount}) != want {
			w.fail(CountersEqualRecords, "coupon %s counts %d used and %d reserved, its uses hold %+v", id, k.UsedCount, k.ReservedCount, want)
		}
	}
}

// checkPoints holds a balance between what is surely debited and what may be.
func (w *world) checkPoints(s *shop, customerID string) {
	a := s.book.account(customerID)
	if !a.credited {
		return
	}
	most := startingPoints - a.debited - a.elsewhere
	if balance := s.ledger.Balance(customerID); balance > most || balance < most-a.pending {
		w.fail(PointsAreBounded, "%s has %d points; %d of %d are debited, %d on their way and %d spent elsewhere",
			customerID, balance, a.debited, int64(startingPoints), a.pending, a.elsewhere)
	}
}

// checkSession compares a new session with the order that it is for, and with the sessions of
// the orders which that one has replaced.
func (w *world) checkSession(s *shop, id string) {
	request, err := s.fake.Request(id)
	if err != nil {
		w.fail(NoSurprise, "session %s: %v", id, err)
		return
	}
	order, known := s.book.orders[request.OrderID]
	if !known {
		w.fail(SessionsChargeQuotes, "session %s has no order", id)
		return
	}
	w.checkOpen(s, order)
	sum := make(map[string]int64)
	for _, l := range request.Lines {
		sum[l.LineID] += l.Quantity * l.UnitAmount
	}
	firstPeriod := int64(0)
	for _, l := range order.Quote.Lines {
		if sum[l.ID] == l.Subtotal && l.Recurs != 0 {
			firstPeriod += l.Discount
			sum[l.ID] = l.Total
		}
		if sum[l.ID] != l.Total {
			w.fail(SessionsChargeQuotes, "session %s charges %d for line %s of order %s, which costs %d", id, sum[l.ID], l.ID, order.ID, l.Total)
		}
		delete(sum, l.ID)
	}
	if request.Total != order.Quote.Total || request.Currency != order.Quote.Currency || request.FirstPeriodDiscount != firstPeriod || len(sum) > 0 {
		w.fail(SessionsChargeQuotes, "session %s charges %d, %d off the first period, for order %s; it costs %d, %d off",
			id, request.Total, request.FirstPeriodDiscount, order.ID, order.Quote.Total, firstPeriod)
	}
}

// checkOpen looks for a session of an order before, which can still be paid.
func (w *world) checkOpen(s *shop, o redemption.Order) {
	for older := o; older.Replaces != ""; {
		older = s.book.orders[older.Replaces]
		session, err := s.fake.Session(background(), older.SessionID)
		if older.SessionID != "" && err == nil && session.Status == processor.SessionOpen {
			w.fail(OneSessionIsOpen, "order %s gets a session, and session %s of %s, which it has replaced, is open", o.ID, session.ID, older.ID)
		}
	}
}
