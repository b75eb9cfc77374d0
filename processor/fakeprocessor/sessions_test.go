package fakeprocessor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/validation"
)

// TestRefusedRequests: a refusal is ErrRejected, names every offending field, and leaves
// nothing behind.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{Abilities: processor.Abilities{MaxLines: 1}})
	r := request("key-1")
	r.Mode = 0
	_, err := p.CreateSession(t.Context(), r)
	wantError(t, err, processor.ErrRejected)
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	if diff := cmp.Diff(r.Validate(processor.Abilities{MaxLines: 1}, noon()).Error(), faults.Error()); diff != "" {
		t.Errorf("offending fields (-want +got):\n%s", diff)
	}
	if sessions := p.Sessions(); len(sessions) > 0 {
		t.Errorf("a session was made all the same: %+v", sessions)
	}
}

// TestKeys: a key belongs to its parameters for good.
func TestKeys(t *testing.T) {
	t.Parallel()
	snapshot := newCoupon(t, "a", "TEN").Snapshot()
	for name, change := range map[string]func(*processor.SessionRequest){
		"order":    func(r *processor.SessionRequest) { r.OrderID = "order-2" },
		"metadata": func(r *processor.SessionRequest) { r.Metadata["more"] = "x" },
		"name":     func(r *processor.SessionRequest) { r.Lines[0].Name = "Telephone" },
		"end":      func(r *processor.SessionRequest) { r.ExpiresAt = r.ExpiresAt.Add(time.Second) },
		"coupon":   func(r *processor.SessionRequest) { r.Coupons = []coupon.Snapshot{snapshot} },
		"coupons":  func(r *processor.SessionRequest) { r.Coupons = []coupon.Snapshot{snapshot, snapshot} },
		"e-mail":   func(r *processor.SessionRequest) { r.CustomerEmail = "ann@example.org" },
		"page":     func(r *processor.SessionRequest) { r.SuccessURL = "https://shop.example/" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			first := created(t, p, request("key-1"))
			other := request("key-1")
			change(&other)
			_, err := p.CreateSession(t.Context(), other)
			wantError(t, err, processor.ErrRejected)
			other.Key = "key-2"
			if s := created(t, p, other); s.ID == first.ID {
				t.Error("another key returned the first session")
			}
		})
	}
}

func TestKeyOutlivesItsSession(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	s := created(t, p, request("key-1"))
	c.Advance(2 * time.Hour)
	again := request("key-1")
	again.ExpiresAt = again.ExpiresAt.In(time.FixedZone("elsewhere", 3600)) // the same instant
	got := created(t, p, again)
	want := s
	want.Status = processor.SessionExpired
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the repeated call (-want +got):\n%s", diff)
	}
}

// TestCallersKeepTheirMemory: what callers change afterwards does not reach the fake.
func TestCallersKeepTheirMemory(t *testing.T) {
	t.Parallel()
	declared := processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}}
	p, _ := newFake(t, fakeprocessor.Options{Abilities: declared})
	declared.MinimumCharge[pricing.EUR()] = 1_000_000
	p.Abilities().MinimumCharge[pricing.EUR()] = 1_000_000
	if got := p.Abilities().MinimumCharge[pricing.EUR()]; got != 50 {
		t.Errorf("the least charge became %d", got)
	}
	snapshot := newCoupon(t, "a", "TEN").Snapshot()
	r := request("key-1")
	r.Coupons = []coupon.Snapshot{snapshot}
	s := created(t, p, r)
	r.Lines[0].UnitAmount, r.Coupons[0].Name, r.Metadata["x"] = 7, "changed", "changed"
	kept, err := p.Request(s.ID)
	require.NoError(t, err)
	kept.Lines[0].UnitAmount, kept.Coupons[0].Name = 8, "changed"
	kept, err = p.Request(s.ID)
	require.NoError(t, err)
	want := request("key-1")
	want.Coupons = []coupon.Snapshot{newCoupon(t, "a", "TEN").Snapshot()}
	if diff := cmp.Diff(want, kept, cmp.Comparer(func(a, b coupon.Code) bool { return a == b })); diff != "" {
		t.Errorf("the request (-asked +kept):\n%s", diff)
	}
	_, err = p.Request("cs_none")
	wantError(t, err, processor.ErrNotFound)
}

