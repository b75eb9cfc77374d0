package fakeprocessor_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// paid makes sessions and pays them.
func paid(t *testing.T, p *fakeprocessor.Processor, keys ...string) []string {
	t.Helper()
	var ids []string
	for _, key := range keys {
		s := created(t, p, request(key))
		require.NoError(t, p.Pay(s.ID))
		ids = append(ids, s.ID)
	}
	return ids
}

func ids(list []fakeprocessor.Delivery) string {
	var text []string
	for _, d := range list {
		text = append(text, strings.TrimPrefix(d.EventID, "evt_00000")+":"+strings.TrimPrefix(d.SessionID, "cs_00000"))
	}
	return strings.Join(text, " ")
}

func TestDeliveriesAreTakenOnce(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	paid(t, p, "a", "b")
	require.Equal(t, 2, p.Pending())
	first := p.Deliveries()
	require.Equal(t, "1:1 2:2", ids(first))
	require.Empty(t, p.Deliveries())
	require.Zero(t, p.Pending())
	paid(t, p, "c")
	require.Equal(t, "3:3", ids(p.Deliveries()))

	c.Advance(24 * time.Hour)
	again := p.Redeliveries()
	require.Equal(t, "1:1 2:2 3:3", ids(again))
	require.Equal(t, first[0].Payload, again[0].Payload, "a redelivery has the same body")
	_, err := p.ParseEvent(first[0].Payload, first[0].Signature)
	wantError(t, err, processor.ErrSignature)
	_, err = p.ParseEvent(again[0].Payload, again[0].Signature)
	require.NoError(t, err, "a redelivery is signed anew")
}

func TestRepeatTellsAFactTwice(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	s := paid(t, p, "a", "b")
	wantError(t, p.Repeat("cs_none"), processor.ErrNotFound)
	require.NoError(t, p.Repeat(s[0])) // still in the queue
	p.Deliveries()
	require.NoError(t, p.Repeat(s[1])) // taken already
	list := p.Redeliveries()
	list = append(list, p.Deliveries()...)
	require.Equal(t, "1:1 2:2 3:1 4:2", ids(list))
	var events []processor.Event
	for _, d := range list {
		e, err := p.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		e.ID = ""
		events = append(events, e)
	}
	if diff := cmp.Diff(events[:2], events[2:]); diff != "" {
		t.Errorf("the facts differ (-first +repeated):\n%s", diff)
	}
}

