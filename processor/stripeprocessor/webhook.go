package stripeprocessor

import (
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-go/v86/webhook"

	"github.com/couponkit/couponkit/processor"
)

// SignatureHeader is the HTTP header with the signature of a delivery.
const SignatureHeader = "Stripe-Signature"

// signatureTolerance is the maximum distance between the time of a signature and the clock, past or
// future, inclusive. stripe-go checks the past only.
const signatureTolerance = 300 * time.Second

const opWebhook = "webhook"

// ParseEvent authenticates a webhook delivery and translates it. payload is the
// unchanged body. signature is the value of [SignatureHeader]. It makes no call.
//
//   - checkout.session.completed is Completed; its PaymentStatus tells whether it is
//     paid
//   - checkout.session.async_payment_succeeded is PaymentSucceeded
//   - checkout.session.async_payment_failed is PaymentFailed
//   - checkout.session.expired is Expired
//   - charge.refunded, charge.refund.updated, refund.created, refund.updated and refund.failed are
//     RefundChanged, with the payment intent as PaymentID
//   - charge.dispute.created, updated, closed, funds_withdrawn and funds_reinstated are
//     DisputeChanged, with the payment intent as PaymentID
//   - everything else is Ignored, including sessions of another [Options].App.
//     Whose session a refund or a dispute is about is told by [Processor.Refunds]
//
// Tax is the tax that Stripe has added, without its lines: Stripe's events do not contain them.
// [Processor.Session] tells them.
//
// Payer has the e-mail address that the customer entered on the payment page. It has no
// aliases: Stripe's sessions do not contain the fingerprint of a payment card. A host that
// reads the fingerprint itself can add it to Payer.Aliases before it handles the event.
//
// Errors:
//
//   - processor.ErrSignature if no secret matches, or the signature is more than five
//     minutes away from the clock
//   - [ErrWrongOrigin] if the account, environment or API release is unexpected
//   - [ErrInvalid] if the event cannot be read
func (p *Processor) ParseEvent(payload []byte, signature string) (processor.Event, error) {
	event, _, err := p.parse(payload, signature)
	return event, err
}

// parse implements ParseEvent. The session is nil unless the event is about a session.
func (p *Processor) parse(payload []byte, signature string) (processor.Event, *stripe.CheckoutSession, error) {
	if err := p.authenticate(payload, signature); err != nil {
		return processor.Event{}, nil, err
	}
	var event stripe.Event
	var shape struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	if err := json.Unmarshal(payload, &shape); err != nil {
		return processor.Event{}, nil, refused(opWebhook, ErrInvalid, err)
	}
	if shape.Object != "event" { // an event of Stripe's second API, which carries no object
		return processor.Event{ID: shape.ID}, nil, nil
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return processor.Event{}, nil, refused(opWebhook, ErrInvalid, err)
	}
	if err := p.checkOrigin(&event); err != nil {
		return processor.Event{}, nil, err
	}
	out, session, err := p.translate(&event)
	if err != nil {
		return processor.Event{}, nil, refused(opWebhook, ErrInvalid, fmt.Errorf("event %s: %w", event.ID, err))
	}
	return out, session, nil
}

// authenticate checks the signature with every secret, so that a secret can be replaced.
func (p *Processor) authenticate(payload []byte, header string) error {
	stamp, signatures, ok := parseSignature(header)
	if !ok {
		return refused(opWebhook, processor.ErrSignature, errors.New("malformed header"))
	}
	distance := p.options.Clock().Sub(stamp)
	if distance > signatureTolerance || distance < -signatureTolerance {
		return refused(opWebhook, processor.ErrSignature, errors.New("timestamp is out of tolerance"))
	}
	for _, secret := range p.options.WebhookSecrets {
		want := webhook.ComputeSignature(stamp, payload, secret)
		for _, got := range signatures {
			if hmac.Equal(want, got) {
				return nil
			}
		}
	}
	return refused(opWebhook, processor.ErrSignature, errors.New("no signature matches"))
}

const (
	maxSignatureHeader = 4096
	maxSignatures      = 16
)

// parseSignature reads "t=1495999758,v1=5257a8…,v1=…". Like stripe-go, it accepts no white space, and
// exactly one "=" in each part. It ignores schemes other than v1.
func parseSignature(header string) (stamp time.Time, signatures [][]byte, ok bool) {
	if len(header) > maxSignatureHeader {
		return time.Time{}, nil, false
	}
	stamped := false
	for pair := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(pair, "=")
		switch {
		case !found || strings.Contains(value, "="):
			return time.Time{}, nil, false
		case name == "t":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil || seconds < 0 || stamped {
				return time.Time{}, nil, false
			}
			stamp, stamped = time.Unix(seconds, 0), true
		case name == "v1" && len(signatures) < maxSignatures:
			if decoded, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, decoded)
			}
		}
	}
	return stamp, signatures, stamped && len(signatures) > 0
}

