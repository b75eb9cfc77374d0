package couponkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// reserve reserves an order in a transaction of the host, as a shop with a processor does.
func (w *world) reserve(t *testing.T, id string, codes ...string) redemption.Order {
	t.Helper()
	request, err := w.Prepare(t.Context(), couponkit.ReserveRequest{OrderID: id, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones(), Codes: codes}})
	require.NoError(t, err)
	reserved, err := w.In(w.store).Reserve(t.Context(), request)
	require.NoError(t, err)
	return reserved.Order
}

// TestASessionOfAReservedOrder is opened once, and paid.
func TestASessionOfAReservedOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	o := w.reserve(t, "1001", "TEN")
	links := []couponkit.SessionLink{}
	for range 2 {
		link, err := w.OpenSession(t.Context(), "1001", couponkit.SessionOptions{Email: "ann@example.org"})
		require.NoError(t, err)
		links = append(links, link)
	}
	require.Equal(t, links[0], links[1])
	require.NotEmpty(t, links[0].URL)
	session, err := w.fake.Session(t.Context(), links[0].ID)
	require.NoError(t, err)
	require.Equal(t, []any{o.Quote.Total, "1001"}, []any{session.Total, session.Metadata[processor.MetadataOrderID]})
	require.Equal(t, links[0].ExpiresAt, session.ExpiresAt)
	require.NoError(t, w.fake.Pay(links[0].ID))
	require.Equal(t, redemption.OrderPaid, w.deliver(t)[0].Order.State)
	w.held(t, c.ID, 1, 0)
	_, err = w.OpenSession(t.Context(), "1001", couponkit.SessionOptions{})
	require.ErrorIs(t, err, couponkit.ErrOrderPaid)
}

// TestTheOtherTabsSessionEndsFirst: an order that has replaced another one gets a session after the end of that one's,
// and none if the customer has paid there.
func TestTheOtherTabsSessionEndsFirst(t *testing.T) {
	t.Parallel()
	for name, paid := range map[string]bool{"open": false, "paid": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := tenOff()
			d.MaxUses = coupon.Set(1)
			c := w.create(t, d)
			w.reserve(t, "1", "TEN")
			first, err := w.OpenSession(t.Context(), "1", couponkit.SessionOptions{})
			require.NoError(t, err)
			w.reserve(t, "2", "TEN")
			if paid {
				require.NoError(t, w.fake.Pay(first.ID))
			}
			second, err := w.OpenSession(t.Context(), "2", couponkit.SessionOptions{})
			session, read := w.fake.Session(t.Context(), first.ID)
			require.NoError(t, read)
			if paid {
				require.ErrorIs(t, err, couponkit.ErrOrderEnded)
				require.Equal(t, []redemption.OrderState{redemption.OrderPaid, redemption.OrderCancelled}, []redemption.OrderState{w.order(t, "1").State, w.order(t, "2").State})
				w.held(t, c.ID, 1, 0)
				return
			}
			require.NoError(t, err)
			require.Equal(t, processor.SessionExpired, session.Status)
			require.NotEqual(t, first.ID, second.ID)
			w.held(t, c.ID, 0, 1)
		})
	}
}

// TestWhatOpensNoSession: orders that are unknown, over or ended, and processors that refuse or do not answer.
func TestWhatOpensNoSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	open := func(id string) error {
		_, err := w.OpenSession(t.Context(), id, couponkit.SessionOptions{})
		return err
	}
	require.ErrorIs(t, open("none"), store.ErrNotFound)
	require.Equal(t, []string{"orderId"}, faultyFields(t, open("")))

	w.reserve(t, "refused", "TEN")
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse, Err: processor.ErrRejected})
	require.ErrorIs(t, open("refused"), processor.ErrRejected)
	require.Equal(t, redemption.OrderCancelled, w.order(t, "refused").State)
	require.ErrorIs(t, open("refused"), couponkit.ErrOrderEnded)

	w.reserve(t, "lost")
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
	require.ErrorIs(t, open("lost"), couponkit.ErrUnavailable)
	require.NoError(t, open("lost"))
	require.Len(t, w.payable(), 1)

	w.reserve(t, "late")
	w.pass(time.Hour * 24 * 30)
	require.ErrorIs(t, open("late"), couponkit.ErrOrderEnded)

	without, err := couponkit.New(w.store)
	require.NoError(t, err)
	_, err = without.OpenSession(t.Context(), "late", couponkit.SessionOptions{})
	require.ErrorIs(t, err, couponkit.ErrNoProcessor)
}

