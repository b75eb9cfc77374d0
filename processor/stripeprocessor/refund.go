package stripeprocessor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// metadataRefundKey is the metadata entry of a refund at Stripe that has the Key of the request.
const metadataRefundKey = "couponkitKey"

// Refund implements [processor.Refunder]. It refunds the payment of the session, or the first
// payment of its subscription. Before it makes a refund, it looks for the refund of an earlier call:
// Stripe forgets idempotency keys after a day.
func (p *Processor) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	metadata := maps.Clone(r.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[metadataRefundKey] = r.Key
	var faults validation.Error
	faults.Merge("", r.Validate())
	faults.Merge("metadata", metadataFaults(metadata))
	if err := faults.Err(); err != nil {
		return processor.Refund{}, refused(opCreateRefund, ErrInvalid, err)
	}
	s, err := p.ourSession(ctx, r.SessionID)
	if err != nil {
		return processor.Refund{}, err
	}
	m := parseCurrency(string(s.Currency))
	amount, err := m.toStripe(r.Amount)
	if err != nil {
		return processor.Refund{}, refused(opCreateRefund, ErrInvalid, err)
	}
	payment, err := p.paymentOf(ctx, s)
	if err != nil {
		return processor.Refund{}, err
	}
	if payment == "" {
		return processor.Refund{}, refused(opCreateRefund, ErrInvalid, fmt.Errorf("session %s has no payment", s.ID))
	}
	made, err := p.findRefund(ctx, payment, r.Key)
	if err == nil && made == nil {
		made, err = p.createRefund(ctx, payment, r.Key, amount, metadata)
	}
	if err != nil {
		return processor.Refund{}, err
	}
	return m.refund(made), nil
}

// createRefund makes a refund. It returns the existing refund if an earlier call made it without an
// answer.
func (p *Processor) createRefund(
	ctx context.Context, payment, key string, amount int64, metadata map[string]string,
) (made *stripe.Refund, err error) {
	params := &stripe.RefundCreateParams{
		PaymentIntent: stripe.String(payment), Amount: new(amount), Metadata: metadata,
	}
	var found *stripe.Refund
	c := call{
		op: opCreateRefund,
		key: func(generation int) string {
			return fmt.Sprintf("refund:%d:%s", generation, shortHash(payment, key))
		},
		look: func(ctx context.Context) (_ bool, err error) {
			found, err = p.findRefund(ctx, payment, key)
			return found != nil, err
		},
	}
	err = p.do(ctx, c, func(ctx context.Context, key string) (err error) {
		params.SetIdempotencyKey(key)
		if made, err = p.client.V1Refunds.Create(ctx, params); err != nil {
			return err
		}
		return about(made.Object, made.ID, made.ID)
	})
	if err == nil && found != nil {
		return found, nil
	}
	return made, err
}

