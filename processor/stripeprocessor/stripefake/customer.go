package stripefake

import (
	"errors"
	"fmt"
)

// Errors of the simulated customer.
var (
	// ErrNotPayable means that the session does not exist or is not open.
	ErrNotPayable = errors.New("stripefake: the session cannot be paid")
	// ErrNoPayment means that the session has no delayed payment.
	ErrNoPayment = errors.New("stripefake: no payment is on its way")
)

// Pay pays a session with a card. A total of 0 needs no payment.
func (a *Account) Pay(sessionID string) error {
	return a.finish(sessionID, func(s *Session) {
		s.PaymentStatus, s.payment = "paid", "succeeded"
		if s.AmountTotal == 0 {
			s.PaymentStatus = "no_payment_required"
		}
		if s.Mode == "subscription" {
			s.payment = "active"
		}
	})
}

// Enter enters an e-mail address on the page of an open session.
func (a *Account) Enter(sessionID, email string) error {
	a.lock()
	defer a.mu.Unlock()
	s := a.session(sessionID)
	if s == nil || s.Status != "open" {
		return fmt.Errorf("%w: %s", ErrNotPayable, sessionID)
	}
	s.PayerEmail = email
	return nil
}

// PayLater finishes a session with a delayed payment method, such as a debit.
func (a *Account) PayLater(sessionID string) error {
	return a.finish(sessionID, func(s *Session) {
		s.payment = "processing"
		if s.Mode == "subscription" {
			s.payment = "incomplete"
		}
	})
}

func (a *Account) finish(sessionID string, pay func(*Session)) error {
	now := a.lock()
	defer a.mu.Unlock()
	s := a.session(sessionID)
	if s == nil || s.Status != "open" {
		return fmt.Errorf("%w: %s", ErrNotPayable, sessionID)
	}
	if s.coupon != nil {
		if !a.valid(s.coupon, now) {
			return fmt.Errorf("%w: no such coupon: %s", ErrNotPayable, s.CouponID)
		}
		s.coupon.TimesRedeemed++
	}
	s.Status = "complete"
	pay(s)
	a.announceSession("checkout.session.completed", s, now)
	return nil
}

// PaymentArrives completes the delayed payment of a session.
func (a *Account) PaymentArrives(sessionID string) error {
	return a.endDelay(sessionID, "checkout.session.async_payment_succeeded", func(s *Session) {
		s.PaymentStatus, s.payment = "paid", "succeeded"
		if s.Mode == "subscription" {
			s.payment = "active"
		}
	})
}

// PaymentFails fails the delayed payment of a session.
func (a *Account) PaymentFails(sessionID string) error {
	return a.endDelay(sessionID, "checkout.session.async_payment_failed", func(s *Session) {
		s.payment = "requires_payment_method"
		if s.Mode == "subscription" {
			s.payment = "incomplete_expired"
		}
	})
}

func (a *Account) endDelay(sessionID, event string, end func(*Session)) error {
	now := a.lock()
	defer a.mu.Unlock()
	s := a.session(sessionID)
	if s == nil || s.Status != "complete" || s.payment != "processing" && s.payment != "incomplete" {
		return fmt.Errorf("%w: %s", ErrNoPayment, sessionID)
	}
	end(s)
	a.announceSession(event, s, now)
	return nil
}

// Renewal returns what a subscription charges for its second period: the recurring
// lines, less a discount without an end.
func (a *Account) Renewal(sessionID string) (amount int64, err error) {
	a.lock()
	defer a.mu.Unlock()
	s := a.session(sessionID)
	if s == nil || s.Mode != "subscription" {
		return 0, fmt.Errorf("stripefake: no subscription of %s", sessionID)
	}
	for _, l := range s.Lines {
		if l.Interval != "" {
			amount += l.Quantity * l.UnitAmount
		}
	}
	if s.coupon != nil && s.coupon.Duration == "forever" {
		amount -= discountOf(s.coupon, amount)
	}
	return amount, nil
}
