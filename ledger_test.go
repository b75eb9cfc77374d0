package couponkit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// till is a shop that takes payments by itself: a service without a processor.
type till struct {
	*couponkit.Service
	t     *testing.T
	now   time.Time
	store *memstore.Store
}

// hold is the hold of the till's orders.
const hold = 30 * time.Minute

func newTill(t *testing.T, options ...couponkit.Option) *till {
	t.Helper()
	s := &till{t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), store: memstore.New()}
	service, err := couponkit.New(s.store, append(options, couponkit.WithClock(func() time.Time { return s.now }))...)
	require.NoError(t, err)
	s.Service = service
	return s
}

// once creates a coupon ONE of 1.00 EUR with one use.
func (s *till) once() coupon.Coupon {
	s.t.Helper()
	c, err := s.Create(s.t.Context(), coupon.Draft{
		Code: "ONE", Name: "One use", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "1.00"}, MaxUses: coupon.Set(1), StartsAt: "2026-11-01",
	})
	require.NoError(s.t, err)
	return c
}

// wants is a request of a phone for 10.00 EUR with the code ONE.
func wants(id string, customer eligibility.Customer) couponkit.ReserveRequest {
	return couponkit.ReserveRequest{OrderID: id, Hold: hold, QuoteRequest: couponkit.QuoteRequest{
		Customer: customer, Codes: []string{"ONE"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 10_00}}},
	}}
}

func (s *till) reserve(id string, customer eligibility.Customer) couponkit.Reserved {
	s.t.Helper()
	r, err := s.Reserve(s.t.Context(), wants(id, customer))
	require.NoError(s.t, err)
	return r
}

func (s *till) begin(id string) {
	s.t.Helper()
	_, err := s.BeginPayment(s.t.Context(), id)
	require.NoError(s.t, err)
}

func (s *till) attach(id string) {
	s.t.Helper()
	_, err := s.AttachPayment(s.t.Context(), couponkit.Payment{OrderID: id, ID: "pay_" + id})
	require.NoError(s.t, err)
}

func (s *till) record(p couponkit.Payment) couponkit.Outcome {
	s.t.Helper()
	o, err := s.Record(s.t.Context(), p)
	require.NoError(s.t, err)
	return o
}

// show reserves an order of ann, and creates a payment that she sees.
func (s *till) show(id string) {
	s.t.Helper()
	s.reserve(id, ann)
	s.begin(id)
	s.attach(id)
}

func ended(id, paymentID string) couponkit.Payment {
	return couponkit.Payment{OrderID: id, ID: paymentID, Status: couponkit.PaymentEnded}
}

// paid is the payment of an order of 9.00 EUR.
func paid(id string) couponkit.Payment {
	return couponkit.Payment{OrderID: id, ID: "pay_" + id, Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(9_00, pricing.EUR())}
}

func (s *till) state(id string) redemption.OrderState {
	s.t.Helper()
	found, err := s.store.Order(s.t.Context(), store.OrderKey{ID: id})
	require.NoError(s.t, err)
	return found.Order.State
}

// due are the kinds and payments of what is due for an order, or for all with an empty ID.
func (s *till) due(id string) (due []couponkit.Due, told [][3]string) {
	s.t.Helper()
	for d, err := range s.Due(s.t.Context(), couponkit.DueOptions{OrderID: id}) {
		require.NoError(s.t, err)
		due = append(due, d)
		told = append(told, [3]string{d.Kind.String(), d.OrderID, d.PaymentID})
	}
	return due, told
}

func (s *till) uses(c coupon.Coupon, reserved, completed int64) {
	s.t.Helper()
	got, err := store.Find(s.t.Context(), s.store, store.LookUp{Names: store.ByID(c.ID), Whole: true})
	require.NoError(s.t, err)
	require.Equal(s.t, []int64{reserved, completed}, []int64{got.Coupon.ReservedCount, got.Coupon.UsedCount}, "reserved and completed uses")
}

