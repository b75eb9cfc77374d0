package fakeprocessor_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

const secret = "whsec_test"

// body is a payload of a paid session.
const body = `{"id":"evt_1","type":"session.completed","createdAt":"2026-11-20T12:00:00Z",` +
	`"session":{"id":"cs_1","status":"complete","paymentStatus":"paid","currency":"EUR","total":2490,"metadata":{"orderId":"o"}}}`

func TestSignatures(t *testing.T) {
	t.Parallel()
	sign := func(ahead time.Duration) string { return fakeprocessor.Sign(secret, noon().Add(ahead), []byte(body)) }
	now := sign(0)
	second, mac, _ := strings.Cut(now, ",")
	old := fakeprocessor.Sign("whsec_old", noon(), []byte(body))
	_, oldMAC, _ := strings.Cut(old, ",")
	many := strings.Repeat(","+oldMAC, 8)
	tests := map[string]struct {
		signature string
		genuine   bool
	}{
		"now":                          {now, true},
		"as old as may be":             {sign(-time.Minute), true},
		"too old":                      {sign(-time.Minute - time.Second), false},
		"as far ahead as may be":       {sign(time.Minute), true},
		"too far ahead":                {sign(time.Minute + time.Second), false},
		"a day ahead":                  {sign(24 * time.Hour), false},
		"another secret":               {old, false},
		"two secrets, the second":      {second + "," + oldMAC + "," + mac, true},
		"two secrets, the first":       {second + "," + mac + "," + oldMAC, true},
		"with spaces":                  {second + " , " + mac, true},
		"another scheme beside":        {second + ",v0=00," + mac, true},
		"only another scheme":          {second + "," + strings.Replace(mac, "v1", "v0", 1), false},
		"another second":               {"t=" + strconv.FormatInt(noon().Unix()+1, 10) + "," + mac, false},
		"no second":                    {mac, false},
		"no signature":                 {second, false},
		"no number":                    {"t=noon," + mac, false},
		"a second beyond all clocks":   {"t=9223372036854775807," + mac, false},
		"a second before all clocks":   {"t=-9223372036854775808," + mac, false},
		"cut off":                      {now[:len(now)-2], false},
		"upper-case digits":            {second + "," + "v1=" + strings.ToUpper(mac[3:]), true},
		"no hexadecimal":               {second + ",v1=xyz", false},
		"behind more than are tried":   {second + many + "," + mac, false},
		"empty":                        {"", false},
		"nothing but separators":       {",,,=,=", false},
		"the last of two seconds wins": {"t=1," + now, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{Secret: secret, Tolerance: time.Minute})
			e, err := p.ParseEvent([]byte(body), test.signature)
			if test.genuine {
				require.NoError(t, err)
				require.Equal(t, "evt_1", e.ID)
				return
			}
			wantError(t, err, processor.ErrSignature)
			require.Zero(t, e)
		})
	}
}

func TestEveryByteIsSigned(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	signature := fakeprocessor.Sign(fakeprocessor.DefaultSecret, c.Now(), []byte(body))
	_, err := p.ParseEvent([]byte(body), signature)
	require.NoError(t, err)
	for i := range len(body) {
		changed := []byte(body)
		changed[i] ^= 1
		if _, err := p.ParseEvent(changed, signature); !errors.Is(err, processor.ErrSignature) {
			t.Fatalf("byte %d was changed unnoticed: %v", i, err)
		}
	}
}

func TestDefaultTolerance(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	signature := fakeprocessor.Sign(fakeprocessor.DefaultSecret, c.Now(), []byte(body))
	c.Advance(fakeprocessor.DefaultTolerance)
	_, err := p.ParseEvent([]byte(body), signature)
	require.NoError(t, err)
	c.Advance(time.Second)
	_, err = p.ParseEvent([]byte(body), signature)
	wantError(t, err, processor.ErrSignature)
}

