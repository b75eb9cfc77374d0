package stripefake

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
)

// ErrNoRefund means that there is no such refund or dispute, or that it cannot change in this way.
var ErrNoRefund = errors.New("stripefake: no such refund or dispute")

// Refund is a refund at Stripe. Amounts are in Stripe's minor units.
type Refund struct {
	ID        string
	SessionID string
	Amount    int64
	Status    string // pending, succeeded, failed or canceled
	Failure   string
	Metadata  map[string]string

	created int64
}

// Dispute is a dispute at Stripe. Amounts are in Stripe's minor units.
type Dispute struct {
	ID        string
	SessionID string
	Amount    int64
	Status    string // such as needs_response, won, lost or warning_needs_response

	created int64
}

// Refunds returns all refunds, in the order of creation.
func (a *Account) Refunds() []Refund {
	a.lock()
	defer a.mu.Unlock()
	list := make([]Refund, len(a.refunds))
	for i, r := range a.refunds {
		list[i] = *r
	}
	return list
}

// paidIntent returns the ID of the payment intent of a paid session. For a subscription, it is the
// payment of the first invoice.
func (s *Session) paidIntent() string {
	if s.PaymentStatus != "paid" {
		return ""
	}
	return "pi_" + s.ID
}

// sessionOf finds the paid session of a payment intent.
func (a *Account) sessionOf(payment string) *Session {
	i := slices.IndexFunc(a.sessions, func(s *Session) bool { return payment != "" && s.paidIntent() == payment })
	if i < 0 {
		return nil
	}
	return a.sessions[i]
}

// left returns the amount of a session's payment that can still be refunded.
func (a *Account) left(s *Session) int64 {
	left := s.AmountTotal
	for _, r := range a.refunds {
		if r.SessionID == s.ID && r.Status != "failed" && r.Status != "canceled" {
			left -= r.Amount
		}
	}
	return left
}

func (a *Account) disputed(s *Session) bool {
	return slices.ContainsFunc(a.disputes, func(d *Dispute) bool {
		return d.SessionID == s.ID && slices.Contains([]string{"needs_response", "under_review", "lost"}, d.Status)
	})
}

func (a *Account) opCreateRefund(_ []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "payment_intent", "amount", "metadata", "reason", "expand"); refusal != nil {
		return nil, refusal
	}
	s := a.sessionOf(form.Get("payment_intent"))
	if s == nil {
		return nil, missing("payment_intent", form.Get("payment_intent"))
	}
	amount, refusal := integer(form, "amount")
	if refusal != nil {
		return nil, refusal
	}
	notes, refusal := metadata(form, "metadata")
	if refusal != nil {
		return nil, refusal
	}
	r, refusal := a.refund(s, amount, notes, now)
	if refusal != nil {
		return nil, refusal
	}
	return a.showRefund(r), nil
}

// refund makes a refund, for an API call or in the dashboard.
func (a *Account) refund(s *Session, amount int64, notes map[string]string, now int64) (*Refund, *problem) {
	switch left := a.left(s); {
	case a.disputed(s):
		return nil, invalid("charge_disputed", "", "The charge has been charged back; cannot issue a refund.")
	case left == 0:
		return nil, invalid("charge_already_refunded", "", "Charge has already been refunded.")
	case amount < 1:
		return nil, invalid("parameter_invalid_integer", "amount", "Invalid positive integer")
	case amount > left:
		return nil, invalid("", "amount", "Refund amount (%d) is greater than unrefunded amount on charge (%d)", amount, left)
	case amount%stepOf(s.Currency) != 0:
		return nil, invalid("invalid_charge_amount_no_decimal_compatible", "amount", "Amounts in %s have no such decimals.", s.Currency)
	}
	r := &Refund{SessionID: s.ID, Amount: amount, Status: "succeeded", Metadata: notes, created: now}
	r.ID, _ = a.nextID("re")
	a.refunds = append(a.refunds, r)
	a.announce("refund.created", a.showRefund(r), now)
	a.announce("charge.refunded", a.showCharge(s), now)
	return r, nil
}

// RefundInDashboard refunds a part of a session's payment, as staff do, and returns the ID of the
// refund. amount is in Stripe's minor units.
func (a *Account) RefundInDashboard(sessionID string, amount int64) (string, error) {
	now := a.lock()
	defer a.mu.Unlock()
	s := a.session(sessionID)
	if s == nil || s.paidIntent() == "" {
		return "", fmt.Errorf("%w: session %s is not paid", ErrNoRefund, sessionID)
	}
	r, refusal := a.refund(s, amount, map[string]string{}, now)
	if refusal != nil {
		return "", refusal
	}
	return r.ID, nil
}

// SetRefund changes the status of a refund. The statuses failed and canceled are final.
func (a *Account) SetRefund(id, status string) error {
	now := a.lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.refunds, func(r *Refund) bool { return r.ID == id })
	if i < 0 || a.refunds[i].Status == "failed" || a.refunds[i].Status == "canceled" {
		return fmt.Errorf("%w: %s", ErrNoRefund, id)
	}
	r, kind := a.refunds[i], "refund.updated"
	if r.Status = status; status == "failed" {
		r.Failure, kind = "lost_or_stolen_card", "refund.failed"
	}
	a.announce(kind, a.showRefund(r), now)
	return nil
}

