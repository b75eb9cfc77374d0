package stripeprocessor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
)

// answering is a Stripe that answers every request with the same text, however a list
// is asked to go on, and counts those that would change something.
type answering struct {
	status  int
	text    []byte
	changes int
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		a.changes++
	}
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}, "Request-Id": {"req_1"}},
		Body: io.NopCloser(bytes.NewReader(a.text)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func newAnswering(tb testing.TB) (*answering, *stripeprocessor.Processor) {
	tb.Helper()
	a := &answering{status: http.StatusOK}
	p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
		RequestsPerSecond: -1, Clock: newClock().Now, Retry: stripeprocessor.Retry{Attempts: 1}, HTTPClient: &http.Client{Transport: a},
	})
	require.NoError(tb, err)
	return a, p
}

// statusOf is a status of HTTP, from 200 to 599.
func statusOf(n uint16) int { return 200 + (int(n)+200)%400 }

// requireFailure checks that an error is one of the contract's.
func requireFailure(t *testing.T, err error) {
	t.Helper()
	for _, kind := range []error{
		processor.ErrNotFound, processor.ErrRejected, processor.ErrUnavailable, processor.ErrCodeTaken,
		processor.ErrForbidden,
	} {
		if errors.Is(err, kind) {
			return
		}
	}
	t.Errorf("an error of no kind: %v", err)
}

// told is what matters of a session, read by the standard library alone.
type told struct {
	ID            string
	Status        string
	PaymentStatus string `json:"payment_status"`
	Currency      string
	AmountTotal   int64             `json:"amount_total"`
	ExpiresAt     int64             `json:"expires_at"`
	PaymentIntent json.RawMessage   `json:"payment_intent"`
	Metadata      map[string]string `json:"metadata"`
}

const answeredSession = `{"id":"cs_1","object":"checkout.session","mode":"payment","status":"complete","payment_status":"paid",` +
	`"currency":"eur","amount_total":2490,"expires_at":1795179600,"url":null,"payment_intent":"pi_1","metadata":{"orderId":"ord_1"}}`

// FuzzSessionAnswer: whatever Stripe, or something that stands between, answers when a
// session is read, it is the session that was asked for, as it was told, or a failure.
// Only a complete session that is told to be paid is paid, and reading changes nothing.
func FuzzSessionAnswer(f *testing.F) {
	replaced := func(before, after string) []byte { return []byte(strings.Replace(answeredSession, before, after, 1)) }
	for _, text := range [][]byte{
		[]byte(answeredSession), []byte(`{}`), []byte(`null`), []byte(`[]`), []byte(`"cs_1"`), []byte(`<html>`), nil,
		replaced(`"cs_1"`, `"cs_2"`), replaced(`"paid"`, `"unpaid"`), replaced(`"complete"`, `"open"`), replaced(`"complete"`, `"expired"`),
		replaced(`"paid"`, `"no_payment_required"`), replaced(`"eur"`, `"mga"`), replaced(`"eur"`, `"isk"`), replaced(`2490`, `9223372036854775807`),
		replaced(`2490`, `-1`), replaced(`2490`, `24.9`), replaced(`{"orderId":"ord_1"}`, `null`), replaced(`1795179600`, `-9223372036854775808`),
		replaced(`"paid"`, `"unpaid","payment_status":"paid"`), replaced(`"pi_1"`, `{"id":"pi_1","object":"payment_intent","status":"canceled"}`),
		[]byte(strings.NewReplacer(`"paid"`, `"unpaid"`, `"pi_1"`, `{"id":"pi_1","object":"payment_intent","status":"canceled"}`).Replace(answeredSession)),
	} {
		f.Add(text, uint16(http.StatusOK))
	}
	f.Add([]byte(`{"error":{"type":"invalid_request_error","code":"resource_missing"}}`), uint16(http.StatusNotFound))
	f.Add([]byte(`{"error":null}`), uint16(http.StatusInternalServerError))
	stripe, p := newAnswering(f)
	f.Fuzz(func(t *testing.T, text []byte, status uint16) {
		stripe.text, stripe.status, stripe.changes = text, statusOf(status), 0
		got, err := p.Session(t.Context(), "cs_1")
		if stripe.changes > 0 {
			t.Errorf("reading has changed something")
		}
		if err != nil {
			requireFailure(t, err)
			return
		}
		var want told
		if err := json.Unmarshal(text, &want); err != nil || stripe.status >= http.StatusBadRequest {
			t.Fatalf("an answer that is none (%d, %v) is read as %+v", stripe.status, err, got)
		}
		checkSession(t, got, want)
	})
}