// holding reserves order "1" of ann.
func (w *world) holding(t *testing.T, hold time.Duration) {
	t.Helper()
	r, err := w.Prepare(t.Context(), couponkit.ReserveRequest{OrderID: "1", Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones()}})
	require.NoError(t, err)
	_, err = w.In(w.store).Reserve(t.Context(), r)
	require.NoError(t, err)
}

// openOne opens the session of order "1".
func (w *world) openOne() (couponkit.SessionLink, error) {
	return w.OpenSession(w.t.Context(), "1", couponkit.SessionOptions{})
}

// TestASessionLastsAsTheHold: an order may be held for a day, and its session is opened when the customer comes back.
func TestASessionLastsAsTheHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holding(t, 24*time.Hour)
	w.pass(2 * time.Hour)
	_, err := w.openOne()
	require.NoError(t, err)
}

// TestASessionWithoutAnAddress is an invalid request, and the order stays open.
func TestASessionWithoutAnAddress(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{NeedsSuccessURL: true})
	w.holding(t, 0)
	_, err := w.openOne()
	require.Equal(t, redemption.OrderOpen, w.order(t, "1").State)
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// betweenReads calls then once, after the first read of an order.
type betweenReads struct {
	store.Store
	then *func()
}

func (s betweenReads) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	o, err := s.Store.Order(ctx, by)
	if f := *s.then; f != nil {
		*s.then = nil
		f()
	}
	return o, err
}

// TestTwoCallersOpenASession: one of them may have created it, and so the order is ending when the other is refused.
func TestTwoCallersOpenASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holding(t, 0)
	then := func() {
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
		_, err := w.openOne()
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse})
	}
	second, err := couponkit.New(betweenReads{w.store, &then}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = second.OpenSession(t.Context(), "1", couponkit.SessionOptions{})
	require.ErrorIs(t, err, processor.ErrRejected)
	require.Len(t, w.payable(), 1)
	require.Equal(t, redemption.OrderEnding, w.order(t, "1").State)
}

// TestTwoCallersGetOneSession also with other options.
func TestTwoCallersGetOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holding(t, 0)
	var first couponkit.SessionLink
	then := func() {
		first, _ = w.OpenSession(t.Context(), "1", couponkit.SessionOptions{Email: "ann@example.org"})
	}
	second, err := couponkit.New(betweenReads{w.store, &then}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	link, err := second.OpenSession(t.Context(), "1", couponkit.SessionOptions{})
	require.NoError(t, err)
	require.Equal(t, first, link)
}

// TestAHoldThatNoSessionFits is refused: the processor's session ends a grace period before the hold.
func TestAHoldThatNoSessionFits(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MinSessionLifetime: 30 * time.Minute, MaxSessionLifetime: 24 * time.Hour})
	for hold, fits := range map[time.Duration]bool{
		30*time.Minute + couponkit.DefaultGrace - 1: false, 30*time.Minute + couponkit.DefaultGrace: true,
		24*time.Hour + couponkit.DefaultGrace: true, 24*time.Hour + couponkit.DefaultGrace + 1: false,
	} {
		_, err := w.Reserve(t.Context(), couponkit.ReserveRequest{Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones()}})
		if fits {
			require.NoError(t, err, hold)
			continue
		}
		require.Equal(t, []string{"hold"}, faultyFields(t, err), hold)
	}
	w.holding(t, 0)
	w.pass(50 * time.Minute)
	_, err := w.openOne()
	require.ErrorIs(t, err, couponkit.ErrOrderEnded, "too little of the hold is left")
	require.Equal(t, redemption.OrderOpen, w.order(t, "1").State)
}

// TestALostAnswerIsFoundLate: a session whose answer was lost is found by a later call, also when a new one would
// come too late.
func TestALostAnswerIsFoundLate(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MinSessionLifetime: 30 * time.Minute})
	w.holding(t, 0)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
	_, err := w.openOne()
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	w.pass(50 * time.Minute)
	link, err := w.openOne()
	require.NoError(t, err)
	require.Equal(t, []string{link.ID}, w.payable())
}
