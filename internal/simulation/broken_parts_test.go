package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// debitsAgain debits whenever it is asked.
type debitsAgain struct {
	simulation.Points
	debits *int
}

func (p debitsAgain) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	return p.Wire(ctx, "Debit", func(ctx context.Context) error {
		*p.debits++
		return p.Inner.Debit(ctx, customerID, fmt.Sprintf("%s#%d", exchangeID, *p.debits), points)
	})
}

// debitsClosed does not remember what it has refunded.
type debitsClosed struct{ simulation.Points }

func (p debitsClosed) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	return p.Wire(ctx, "Debit", func(ctx context.Context) error {
		err := p.Inner.Debit(ctx, customerID, exchangeID, points)
		if errors.Is(err, couponkit.ErrReservationClosed) {
			return p.Inner.Debit(ctx, customerID, exchangeID+"#late", points)
		}
		return err
	})
}

// refundsAgain gives points back each time it is asked.
type refundsAgain struct {
	simulation.Points
	debited map[string]int64
	refunds map[string]int
}

func (p refundsAgain) Debit(ctx context.Context, customerID, exchangeID string, points int64) error {
	p.debited[exchangeID] = points
	return p.Points.Debit(ctx, customerID, exchangeID, points)
}

func (p refundsAgain) Refund(ctx context.Context, customerID, exchangeID string) error {
	return p.Wire(ctx, "Refund", func(ctx context.Context) error {
		credit, can := p.Inner.(interface{ Credit(string, int64) })
		if p.refunds[exchangeID]++; can && p.refunds[exchangeID] > 1 {
			credit.Credit(customerID, p.debited[exchangeID])
		}
		return p.Inner.Refund(ctx, customerID, exchangeID)
	})
}

// refundsNothing says that it has.
type refundsNothing struct{ simulation.Points }

func (p refundsNothing) Refund(context.Context, string, string) error { return nil }

// The broken processors keep the role of listing mirrors, which the gate has.

// removesNothing says that it has.
type removesNothing struct{ simulation.Processor }

func (removesNothing) RemoveMirror(context.Context, coupon.Coupon) error { return nil }

// switchesNothing leaves promotion codes as they are, and says that all is well.
type switchesNothing struct{ simulation.Processor }

func (p switchesNothing) SetMirrorActive(_ context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return c.Mirror, nil
}

func (p switchesNothing) VerifyMirror(_ context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	if c.Active() {
		return processor.MirrorValid, nil
	}
	return processor.MirrorInvalid, nil
}

// updatesNothing says that it has; it switches coupons on and off, and no more.
type updatesNothing struct{ simulation.Processor }

func (p updatesNothing) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	status, err := p.VerifyMirror(ctx, c)
	if err != nil || (status == processor.MirrorValid) != c.Active() {
		return p.Processor.SetMirrorActive(ctx, c)
	}
	return p.UpdateMirror(ctx, c)
}

func (p updatesNothing) UpdateMirror(_ context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	c.Mirror.Revision = c.Revision
	return c.Mirror, nil
}

// repairs changes a mirror when it is asked how it is.
type repairs struct{ simulation.Processor }

func (p repairs) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	status, err := p.Processor.VerifyMirror(ctx, c)
	if status == processor.MirrorInvalid && c.Active() {
		if _, err := p.SetMirrorActive(ctx, c); err == nil {
			return processor.MirrorValid, nil
		}
	}
	return status, err
}

// endsNothing says that it has ended a session.
type endsNothing struct{ simulation.Processor }

func (p endsNothing) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	session, err := p.Session(ctx, id)
	if session.Status == processor.SessionOpen {
		session.Status = processor.SessionExpired
	}
	return session, err
}

// endsPaid says of each session that it has ended unpaid.
type endsPaid struct{ simulation.Processor }

func (p endsPaid) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	session, err := p.Processor.ExpireSession(ctx, id)
	session.Status = processor.SessionExpired
	return session, err
}