func checkSession(t *testing.T, got processor.Session, want told) {
	t.Helper()
	status := map[string]processor.SessionStatus{"complete": processor.SessionComplete, "expired": processor.SessionExpired}[want.Status]
	if status == 0 {
		status = processor.SessionOpen
	}
	settled := status == processor.SessionComplete && slices.Contains([]string{"paid", "no_payment_required"}, want.PaymentStatus)
	var payment struct{ Status string }
	_ = json.Unmarshal(want.PaymentIntent, &payment) // an ID tells nothing
	failed := status == processor.SessionComplete && !settled && slices.Contains([]string{"canceled", "requires_payment_method"}, payment.Status)
	c, err := pricing.ParseCurrency(want.Currency)
	if _, charged, _ := stripeprocessor.ToStripe(c, 0); err != nil || !charged {
		c = pricing.Currency{}
	}
	switch {
	case got.ID != "cs_1" || want.ID != "cs_1":
		t.Errorf("session %q is answered and read as %q", want.ID, got.ID)
	case got.Status != status:
		t.Errorf("%q is read as %v", want.Status, got.Status)
	case got.PaymentStatus.Settled() != settled:
		t.Errorf("%q and %q is read as %v", want.Status, want.PaymentStatus, got.PaymentStatus)
	case got.PaymentFailed != failed && !(got.PaymentFailed && settled == false && want.PaymentIntent == nil): // or its subscription
		t.Errorf("payment %s is read as failed: %t", want.PaymentIntent, got.PaymentFailed)
	case got.Currency != c:
		t.Errorf("%q is read as %v", want.Currency, got.Currency)
	case !c.IsZero() && got.Total != stripeprocessor.FromStripe(c, want.AmountTotal):
		t.Errorf("%d is read as %d", want.AmountTotal, got.Total)
	case c.IsZero() && got.Total != 0:
		t.Errorf("an amount without a currency is read as %d", got.Total)
	case want.ExpiresAt > 0 && !got.ExpiresAt.Equal(time.Unix(want.ExpiresAt, 0)):
		t.Errorf("%d is read as %v", want.ExpiresAt, got.ExpiresAt)
	}
	for key, value := range got.Metadata {
		if want.Metadata[key] != value {
			t.Errorf("metadata %q is read as %q, want %q", key, value, want.Metadata[key])
		}
	}
}

const answeredCode = `{"id":"promo_1","object":"promotion_code","active":true,"code":"TEN","metadata":{"app":"couponkit","couponId":"cpn_a"},` +
	`"promotion":{"type":"coupon","coupon":{"id":"ck_1","object":"coupon","valid":true,"duration":"once","amount_off":1000,"currency":"eur",` +
	`"metadata":{"app":"couponkit","couponId":"cpn_a","kind":"mirror"}}}}`

