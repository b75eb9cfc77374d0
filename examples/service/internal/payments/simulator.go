package payments

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// PagePrefix begins the paths of the payment pages; the session's ID follows.
const PagePrefix = "/simulator/pay/"

// Simulator is the simulated payment processor: a fakeprocessor whose sessions
// have IDs that nobody can guess and that no other run of the program has used. It
// forgets everything with its process; what a persistent store remembers of an
// earlier run is then repaired by a reconcile and released by the sweep. It serves
// one process: services that share a database need a processor that they share.
type Simulator struct {
	fake *fakeprocessor.Processor
	wake chan struct{}
	now  func() time.Time

	mu sync.Mutex
	// outer and inner map session IDs: from the processor's ID to the public ID, and back.
	outer map[string]string
	inner map[string]string
	// waiting has a channel for each session whose customer waits, by its inner ID. The channel is
	// closed when a webhook for the session was sent.
	waiting map[string]chan struct{}
	// ended is closed while Run is not running.
	ended chan struct{}
}

var (
	_ processor.Processor     = (*Simulator)(nil)
	_ processor.MirrorLister  = (*Simulator)(nil)
	_ processor.SessionFinder = (*Simulator)(nil)
	_ processor.Refunder      = (*Simulator)(nil)
)

// NewSimulator returns a simulator on a clock (nil is time.Now) whose payment pages
// are below a base URL.
func NewSimulator(baseURL string, now func() time.Time) *Simulator {
	ended := make(chan struct{})
	close(ended)
	if now == nil {
		now = time.Now
	}
	return &Simulator{
		now: now,
		fake: fakeprocessor.New(fakeprocessor.Options{
			Now: now, Secret: rand.Text(), PageURL: strings.TrimSuffix(baseURL, "/") + PagePrefix,
			Abilities: processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}},
			CanMirror: func(c coupon.Coupon) bool { return c.Discount.Simple() }, // as at Stripe
		}),
		wake:  make(chan struct{}, 1),
		outer: map[string]string{}, inner: map[string]string{}, waiting: map[string]chan struct{}{}, ended: ended,
	}
}

// Fake is the processor behind the simulator, for tests that let calls fail or
// tamper with mirrors. Its sessions have other IDs than the simulator's.
func (s *Simulator) Fake() *fakeprocessor.Processor { return s.fake }

// Abilities is part of processor.Processor.
func (s *Simulator) Abilities() processor.Abilities { return s.fake.Abilities() }

// EnsureMirror is part of processor.Mirror.
func (s *Simulator) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return s.fake.EnsureMirror(ctx, c)
}

// UpdateMirror is part of processor.Mirror.
func (s *Simulator) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return s.fake.UpdateMirror(ctx, c)
}

// SetMirrorActive is part of processor.Mirror.
func (s *Simulator) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return s.fake.SetMirrorActive(ctx, c)
}

// RemoveMirror is part of processor.Mirror.
func (s *Simulator) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	return s.fake.RemoveMirror(ctx, c)
}

// VerifyMirror is part of processor.Mirror.
func (s *Simulator) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	return s.fake.VerifyMirror(ctx, c)
}

// Mirrors is processor.MirrorLister.
func (s *Simulator) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return s.fake.Mirrors(ctx)
}

// CreateSession is part of processor.Sessions.
func (s *Simulator) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	session, err := s.fake.CreateSession(ctx, r)
	return s.public(session), err
}

// Session is part of processor.Sessions.
func (s *Simulator) Session(ctx context.Context, id string) (processor.Session, error) {
	session, err := s.fake.Session(ctx, s.internalID(id))
	return s.public(session), err
}

// ExpireSession is part of processor.Sessions.
func (s *Simulator) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	session, err := s.fake.ExpireSession(ctx, s.internalID(id))
	s.wakeRun()
	return s.public(session), err
}

