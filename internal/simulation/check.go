package simulation

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
)

// check checks the changed records against the invariants that hold at all times.
func (w *world) check(s *shop, t touched, c *change) {
	w.must(ErrorsChangeNothing, !c.any || t.failed == nil, "a call of the store answered %q and has changed something", t.failed)
	for _, o := range c.orders {
		w.checkOrder(s, o.before, o.now)
	}
	for _, o := range c.orders { // after all orders are in the book
		w.checkEnd(s, o.before, o.now)
	}
	w.checkBudgets(s, c)
	customers := make([]string, 0, len(c.uses))
	for _, u := range c.uses {
		w.countUse(u.before, u.now)
		w.checkUse(s, u.before, u.now)
		w.checkExchange(s, u.before, u.now)
		w.checkGivenBack(s, u.now)
		w.checkLimits(s, u.before, u.now, c)
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
	w.checkPlaces(s, t, c)
	for _, id := range t.payments {
		w.checkPayback(s, id)
	}
}

// frozen returns an order without its mutable fields.
func frozen(o redemption.Order) redemption.Order {
	o.State, o.SessionID, o.SessionURL, o.ReplacedBy, o.Claims = 0, "", "", "", nil
	o.Deadline, o.UpdatedAt, o.Version, o.Refunds = time.Time{}, time.Time{}, 0, nil
	o.ExternalRefunds, o.Disputes, o.Charge = nil, nil, redemption.Charge{}
	o.BegunAt, o.Asks, o.Kept = time.Time{}, 0, 0
	return o
}

// keeps reports whether a record still has its earlier claims. A paid record may have more claims, and
// may have returned some.
func keeps(before, now []eligibility.Claim, paid bool) bool {
	same := func(was, is eligibility.Claim) bool {
		more := is.Returned >= was.Returned
		is.Returned, was.Returned = 0, 0
		return more && is == was
	}
	return len(now) >= len(before) && slices.EqualFunc(before, now[:len(before)], same) && (paid || len(now) == len(before))
}

// checkOrder checks that frozen fields did not change and that the change of state is legal.
func (w *world) checkOrder(s *shop, before, now redemption.Order) {
	w.checkRefunds(s, before, now)
	w.checkTaxes(before, now)
	w.checkRepayments(before, now)
	w.checkReported(before, now)
	if before.IsZero() {
		w.checkNewOrder(s, now)
		return
	}
	w.when(now.Kept < before.Kept, "order", "kept claims", "freed")
	resumed := before.State == redemption.OrderCancelled && now.State == redemption.OrderAwaitingPayment
	w.when(before.State != now.State, "order", before.State.String(), now.State.String())
	w.when(resumed, "order", "cancelled", "resumed after its hand-over")
	charged := before.Charge.IsZero() || reflect.DeepEqual(before.Charge, now.Charge)
	same := charged && reflect.DeepEqual(frozen(before), frozen(now)) && keeps(before.OwnClaims(), now.OwnClaims(), now.State.Paid()) && (now.Kept == 0 || now.Kept == before.Kept)
	w.must(RecordsStay, same, "order %s is not the one that was placed", now.ID)
	backwards := before.State.Paid() && (!now.State.Paid() || now.State < before.State) ||
		before.State != redemption.OrderOpen && now.State == redemption.OrderOpen || resumed && before.ReplacedBy == "" ||
		before.State == redemption.OrderCancelled && now.State == redemption.OrderEnding
	w.must(StatesMoveForward, !backwards, "order %s was %s, and is %s", now.ID, before.State, now.State)
	w.checkPaymentOf(s, before, now, resumed)
	if before.SessionID != now.SessionID {
		w.must(RecordsStay, before.SessionID == "" || now.State.Paid(), "order %s had session %s, and has %q", now.ID, before.SessionID, now.SessionID)
		w.attached(s, now)
	}
}

// attached records which order a session belongs to.
func (w *world) attached(s *shop, o redemption.Order) {
	other := s.book.sessions[o.SessionID]
	w.must(OneOrderForEachSession, other == "" || other == o.ID, "session %s is that of orders %s and %s", o.SessionID, other, o.ID)
	s.book.sessions[o.SessionID] = o.ID
}

func (w *world) checkNewOrder(s *shop, o redemption.Order) {
	w.coverage.count("order", "new", o.State.String())
	if o.Key == "" { // the order of an unknown payment has no key
		w.attached(s, o)
		return
	}
	s.book.placed = append(s.book.placed, o.ID)
	if check := w.config.CheckOrder; check != nil {
		err := check(o)
		w.must(QuotesAddUp, err == nil, "order %s: %v", o.ID, err)
	}
	for _, k := range o.Coupons {
		w.when(k.Code.IsZero(), "order", "new", "with an automatic coupon")
		seen, known := s.book.terms[terms{k.ID, k.Revision}]
		want := seen.Snapshot()
		if k.Code.IsZero() && seen.Automatic || slices.Contains(s.issued[k.ID], k.Code) || w.added(s, k) {
			want.Code = k.Code // the code that the customer entered
		}
		w.must(QuotesAddUp, known && reflect.DeepEqual(want, k), "order %s keeps terms of coupon %s that revision %d never had", o.ID, k.ID, k.Revision)
	}
	capped := slices.ContainsFunc(o.Quote.Coupons, func(c pricing.QuotedCoupon) bool { return c.Discount > 0 && c.Discount == c.Terms.Terms().MaxDiscount })
	w.when(capped, "order", "new", "with the maximum of a discount")
	w.when(len(o.Coupons) > 1, "order", "new", "with several coupons")
	w.when(o.Kept > 0, "order", "new", "with kept claims")
	key := o.CustomerID + " " + o.Key
	w.must(OneOrderForEachKey, s.book.keys[key] == "", "orders %s and %s have the key %q", s.book.keys[key], o.ID, key)
	s.book.keys[key] = o.ID
	own := []eligibility.Claim{
		{Counter: eligibility.CustomerOrders(o.CustomerID), Amount: 1},
		{Counter: eligibility.CustomerOrders(eligibility.EmailIdentity(email(o.CustomerID))), Amount: 1},
	}
	w.must(LimitsHold, slices.Equal(o.OwnClaims(), own) && (o.Kept == 0 || o.Awaits != ""), "order %s claims %v", o.ID, o.Claims)
}

// checkEnd checks the start and the end of an order against the orders that it replaces or that replace
// it.
func (w *world) checkEnd(s *shop, before, now redemption.Order) {
	if older := s.book.orders[now.Replaces]; before.IsZero() && now.Replaces != "" {
		w.coverage.count("order", "new", "replaces another one")
		w.must(HandOverIsWhole, older.ReplacedBy == now.ID && older.State == redemption.OrderCancelled && older.CustomerID == now.CustomerID,
			"order %s of %s replaces %s of %s, which is %s and replaced by %q", now.ID, now.CustomerID, older.ID, older.CustomerID, older.State, older.ReplacedBy)
	}
	if before.IsZero() {
		w.checkAwaits(s, now)
	}
	w.must(HandOverIsWhole, before.ReplacedBy == now.ReplacedBy || s.book.orders[now.ReplacedBy].Replaces == now.ID,
		"order %s is replaced by %s, which does not know of it", now.ID, now.ReplacedBy)
	switch {
	case before.State == now.State:
	case now.State.Paid():
		session, err := s.fake.Session(background(), now.SessionID)
		w.must(OnlyPaidCompletes, err == nil && session.Status == processor.SessionComplete && session.PaymentStatus.Settled(),
			"order %s is paid, and its session %q is %s and %s (%v)", now.ID, now.SessionID, session.Status, session.PaymentStatus, err)
		charge := redemption.Charge{Currency: session.Currency, Amount: session.Total, Tax: session.Tax}
		if now.Key == "" { // an unknown payment has no lines
			charge.Tax.Lines = nil
		}
		w.must(ChargesAreKnown, now.Charge.Equal(charge), "order %s knows the charge %+v, and session %s has charged %+v", now.ID, now.Charge, session.ID, charge)
	case (now.State == redemption.OrderCancelled || now.State == redemption.OrderEnding) && now.ReplacedBy == "":
		w.checkReleased(s, before, now)
	}
	w.checkPaymentEnd(s, before, now)
}

// checkReleased checks that an order is ending, has ended unpaid, or was superseded by an older
// payment.
func (w *world) checkReleased(s *shop, o, now redemption.Order) {
	for older := o; older.Replaces != ""; {
		older = s.book.orders[older.Replaces]
		if older.State.Paid() || older.State == redemption.OrderAwaitingPayment {
			w.coverage.count("order", "cancelled", "superseded by a payment")
			return
		}
	}
	asked := s.book.unwanted[o.ID] || slices.ContainsFunc(s.book.usesOf[o.ID], func(id string) bool {
		_, givenUp := s.book.givenUp[s.book.uses[id].ExchangeID]
		return givenUp
	})
	w.must(ClaimsAreKept, o.State == redemption.OrderEnding || o.Replaces == "" || s.book.made[o.ID] || !w.now.Before(o.Deadline) || asked,
		"order %s has the claims of %s and no session, and is cancelled before its deadline", o.ID, o.Replaces)
	if now.State == redemption.OrderEnding {
		return
	}
	session, err := s.fake.Session(background(), o.SessionID)
	paid := err == nil && session.Status == processor.SessionComplete && session.PaymentStatus.Settled()
	w.must(PaymentsWin, !s.book.unwanted[o.ID] || !paid || s.contradicted[o.SessionID],
		"order %s is cancelled, as somebody wished, and its session %s is paid", o.ID, session.ID)
	w.must(OnlyEndedIsReleased, err != nil || s.contradicted[o.SessionID] || session.Status == processor.SessionExpired || session.PaymentFailed,
		"order %s is cancelled, and its session %s is %s and %s", o.ID, session.ID, session.Status, session.PaymentStatus)
}

var follows = map[redemption.OrderState]redemption.State{
	redemption.OrderOpen: redemption.Reserved, redemption.OrderAwaitingPayment: redemption.Reserved,
	redemption.OrderPaid: redemption.Completed, redemption.OrderCancelled: redemption.Released,
	redemption.OrderPartlyRefunded: redemption.Completed, redemption.OrderRefunded: redemption.Completed, redemption.OrderEnding: redemption.Reserved,
}

// checkUse checks a use against the state machine and its order.
func (w *world) checkUse(s *shop, before, now redemption.Use) {
	fresh, order := before.IsZero(), s.book.orders[now.OrderID]
	w.must(UsesFollowOrders, now.OrderID == "" || follows[order.State] == now.State, "use %s is %s, and its order %s is %s", now.ID, now.State, order.ID, order.State)
	begins := now.State != redemption.Released && (now.State == redemption.Completed) == (now.Origin == redemption.FromPayment)
	backwards := fresh && !begins || before.State == redemption.Completed && now.State != redemption.Completed
	w.must(StatesMoveForward, !backwards, "use %s was %q, and is %s", now.ID, before.State, now.State)
	stays := before.CouponID == now.CouponID && before.CustomerID == now.CustomerID && before.OrderID == now.OrderID && before.Origin == now.Origin &&
		before.ExchangeID == now.ExchangeID && before.Points == now.Points && before.Key == now.Key && before.Discount == now.Discount &&
		keeps(before.Claims, now.Claims, now.State == redemption.Completed) && before.CreatedAt.Equal(now.CreatedAt) &&
		(before.State != redemption.Completed || (now.OverLimit || !before.OverLimit) && before.CompletedAt.Equal(now.CompletedAt))
	w.must(RecordsStay, fresh || stays, "use %s is not the one that was made", now.ID)
	for _, id := range s.book.usesOf[now.OrderID] {
		other := s.book.uses[id]
		w.must(OneOrderForEachSession, other.ID == now.ID || other.CouponID != now.CouponID, "order %s has the uses %s and %s of one coupon", now.OrderID, other.ID, now.ID)
	}
	if order.Key != "" {
		w.must(UsesFollowOrders, len(s.book.usesOf[now.OrderID]) == len(order.Coupons), "order %s has the uses %v of %d coupons", order.ID, s.book.usesOf[order.ID], len(order.Coupons))
	}
}

// checkExchange checks that only one use has the points of an exchange. A free use keeps its customer.
func (w *world) checkExchange(s *shop, before, now redemption.Use) {
	wins := before.PointsState == redemption.PointsPassedOn && now.PointsState == redemption.PointsDebited
	w.must(StatesMoveForward, before.PointsState <= now.PointsState || wins, "points of %s were %s, and are %s", now.ID, before.PointsState, now.PointsState)
	order := s.book.orders[now.OrderID]
	payable := order.ReplacedBy != "" && !order.BegunAt.IsZero() // the points wait for the end of its payment
	lost := now.State == redemption.Released && (now.PointsState == redemption.PointsDebited && !payable || now.PointsState == redemption.PointsPending)
	w.must(PointsAreBounded, !lost, "%s is released, and its points are %s", now.ID, now.PointsState)
	_, asked := s.book.givenUp[now.ExchangeID]
	w.must(AnswersAreTrue, !before.Free() || now.PointsState != redemption.PointsRefundDue || asked,
		"exchange %s was paid and is in no checkout, and is given up", now.ID)
	if now.ExchangeID == "" || now.PointsState == redemption.PointsPassedOn {
		return
	}
	holder := s.book.uses[s.book.holders[now.ExchangeID]]
	w.must(PointsAreBounded, holder.IsZero() || holder.ID == now.ID || holder.PointsState == redemption.PointsPassedOn,
		"uses %s and %s have the points of one exchange: %s and %s", holder.ID, now.ID, holder.PointsState, now.PointsState)
	s.book.holders[now.ExchangeID] = now.ID
}

// checkLimits checks the limits when a use starts to hold its claims. A use that took over the claims
// of another order adds nothing, so it exceeds nothing.
func (w *world) checkLimits(s *shop, before, now redemption.Use, c *change) {
	holds := before.State == redemption.Reserved || before.State == redemption.Completed
	if holds && len(before.Claims) == len(now.Claims) || now.State == redemption.Released {
		return
	}
	k, there := s.book.coupons[now.CouponID]
	if before.IsZero() && now.State == redemption.Reserved {
		w.must(OnlyActiveReserves, there && k.State == coupon.Active, "%s was reserved of coupon %s, which is %q", now.ID, now.CouponID, k.State)
		want := []eligibility.Claim{
			{Counter: eligibility.CouponUses(k.ID), Amount: 1, Limit: k.Limits.MaxUses},
			{Counter: eligibility.CustomerUses(k.ID, now.CustomerID), Amount: 1, Limit: k.Limits.MaxUsesPerUser},
			{Counter: eligibility.CustomerUses(k.ID, eligibility.EmailIdentity(email(now.CustomerID))), Amount: 1, Limit: k.Limits.MaxUsesPerUser},
		}
		if now.Code != k.Code && !now.Code.IsZero() {
			want = append(want, w.codeClaims(s, k, now)...)
		}
		if p, budgeted := s.book.shareOf(now.OrderID, now.CouponID); budgeted {
			want = append(want, eligibility.Claim{Counter: p.counter, Amount: p.amount, Limit: p.limit})
		}
		w.must(LimitsHold, slices.Equal(withoutExchanged(now, want), want), "%s claims %v of coupon %s, not %v", now.ID, now.Claims, k.ID, want)
	}
	exceeds, counts := before.OverLimit, make([]int64, 0, len(now.Claims))
	for _, claim := range now.Claims {
		taken := s.book.held[claim.Counter].Taken()
		unlimited := claim.Limit == 0 || there && k.Limits.MaxUses == 0 && claim.Counter == eligibility.CouponUses(k.ID)
		exceeds = exceeds || !unlimited && taken > c.before[claim.Counter].Taken() && taken > claim.Limit
		counts = append(counts, taken)
	}
	w.must(LimitsHold, !exceeds || now.OverLimit, "%s holds %v, and the counters hold %v", now.ID, now.Claims, counts)
	w.must(OverLimitIsFlagged, exceeds || !now.OverLimit, "%s is flagged and holds %v, and the counters hold %v", now.ID, now.Claims, counts)
}

// checkCounters compares counters with the sums of all records, and the counts of coupons with both.
func (w *world) checkCounters(s *shop, t touched, c *change) {
	const many = 500
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(c.before)), many) {
		counts, err := s.eyes.Counts(background(), keys)
		w.must(NoSurprise, err == nil && len(counts) == len(keys), "read counters: %d of %d (%v)", len(counts), len(keys), err)
		for i := range counts {
			want, spent := s.book.held[keys[i]], s.book.spent[keys[i]]
			w.must(BudgetsEqualDiscounts, !eligibility.IsBudget(keys[i]) || counts[i] == spent, "counter %s holds %+v, and the discounts of its orders are %+v", keys[i], counts[i], spent)
			w.must(CountersEqualRecords, counts[i] == want, "counter %s holds %+v, and its records hold %+v", keys[i], counts[i], want)
		}
	}
	for _, id := range unique(t.coupons) {
		k, there := s.book.coupons[id]
		want := s.book.held[eligibility.CouponUses(id)]
		w.must(CountersEqualRecords, !there || k.ReservedCount == want.Reserved && k.UsedCount == want.Completed,
			"coupon %s counts %d used and %d reserved, its uses hold %+v", id, k.UsedCount, k.ReservedCount, want)
	}
}