// TestAShopWithoutAProcessor: an order is reserved, paid and shipped, and the same calls again change nothing.
func TestAShopWithoutAProcessor(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	first := s.reserve("1001", ann)
	require.Equal(t, []any{"1001", redemption.OrderOpen, pricing.NewMoney(9_00, pricing.EUR()), s.now.Add(hold), false},
		[]any{first.Order.ID, first.Order.State, first.Order.Total(), first.Order.Deadline, first.Replayed})
	again := s.reserve("1001", ann)
	require.True(t, again.Replayed)
	require.Empty(t, cmp.Diff(first.Order, again.Order))
	s.uses(c, 1, 0)
	_, err := s.Reserve(t.Context(), wants("1002", bob))
	require.Equal(t, coupon.UsageLimitReached, coupon.RejectionsOf(err)[0].Reasons[0].Code)
	s.begin("1001")
	s.attach("1001")
	for _, changed := range []bool{true, false} {
		o := s.record(paid("1001"))
		require.Equal(t, []any{redemption.OrderPaid, couponkit.FlagNone, changed, "pay_1001"}, []any{o.Order.State, o.Flag, o.Changed, o.Order.SessionID})
		s.uses(c, 0, 1)
	}
	replayed, err := s.Reserve(t.Context(), wants("1001", ann))
	require.ErrorIs(t, err, couponkit.ErrOrderPaid)
	require.Equal(t, "1001", replayed.Order.ID)
	_, told := s.due("")
	require.Empty(t, told)
}

// TestAnIDOfTheHost: an order's ID is the host's, or is made from the customer and the key.
func TestAnIDOfTheHost(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1001", ann)
	bobs := wants("1001", bob)
	bobs.Codes = nil
	_, err := s.Reserve(t.Context(), bobs)
	require.ErrorIs(t, err, store.ErrKeyReused, "of another customer")
	other := wants("1001", ann)
	other.Cart.Lines[0].Quantity = 2
	_, err = s.Reserve(t.Context(), other)
	require.ErrorIs(t, err, store.ErrKeyReused, "of another cart")

	another := wants("1001", ann)
	another.Key = "1001"
	another.OrderID = "1002"
	_, err = s.Reserve(t.Context(), another)
	require.ErrorIs(t, err, store.ErrKeyReused, "for another order ID")

	keyed := func() couponkit.ReserveRequest {
		r := wants("", bob)
		r.Codes, r.Key = nil, "cart-7"
		return r
	}
	first, err := s.Reserve(t.Context(), keyed())
	require.NoError(t, err)
	again, err := newTill(t).Reserve(t.Context(), keyed())
	require.NoError(t, err)
	require.Equal(t, first.Order.ID, again.Order.ID, "the same key is the same order, also in a store that has forgotten it")
}

// TestBadReservations: a typed error names every invalid field, and nothing is stored.
func TestBadReservations(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	for name, bad := range map[string]struct {
		change func(*couponkit.ReserveRequest)
		fields []string
	}{
		"a hold below 0 and an ID that is too long": {func(r *couponkit.ReserveRequest) {
			r.Hold, r.OrderID = couponkit.MinHold-1, string(make([]byte, redemption.MaxIDLength+1))
		}, []string{"orderId", "hold"}},
		"a customer's ID that is too long": {func(r *couponkit.ReserveRequest) {
			r.Customer.ID = strings.Repeat("x", redemption.MaxIDLength+1)
		}, []string{"customer.id"}},
		"a hold beyond the limit": {func(r *couponkit.ReserveRequest) { r.Hold = couponkit.MaxHold + 1 }, []string{"hold"}},
		"a hold, a cart and a code": {func(r *couponkit.ReserveRequest) {
			r.Hold, r.Cart.Lines, r.Codes = couponkit.MaxHold+1, nil, []string{"ONE", "one"}
		}, []string{"hold", "lines", "codes[1]"}},
	} {
		r := wants("1001", ann)
		bad.change(&r)
		_, err := s.Reserve(t.Context(), r)
		var faults *validation.Error
		require.ErrorAs(t, err, &faults, name)
		var fields []string
		for _, f := range faults.Fields {
			fields = append(fields, f.Path)
		}
		require.Equal(t, bad.fields, fields, name)
	}
	s.uses(c, 0, 0)
}

