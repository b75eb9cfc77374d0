package stripeprocessor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/validation"
)

// exampleAccount is a Stripe account in memory and a processor on it.
func exampleAccount() (*stripefake.Account, *stripeprocessor.Processor, func()) {
	account := stripefake.New(stripefake.Options{WebhookSecret: "whsec_example"})
	server := httptest.NewServer(account)
	payments, err := stripeprocessor.New("sk_test_example", stripeprocessor.Options{
		BaseURL: server.URL, WebhookSecrets: []string{"whsec_example"},
	})
	if err != nil {
		panic(err)
	}
	return account, payments, server.Close
}

func exampleCoupon(code, percent string) coupon.Coupon {
	c, err := coupon.New(coupon.Draft{
		Code: code, Name: "Summer sale", DiscountType: pricing.Percentage, Percent: percent,
	}, coupon.Creation{ID: "cpn_summer", At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleNew() {
	payments, err := stripeprocessor.New("rk_test_example", stripeprocessor.Options{
		WebhookSecrets: []string{"whsec_new", "whsec_old"}, // while the secret is rolled
		App:            "shop-staging",                     // marks our objects at Stripe
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("least charge in EUR:", pricing.EUR().Format(payments.Abilities().MinimumCharge[pricing.EUR()]))
	// Output: least charge in EUR: 0.50
}

func ExampleProcessor_EnsureMirror() {
	account, payments, stop := exampleAccount()
	defer stop()
	c := exampleCoupon("SUMMER", "12.5")
	for range 2 { // the second call finds what the first has made
		mirror, err := payments.EnsureMirror(context.Background(), c)
		if err != nil {
			fmt.Println(err)
			return
		}
		c.Mirror = mirror
	}
	status, err := payments.VerifyMirror(context.Background(), c)
	fmt.Println(c.Mirror.CouponID, status, err)
	for _, object := range account.Coupons() {
		fmt.Println(object.Name, object.PercentOff, object.Metadata["couponId"])
	}
	// Output:
	// ck_cpn_summer_r1 valid <nil>
	// Summer sale 12.5 cpn_summer
}

func ExampleProcessor_CheckCoupon() {
	_, payments, stop := exampleAccount()
	defer stop()
	err := payments.CheckCoupon(exampleCoupon("SÖMMER", "33.333"))
	if faults, ok := errors.AsType[*validation.Error](err); ok {
		for _, f := range faults.Fields {
			fmt.Println(f.Path, f.Code)
		}
	}
	// Output:
	// code malformed
	// discountValue too_many_decimals
}

func ExampleProcessor_CreateSession() {
	account, payments, stop := exampleAccount()
	defer stop()
	session, err := payments.CreateSession(context.Background(), processor.SessionRequest{
		Key: "ord_1", OrderID: "ord_1", Mode: processor.Payment, Currency: pricing.EUR(), Total: 20_00,
		Lines: []processor.SessionLine{ // 3 x 10.00 less 10.00
			{LineID: "1", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 6_67},
			{LineID: "1", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 6_66},
		},
		SuccessURL: "https://shop.example/thanks", ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(session.Status, session.Currency.Format(session.Total))
	fmt.Println(account.Pay(session.ID))
	session, err = payments.Session(context.Background(), session.ID)
	fmt.Println(session.Status, session.PaymentStatus, err)
	// Output:
	// open 20.00
	// <nil>
	// complete paid <nil>
}

func ExampleProcessor_Handler() {
	account, payments, stop := exampleAccount()
	defer stop()
	webhook := httptest.NewServer(payments.Handler(func(_ context.Context, e processor.Event) error {
		fmt.Println(e.Type, e.PaymentStatus, e.Metadata["orderId"])
		return nil // only once the effect is stored
	}))
	defer webhook.Close()

	session, err := payments.CreateSession(context.Background(), processor.SessionRequest{
		Key: "ord_1", OrderID: "ord_1", Mode: processor.Payment, Currency: pricing.EUR(), Total: 5_00,
		Lines:      []processor.SessionLine{{LineID: "1", Kind: pricing.Device, Name: "Case", Quantity: 1, UnitAmount: 5_00}},
		SuccessURL: "https://shop.example/thanks", ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = account.Pay(session.ID)
	refused, err := account.Deliver(context.Background(), http.DefaultClient, webhook.URL)
	fmt.Println("refused:", refused, err)
	// Output:
	// completed paid ord_1
	// refused: 0 <nil>
}

func ExampleError() {
	_, payments, stop := exampleAccount()
	defer stop()
	_, err := payments.Session(context.Background(), "cs_unknown")
	var told *stripeprocessor.Error
	fmt.Println(errors.Is(err, processor.ErrNotFound), errors.As(err, &told))
	fmt.Println(told.Op, told.Status, told.Code)
	// Output:
	// true true
	// read session 404 resource_missing
}