// FuzzMirrorAnswer: a mirror is valid only when the promotion code that was asked for is
// told to be active and the coupon of the mirror to be valid. An answer about something
// else is a failure, and says nothing about the mirror.
func FuzzMirrorAnswer(f *testing.F) {
	replaced := func(before, after string) []byte { return []byte(strings.Replace(answeredCode, before, after, 1)) }
	for _, text := range [][]byte{
		[]byte(answeredCode), []byte(`{}`), []byte(`null`), []byte(`[]`), []byte(`<html>`), nil, replaced(`"active":true`, `"active":false`),
		replaced(`"valid":true`, `"valid":false`), replaced(`"ck_1"`, `"ck_2"`), replaced(`"promo_1"`, `"promo_2"`), replaced(`"valid":true`, `"deleted":true`),
		replaced(`"promotion":{`, `"x":{`), []byte(`{"id":"promo_1","object":"promotion_code","active":true,"promotion":{"coupon":"ck_1"}}`),
		[]byte(`{"id":"ck_1","object":"coupon","active":true,"valid":true,"promotion":{"coupon":"ck_1"}}`),
	} {
		f.Add(text, uint16(http.StatusOK))
	}
	f.Add([]byte(`{"error":{"type":"invalid_request_error","code":"resource_missing"}}`), uint16(http.StatusNotFound))
	stripe, p := newAnswering(f)
	c := newCoupon(f, "a", "TEN")
	c.Mirror = coupon.Mirror{CouponID: "ck_1", PromotionCodeID: "promo_1"}
	f.Fuzz(func(t *testing.T, text []byte, status uint16) {
		stripe.text, stripe.status, stripe.changes = text, statusOf(status), 0
		got, err := p.VerifyMirror(t.Context(), c)
		if stripe.changes > 0 {
			t.Errorf("looking has changed something")
		}
		if err != nil {
			requireFailure(t, err)
			return
		}
		if got == processor.MirrorMissing && saysMissing(stripe.status, text) {
			return
		}
		var want struct {
			ID        string
			Active    bool
			Promotion struct {
				Coupon struct {
					ID             string
					Valid, Deleted bool
				}
			}
		}
		if err := json.Unmarshal(text, &want); want.ID != "promo_1" || stripe.status >= http.StatusBadRequest {
			t.Fatalf("an answer that is none (%d, %v) is read as %v", stripe.status, err, got)
		}
		about := want.Promotion.Coupon
		if got == processor.MirrorValid && !(want.Active && about.Valid && !about.Deleted && about.ID == "ck_1") {
			t.Errorf("%+v is read as valid", want)
		}
		if got == processor.MirrorInvalid && want.Active && about.Valid && !about.Deleted && about.ID == "ck_1" {
			t.Errorf("%+v is read as invalid", want)
		}
	})
}

// saysMissing: 404, or the code for it in an answer that refuses the request.
func saysMissing(status int, text []byte) bool {
	var answer struct{ Error struct{ Code string } }
	_ = json.Unmarshal(text, &answer) // what cannot be read has no code
	refuses := status >= http.StatusBadRequest && status < http.StatusInternalServerError &&
		status != http.StatusConflict && status != http.StatusTooManyRequests
	return status == http.StatusNotFound || refuses && answer.Error.Code == "resource_missing"
}

const answeredList = `{"object":"list","has_more":true,"url":"/v1/coupons","data":[{"id":"ck_1","object":"coupon","created":1795000000,"valid":true,"duration":"once",` +
	`"amount_off":1000,"currency":"eur","metadata":{"app":"couponkit","couponId":"cpn_a","kind":"mirror","rev":"1"},"promotion":{"coupon":"ck_1"}}]}`