// TestHolds: an order has the hold that it was reserved with, and can be paid until that is over.
func TestHolds(t *testing.T) {
	t.Parallel()
	for _, want := range []time.Duration{couponkit.MinHold, couponkit.MinHold + 1500, couponkit.MaxHold, 0} {
		s := newTill(t)
		s.once()
		r := wants("1", ann)
		r.Hold = want
		first, err := s.Reserve(t.Context(), r)
		require.NoError(t, err, want)
		again, err := s.Reserve(t.Context(), wants("1", ann))
		require.NoError(t, err, want)
		require.Equal(t, first.Order.Deadline, again.Order.Deadline)
		require.Equal(t, calendar.Instant(first.Order.Deadline), again.Order.Deadline)
		s.now = first.Order.Deadline
		_, err = s.Reserve(t.Context(), r)
		require.ErrorIs(t, err, couponkit.ErrOrderEnded, want)
		_, err = s.BeginPayment(t.Context(), "1")
		require.ErrorIs(t, err, couponkit.ErrOrderEnded, want)
	}
}

// TestAnOrderWithoutABegunPaymentIsFreeAtOnce: cancelled, replaced, or when its hold is over.
func TestAnOrderWithoutABegunPaymentIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.reserve("1", ann)
	o, err := s.Cancel(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, o.Order.State)
	s.uses(c, 0, 0)
	_, err = s.Cancel(t.Context(), "1")
	require.NoError(t, err, "again")
	_, err = s.Reserve(t.Context(), wants("1", ann))
	require.ErrorIs(t, err, couponkit.ErrOrderEnded)
	_, err = s.BeginPayment(t.Context(), "1")
	require.ErrorIs(t, err, couponkit.ErrOrderEnded)

	s.reserve("2", ann)
	next := s.reserve("3", ann)
	require.Equal(t, []string{"2"}, []string{next.Ended[0].ID})
	s.begin("3") // nothing has to be ended before
	s.record(couponkit.Payment{OrderID: "3", ID: "pay_3", Status: couponkit.PaymentEnded})
	s.now = s.now.Add(hold)
	due, told := s.due("")
	require.Equal(t, [][3]string{{"end_payment", "3", ""}}, told)
	s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentEnded}))
	require.Equal(t, redemption.OrderCancelled, s.state("3"))
	s.uses(c, 0, 0)
}

// TestABegunPaymentKeepsTheUses until its end is recorded, whatever ends the order.
func TestABegunPaymentKeepsTheUses(t *testing.T) {
	t.Parallel()
	for name, attached := range map[string]bool{"an ID that is known": true, "an ID that nobody has stored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTill(t)
			c := s.once()
			s.reserve("1", ann)
			s.begin("1")
			id := ""
			if attached {
				s.attach("1")
				id = "pay_1"
			}
			o, err := s.Cancel(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, redemption.OrderEnding, o.Order.State)
			s.uses(c, 1, 0)
			_, err = s.Reserve(t.Context(), wants("2", bob))
			require.NotNil(t, coupon.RejectionsOf(err))
			_, err = s.BeginPayment(t.Context(), "1")
			require.ErrorIs(t, err, couponkit.ErrOrderEnded)

			_, told := s.due("1")
			require.Equal(t, [][3]string{{"end_payment", "1", id}}, told)
			_, told = s.due("")
			require.Empty(t, told, "of all orders, what is due for less than a minute")
			s.now = s.now.Add(redemption.DueRetry)
			_, told = s.due("")
			require.Equal(t, [][3]string{{"end_payment", "1", id}}, told)

			s.now = s.now.Add(couponkit.DefaultCreateTime)
			due, _ := s.due("1")
			for range 2 { // an answer that comes twice
				ended := s.record(due[0].Answer(couponkit.Payment{ID: id, Status: couponkit.PaymentEnded}))
				require.Equal(t, redemption.OrderCancelled, ended.Order.State)
				s.uses(c, 0, 0)
			}
			_, told = s.due("1")
			require.Empty(t, told)
		})
	}
}