// Dispute opens a dispute of the whole payment of a session, as the customer's bank does, and returns
// its ID.
func (a *Account) Dispute(sessionID string) (string, error) {
	now := a.lock()
	defer a.mu.Unlock()
	s := a.session(sessionID)
	if s == nil || s.paidIntent() == "" {
		return "", fmt.Errorf("%w: session %s is not paid", ErrNoRefund, sessionID)
	}
	d := &Dispute{SessionID: s.ID, Amount: s.AmountTotal, Status: "needs_response", created: now}
	d.ID, _ = a.nextID("du")
	a.disputes = append(a.disputes, d)
	a.announce("charge.dispute.created", a.showDispute(d), now)
	a.announce("charge.dispute.funds_withdrawn", a.showDispute(d), now)
	return d.ID, nil
}

// SetDispute changes the status of a dispute, such as to won or lost.
func (a *Account) SetDispute(id, status string) error {
	now := a.lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.disputes, func(d *Dispute) bool { return d.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: %s", ErrNoRefund, id)
	}
	d, kind := a.disputes[i], "charge.dispute.updated"
	if d.Status = status; slices.Contains([]string{"won", "lost", "warning_closed"}, status) {
		kind = "charge.dispute.closed"
	}
	a.announce(kind, a.showDispute(d), now)
	return nil
}

func (a *Account) opListRefunds(_ []string, form url.Values, _ int64) (any, *problem) {
	return listOf(form, "/v1/refunds", a.refunds, func(r *Refund) bool { return a.intentOf(r.SessionID) == form.Get("payment_intent") },
		func(r *Refund) string { return r.ID }, a.showRefund)
}

func (a *Account) opListDisputes(_ []string, form url.Values, _ int64) (any, *problem) {
	return listOf(form, "/v1/disputes", a.disputes, func(d *Dispute) bool { return a.intentOf(d.SessionID) == form.Get("payment_intent") },
		func(d *Dispute) string { return d.ID }, a.showDispute)
}

// listOf returns a page of the objects of a payment intent, newest first.
func listOf[T any](
	form url.Values, path string, all []T, of func(T) bool, id func(T) string, show func(T) map[string]any,
) (any, *problem) {
	if refusal := only(form, "limit", "starting_after", "payment_intent", "expand"); refusal != nil {
		return nil, refusal
	}
	var list []T
	for _, one := range slices.Backward(all) {
		if of(one) {
			list = append(list, one)
		}
	}
	return pageOf(form, path, list, id, func(one T) any { return show(one) })
}

// opListInvoicePayments lists the payment of the first invoice of a subscription.
func (a *Account) opListInvoicePayments(_ []string, form url.Values, _ int64) (any, *problem) {
	if refusal := only(form, "limit", "starting_after", "invoice", "payment", "expand"); refusal != nil {
		return nil, refusal
	}
	var list []*Session
	for _, s := range a.sessions {
		if s.Mode == "subscription" && s.paidIntent() != "" && s.AmountTotal > 0 &&
			("in_"+s.ID == form.Get("invoice") || s.paidIntent() == form.Get("payment[payment_intent]")) {
			list = append(list, s)
		}
	}
	return pageOf(form, "/v1/invoice_payments", list, func(s *Session) string { return "inpay_" + s.ID }, func(s *Session) any {
		var invoice any = "in_" + s.ID
		if wants(form, "data.invoice") {
			invoice = map[string]any{
				"id": "in_" + s.ID, "object": "invoice", "billing_reason": "subscription_create",
				"parent": map[string]any{"type": "subscription_details", "subscription_details": map[string]any{"subscription": "sub_" + s.ID}},
			}
		}
		return map[string]any{
			"id": "inpay_" + s.ID, "object": "invoice_payment", "status": "paid", "invoice": invoice,
			"payment": map[string]any{"type": "payment_intent", "payment_intent": s.paidIntent()},
		}
	})
}

func (a *Account) intentOf(sessionID string) string {
	if s := a.session(sessionID); s != nil {
		return s.paidIntent()
	}
	return ""
}

func (a *Account) currencyOf(sessionID string) string {
	if s := a.session(sessionID); s != nil {
		return s.Currency
	}
	return ""
}

func (a *Account) showRefund(r *Refund) map[string]any {
	return map[string]any{
		"id": r.ID, "object": "refund", "amount": r.Amount, "currency": a.currencyOf(r.SessionID), "status": r.Status,
		"charge": "ch_" + r.SessionID, "payment_intent": a.intentOf(r.SessionID), "metadata": merge(r.Metadata, nil),
		"failure_reason": orNull(r.Failure), "created": r.created,
	}
}

func (a *Account) showDispute(d *Dispute) map[string]any {
	return map[string]any{
		"id": d.ID, "object": "dispute", "amount": d.Amount, "currency": a.currencyOf(d.SessionID), "status": d.Status,
		"charge": "ch_" + d.SessionID, "payment_intent": a.intentOf(d.SessionID), "created": d.created,
	}
}

func (a *Account) showCharge(s *Session) map[string]any {
	return map[string]any{
		"id": "ch_" + s.ID, "object": "charge", "amount": s.AmountTotal, "amount_refunded": s.AmountTotal - a.left(s),
		"currency": s.Currency, "payment_intent": s.paidIntent(), "refunded": a.left(s) == 0,
	}
}