// TestPayloads: what is signed is mapped in full, or refused.
func TestPayloads(t *testing.T) {
	t.Parallel()
	with := func(old, changed string) string { return strings.Replace(body, old, changed, 1) }
	tests := map[string]struct {
		body  string
		want  processor.EventType
		fails bool
	}{
		"completed":            {body, processor.Completed, false},
		"succeeded":            {with("session.completed", "session.payment_succeeded"), processor.PaymentSucceeded, false},
		"failed":               {with("session.completed", "session.payment_failed"), processor.PaymentFailed, false},
		"expired":              {with("session.completed", "session.expired"), processor.Expired, false},
		"another type":         {with("session.completed", "session.reopened"), processor.Ignored, false},
		"another letter case":  {with("session.completed", "Session.Completed"), processor.Ignored, false},
		"no type":              {with(`"type":"session.completed",`, ""), processor.Ignored, false},
		"an ignored one":       {`{"id":"evt_2","type":"coupon.deleted"}`, processor.Ignored, false},
		"more fields":          {with(`"type"`, `"more":{"x":[1]},"type"`), processor.Completed, false},
		"no session":           {with(`"id":"cs_1"`, `"id":""`), 0, true},
		"no ID":                {with(`"id":"evt_1"`, `"id":""`), 0, true},
		"no payment status":    {with(`"paymentStatus":"paid"`, `"paymentStatus":""`), 0, true},
		"odd payment status":   {with(`"paid"`, `"refunded"`), 0, true},
		"odd currency":         {with(`"EUR"`, `"XXQ"`), 0, true},
		"a total in fractions": {with(`2490`, `24.90`), 0, true},
		"a total as text":      {with(`2490`, `"2490"`), 0, true},
		"a total too large":    {with(`2490`, `9223372036854775808`), 0, true},
		"no object":            {`[]`, 0, true},
		"no JSON":              {`{`, 0, true},
		"two documents":        {body + body, 0, true},
		"empty":                {``, 0, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c := newFake(t, fakeprocessor.Options{})
			e, err := p.ParseEvent([]byte(test.body), fakeprocessor.Sign(fakeprocessor.DefaultSecret, c.Now(), []byte(test.body)))
			if test.fails {
				wantError(t, err, processor.ErrRejected)
				require.NotErrorIs(t, err, processor.ErrSignature)
				require.Zero(t, e)
				return
			}
			require.NoError(t, err)
			if e.Type != test.want {
				t.Errorf("it is %q, want %q", e.Type, test.want)
			}
		})
	}
}

// FuzzParseEvent: whatever is delivered, an event is complete or there is an error that
// matches one sentinel, and nothing unsigned gets through.
func FuzzParseEvent(f *testing.F) {
	signed := func(text string) string { return fakeprocessor.Sign(secret, noon(), []byte(text)) }
	for _, text := range []string{
		body, `{}`, `[]`, ``, `null`, `{"id":"evt_2","type":"coupon.deleted"}`,
		strings.Replace(body, "completed", "expired", 1), strings.Replace(body, "2490", "-1", 1),
		strings.Replace(body, "2026", "99999", 1), `{"session":{"metadata":{"a":null}}}`,
	} {
		f.Add([]byte(text), signed(text))
	}
	f.Add([]byte(body), "t=1,v1=00")
	f.Add([]byte(body), "t=9223372036854775807,v1=,v1=,v1")
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon, Secret: secret})
	f.Fuzz(func(t *testing.T, payload []byte, signature string) {
		for _, given := range []string{signature, fakeprocessor.Sign(secret, noon(), payload)} {
			e, err := p.ParseEvent(payload, given)
			if err != nil {
				if errors.Is(err, processor.ErrSignature) == errors.Is(err, processor.ErrRejected) {
					t.Fatalf("the error matches both or neither sentinel: %v", err)
				}
				continue
			}
			if e.Type != processor.Ignored && (e.ID == "" || e.SessionID == "" || e.PaymentStatus == 0) {
				t.Fatalf("an event is incomplete: %+v", e)
			}
			if e.Type == processor.Ignored && e.PaymentStatus != 0 || e.CreatedAt.Location() != time.UTC {
				t.Fatalf("an event is odd: %+v", e)
			}
		}
		if _, err := p.ParseEvent(payload, fakeprocessor.Sign("whsec_forged", noon(), payload)); !errors.Is(err, processor.ErrSignature) {
			t.Fatalf("a forgery got through: %v", err)
		}
	})
}

func TestIgnoredEventsNeedNoCurrency(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	p.Announce("coupon.deleted")
	d := p.Deliveries()[0]
	e, err := p.ParseEvent(d.Payload, d.Signature)
	require.NoError(t, err)
	require.Equal(t, processor.Event{ID: "evt_000001", Currency: pricing.Currency{}, CreatedAt: c.Now()}, e)
}