// remembers repeats its first answer about each session.
type remembers struct {
	simulation.Processor
	said map[string]processor.Session
}

func (p remembers) Session(ctx context.Context, id string) (processor.Session, error) {
	if session, known := p.said[id]; known {
		return session, nil
	}
	session, err := p.Processor.Session(ctx, id)
	if err == nil {
		p.said[id] = session
	}
	return session, err
}

// anotherSession makes a new session each time.
type anotherSession struct {
	simulation.Processor
	made *int
}

func (p anotherSession) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	*p.made++
	r.Key = fmt.Sprintf("%s#%d", r.Key, *p.made)
	return p.Processor.CreateSession(ctx, r)
}

// anotherKey asks for refunds with a new key each time, and knows them again.
type anotherKey struct {
	simulation.Processor
	asked *int
}

func (p anotherKey) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	*p.asked++
	r.Key = fmt.Sprintf("%s#%d", r.Key, *p.asked)
	return p.Processor.Refund(ctx, r)
}

func (p anotherKey) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	reported, err := p.Processor.Refunds(ctx, id)
	for i, r := range reported.Refunds {
		reported.Refunds[i].Key, _, _ = strings.Cut(r.Key, "#")
	}
	return reported, err
}

// overdraws makes each refund, whether or not so much is left.
type overdraws struct {
	simulation.Processor
	extra map[string][]processor.Refund // by session
}

func (p overdraws) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	made, err := p.Processor.Refund(ctx, r)
	if !errors.Is(err, processor.ErrRejected) {
		return made, err
	}
	made = processor.Refund{ID: "re_" + r.Key, Key: r.Key, Amount: r.Amount, Status: processor.RefundSucceeded}
	if !slices.Contains(p.extra[r.SessionID], made) {
		p.extra[r.SessionID] = append(p.extra[r.SessionID], made)
	}
	return made, nil
}

func (p overdraws) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	reported, err := p.Processor.Refunds(ctx, id)
	reported.Refunds = append(reported.Refunds, p.extra[id]...)
	return reported, err
}

// chargesMore charges a cent more, and says that it does not.
type chargesMore struct{ simulation.Processor }

func (p chargesMore) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	total := r.Total
	r.Total++
	r.Lines = append(slices.Clone(r.Lines), processor.SessionLine{Kind: r.Lines[0].Kind, Name: "fee", Quantity: 1, UnitAmount: 1})
	session, err := p.Processor.CreateSession(ctx, r)
	session.Total = total
	return session, err
}

// believesAll signs what it gets itself.
func believesAll(simulation.Webhook) simulation.Webhook {
	return func(ctx context.Context, s *couponkit.Service, parse simulation.Parse, d fakeprocessor.Delivery) error {
		trusting := fakeprocessor.New(fakeprocessor.Options{Tolerance: 1 << 62})
		d.Signature = fakeprocessor.Sign(fakeprocessor.DefaultSecret, beginning, d.Payload)
		e, err := trusting.ParseEvent(d.Payload, d.Signature)
		if err == nil {
			_, err = s.HandleEvent(ctx, e)
		}
		return err
	}
}

// notesFirst notes the event before its effect, and takes a noted one for done.
func notesFirst() func(simulation.Webhook) simulation.Webhook {
	noted := make(map[string]bool)
	return func(next simulation.Webhook) simulation.Webhook {
		return func(ctx context.Context, s *couponkit.Service, parse simulation.Parse, d fakeprocessor.Delivery) error {
			if noted[d.EventID] {
				return nil
			}
			if _, err := parse(d.Payload, d.Signature); err != nil {
				return err
			}
			noted[d.EventID] = true
			return next(ctx, s, parse, d)
		}
	}
}

// trustsTotals lets the customer be right about the totals.
func trustsTotals(r couponkit.CheckoutRequest) couponkit.CheckoutRequest {
	r.Expected = nil
	return r
}