// findRefund returns the refund that was made with a key, or nil.
func (p *Processor) findRefund(ctx context.Context, payment, key string) (*stripe.Refund, error) {
	for r, err := range p.refundsOf(ctx, payment) {
		if err != nil {
			return nil, err
		}
		if r.Metadata[metadataRefundKey] == key {
			return r, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// Refunds implements [processor.Refunder]. It takes three calls, and more for a subscription. Of a
// subscription, it tells about the first payment.
func (p *Processor) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	s, err := p.sessionOfPayment(ctx, id)
	if err != nil {
		return processor.PaymentRefunds{}, err
	}
	out := processor.PaymentRefunds{SessionID: s.ID, Metadata: publicMetadata(s.Metadata)}
	payment, err := p.paymentOf(ctx, s)
	if err != nil || payment == "" {
		return out, err
	}
	m := parseCurrency(string(s.Currency))
	for r, err := range p.refundsOf(ctx, payment) {
		if err != nil {
			return processor.PaymentRefunds{}, err
		}
		out.Refunds = append(out.Refunds, m.refund(r))
	}
	for d, err := range p.disputesOf(ctx, payment) {
		if err != nil {
			return processor.PaymentRefunds{}, err
		}
		out.Disputes = append(out.Disputes, m.dispute(d, s.AmountTotal))
	}
	return out, nil
}

// ourSession reads a session of this application.
func (p *Processor) ourSession(ctx context.Context, id string) (*stripe.CheckoutSession, error) {
	s, err := p.readSession(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	if !p.isOurs(s) || parseCurrency(string(s.Currency)).currency.IsZero() {
		return nil, refused(opReadSession, processor.ErrNotFound, fmt.Errorf("session %s is not of this application", id))
	}
	return s, nil
}

// sessionOfPayment finds a session by its ID or by the ID of its payment intent.
func (p *Processor) sessionOfPayment(ctx context.Context, id string) (*stripe.CheckoutSession, error) {
	if !isPaymentIntent(id) {
		return p.ourSession(ctx, id)
	}
	s, err := p.firstSession(ctx, stripe.CheckoutSessionListParams{PaymentIntent: stripe.String(id)})
	if s != nil || err != nil {
		return s, err
	}
	subscription, err := p.subscriptionOf(ctx, id)
	if subscription != "" && err == nil {
		s, err = p.firstSession(ctx, stripe.CheckoutSessionListParams{Subscription: stripe.String(subscription)})
	}
	if s == nil && err == nil {
		err = refused(opListSessions, processor.ErrNotFound, fmt.Errorf("no session of payment %s", named(id)))
	}
	return s, err
}

// firstSession returns the first session of this application in a list, or nil.
func (p *Processor) firstSession(ctx context.Context, by stripe.CheckoutSessionListParams) (*stripe.CheckoutSession, error) {
	for s, err := range p.sessionsBy(ctx, by) {
		if err != nil {
			return nil, err
		}
		if p.isOurs(s) && !parseCurrency(string(s.Currency)).currency.IsZero() {
			return s, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// paymentOf returns the ID of the payment intent of a session. It returns "" if nothing was paid.
func (p *Processor) paymentOf(ctx context.Context, s *stripe.CheckoutSession) (string, error) {
	switch {
	case s.PaymentIntent != nil:
		return s.PaymentIntent.ID, nil
	case s.Invoice == nil:
		return "", nil
	}
	by := stripe.InvoicePaymentListParams{Invoice: stripe.String(s.Invoice.ID)}
	for paid, err := range p.invoicePayments(ctx, by) {
		if err != nil {
			return "", err
		}
		if paid.Payment != nil && paid.Payment.PaymentIntent != nil && paid.Status == "paid" {
			return paid.Payment.PaymentIntent.ID, nil
		}
	}
	return "", nil
}

// subscriptionOf returns the ID of the subscription whose invoice a payment intent has paid. It returns
// "" for a payment without a subscription.
func (p *Processor) subscriptionOf(ctx context.Context, payment string) (string, error) {
	by := stripe.InvoicePaymentListParams{Payment: &stripe.InvoicePaymentListPaymentParams{
		Type: stripe.String("payment_intent"), PaymentIntent: stripe.String(payment),
	}}
	by.Expand = stripe.StringSlice([]string{"data.invoice"})
	for paid, err := range p.invoicePayments(ctx, by) {
		if err != nil {
			return "", err
		}
		if i := paid.Invoice; i != nil && i.Parent != nil && i.Parent.SubscriptionDetails != nil &&
			i.Parent.SubscriptionDetails.Subscription != nil && i.BillingReason == stripe.InvoiceBillingReasonSubscriptionCreate {
			return i.Parent.SubscriptionDetails.Subscription.ID, nil
		}
	}
	return "", nil
}

func (p *Processor) refundsOf(ctx context.Context, payment string) iter.Seq2[*stripe.Refund, error] {
	return pages(func(after *string) (data []*stripe.Refund, more bool, err error) {
		err = p.do(ctx, call{op: opListRefunds}, func(ctx context.Context, _ string) (err error) {
			data, more, err = pageOf(p.client.V1Refunds.List(ctx, &stripe.RefundListParams{
				ListParams: pageAfter(after), PaymentIntent: stripe.String(payment),
			}))
			return err
		})
		return data, more, err
	}, func(r *stripe.Refund) string { return r.ID })
}

func (p *Processor) disputesOf(ctx context.Context, payment string) iter.Seq2[*stripe.Dispute, error] {
	return pages(func(after *string) (data []*stripe.Dispute, more bool, err error) {
		err = p.do(ctx, call{op: opListDisputes}, func(ctx context.Context, _ string) (err error) {
			data, more, err = pageOf(p.client.V1Disputes.List(ctx, &stripe.DisputeListParams{
				ListParams: pageAfter(after), PaymentIntent: stripe.String(payment),
			}))
			return err
		})
		return data, more, err
	}, func(d *stripe.Dispute) string { return d.ID })
}

func (p *Processor) invoicePayments(ctx context.Context, by stripe.InvoicePaymentListParams) iter.Seq2[*stripe.InvoicePayment, error] {
	return pages(func(after *string) (data []*stripe.InvoicePayment, more bool, err error) {
		err = p.do(ctx, call{op: opListInvoicePayments}, func(ctx context.Context, _ string) (err error) {
			params := by
			params.ListParams = pageAfter(after)
			data, more, err = pageOf(p.client.V1InvoicePayments.List(ctx, &params))
			return err
		})
		return data, more, err
	}, func(i *stripe.InvoicePayment) string { return i.ID })
}

func pageAfter(after *string) stripe.ListParams {
	return stripe.ListParams{Limit: stripe.Int64(pageSize), StartingAfter: after, Single: true}
}

// refund converts a refund of a session in this currency.
func (m money) refund(r *stripe.Refund) processor.Refund {
	out := processor.Refund{
		ID: r.ID, Key: r.Metadata[metadataRefundKey], Amount: m.fromStripe(r.Amount), Status: processor.RefundPending,
	}
	switch r.Status { //nolint:exhaustive // the others are pending
	case stripe.RefundStatusSucceeded:
		out.Status = processor.RefundSucceeded
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		out.Status, out.Failure = processor.RefundFailed, named(string(r.FailureReason))
	}
	return out
}

// dispute converts a dispute. An inquiry is an open dispute, although the bank has not taken money yet.
// A dispute in another currency counts as a dispute of the whole payment.
func (m money) dispute(d *stripe.Dispute, charged int64) processor.Dispute {
	out := processor.Dispute{ID: d.ID, Amount: m.fromStripe(d.Amount), Status: processor.DisputeOpen}
	if string(d.Currency) != m.code() {
		out.Amount = m.fromStripe(charged)
	}
	switch d.Status { //nolint:exhaustive // the others are open
	case stripe.DisputeStatusLost:
		out.Status = processor.DisputeLost
	case stripe.DisputeStatusWon, stripe.DisputeStatusWarningClosed, stripe.DisputeStatusPrevented:
		out.Status = processor.DisputeWon
	}
	return out
}

// isPaymentIntent reports whether an ID belongs to a payment intent, not to a session.
func isPaymentIntent(id string) bool { return len(id) > 3 && id[:3] == "pi_" }

// paymentEvent returns the payment intent of an event about a charge, a refund or a dispute. It returns
// "" if the object has no payment intent. Such an event does not belong to a session.
func paymentEvent(raw json.RawMessage) (paymentID string, err error) {
	var object struct {
		PaymentIntent *stripe.PaymentIntent `json:"payment_intent"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return "", err
	}
	if object.PaymentIntent == nil {
		return "", nil
	}
	if object.PaymentIntent.ID == "" {
		return "", errors.New("a payment without an ID")
	}
	return object.PaymentIntent.ID, nil
}