// TestNothingFoundIsNoAnswerWhileAPaymentMayBeCreated: the provider is asked a moment after the payment was begun.
func TestNothingFoundIsNoAnswerWhileAPaymentMayBeCreated(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.reserve("1", ann)
	s.begin("1")
	_, err := s.Cancel(t.Context(), "1")
	require.NoError(t, err)
	early, _ := s.due("1")
	nothing := couponkit.Payment{Status: couponkit.PaymentEnded}
	s.record(early[0].Answer(nothing))
	require.Equal(t, redemption.OrderEnding, s.state("1"))
	s.now = s.now.Add(couponkit.DefaultCreateTime)
	s.record(early[0].Answer(nothing)) // recorded late, and asked early
	s.record(couponkit.Payment{OrderID: "1", Status: couponkit.PaymentEnded})
	require.Equal(t, redemption.OrderEnding, s.state("1"), "without a question")
	s.uses(c, 1, 0)
	late, _ := s.due("1")
	s.record(late[0].Answer(nothing))
	require.Equal(t, redemption.OrderCancelled, s.state("1"))
	s.uses(c, 0, 0)
}

// TestAReplacementWaitsForTheOlderPayment: one use, two tabs, and never two payments that can be paid.
func TestAReplacementWaitsForTheOlderPayment(t *testing.T) {
	t.Parallel()
	replaced := func(t *testing.T) *till {
		t.Helper()
		s := newTill(t)
		s.once()
		s.show("1")
		next := s.reserve("2", ann)
		require.Equal(t, []string{"1"}, []string{next.Ended[0].ID})
		_, err := s.BeginPayment(t.Context(), "2")
		require.ErrorIs(t, err, couponkit.ErrPaymentOpen)
		_, err = s.AttachPayment(t.Context(), couponkit.Payment{OrderID: "2", ID: "pay_2"})
		require.ErrorIs(t, err, couponkit.ErrPaymentOpen)
		_, err = s.Cancel(t.Context(), "2")
		require.ErrorIs(t, err, couponkit.ErrPaymentOpen)
		_, told := s.due("2")
		require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told, "what is due for the order that it has replaced")
		return s
	}
	t.Run("it is ended", func(t *testing.T) {
		t.Parallel()
		s := replaced(t)
		due, _ := s.due("2")
		s.record(due[0].Answer(couponkit.Payment{ID: "pay_1", Status: couponkit.PaymentEnded}))
		s.begin("2")
		s.attach("2")
		require.Equal(t, redemption.OrderPaid, s.record(paid("2")).Order.State)
	})
	t.Run("the customer was faster", func(t *testing.T) {
		t.Parallel()
		s := replaced(t)
		due, _ := s.due("2")
		o := s.record(due[0].Answer(paid("1")))
		require.Equal(t, []any{redemption.OrderPaid, couponkit.FlagNone, "2"}, []any{o.Order.State, o.Flag, o.Ended[0].ID})
		_, err := s.BeginPayment(t.Context(), "2")
		require.ErrorIs(t, err, couponkit.ErrOrderEnded)
	})
	t.Run("a late word that the payment is on its way takes nothing back", func(t *testing.T) {
		t.Parallel()
		s := replaced(t)
		pending := couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPending}
		due, _ := s.due("2")
		s.record(due[0].Answer(couponkit.Payment{ID: "pay_1", Status: couponkit.PaymentEnded}))
		s.record(pending)
		require.Equal(t, []redemption.OrderState{redemption.OrderCancelled, redemption.OrderOpen}, []redemption.OrderState{s.state("1"), s.state("2")})
		due, told := s.due("1")
		require.Equal(t, [][3]string{{"ask_payment", "1", "pay_1"}}, told)
		s.record(due[0].Answer(pending))
		require.Equal(t, []redemption.OrderState{redemption.OrderAwaitingPayment, redemption.OrderCancelled}, []redemption.OrderState{s.state("1"), s.state("2")})
	})
}

// TestALatePaymentEndsTheReplacement, whose own payment is then due to be ended.
func TestALatePaymentEndsTheReplacement(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.show("1")
	s.reserve("2", ann)
	s.record(couponkit.Payment{ID: "pay_1", Status: couponkit.PaymentEnded})
	s.begin("2")
	s.attach("2")
	o := s.record(paid("1"))
	require.Equal(t, []any{redemption.OrderPaid, "2"}, []any{o.Order.State, o.Ended[0].ID})
	_, told := s.due("1")
	require.Equal(t, [][3]string{{"end_payment", "2", "pay_2"}}, told)
	s.uses(c, 0, 1)
	second := s.record(paid("2")) // the provider was not asked in time
	require.Equal(t, couponkit.FlagOverLimit, second.Flag)
	s.uses(c, 0, 2)
}