// checkPoints checks that a balance lies between two bounds: points surely debited, and points perhaps
// debited.
func (w *world) checkPoints(s *shop, customerID string) {
	a, balance := s.book.account(customerID), s.ledger.Balance(customerID)
	most := startingPoints - a.debited - a.elsewhere
	w.must(PointsAreBounded, !a.credited || balance <= most && balance >= most-a.pending,
		"%s has %d points; %d of %d are debited, %d on their way and %d spent elsewhere",
		customerID, balance, a.debited, int64(startingPoints), a.pending, a.elsewhere)
}

// checkSession compares a new session with its order.
func (w *world) checkSession(s *shop, id string) {
	request, err := s.fake.Request(id)
	order := s.book.orders[request.OrderID]
	w.must(SessionsChargeQuotes, err == nil && !order.IsZero(), "session %s has no order (%v)", id, err)
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
		w.must(SessionsChargeQuotes, sum[l.ID] == l.Total, "session %s charges %d for line %s of order %s, which costs %d", id, sum[l.ID], l.ID, order.ID, l.Total)
		delete(sum, l.ID)
	}
	w.must(SessionsChargeQuotes, request.Total == order.Quote.Total && request.Currency == order.Quote.Currency &&
		request.FirstPeriodDiscount == firstPeriod && len(sum) == 0,
		"session %s charges %d, %d off the first period, for order %s; it costs %d, %d off",
		id, request.Total, request.FirstPeriodDiscount, order.ID, order.Quote.Total, firstPeriod)
}

// countUse counts the events of a use for the coverage.
func (w *world) countUse(before, now redemption.Use) {
	bought := now.Origin == redemption.FromPoints && now.OrderID != ""
	w.when(before.IsZero() && !bought, "origin", now.Origin.String(), "")
	w.when(before.IsZero() && bought, "origin", now.Origin.String(), "in a checkout")
	w.when(before.State != now.State, "use", cmp.Or(before.State.String(), "none"), now.State.String())
	w.when(before.PointsState != now.PointsState, "points", before.PointsState.String(), now.PointsState.String())
	w.when(now.OverLimit && !before.OverLimit, "use", "completed", "over the limit")
	w.when(!before.IsZero() && len(now.Claims) > len(before.Claims), "use", "completed", "with more claims")
	w.when(now.State == redemption.Completed && before.State != redemption.Completed && now.PointsState > redemption.PointsDebited,
		"use", "completed", "with points that are "+now.PointsState.String())
}