// FindSession is processor.SessionFinder.
func (s *Simulator) FindSession(ctx context.Context, orderID string, since time.Time) (processor.Session, error) {
	session, err := s.fake.FindSession(ctx, orderID, since)
	return s.public(session), err
}

// Refund is part of processor.Refunder.
func (s *Simulator) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	r.SessionID = cmp.Or(s.internalID(r.SessionID), r.SessionID)
	made, err := s.fake.Refund(ctx, r)
	s.wakeRun()
	return made, err
}

// Refunds is part of processor.Refunder.
func (s *Simulator) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	refunds, err := s.fake.Refunds(ctx, s.internalID(id))
	if err == nil {
		refunds.SessionID = id
	}
	return refunds, err
}

// Webhook authenticates deliveries and hands their events on.
func (s *Simulator) Webhook(handle func(context.Context, processor.Event) error) http.Handler {
	return s.fake.Handler(func(ctx context.Context, e processor.Event) error {
		e.SessionID = s.publicID(e.SessionID)
		if e.PaymentID != "" {
			e.PaymentID = e.SessionID
		}
		return handle(ctx, e)
	})
}

// public returns the session with its public ID and address.
func (s *Simulator) public(session processor.Session) processor.Session {
	if session.ID == "" {
		return session
	}
	inner := session.ID
	session.ID = s.publicID(inner)
	session.URL = strings.TrimSuffix(session.URL, inner) + session.ID
	return session
}

func (s *Simulator) publicID(inner string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	outer, known := s.outer[inner]
	if !known {
		outer = "sim_" + strings.ToLower(rand.Text())
		s.outer[inner], s.inner[outer] = outer, inner
	}
	return outer
}

// internalID returns the processor's ID of a session. For a session of an earlier run, it returns an
// unknown ID.
func (s *Simulator) internalID(outer string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner[outer]
}

// wakeRun wakes [Simulator.Run] to deliver queued webhooks.
func (s *Simulator) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Senders is how many deliveries are under way at most. Processors deliver events
// beside each other and promise no order.
const Senders = 32

// Run delivers webhooks to an address until the context ends: at once after
// something has happened, and every interval, which also lets sessions expire and
// repeats deliveries that were not acknowledged.
func (s *Simulator) Run(ctx context.Context, client *http.Client, url string, interval time.Duration, failed func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	post := fakeprocessor.Post(client, url)
	send := func(ctx context.Context, d fakeprocessor.Delivery) error {
		defer s.wakeCustomers(d.SessionID)
		return post(ctx, d)
	}
	defer close(s.begin())
	var running sync.WaitGroup
	for range Senders {
		running.Go(func() { s.deliver(ctx, ticker.C, send, failed) })
	}
	running.Wait()
}

// begin returns the channel that is closed when Run ends.
func (s *Simulator) begin() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = make(chan struct{})
	return s.ended
}

// patience is the maximum time that a customer waits for the shop after a payment, as at Stripe.
const patience = 10 * time.Second

// listen returns a function that waits for the next webhook of the session. The function returns after
// the webhook was sent, even if the shop did not acknowledge it. If Run is not running, it returns at
// once.
func (s *Simulator) listen(inner string) (wait func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	finished, listening := s.waiting[inner]
	if !listening {
		finished = make(chan struct{})
		s.waiting[inner] = finished
	}
	ended := s.ended
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case <-finished:
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// wakeCustomers wakes the customers who wait for a webhook of the session.
func (s *Simulator) wakeCustomers(inner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if finished, listening := s.waiting[inner]; listening {
		close(finished)
		delete(s.waiting, inner)
	}
}

// deliver sends queued webhooks when it is woken and at each tick.
func (s *Simulator) deliver(ctx context.Context, tick <-chan time.Time, send fakeprocessor.Sender, failed func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-s.wake:
		}
		if err := s.fake.Deliver(ctx, send); err != nil && ctx.Err() == nil {
			failed(err)
		}
		s.fake.ForgetCalls() // nobody reads the log of calls, and it would grow without limit
	}
}