// TestWhatIsAttached: a request is refused where showing the payment would be wrong.
func TestWhatIsAttached(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	other := wants("2", bob)
	other.Codes = nil
	_, err := s.Reserve(t.Context(), other)
	require.NoError(t, err)
	attach := func(p couponkit.Payment) error { _, err := s.AttachPayment(t.Context(), p); return err }
	var faults *validation.Error
	require.ErrorAs(t, attach(couponkit.Payment{}), &faults)
	require.Len(t, faults.Fields, 2)
	require.Equal(t, []string{"url"}, faultyFields(t, attach(couponkit.Payment{OrderID: "1", ID: "pay_1", URL: strings.Repeat("x", redemption.MaxMetadataLength+1)})))
	require.Equal(t, []string{"expiresAt"}, faultyFields(t, attach(couponkit.Payment{OrderID: "1", ID: "pay_1", ExpiresAt: time.Time{}.Add(-48 * time.Hour)})))
	require.ErrorIs(t, attach(couponkit.Payment{OrderID: "none", ID: "pay_1"}), store.ErrNotFound)
	s.begin("1")
	require.NoError(t, attach(couponkit.Payment{OrderID: "1", ID: "pay_1", ExpiresAt: s.now.Add(time.Hour)}))
	require.NoError(t, attach(couponkit.Payment{OrderID: "1", ID: "pay_1"}), "again")
	require.ErrorIs(t, attach(couponkit.Payment{OrderID: "2", ID: "pay_1"}), store.ErrSuperseded, "a payment of another order")
	require.ErrorIs(t, attach(couponkit.Payment{OrderID: "1", ID: "pay_9"}), store.ErrSuperseded, "an order with another payment")
	s.begin("2")
	s.now = s.now.Add(hold)
	require.ErrorIs(t, attach(couponkit.Payment{OrderID: "2", ID: "pay_2"}), couponkit.ErrOrderEnded, "after the hold")
	_, told := s.due("2")
	require.Equal(t, [][3]string{{"end_payment", "2", ""}}, told)
	s.record(paid("1"))
	require.ErrorIs(t, attach(couponkit.Payment{OrderID: "1", ID: "pay_1"}), couponkit.ErrOrderPaid)
}

// TestFactsAreNeverRefused: a payment of an order that nobody knows is recorded, a second one of an order is
// recorded beside the first one. One that names no order is an error, and so is one that names two.
func TestFactsAreNeverRefused(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	lost := s.record(paid("lost"))
	require.Equal(t, []any{"lost", redemption.OrderPaid, couponkit.FlagUnknownOrder, int64(9_00)},
		[]any{lost.Order.ID, lost.Order.State, lost.Flag, lost.Order.Charge.Amount})
	require.False(t, s.record(paid("lost")).Changed)
	_, err := s.Record(t.Context(), couponkit.Payment{ID: "pay_of_nobody", Status: couponkit.PaymentPaid})
	require.ErrorIs(t, err, couponkit.ErrNoOrder)
	_, err = s.Record(t.Context(), couponkit.Payment{Status: couponkit.PaymentEnded})
	require.ErrorIs(t, err, couponkit.ErrNoOrder)
	require.True(t, s.record(couponkit.Payment{OrderID: "none", Status: couponkit.PaymentEnded}).Order.IsZero(), "the end of nothing")

	s.show("1")
	s.record(paid("1"))
	second := paid("1")
	second.ID = "pay_twice"
	twice := s.record(second)
	require.Equal(t, couponkit.FlagPaidTwice, twice.Flag)
	require.Equal(t, "pay_twice", twice.Order.OtherPayments[0].SessionID)
	s.record(ended("1", "pay_1"))
	require.Equal(t, redemption.OrderPaid, s.state("1"), "after the end of a paid payment")

	other := wants("2", bob)
	other.Codes = nil
	_, err = s.Reserve(t.Context(), other)
	require.NoError(t, err)
	mistaken := paid("1")
	mistaken.OrderID = "2"
	o, err := s.Record(t.Context(), mistaken)
	require.ErrorIs(t, err, store.ErrSuperseded, "the payment of another order")
	require.Equal(t, []any{"1", false, redemption.OrderOpen}, []any{o.Order.ID, o.Changed, s.state("2")})

	_, err = s.Record(t.Context(), couponkit.Payment{OrderID: "1", Amount: pricing.NewMoney(-1, pricing.EUR())})
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	require.Equal(t, []string{"amount", "status"}, []string{faults.Fields[0].Path, faults.Fields[1].Path})
}