func TestEventOfASession(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	r := request("a")
	r.Currency, r.Metadata = currency(t, "JPY"), map[string]string{"note": "\"ü\" <b> \x00 🎁"}
	s := created(t, p, r)
	c.Advance(90 * time.Second)
	require.NoError(t, p.PayLater(s.ID))
	d := p.Deliveries()[0]
	got, err := p.ParseEvent(d.Payload, d.Signature)
	require.NoError(t, err)
	want := processor.Event{
		ID: "evt_000001", Type: processor.Completed, SessionID: s.ID, PaymentStatus: processor.Unpaid,
		Currency: r.Currency, Total: 2490, Metadata: r.Metadata, CreatedAt: noon().Add(90 * time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the event (-want +got):\n%s", diff)
	}
}

// receiver collects events and fails the ones that it is told to.
type receiver struct {
	mu   sync.Mutex
	seen []string
	fail map[string]bool
}

func (r *receiver) handle(_ context.Context, e processor.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail[e.ID] {
		return errors.New("the store is down")
	}
	r.seen = append(r.seen, e.ID+" "+e.Type.String())
	return nil
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, sender := range map[string]func(*testing.T, *fakeprocessor.Processor, *receiver) fakeprocessor.Sender{
		"to a function": func(_ *testing.T, p *fakeprocessor.Processor, r *receiver) fakeprocessor.Sender {
			return p.Events(r.handle)
		},
		"to a handler": func(_ *testing.T, p *fakeprocessor.Processor, r *receiver) fakeprocessor.Sender {
			return fakeprocessor.Serve(p.Handler(r.handle))
		},
		"over HTTP": func(t *testing.T, p *fakeprocessor.Processor, r *receiver) fakeprocessor.Sender {
			t.Helper()
			server := httptest.NewServer(p.Handler(r.handle))
			t.Cleanup(server.Close)
			return fakeprocessor.Post(server.Client(), server.URL)
		},
		"over HTTP with the default client": func(t *testing.T, p *fakeprocessor.Processor, r *receiver) fakeprocessor.Sender {
			t.Helper()
			server := httptest.NewServer(p.Handler(r.handle))
			t.Cleanup(server.Close)
			return fakeprocessor.Post(nil, server.URL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			r := &receiver{fail: map[string]bool{"evt_000002": true}}
			send := sender(t, p, r)
			paid(t, p, "a", "b", "c")
			p.Announce("coupon.deleted")

			err := p.Deliver(t.Context(), send)
			require.ErrorContains(t, err, "deliver evt_000002")
			require.NotContains(t, err.Error(), "evt_000003")
			require.Equal(t, 1, p.Pending(), "what was not acknowledged waits")

			paid(t, p, "d")
			r.fail = nil
			require.NoError(t, p.Deliver(t.Context(), send))
			want := []string{"evt_000001 completed", "evt_000003 completed", "evt_000002 completed", "evt_000005 completed"}
			if diff := cmp.Diff(want, r.seen); diff != "" {
				t.Errorf("received (-want +got):\n%s", diff)
			}
			require.Zero(t, p.Pending())
		})
	}
}

func TestDeliverStopsWithItsContext(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	paid(t, p, "a", "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := 0
	err := p.Deliver(ctx, func(context.Context, fakeprocessor.Delivery) error {
		sent++
		cancel()
		return nil
	})
	wantError(t, err, context.Canceled)
	if sent != 1 || p.Pending() != 2 {
		t.Errorf("%d sent and %d pending, want 1 and 2", sent, p.Pending())
	}
	require.Equal(t, "2:2 3:3", ids(p.Deliveries()), "in the old order")
}

// TestDeliversAtOnce: a receiver that is slow with one event does not keep back the
// others, and none is sent twice.
func TestDeliversAtOnce(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	paid(t, p, "a", "b", "c")
	held, proceed := make(chan struct{}), make(chan struct{})
	first, sent := make(chan error), make(chan string, 3)
	go func() {
		first <- p.Deliver(t.Context(), func(_ context.Context, d fakeprocessor.Delivery) error {
			sent <- d.EventID
			close(held)
			<-proceed
			return nil
		})
	}()
	<-held
	require.NoError(t, p.Deliver(t.Context(), func(_ context.Context, d fakeprocessor.Delivery) error {
		sent <- d.EventID
		return nil
	}))
	close(proceed)
	require.NoError(t, <-first)
	close(sent)
	var order []string
	for id := range sent {
		order = append(order, id)
	}
	if diff := cmp.Diff([]string{"evt_000001", "evt_000002", "evt_000003"}, order); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	require.Zero(t, p.Pending())
}

func TestSendersReportWhatWentWrong(t *testing.T) {
	t.Parallel()
	d := fakeprocessor.Delivery{EventID: "evt", Payload: []byte("{}")}
	require.Error(t, fakeprocessor.Post(nil, "://")(t.Context(), d))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	require.Error(t, fakeprocessor.Post(closed.Client(), closed.URL)(t.Context(), d))

	for status, acknowledged := range map[int]bool{200: true, 204: true, 299: true, 301: false, 400: false, 500: false} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if err := fakeprocessor.Serve(handler)(t.Context(), d); (err == nil) != acknowledged {
			t.Errorf("the status %d: %v, want acknowledged: %t", status, err, acknowledged)
		}
	}
	silent := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Any", "thing")
		_, _ = io.WriteString(w, "fine")
		w.WriteHeader(http.StatusTeapot) // too late
	})
	require.NoError(t, fakeprocessor.Serve(silent)(t.Context(), d))
	require.NoError(t, fakeprocessor.Serve(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))(t.Context(), d))
}

func TestHandlerAnswers(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	paid(t, p, "a")
	p.Announce("coupon.deleted")
	genuine, foreign := p.Deliveries()[0], p.Redeliveries()[1]
	sign := func(body string) string {
		return fakeprocessor.Sign(fakeprocessor.DefaultSecret, c.Now(), []byte(body))
	}
	large := strings.Repeat(" ", 1<<20)
	tests := map[string]struct {
		method, body, signature string
		fails                   bool
		want, handled           int
	}{
		"genuine":          {http.MethodPost, string(genuine.Payload), genuine.Signature, false, 200, 1},
		"the host fails":   {http.MethodPost, string(genuine.Payload), genuine.Signature, true, 500, 1},
		"ignored":          {http.MethodPost, string(foreign.Payload), foreign.Signature, true, 200, 0},
		"no signature":     {http.MethodPost, string(genuine.Payload), "", false, 400, 0},
		"another body":     {http.MethodPost, string(genuine.Payload) + " ", genuine.Signature, false, 400, 0},
		"no event":         {http.MethodPost, "[]", sign("[]"), false, 400, 0},
		"as large as may":  {http.MethodPost, large, sign(large), false, 400, 0}, // read, and no event
		"one byte more":    {http.MethodPost, large + " ", sign(large + " "), false, 413, 0},
		"another method":   {http.MethodGet, "", "", false, 405, 0},
		"yet another":      {http.MethodPut, string(genuine.Payload), genuine.Signature, false, 405, 0},
		"nothing whatever": {http.MethodPost, "", "", false, 400, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handled := 0
			h := p.Handler(func(context.Context, processor.Event) error {
				handled++
				if test.fails {
					return errors.New("the store is down: secret detail")
				}
				return nil
			})
			r := httptest.NewRequestWithContext(t.Context(), test.method, "/payment/webhook", strings.NewReader(test.body))
			r.Header.Set(fakeprocessor.SignatureHeader, test.signature)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.want || handled != test.handled {
				t.Errorf("status %d and %d calls of the host, want %d and %d", w.Code, handled, test.want, test.handled)
			}
			if w.Body.Len() > 0 {
				t.Errorf("the answer tells %q", w.Body)
			}
		})
	}
}