// checkOrigin refuses events of another account, environment or API release. Their signature is valid,
// but this processor is not configured for them.
func (p *Processor) checkOrigin(event *stripe.Event) error {
	live := p.options.Environment == Live
	switch {
	case event.Livemode != live:
		return refused(opWebhook, ErrWrongOrigin, fmt.Errorf("event %s has livemode %t, configured is %t", event.ID, event.Livemode, live))
	case event.Account != p.options.Account:
		return refused(opWebhook, ErrWrongOrigin, fmt.Errorf("event %s is of account %q, configured is %q", event.ID, event.Account, p.options.Account))
	case !p.options.AnyAPIVersion && train(event.APIVersion) != train(stripe.APIVersion):
		return refused(opWebhook, ErrWrongOrigin, fmt.Errorf(
			"event %s has API version %q, this program speaks %q: create the webhook endpoint with that version", event.ID, event.APIVersion, stripe.APIVersion))
	}
	return nil
}

// train returns the release name of a version such as "2026-05-27.dahlia". Versions before the named
// releases get a text that matches no release.
func train(version string) string {
	_, name, found := strings.Cut(version, ".")
	if !found || name == "" {
		return "none: " + version
	}
	return name
}

func (p *Processor) translate(event *stripe.Event) (processor.Event, *stripe.CheckoutSession, error) {
	out := processor.Event{ID: event.ID, CreatedAt: time.Unix(event.Created, 0).UTC()}
	kind := eventType(event.Type)
	if kind == processor.Ignored {
		return out, nil, nil
	}
	if event.Data == nil {
		return out, nil, errors.New("without data")
	}
	if kind == processor.RefundChanged || kind == processor.DisputeChanged {
		payment, err := paymentEvent(event.Data.Raw)
		if payment != "" {
			out.Type, out.PaymentID = kind, payment
		}
		return out, nil, err
	}
	session := &stripe.CheckoutSession{}
	if err := json.Unmarshal(event.Data.Raw, session); err != nil {
		return out, nil, err
	}
	if session.ID == "" {
		return out, nil, errors.New("without a session")
	}
	if session.Mode == stripe.CheckoutSessionModeSetup || !p.isOurs(session) {
		return out, nil, nil
	}
	seen := p.toSession(session)
	out.Type, out.SessionID, out.PaymentStatus = kind, seen.ID, paymentStatus(session.PaymentStatus)
	out.Currency, out.Total, out.Tax, out.Metadata, out.Payer = seen.Currency, seen.Total, seen.Tax, seen.Metadata, seen.Payer
	return out, session, nil
}

// eventType converts Stripe's name of an event. Unknown names, including names that Stripe adds later,
// become Ignored.
func eventType(name stripe.EventType) processor.EventType {
	return map[string]processor.EventType{
		string(stripe.EventTypeCheckoutSessionCompleted):             processor.Completed,
		string(stripe.EventTypeCheckoutSessionAsyncPaymentSucceeded): processor.PaymentSucceeded,
		string(stripe.EventTypeCheckoutSessionAsyncPaymentFailed):    processor.PaymentFailed,
		string(stripe.EventTypeCheckoutSessionExpired):               processor.Expired,
		string(stripe.EventTypeChargeRefunded):                       processor.RefundChanged,
		string(stripe.EventTypeChargeRefundUpdated):                  processor.RefundChanged,
		string(stripe.EventTypeRefundCreated):                        processor.RefundChanged,
		string(stripe.EventTypeRefundUpdated):                        processor.RefundChanged,
		string(stripe.EventTypeRefundFailed):                         processor.RefundChanged,
		string(stripe.EventTypeChargeDisputeCreated):                 processor.DisputeChanged,
		string(stripe.EventTypeChargeDisputeUpdated):                 processor.DisputeChanged,
		string(stripe.EventTypeChargeDisputeClosed):                  processor.DisputeChanged,
		string(stripe.EventTypeChargeDisputeFundsWithdrawn):          processor.DisputeChanged,
		string(stripe.EventTypeChargeDisputeFundsReinstated):         processor.DisputeChanged,
	}[string(name)]
}