// TestARepeatedFactChangesNothing, however much later it is told. A payment that is on its way extends the deadline
// again once that has passed.
func TestARepeatedFactChangesNothing(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	for _, fact := range []couponkit.Payment{
		{OrderID: "open", ID: "pay_open", Status: couponkit.PaymentOpen},
		{OrderID: "pending", ID: "pay_pending", Status: couponkit.PaymentPending},
		{OrderID: "without an ID", Status: couponkit.PaymentPending},
		{OrderID: "another order", ID: "pay_another", Status: couponkit.PaymentPending},
		paid("paid"),
		ended("ended", "pay_ended"),
	} {
		r := wants(fact.OrderID, ann)
		r.Codes = nil
		_, err := s.Reserve(t.Context(), r)
		require.NoError(t, err)
		if fact.Status == couponkit.PaymentEnded {
			s.attach(fact.OrderID)
		}
		first := s.record(fact)
		require.True(t, first.Changed, fact.OrderID)
		s.now = s.now.Add(time.Minute)
		if fact.OrderID == "another order" {
			fact.OrderID = "" // the payment finds its order
		}
		again := s.record(fact)
		require.False(t, again.Changed, first.Order.ID)
		if diff := cmp.Diff(first.Order, again.Order); diff != "" {
			t.Errorf("%s (-first +again):\n%s", first.Order.ID, diff)
		}
	}

	s.now = s.now.Add(couponkit.DefaultPaymentWait)
	late := s.record(couponkit.Payment{OrderID: "pending", ID: "pay_pending", Status: couponkit.PaymentPending})
	require.Equal(t, s.now.Add(couponkit.DefaultPaymentWait), late.Order.Deadline)
}

// TestABadPaymentWritesNothing: the error names the caller's fields, also where a part of the payment could be recorded.
func TestABadPaymentWritesNothing(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	p := paid("1")
	p.ID = strings.Repeat("x", redemption.MaxIDLength+1)
	p.Repayments = []redemption.ReportedRefund{{ID: "re_1", Amount: -1, State: redemption.RepaymentSucceeded}}
	_, err := s.Record(t.Context(), p)
	require.Equal(t, []string{"id", "repayments[0].amount"}, faultyFields(t, err))
	require.Equal(t, redemption.OrderOpen, s.state("1"))
}

// TestAFreeOrder: whoever has nothing to pay needs no provider.
func TestAFreeOrder(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	r := wants("1", ann)
	r.Codes, r.Cart.Lines[0].UnitPrice = nil, 0
	_, err := s.Reserve(t.Context(), r)
	require.NoError(t, err)
	o := s.record(couponkit.Payment{OrderID: "1", Status: couponkit.PaymentPaid})
	require.Equal(t, []any{redemption.OrderPaid, couponkit.FlagNone}, []any{o.Order.State, o.Flag})
}

// TestAnOrderHasOnePayment: with the end of its payment, the order ends. So no later payment is taken for an
// earlier one, and none is forgotten.
func TestAnOrderHasOnePayment(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.record(ended("1", "pay_0")) // such as the end of a payment that another call has created
	s.attach("1")
	for range 2 {
		require.Equal(t, redemption.OrderCancelled, s.record(ended("1", "pay_1")).Order.State)
		s.uses(c, 0, 0)
		_, err := s.BeginPayment(t.Context(), "1")
		require.ErrorIs(t, err, couponkit.ErrOrderEnded)
	}
	require.Equal(t, redemption.OrderPaid, s.record(paid("1")).Order.State, "paid after all")
}

