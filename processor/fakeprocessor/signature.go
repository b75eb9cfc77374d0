package fakeprocessor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// SignatureHeader is the HTTP header with the signature of a delivery.
const SignatureHeader = "Couponkit-Fake-Signature"

// Sign returns the signature of a payload at an instant. Its format is "t=" with the
// Unix second, and "v1=" with an HMAC-SHA256 in hexadecimal. The HMAC covers the
// second, a full stop and the payload. Tests use Sign for forged and outdated
// deliveries.
func Sign(secret string, at time.Time, payload []byte) string {
	second := strconv.FormatInt(at.Unix(), 10)
	return "t=" + second + ",v1=" + hex.EncodeToString(mac(secret, second, payload))
}

func mac(secret, second string, payload []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(second))
	h.Write([]byte{'.'})
	h.Write(payload)
	return h.Sum(nil)
}

// maxSignatures is the maximum number of signatures checked in one header.
const maxSignatures = 8

// ParseEvent authenticates a delivery and returns its event. An unknown type is
// [processor.Ignored]. Errors:
//
//   - [processor.ErrSignature] if the signature is wrong or outside the tolerance
//   - [processor.ErrRejected] if the payload is not an event
func (p *Processor) ParseEvent(payload []byte, signature string) (processor.Event, error) {
	if err := p.authenticate(payload, signature); err != nil {
		return processor.Event{}, fmt.Errorf("event: %w: %w", processor.ErrSignature, err)
	}
	e, err := readEvent(payload)
	if err != nil {
		return processor.Event{}, fmt.Errorf("event: %w: %w", processor.ErrRejected, err)
	}
	return e, nil
}

func (p *Processor) authenticate(payload []byte, signature string) error {
	second, candidates := splitSignature(signature)
	at, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return fmt.Errorf("no instant in the signature")
	}
	want := mac(p.options.Secret, second, payload)
	genuine := false
	for _, candidate := range candidates {
		got, err := hex.DecodeString(candidate)
		genuine = err == nil && hmac.Equal(got, want) || genuine
	}
	if !genuine {
		return fmt.Errorf("no signature matches")
	}
	if age := p.options.Now().Sub(time.Unix(at, 0)).Truncate(time.Second); age.Abs() > p.options.Tolerance {
		return fmt.Errorf("signed %s ago, of which %s are tolerated", age, p.options.Tolerance)
	}
	return nil
}

// splitSignature reads "t=…,v1=…,v1=…". There are two signatures while a secret is being replaced.
func splitSignature(header string) (second string, candidates []string) {
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "t":
			second = value
		case name == "v1" && len(candidates) < maxSignatures:
			candidates = append(candidates, value)
		}
	}
	return second, candidates
}

func readEvent(body []byte) (processor.Event, error) {
	var in payload
	if err := json.Unmarshal(body, &in); err != nil {
		return processor.Event{}, err
	}
	e := processor.Event{
		ID: in.ID, Type: eventType(in.Type), SessionID: in.Session.ID,
		Currency: in.Session.Currency, Total: in.Session.Total,
		Metadata: in.Session.Metadata, CreatedAt: calendar.Instant(in.CreatedAt),
		Payer: processor.Payer{Email: in.Session.PayerEmail, Aliases: in.Session.PayerAliases},
	}
	e.Tax.Amount = in.Session.Tax
	for _, l := range in.Session.TaxLines {
		e.Tax.Lines = append(e.Tax.Lines, pricing.LineTax(l))
	}
	if e.Type == processor.Ignored {
		return e, nil
	}
	if e.ID == "" || e.SessionID == "" {
		return processor.Event{}, fmt.Errorf("an event without ID or session")
	}
	if e.Type == processor.RefundChanged || e.Type == processor.DisputeChanged {
		return processor.Event{
			ID: e.ID, Type: e.Type, SessionID: e.SessionID, PaymentID: e.SessionID, Metadata: e.Metadata, CreatedAt: e.CreatedAt,
		}, nil
	}
	if e.PaymentStatus = paymentStatus(in.Session.PaymentStatus); e.PaymentStatus == 0 {
		return processor.Event{}, fmt.Errorf("unknown payment status %.32q", in.Session.PaymentStatus)
	}
	return e, nil
}

func eventType(kind string) processor.EventType {
	switch kind {
	case sessionCompleted:
		return processor.Completed
	case paymentSucceeded:
		return processor.PaymentSucceeded
	case paymentFailed:
		return processor.PaymentFailed
	case sessionExpired:
		return processor.Expired
	case refundChanged:
		return processor.RefundChanged
	case disputeChanged:
		return processor.DisputeChanged
	}
	return processor.Ignored
}

func paymentStatus(text string) processor.PaymentStatus {
	for s := processor.Unpaid; s <= processor.NoPaymentRequired; s++ {
		if s.String() == text {
			return s
		}
	}
	return 0
}