// FuzzListAnswer: over any lists, a sweep ends, and deletes nothing that Stripe does not show by
// itself. The list of mirrors ends, and has nothing of which the lists do not say that it is ours.
func FuzzListAnswer(f *testing.F) {
	for _, text := range []string{
		answeredList, `{}`, `null`, `[]`, `{"data":null}`, `{"data":[null],"has_more":true}`, `{"data":[{}],"has_more":true}`, `<html>`,
		`{"url":"/v1/coupons","data":[null]}`, `{"url":"/v1/coupons","data":[null,{"id":"ck_1"}]}`, `{"url":"/v1/coupons","data":[{}],"has_more":true}`,
		strings.Replace(answeredList, `"mirror"`, `"session"`, 1), strings.Replace(answeredList, `"app":"couponkit"`, `"app":"other"`, 1),
		strings.Replace(answeredList, `"duration"`, `"redeem_by":1,"duration"`, 1), strings.Replace(answeredList, `"metadata":{`, `"metadata":null,"x":{`, 1),
		strings.Replace(answeredList, `[{`, `[null,{`, 1), strings.Replace(answeredList, `}]}`, `},null]}`, 1),
	} {
		f.Add([]byte(text))
	}
	stripe, p := newAnswering(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		stripe.text, stripe.changes = text, 0
		var list struct {
			Data []struct {
				ID       string
				Metadata map[string]string
			}
		}
		_ = json.Unmarshal(text, &list) // what cannot be read has nothing of ours
		ours := func(id string) bool {
			for _, object := range list.Data {
				if object.ID == id && object.Metadata["app"] == "couponkit" {
					return true
				}
			}
			return false
		}
		deleted, err := p.Sweep(t.Context())
		if err != nil {
			requireFailure(t, err)
		}
		if deleted > 0 {
			t.Errorf("deleted %d", deleted)
		}
		for found, err := range p.Mirrors(t.Context()) {
			if err != nil {
				requireFailure(t, err)
				break
			}
			if !ours(found.Mirror.CouponID) {
				t.Errorf("mirror %+v", found)
			}
		}
		if stripe.changes > 0 {
			t.Errorf("looking has changed something")
		}
	})
}

// removable is a list of one promotion code of ours, and no answer to a request that
// changes something.
const removable = `{"object":"list","has_more":false,"url":"/v1/promotion_codes","data":[` + answeredCode + `]}`

// TestAnswersAboutSomethingElse: what was not confirmed is not taken for done.
func TestAnswersAboutSomethingElse(t *testing.T) {
	t.Parallel()
	stripe, p := newAnswering(t)
	stripe.text = []byte(removable)
	c := newCoupon(t, "a", "TEN")
	c.Mirror = coupon.Mirror{CouponID: "ck_1", PromotionCodeID: "promo_1", Revision: c.Revision}
	require.ErrorIs(t, p.RemoveMirror(t.Context(), c), processor.ErrUnavailable, "the promotion code was not switched off")
	stripe.text = []byte(strings.Replace(removable, `"active":true`, `"active":false`, 1))
	require.ErrorIs(t, p.RemoveMirror(t.Context(), c), processor.ErrUnavailable, "the coupon was not deleted")
}

// TestAnswersThatAreNoLists: what is no list of ours is not an empty one.
func TestAnswersThatAreNoLists(t *testing.T) {
	t.Parallel()
	stripe, p := newAnswering(t)
	for text, want := range map[string]error{
		`{"object":"list","url":"/v1/coupons","has_more":false,"data":[]}`: nil,
		`{}`: processor.ErrUnavailable, `{"object":"coupon","id":"ck_1"}`: processor.ErrUnavailable, `{"data":[]}`: processor.ErrUnavailable,
		`{"object":"list","url":"/v1/coupons","data":[null,{"id":"ck_1"}]}`: processor.ErrUnavailable,
	} {
		stripe.text = []byte(text)
		var last error
		for _, err := range p.Mirrors(t.Context()) {
			last = err
		}
		require.ErrorIs(t, last, want, text)
	}
}

// TestListThatBeginsAgain is an error of this package like every other.
func TestListThatBeginsAgain(t *testing.T) {
	t.Parallel()
	stripe, p := newAnswering(t)
	stripe.text = []byte(strings.Replace(removable, `"has_more":false`, `"has_more":true`, 1))
	_, err := p.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
	require.ErrorIs(t, err, processor.ErrUnavailable)
	var told *stripeprocessor.Error
	require.ErrorAs(t, err, &told)
	require.NotEmpty(t, told.Op)
}