// TestTwoPaymentsOfAnOrder: the end of the payment that did not pay the order is due, until somebody knows what has
// become of it.
func TestTwoPaymentsOfAnOrder(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]couponkit.Payment{"the customer was faster": paid("1"), "the provider has none": {Status: couponkit.PaymentEnded}} {
		s := newTill(t)
		s.once()
		s.show("1")
		other := paid("1")
		other.ID = "pay_other"
		s.record(other)
		s.now = s.now.Add(couponkit.DefaultCreateTime)
		due, told := s.due("1")
		require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told, name)
		require.Equal(t, couponkit.FlagPaidTwice, s.record(due[0].Answer(answer)).Flag, name)
		_, told = s.due("1")
		require.Empty(t, told, name)
	}
}

// TestAPaymentWithoutAnID: the order learns the ID later. Until then, a refund names the order alone.
func TestAPaymentWithoutAnID(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	anonymous := paid("1")
	anonymous.ID = ""
	s.record(anonymous)
	_, err := s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}})
	require.NoError(t, err)
	due, told := s.due("1")
	require.Equal(t, [][3]string{{"return_money", "1", ""}}, told)
	s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentPaid, Repayments: []redemption.ReportedRefund{{
		ID: "re_1", Key: due[0].Key, Amount: 9_00, State: redemption.RepaymentSucceeded,
	}}}))
	_, told = s.due("1")
	require.Empty(t, told)
	s.record(paid("1"))
	second := paid("1")
	second.ID = "pay_second"
	require.Equal(t, couponkit.FlagPaidTwice, s.record(second).Flag)
	found, err := s.store.Order(t.Context(), store.OrderKey{SessionID: "pay_1"})
	require.NoError(t, err)
	require.Equal(t, "1", found.Order.ID)
}

// TestALatePaymentWhileTheReplacementIsEnding: the place is that of the payment.
func TestALatePaymentWhileTheReplacementIsEnding(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.show("1")
	s.reserve("2", ann)
	due, _ := s.due("2")
	s.record(due[0].Answer(ended("1", "pay_1")))
	s.begin("2")
	s.attach("2")
	_, err := s.Cancel(t.Context(), "2")
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagNone, s.record(paid("1")).Flag)
	s.uses(c, 0, 1)
}

// TestHugeAmounts of orders that nobody knows can be refunded.
func TestHugeAmounts(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	for id, amount := range map[string]int64{"a": 1, "b": 10_000_000_00, "c": 1 << 53, "d": 1<<63 - 1} {
		p := paid(id)
		p.Amount = pricing.NewMoney(amount, pricing.EUR())
		s.record(p)
		r, err := s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: id, Key: "k", Returns: pricing.Returns{All: true}})
		require.NoError(t, err, id)
		require.Equal(t, amount, r.Refund.Repayment.Amount, id)
	}
}

// TestRefundsOfAShopWithoutAProcessor: the refund is recorded, its money is due, and the answer ends that.
func TestRefundsOfAShopWithoutAProcessor(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.show("1")
	s.record(paid("1"))
	refund := couponkit.RefundRequest{OrderID: "1", Key: "note-1", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}}
	for range 2 {
		r, err := s.In(s.store).Refund(t.Context(), refund)
		require.NoError(t, err)
		require.Equal(t, int64(9_00), r.Refund.Amount())
	}
	due, told := s.due("1")
	require.Equal(t, [][3]string{{"return_money", "1", "pay_1"}}, told)
	require.Equal(t, pricing.NewMoney(9_00, pricing.EUR()), due[0].Amount)
	require.LessOrEqual(t, len(due[0].Key), 40)
	back := couponkit.Payment{Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(9_00, pricing.EUR()), Repayments: []redemption.ReportedRefund{{
		ID: "re_1", Key: due[0].Key, Amount: 9_00, State: redemption.RepaymentSucceeded,
	}}}
	for range 2 {
		o := s.record(due[0].Answer(back))
		require.Equal(t, []any{redemption.OrderRefunded, redemption.RepaymentSucceeded}, []any{o.Order.State, o.Order.Refunds[0].Repayment.State})
	}
	_, told = s.due("1")
	require.Empty(t, told)
}