// TestHandlerOfABrokenBody: a client that goes away is no delivery.
func TestHandlerOfABrokenBody(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), brokenReader{}))
	w := httptest.NewRecorder()
	p.Handler(func(context.Context, processor.Event) error { return nil }).ServeHTTP(w, r)
	require.Equal(t, http.StatusBadRequest, w.Code)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestEventsSenderRefusesForgeries(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	r := &receiver{}
	err := p.Events(r.handle)(t.Context(), fakeprocessor.Delivery{Payload: []byte("{}"), Signature: "t=1,v1=00"})
	wantError(t, err, processor.ErrSignature)
	require.Empty(t, r.seen)
}

func TestNoCurrencyIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range pricing.Currencies() {
		p, _ := newFake(t, fakeprocessor.Options{})
		r := request("a")
		r.Currency = c
		require.NoError(t, p.Pay(created(t, p, r).ID))
		d := p.Deliveries()[0]
		e, err := p.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		if e.Currency != c || e.Total != r.Total {
			t.Errorf("%s %d became %s %d", c, r.Total, e.Currency, e.Total)
		}
	}
}

// TestRepeatTellsTheLastFact of a session, wherever its events are: one that was refused
// waits longer than a later one.
func TestRepeatTellsTheLastFact(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	s := created(t, p, request("a"))
	require.NoError(t, p.PayLater(s.ID))
	require.NoError(t, p.PaymentArrives(s.ID))
	r := &receiver{fail: map[string]bool{"evt_000001": true}}
	require.Error(t, p.Deliver(t.Context(), p.Events(r.handle)))
	require.NoError(t, p.Repeat(s.ID)) // the first event waits, the second was delivered
	r.fail = nil
	require.NoError(t, p.Deliver(t.Context(), p.Events(r.handle)))
	require.NoError(t, p.Repeat(s.ID)) // the first event was delivered last
	require.NoError(t, p.Deliver(t.Context(), func(ctx context.Context, d fakeprocessor.Delivery) error {
		if d.EventID == "evt_000004" {
			require.NoError(t, p.Repeat(s.ID), "while an event is on its way")
		}
		return p.Events(r.handle)(ctx, d)
	}))
	require.NoError(t, p.Deliver(t.Context(), p.Events(r.handle)))
	want := []string{
		"evt_000002 payment_succeeded", "evt_000001 completed", "evt_000003 payment_succeeded",
		"evt_000004 payment_succeeded", "evt_000005 payment_succeeded",
	}
	if diff := cmp.Diff(want, r.seen); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	require.Equal(t, "1:1 2:1 3:1 4:1 5:1", ids(p.Redeliveries()), "the oldest first")

	p.Announce("coupon.deleted")
	wantError(t, p.Repeat(""), processor.ErrNotFound)
}

// TestRefusedAtOnceInOrder: what two deliveries at once could not bring waits in the
// order in which it happened, whichever of them ends first.
func TestRefusedAtOnceInOrder(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the older ends first", "the younger ends first"} {
		p, _ := newFake(t, fakeprocessor.Options{})
		paid(t, p, "a", "b")
		held := map[string]chan struct{}{"evt_000001": make(chan struct{}), "evt_000002": make(chan struct{})}
		arrived, ended := make(chan string, 3), make(chan error, 2) // the older may meet what the younger has put back
		deliver := func() {
			ended <- p.Deliver(t.Context(), func(_ context.Context, d fakeprocessor.Delivery) error {
				arrived <- d.EventID
				<-held[d.EventID]
				return errors.New("not now")
			})
		}
		go deliver()
		require.Equal(t, "evt_000001", <-arrived)
		go deliver()
		require.Equal(t, "evt_000002", <-arrived)
		order := []string{"evt_000001", "evt_000002"}
		if first == "the younger ends first" {
			slices.Reverse(order)
		}
		for _, id := range order {
			close(held[id])
			require.Error(t, <-ended)
		}
		require.Equal(t, "1:1 2:2", ids(p.Deliveries()), first)
	}
}
