package fakeprocessor_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// opened makes a session of 20.00 EUR that lives an hour.
func opened(ctx context.Context, p *fakeprocessor.Processor, key string) processor.Session {
	s, err := p.CreateSession(ctx, processor.SessionRequest{
		Key: key, OrderID: key, Mode: processor.Payment, Currency: pricing.EUR(), Total: 2000,
		Lines: []processor.SessionLine{
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 1000},
		},
		ExpiresAt: noon().Add(time.Hour),
		Metadata:  map[string]string{processor.MetadataOrderID: key},
	})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func tenOff() coupon.Coupon {
	c, err := coupon.New(coupon.Draft{
		Code: "ten", Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	}, coupon.Creation{ID: "cpn_1", At: noon()})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// One customer pays a session, another lets the session expire.
func ExampleNew() {
	ctx := context.Background()
	clock := &clock{now: noon()}
	p := fakeprocessor.New(fakeprocessor.Options{Now: clock.Now})

	paid, left := opened(ctx, p, "order-1"), opened(ctx, p, "order-2")
	if err := p.Pay(paid.ID); err != nil {
		log.Fatal(err)
	}
	clock.Advance(time.Hour)
	for _, s := range []processor.Session{paid, left} {
		s, err := p.Session(ctx, s.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.ID, s.Status, s.PaymentStatus)
	}
	// Output:
	// cs_000001 complete paid
	// cs_000002 expired unpaid
}

// The answer of a call is lost after it has taken effect. The caller repeats the call
// and finds what the first one has made.
func ExampleProcessor_Inject() {
	ctx := context.Background()
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon})
	p.Inject(fakeprocessor.Fault{Op: fakeprocessor.EnsureMirror, Kind: fakeprocessor.LostAfter})

	_, err := p.EnsureMirror(ctx, tenOff())
	fmt.Println("first:", errors.Is(err, processor.ErrUnavailable))
	mirror, err := p.EnsureMirror(ctx, tenOff())
	fmt.Println("second:", mirror.PromotionCodeID, err)
	fmt.Println("coupons:", len(p.Coupons()))
	// Output:
	// first: true
	// second: promo_000001 <nil>
	// coupons: 1
}

// A mirror is left half made: the coupon object is there and the code is not.
func ExampleProcessor_Inject_step() {
	ctx := context.Background()
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon})
	p.Inject(fakeprocessor.Fault{Step: fakeprocessor.CreateCode, Kind: fakeprocessor.LostBefore})

	_, err := p.EnsureMirror(ctx, tenOff())
	fmt.Println(err)
	fmt.Println("coupons:", len(p.Coupons()), "codes:", len(p.PromotionCodes()))
	// Output:
	// EnsureMirror: create a promotion code: lost before it took effect: processor unavailable
	// coupons: 1 codes: 0
}

// A delivery is taken by the test and handed to the adapter's parser. One whose body
// was changed on the way is refused.
func ExampleProcessor_ParseEvent() {
	ctx := context.Background()
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon})
	if err := p.Pay(opened(ctx, p, "order-1").ID); err != nil {
		log.Fatal(err)
	}
	d := p.Deliveries()[0]
	event, err := p.ParseEvent(d.Payload, d.Signature)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(event.Type, event.PaymentStatus, event.Currency.Format(event.Total), event.Metadata[processor.MetadataOrderID])

	forged := strings.Replace(string(d.Payload), "2000", "1", 1)
	_, err = p.ParseEvent([]byte(forged), d.Signature)
	fmt.Println(errors.Is(err, processor.ErrSignature))
	// Output:
	// completed paid 20.00 order-1
	// true
}

// A webhook endpoint whose host fails once: the processor delivers again.
func ExampleProcessor_Handler() {
	ctx := context.Background()
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon})
	attempts := 0
	server := httptest.NewServer(p.Handler(func(_ context.Context, e processor.Event) error {
		if attempts++; attempts == 1 {
			return errors.New("the store is down")
		}
		fmt.Println("handled", e.SessionID, e.Type)
		return nil
	}))
	defer server.Close()
	if err := p.Pay(opened(ctx, p, "order-1").ID); err != nil {
		log.Fatal(err)
	}
	send := fakeprocessor.Post(http.DefaultClient, server.URL)
	fmt.Println(p.Deliver(ctx, send))
	fmt.Println(p.Deliver(ctx, send))
	// Output:
	// deliver evt_000001: the receiver answered 500 Internal Server Error
	// handled cs_000001 completed
	// <nil>
}

// Duplicates, in the wrong order: what was delivered comes again, backwards.
func ExampleProcessor_Redeliveries() {
	ctx := context.Background()
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon})
	s := opened(ctx, p, "order-1")
	if err := errors.Join(p.PayLater(s.ID), p.PaymentArrives(s.ID)); err != nil {
		log.Fatal(err)
	}
	list := append(p.Deliveries(), p.Redeliveries()...)
	for i := range list {
		d := list[len(list)-1-i]
		e, err := p.ParseEvent(d.Payload, d.Signature)
		fmt.Println(e.ID, e.Type, e.PaymentStatus, err)
	}
	// Output:
	// evt_000002 payment_succeeded paid <nil>
	// evt_000001 completed unpaid <nil>
	// evt_000002 payment_succeeded paid <nil>
	// evt_000001 completed unpaid <nil>
}

// Somebody else has the code, and frees it.
func ExampleProcessor_PlantForeignCode() {
	ctx := context.Background()
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon})
	foreign, err := p.PlantForeignCode("Ten")
	if err != nil {
		log.Fatal(err)
	}
	_, err = p.EnsureMirror(ctx, tenOff())
	fmt.Println(errors.Is(err, processor.ErrCodeTaken))
	if err := p.TamperDeactivate(foreign); err != nil {
		log.Fatal(err)
	}
	_, err = p.EnsureMirror(ctx, tenOff())
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// A test forges a delivery, and one that was recorded long ago.
func ExampleSign() {
	p := fakeprocessor.New(fakeprocessor.Options{Now: noon, Secret: "whsec_shop"})
	payload := []byte(`{"id":"evt_1","type":"coupon.deleted"}`)
	for _, signature := range []string{
		fakeprocessor.Sign("whsec_shop", noon(), payload),
		fakeprocessor.Sign("whsec_guess", noon(), payload),
		fakeprocessor.Sign("whsec_shop", noon().Add(-time.Hour), payload),
	} {
		_, err := p.ParseEvent(payload, signature)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// event: invalid webhook signature: no signature matches
	// event: invalid webhook signature: signed 1h0m0s ago, of which 5m0s are tolerated
}