func TestSessionsEndInOrder(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{PageURL: "http://127.0.0.1/pay/"})
	ends := []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour, time.Hour}
	for i, end := range ends {
		r := request("key-" + string(rune('a'+i)))
		r.ExpiresAt = noon().Add(end)
		if s := created(t, p, r); s.URL != "http://127.0.0.1/pay/"+s.ID {
			t.Errorf("the page is %q", s.URL)
		}
	}
	require.NoError(t, p.Pay("cs_000003"))
	c.Advance(time.Hour - 1)
	if got := len(p.Deliveries()); got != 1 { // the payment
		t.Errorf("%d events before the first session ends, want 1", got)
	}
	c.Advance(4 * time.Hour)
	var got []string
	for _, d := range p.Deliveries() {
		e, err := p.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		got = append(got, e.SessionID+" "+e.Type.String()+" "+e.CreatedAt.Format(time.TimeOnly))
	}
	want := []string{"cs_000002 expired 13:00:00", "cs_000004 expired 13:00:00", "cs_000001 expired 15:00:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestCustomer tries every act in every state.
func TestCustomer(t *testing.T) {
	t.Parallel()
	acts := map[string]func(*fakeprocessor.Processor, string) error{
		"pay":     (*fakeprocessor.Processor).Pay,
		"decline": (*fakeprocessor.Processor).Decline,
		"later":   (*fakeprocessor.Processor).PayLater,
		"arrives": (*fakeprocessor.Processor).PaymentArrives,
		"fails":   (*fakeprocessor.Processor).PaymentFails,
		"expire": func(p *fakeprocessor.Processor, id string) error {
			_, err := p.ExpireSession(t.Context(), id)
			return err
		},
	}
	for before, allowed := range map[string][]string{
		"":              {"pay", "decline", "later", "expire"},
		"decline":       {"pay", "decline", "later", "expire"},
		"pay":           {"expire"},
		"later":         {"arrives", "fails", "expire"},
		"later arrives": {"expire"},
		"later fails":   {"expire"},
		"expire":        {"expire"},
	} {
		for name, act := range acts {
			p, _ := newFake(t, fakeprocessor.Options{})
			s := created(t, p, request("key-1"))
			for earlier := range strings.FieldsSeq(before) {
				require.NoError(t, acts[earlier](p, s.ID))
			}
			err := act(p, s.ID)
			if slices.Contains(allowed, name) && err != nil {
				t.Errorf("%q after %q: %v", name, before, err)
			}
			if !slices.Contains(allowed, name) && !errors.Is(err, processor.ErrRejected) {
				t.Errorf("%q after %q: %v, want ErrRejected", name, before, err)
			}
			if err := act(p, "cs_none"); !errors.Is(err, processor.ErrNotFound) {
				t.Errorf("%q of no session: %v, want ErrNotFound", name, err)
			}
		}
	}
	p, _ := newFake(t, fakeprocessor.Options{})
	free := request("free")
	free.Lines, free.Total = free.Lines[1:], 0
	free.Lines[0].UnitAmount = 0
	wantError(t, p.PayLater(created(t, p, free).ID), processor.ErrRejected)
}

// TestRenewal: only of what was paid and recurs, each interval by itself.
func TestRenewal(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	once := created(t, p, request("once"))
	require.NoError(t, p.Pay(once.ID))
	r := request("recurring")
	r.Mode, r.FirstPeriodDiscount = processor.Subscription, 100
	r.Lines = []processor.SessionLine{
		{LineID: "A", Kind: pricing.Plan, ItemID: "gold", Name: "Gold", Quantity: 2, UnitAmount: 1000, Recurs: pricing.Monthly},
		{LineID: "B", Kind: pricing.Plan, ItemID: "site", Name: "Site", Quantity: 1, UnitAmount: 5000, Recurs: pricing.Yearly},
		{LineID: "C", Kind: pricing.Plan, ItemID: "mail", Name: "Mail", Quantity: 1, UnitAmount: 300, Recurs: pricing.Monthly},
		{LineID: "D", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 9000},
	}
	r.Total = 2000 + 5000 + 300 + 9000 - 100
	s := created(t, p, r)
	for id, want := range map[string]error{"cs_none": processor.ErrNotFound, once.ID: processor.ErrRejected, s.ID: processor.ErrRejected} {
		amount, err := p.Renewal(id, pricing.Monthly)
		wantError(t, err, want)
		require.Zero(t, amount)
	}
	require.NoError(t, p.PayLater(s.ID))
	_, err := p.Renewal(s.ID, pricing.Monthly)
	wantError(t, err, processor.ErrRejected)
	require.NoError(t, p.PaymentArrives(s.ID))
	for every, want := range []int64{pricing.Once: 0, pricing.Daily: 0, pricing.Weekly: 0, pricing.Monthly: 2300, pricing.Yearly: 5000} {
		amount, err := p.Renewal(s.ID, pricing.Interval(every))
		require.NoError(t, err)
		require.Equal(t, want, amount, "every %s", pricing.Interval(every))
	}
}

// TestLifeOfASession drives a session by random acts and compares it with what its
// events tell: the last word of the events is where the session is.
func TestLifeOfASession(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := &clock{now: noon()}
		p := fakeprocessor.New(fakeprocessor.Options{Now: c.Now})
		r := request("key-1")
		s, err := p.CreateSession(t.Context(), r)
		if err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"pay":     func(*rapid.T) { _ = p.Pay(s.ID) },
			"decline": func(*rapid.T) { _ = p.Decline(s.ID) },
			"later":   func(*rapid.T) { _ = p.PayLater(s.ID) },
			"arrives": func(*rapid.T) { _ = p.PaymentArrives(s.ID) },
			"fails":   func(*rapid.T) { _ = p.PaymentFails(s.ID) },
			"expire":  func(*rapid.T) { _, _ = p.ExpireSession(t.Context(), s.ID) },
			"wait": func(rt *rapid.T) {
				c.Advance(time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(rt, "wait")))
			},
			"": func(rt *rapid.T) {
				now, err := p.Session(t.Context(), s.ID)
				if err != nil {
					rt.Fatal(err)
				}
				p.Deliveries()
				want := told(rt, p, r)
				got := processor.Session{Status: now.Status, PaymentStatus: now.PaymentStatus, PaymentFailed: now.PaymentFailed}
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("the session is not where its events are (-events +session):\n%s", diff)
				}
				if now.Status == processor.SessionOpen && !c.Now().Before(now.ExpiresAt) {
					rt.Fatal("the session is open after its end")
				}
			},
		})
	})
}

