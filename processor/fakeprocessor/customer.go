package fakeprocessor

import (
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Pay pays an open session, as a customer would. A session of total 0 is finished
// without a payment. An unknown session is [processor.ErrNotFound]; a session that is
// not open is [processor.ErrRejected].
func (p *Processor) Pay(id string) error {
	return p.act("pay", id, isOpen, func(s *session, now time.Time) {
		s.Status, s.PaymentStatus = processor.SessionComplete, processor.Paid
		p.tax(s)
		if s.paid() == 0 {
			s.PaymentStatus = processor.NoPaymentRequired
		}
		p.announce(sessionCompleted, s, now)
	})
}

// Enter tells the processor who pays an open session, as a customer does on the payment page. Events
// and sessions have the payer from then on. It returns the errors of [Processor.Pay].
func (p *Processor) Enter(id string, payer processor.Payer) error {
	payer.Aliases = slices.Clone(payer.Aliases)
	return p.act("enter", id, isOpen, func(s *session, _ time.Time) { s.Payer = payer })
}

// Decline simulates a payment that the bank refuses at once. The session stays open,
// and there is no event. It returns the errors of [Processor.Pay].
func (p *Processor) Decline(id string) error {
	return p.act("decline", id, isOpen, func(*session, time.Time) {})
}

// PayLater finishes an open session with a delayed payment method, such as a bank
// transfer. The session is complete and unpaid until [Processor.PaymentArrives] or
// [Processor.PaymentFails]. A session of total 0 is [processor.ErrRejected]. PayLater
// also returns the errors of [Processor.Pay].
func (p *Processor) PayLater(id string) error {
	return p.act("pay later", id, isPayable, func(s *session, now time.Time) {
		s.Status = processor.SessionComplete
		p.tax(s)
		p.announce(sessionCompleted, s, now)
	})
}

// PaymentArrives pays a session after [Processor.PayLater]. A session without a delayed
// payment is [processor.ErrRejected].
func (p *Processor) PaymentArrives(id string) error {
	return p.act("payment arrives", id, isWaiting, func(s *session, now time.Time) {
		s.PaymentStatus = processor.Paid
		p.announce(paymentSucceeded, s, now)
	})
}

// PaymentFails fails the payment of a session after [Processor.PayLater]. A session
// without a delayed payment is [processor.ErrRejected].
func (p *Processor) PaymentFails(id string) error {
	return p.act("payment fails", id, isWaiting, func(s *session, now time.Time) {
		s.PaymentFailed = true
		p.announce(paymentFailed, s, now)
	})
}

// Renewal returns what a paid subscription charges for an interval from the second
// period on, in minor units. It is the sum of the lines with that interval, without the
// discount of the first period. An unknown session is [processor.ErrNotFound]. A
// session that is unpaid or no subscription is [processor.ErrRejected].
func (p *Processor) Renewal(id string, every pricing.Interval) (amount int64, err error) {
	err = p.act("renew", id, isSubscription, func(s *session, _ time.Time) {
		for _, l := range s.request.Lines {
			if l.Recurs == every && every != pricing.Once {
				amount += l.Quantity * l.UnitAmount
			}
		}
	})
	return amount, err
}

func isSubscription(s *session) bool {
	return s.request.Mode == processor.Subscription && s.PaymentStatus.Settled()
}

func isOpen(s *session) bool { return s.Status == processor.SessionOpen }

func isPayable(s *session) bool { return isOpen(s) && s.Total > 0 }

func isWaiting(s *session) bool {
	return s.Status == processor.SessionComplete && s.PaymentStatus == processor.Unpaid && !s.PaymentFailed
}

func (p *Processor) act(what, id string, may func(*session) bool, change func(*session, time.Time)) error {
	now := p.lock()
	defer p.mu.Unlock()
	s, ok := p.sessions[id]
	switch {
	case !ok:
		return fmt.Errorf("%s %q: %w", what, id, processor.ErrNotFound)
	case !may(s):
		return fmt.Errorf("%s %q: %w: the session is %s and %s", what, id, processor.ErrRejected, s.Status, s.PaymentStatus)
	}
	change(s, now)
	return nil
}