// TestWhatNeedsAProcessor is refused by a service without one, and nothing is stored.
func TestWhatNeedsAProcessor(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	request := couponkit.CheckoutRequest{
		Customer: ann, Cart: wants("", ann).Cart, Codes: []string{"ONE"}, SuccessURL: "https://shop.example/ok", CancelURL: "https://shop.example/no",
	}
	_, err := s.Checkout(t.Context(), request)
	require.ErrorIs(t, err, couponkit.ErrNoProcessor)
	for _, mode := range []couponkit.LinkMode{couponkit.SubscriptionLink, couponkit.ProductLink} {
		_, err = s.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{CheckoutRequest: request, Mode: mode, Amount: pricing.NewMoney(9_00, pricing.EUR())})
		require.ErrorIs(t, err, couponkit.ErrNoProcessor)
	}
	page, err := s.Orders(t.Context(), store.OrderList{})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	s.uses(c, 0, 0)
}

// TestPrepare: a service that must ask somebody about a reservation takes the answers with the request.
func TestPrepare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	r := couponkit.ReserveRequest{OrderID: "1", Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: w.request("TEN").Cart, Codes: []string{"TEN"}}}
	_, err := w.In(w.store).Reserve(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrNotPrepared)
	require.ErrorIs(t, err, store.ErrConflict, "so that it is repeated")
	prepared, err := w.Prepare(t.Context(), r)
	require.NoError(t, err)
	other := prepared
	other.Customer = bob
	_, err = w.In(w.store).Reserve(t.Context(), other)
	require.ErrorIs(t, err, couponkit.ErrNotPrepared, "for another customer")
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Ten, renamed")})
	require.NoError(t, err)
	_, err = w.In(w.store).Reserve(t.Context(), prepared)
	require.ErrorIs(t, err, couponkit.ErrNotPrepared, "the coupon was changed since")
	prepared, err = w.Prepare(t.Context(), r)
	require.NoError(t, err)
	_, err = w.In(w.store).Reserve(t.Context(), prepared)
	require.NoError(t, err)
}

// closed is a view whose transaction has ended.
type closed struct{ store.Store }

func (closed) Order(context.Context, store.OrderKey) (store.Settled, error) {
	return store.Settled{}, store.ErrClosed
}

func (closed) Apply(context.Context, store.Settlement) (store.Settled, error) {
	return store.Settled{}, store.ErrClosed
}

func (closed) LookUp(context.Context, store.LookUp) (store.LookedUp, error) {
	return store.LookedUp{}, store.ErrClosed
}

// TestAViewThatIsClosed: every method of a ledger fails with store.ErrClosed after its transaction, and without one.
func TestAViewThatIsClosed(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	var l *couponkit.Ledger
	calls := map[string]func(context.Context) error{
		"reserve": func(ctx context.Context) error { _, err := l.Reserve(ctx, wants("2", bob)); return err },
		"begin":   func(ctx context.Context) error { _, err := l.BeginPayment(ctx, "1"); return err },
		"attach": func(ctx context.Context) error {
			_, err := l.AttachPayment(ctx, couponkit.Payment{OrderID: "1", ID: "p"})
			return err
		},
		"record": func(ctx context.Context) error { _, err := l.Record(ctx, paid("1")); return err },
		"cancel": func(ctx context.Context) error { _, err := l.Cancel(ctx, "1"); return err },
		"refund": func(ctx context.Context) error {
			_, err := l.Refund(ctx, couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}})
			return err
		},
	}
	for _, view := range []store.Store{closed{s.store}, nil} {
		l = s.In(view)
		for name, call := range calls {
			require.ErrorIs(t, call(t.Context()), store.ErrClosed, name)
		}
	}
	require.Equal(t, redemption.OrderOpen, s.state("1"))
	require.NotErrorIs(t, store.ErrClosed, store.ErrConflict, "it is not repeated")
}

// TestAttachAfterTheWebhook: the deadline is that of the payment, although its ID was known.
func TestAttachAfterTheWebhook(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentOpen})
	o, err := s.AttachPayment(t.Context(), couponkit.Payment{OrderID: "1", ID: "pay_1", ExpiresAt: s.now.Add(2 * time.Hour)})
	require.NoError(t, err)
	require.Equal(t, s.now.Add(2*time.Hour+couponkit.DefaultGrace), o.Order.Deadline)
}