// told replays the events of a session.
func told(rt *rapid.T, p *fakeprocessor.Processor, r processor.SessionRequest) processor.Session {
	s := processor.Session{Status: processor.SessionOpen, PaymentStatus: processor.Unpaid}
	for _, d := range p.Redeliveries() {
		e, err := p.ParseEvent(d.Payload, d.Signature)
		if err != nil {
			rt.Fatal(err)
		}
		if e.Total != r.Total || e.Currency != r.Currency || !cmp.Equal(e.Metadata, r.Metadata) {
			rt.Fatalf("the event %+v is not of this session", e)
		}
		s.PaymentStatus = e.PaymentStatus
		switch e.Type {
		case processor.Completed, processor.PaymentSucceeded:
			s.Status = processor.SessionComplete
		case processor.PaymentFailed:
			s.PaymentFailed = true
		case processor.Expired:
			s.Status = processor.SessionExpired
		case processor.Ignored, processor.RefundChanged, processor.DisputeChanged:
		}
	}
	return s
}

// TestIDsOfTwoRunsDiffer: where a store outlives the process, IDs must not come
// again.
func TestIDsOfTwoRunsDiffer(t *testing.T) {
	t.Parallel()
	ids := func(prefix string) []string {
		p, _ := newFake(t, fakeprocessor.Options{IDPrefix: prefix})
		mirror, err := p.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
		require.NoError(t, err)
		s, err := p.CreateSession(t.Context(), request("key-1"))
		require.NoError(t, err)
		require.NoError(t, p.Pay(s.ID))
		require.Equal(t, s.ID, p.Sessions()[0].ID)
		deliveries := p.Deliveries()
		require.Len(t, deliveries, 1)
		return []string{s.ID, mirror.PromotionCodeID, deliveries[0].EventID}
	}
	for prefix, want := range map[string][]string{
		"":      {"cs_000001", "promo_000001", "evt_000001"},
		"run7_": {"cs_run7_000001", "promo_run7_000001", "evt_run7_000001"},
	} {
		if diff := cmp.Diff(want, ids(prefix)); diff != "" {
			t.Errorf("prefix %q (-want +got):\n%s", prefix, diff)
		}
	}
}

// TestOrderedAtIsNoParameter: with it or without, a request is the same.
func TestOrderedAtIsNoParameter(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	first := created(t, p, request("key-1"))
	r := request("key-1")
	r.OrderedAt = noon()
	require.Equal(t, first.ID, created(t, p, r).ID)
}

// TestNeededSuccessURL is held where it is declared, and only there.
func TestNeededSuccessURL(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{Abilities: processor.Abilities{NeedsSuccessURL: true}})
	r := request("key-1")
	_, err := p.CreateSession(t.Context(), r)
	wantError(t, err, processor.ErrRejected)
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	require.Equal(t, "successUrl", faults.Fields[0].Path)
	r.SuccessURL = "https://shop.example/thanks"
	created(t, p, r)
	free, _ := newFake(t, fakeprocessor.Options{})
	created(t, free, request("key-1"))
}
