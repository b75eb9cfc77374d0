package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// shop is what the examples stand in: a service with a coupon of 10 EUR off, a
// customer with 100 points, and a clock that they move.
type shop struct {
	*couponkit.Service
	payments *fakeprocessor.Processor
	coupon   coupon.Coupon
	customer eligibility.Customer
	ledger   *ledger
	now      time.Time
}

func openShop(change func(*coupon.Draft)) *shop {
	s := &shop{
		customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"}, ledger: &ledger{},
		now: time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC),
	}
	clock := func() time.Time { return s.now }
	s.payments = fakeprocessor.New(fakeprocessor.Options{Now: clock})
	s.ledger.Credit("ann", 100)
	var err error
	s.Service, err = couponkit.New(memstore.New(), couponkit.WithProcessor(s.payments),
		couponkit.WithClock(clock),
		couponkit.WithPoints(s.ledger),
		couponkit.WithUsers(directory{"ann": {ID: "ann", Email: "ann@example.org"}}),
	)
	if err != nil {
		panic(err)
	}
	draft := coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	}
	if change != nil {
		change(&draft)
	}
	if s.coupon, err = s.Create(context.Background(), draft); err != nil {
		panic(err)
	}
	return s
}

func exampleCart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 24_99},
		{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
}

// All faults of a draft are reported at once, by the JSON names of the fields.
func ExampleService_Create() {
	shop := openShop(nil)
	_, err := shop.Create(context.Background(), coupon.Draft{
		Code: "two words", Name: "Broken", DiscountType: pricing.Percentage, Percent: "101",
	})
	if invalid, ok := errors.AsType[*validation.Error](err); ok {
		for _, f := range invalid.Fields {
			fmt.Println(f.Path, f.Code)
		}
	}
	_, err = shop.Create(context.Background(), coupon.Draft{
		Code: "ten", Name: "Again", DiscountType: pricing.Percentage, Percent: "5",
	})
	fmt.Println(errors.Is(err, coupon.ErrCodeTaken))
	// Output:
	// code malformed
	// discountValue too_large
	// true
}

// A patch changes what it gives, and clears what it clears.
func ExampleService_Update() {
	shop := openShop(nil)
	changed, err := shop.Update(context.Background(), shop.coupon.ID, coupon.Patch{
		Name:           coupon.Set("Ten off for all"),
		MaxUsesPerUser: coupon.Clear[int](),
		Revision:       coupon.Set[int64](shop.coupon.Revision),
	})
	fmt.Println(changed.Name, changed.Limits.MaxUsesPerUser, changed.Revision, err)
	_, err = shop.Update(context.Background(), shop.coupon.ID, coupon.Patch{
		Name: coupon.Set("Too late"), Revision: coupon.Set[int64](shop.coupon.Revision),
	})
	fmt.Println(errors.Is(err, store.ErrStaleRevision))
	// Output:
	// Ten off for all 0 2 <nil>
	// true
}

func ExampleService_SetActive() {
	shop := openShop(nil)
	off, err := shop.SetActive(context.Background(), shop.coupon.ID, false)
	fmt.Println(off.State, err)
	_, err = shop.Validate(context.Background(), couponkit.ValidateRequest{Code: "TEN", Customer: shop.customer})
	fmt.Println(err)
	// Output:
	// inactive <nil>
	// coupon refused: coupon_inactive
}

func ExampleService_Delete() {
	shop := openShop(nil)
	fmt.Println(shop.Delete(context.Background(), shop.coupon.ID))
	_, err := shop.Get(context.Background(), shop.coupon.ID)
	fmt.Println(errors.Is(err, coupon.ErrNotFound))
	// Output:
	// <nil>
	// true
}

func ExampleService_List() {
	shop := openShop(nil)
	page, err := shop.List(context.Background(), store.CouponList{Search: "ten", PageSize: 10})
	fmt.Println(page.Total, page.Items[0].Name, err)
	// Output: 1 Ten off <nil>
}

// Validate answers before there is a cart; the code may be typed in any form.
func ExampleService_Validate() {
	shop := openShop(nil)
	v, err := shop.Validate(context.Background(), couponkit.ValidateRequest{Code: " ten ", Customer: shop.customer})
	fmt.Println(v.Code, v.DiscountType, v.DiscountValue, v.CurrencySymbol, err)

	_, err = shop.Validate(context.Background(), couponkit.ValidateRequest{Code: "ELEVEN", Customer: shop.customer})
	if refused, ok := errors.AsType[*coupon.Rejection](err); ok {
		fmt.Println(refused.Headline().Code, "-", refused.Headline().Message())
	}
	// Output:
	// TEN FIXED_AMOUNT 10.00 € <nil>
	// coupon_not_found - This coupon code does not exist.
}

// A refused quote has the list prices, and every reason.
func ExampleService_Quote() {
	shop := openShop(func(d *coupon.Draft) { d.MinPurchase = coupon.Amounts{"": "60"} })
	quote, err := shop.Quote(context.Background(), couponkit.QuoteRequest{
		Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer,
	})
	fmt.Println(quote.Currency.Format(quote.Total))
	if refused, ok := errors.AsType[*coupon.Rejection](err); ok {
		fmt.Println(refused.Headline().Code, "missing", refused.Headline().Params.Missing)
	}
	// Output:
	// 54.88
	// minimum_purchase_not_met missing 10.02 EUR
}

// A checkout is repeated with its key, and compared with what the customer saw.
func ExampleService_Checkout() {
	shop := openShop(nil)
	quote, err := shop.Quote(context.Background(), couponkit.QuoteRequest{
		Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer,
	})
	if err != nil {
		log.Fatal(err)
	}
	shown := quote.Totals()
	request := couponkit.CheckoutRequest{
		Key: "attempt-1", Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer, Expected: &shown,
	}
	first, err := shop.Checkout(context.Background(), request)
	fmt.Println(first.Order.State, first.Order.Quote.Total, err)
	second, err := shop.Checkout(context.Background(), request)
	fmt.Println(second.Session == first.Session, second.Replayed, err)

	request.Key, request.Expected = "cart-2", &couponkit.Totals{}
	_, err = shop.Checkout(context.Background(), request)
	fmt.Println(errors.Is(err, coupon.ErrCartTotalsInvalid))
	// Output:
	// open 4488 <nil>
	// true true <nil>
	// true
}

// A host with orders of its own reserves in its transaction, and opens the session after the commit.
func ExampleService_OpenSession() {
	ctx, shop := context.Background(), openShop(nil)
	request, err := shop.Prepare(ctx, couponkit.ReserveRequest{OrderID: "1001", QuoteRequest: couponkit.QuoteRequest{
		Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer,
	}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := shop.Reserve(ctx, request); err != nil { // on PostgreSQL: shop.In(store.WithTx(tx)).Reserve
		log.Fatal(err)
	}
	session, err := shop.OpenSession(ctx, "1001", couponkit.SessionOptions{SuccessURL: "https://shop.example/thanks"})
	fmt.Println(session.URL != "", err)
	// Output: true <nil>
}

// In product mode the amount is already discounted: the use is recorded, and
// nothing is taken off again.
func ExampleService_PaymentLink() {
	shop := openShop(nil)
	link, err := shop.PaymentLink(context.Background(), couponkit.PaymentLinkRequest{
		Mode: couponkit.ProductLink, Amount: pricing.NewMoney(39_98, pricing.EUR()),
		CheckoutRequest: couponkit.CheckoutRequest{Codes: []string{"TEN"}, Customer: shop.customer},
	})
	fmt.Println(link.Order.Quote.Total, link.Order.Coupons[0].Code, err)
	// Output: 3998 TEN <nil>
}

// An administrator looks a coupon up by the code that a customer tells.
func ExampleService_Find() {
	shop := openShop(nil)
	found, err := shop.Find(context.Background(), " ten ")
	fmt.Println(found.ID == shop.coupon.ID, found.Name, err)
	_, err = shop.Find(context.Background(), "ELEVEN")
	fmt.Println(errors.Is(err, coupon.ErrNotFound))
	// Output:
	// true Ten off <nil>
	// true
}

// A refusal of a taken code names the coupon that has it.
func ExampleService_Create_codeTaken() {
	shop := openShop(nil)
	_, err := shop.Create(context.Background(), coupon.Draft{
		Code: "ten", Name: "Again", DiscountType: pricing.Percentage, Percent: "5",
	})
	if refused, ok := errors.AsType[*coupon.Rejection](err); ok {
		fmt.Println(refused.Headline().Code, refused.CouponID == shop.coupon.ID)
	}
	// Output: code_taken true
}

// A customer asks for a preview before sign-in.
func ExampleService_Validate_anonymous() {
	shop := openShop(nil)
	v, err := shop.Validate(context.Background(), couponkit.ValidateRequest{Code: "TEN", AllowAnonymous: true})
	fmt.Println(v.Code, v.DiscountValue, v.Currency, err)
	// Output: TEN 10.00 EUR <nil>
}

// While the processor is down, quotes go on with its last answer about the coupon's mirror.
func ExampleWithMirrorTTL() {
	ctx := context.Background()
	payments := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(payments), couponkit.WithMirrorTTL(5*time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := service.Create(ctx, coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.Percentage, Percent: "10",
	}); err != nil {
		fmt.Println(err)
		return
	}
	request := couponkit.QuoteRequest{Cart: exampleCart(), Codes: []string{"TEN"}, AllowAnonymous: true}
	_, err = service.Quote(ctx, request)
	fmt.Println(err)
	payments.Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostBefore, Times: -1})
	_, err = service.Quote(ctx, request)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

// The webhook needs no code beside what is done with an order that is paid.
func ExampleService_Webhook() {
	shop := openShop(nil)
	checkout, err := shop.Checkout(context.Background(), couponkit.CheckoutRequest{
		Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := shop.payments.Pay(checkout.Session.ID); err != nil {
		fmt.Println(err)
		return
	}
	webhook := shop.payments.Handler(shop.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		if o.Order.State == redemption.OrderPaid && o.Flag == couponkit.FlagNone {
			fmt.Println("ship", o.Order.Quote.Lines[0].ItemID)
		}
		return nil
	}))
	fmt.Println(shop.payments.Deliver(context.Background(), fakeprocessor.Serve(webhook)))
	// Output:
	// ship phone
	// <nil>
}

// The webhook's events are handed to HandleEvent; the same one twice counts once. Whether to
// ship is decided by the order and the flag, and not by Changed.
func ExampleService_HandleEvent() {
	shop := openShop(nil)
	checkout, err := shop.Checkout(context.Background(), couponkit.CheckoutRequest{
		Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := shop.payments.Pay(checkout.Session.ID); err != nil {
		fmt.Println(err)
		return
	}
	delivery := shop.payments.Deliveries()[0]
	for range 2 {
		event, err := shop.payments.ParseEvent(delivery.Payload, delivery.Signature)
		if err != nil {
			fmt.Println(err)
			return
		}
		outcome, err := shop.HandleEvent(context.Background(), event)
		ship := outcome.Order.State == redemption.OrderPaid && outcome.Flag == couponkit.FlagNone
		fmt.Println(ship, outcome.Uses[0].State, outcome.Changed, err)
	}
	// Output:
	// true completed true <nil>
	// true completed false <nil>
}

func ExampleService_ExchangePoints() {
	shop := openShop(func(d *coupon.Draft) { d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 60 })
	_, err := shop.Validate(context.Background(), couponkit.ValidateRequest{Code: "TEN", Customer: shop.customer})
	fmt.Println(errors.Is(err, coupon.ErrPointsNotRedeemed))
	held, err := shop.ExchangePoints(context.Background(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: shop.customer})
	fmt.Println(held.State, held.PointsState, shop.ledger.Balance("ann"), err)
	_, err = shop.Validate(context.Background(), couponkit.ValidateRequest{Code: "TEN", Customer: shop.customer})
	fmt.Println(err)
	// Output:
	// true
	// reserved debited 40 <nil>
	// <nil>
}

func ExampleService_CancelExchange() {
	shop := openShop(func(d *coupon.Draft) { d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 60 })
	held, err := shop.ExchangePoints(context.Background(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: shop.customer})
	fmt.Println(shop.ledger.Balance("ann"), err)
	err = shop.CancelExchange(context.Background(), "ann", held.ID)
	fmt.Println(shop.ledger.Balance("ann"), err)
	// Output:
	// 40 <nil>
	// 100 <nil>
}

// A sweep gives the places of abandoned checkouts back, and tells which orders were paid
// although no event has said so.
func ExampleService_Sweep() {
	shop := openShop(nil)
	var checkouts []couponkit.Checkout
	for _, code := range []string{"TEN", ""} {
		checkout, err := shop.Checkout(context.Background(), couponkit.CheckoutRequest{
			Cart: exampleCart(), Codes: only(code), Customer: shop.customer,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		checkouts = append(checkouts, checkout)
	}
	if err := shop.payments.Pay(checkouts[1].Session.ID); err != nil {
		fmt.Println(err)
		return
	}
	shop.now = shop.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := shop.Sweep(context.Background(), 0)
	fmt.Println(len(report.Cancelled), err)
	for _, paid := range report.Paid {
		fmt.Println(paid.Order.ID == checkouts[1].Order.ID, paid.Order.State, paid.Flag == couponkit.FlagNone)
	}
	// Output:
	// 1 <nil>
	// true paid true
}

// A reconcile repairs what somebody has changed at the processor.
func ExampleService_Reconcile() {
	shop := openShop(nil)
	if err := shop.payments.TamperDeactivate(shop.coupon.Mirror); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		drifts, err := shop.Reconcile(context.Background(), couponkit.ReconcileOptions{})
		fmt.Println(len(drifts), err)
	}
	// Output:
	// 1 <nil>
	// 0 <nil>
}

// The journal tells which administrator has created a coupon.
func ExampleWithActor() {
	shop := openShop(nil)
	ctx := couponkit.WithActor(context.Background(), "admin-7")
	if _, err := shop.Create(ctx, coupon.Draft{
		Code: "FIVE", Name: "Five", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"},
	}); err != nil {
		fmt.Println(err)
		return
	}
	entries, err := shop.Journal(context.Background(), 2, 1) // after those of the first coupon
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(entries[0].Kind, entries[0].By)
	// Output: coupon_created admin-7
}

// A host reads the journal from the last position that it has seen. It misses no payment, and
// sees none twice.
func ExampleService_Journal() {
	shop := openShop(nil)
	checkout, err := shop.Checkout(context.Background(), couponkit.CheckoutRequest{Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := shop.payments.Pay(checkout.Session.ID); err != nil {
		fmt.Println(err)
		return
	}
	seen := int64(0)
	for range 2 {
		entries, err := shop.Journal(context.Background(), seen, 100)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, e := range entries {
			fmt.Println(e.Position, e.Kind)
			seen = e.Position
		}
		fmt.Println("until", seen)
		if err := shop.payments.Deliver(context.Background(), shop.payments.Events(shop.Webhook(nil))); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// 1 coupon_created
	// 2 coupon_mirrored
	// 3 order_opened
	// 4 order_changed
	// until 4
	// 5 order_paid
	// until 5
}

// Administrators and customers see orders and uses in lists, the newest first.
func ExampleService_Orders() {
	shop := openShop(nil)
	if _, err := shop.Checkout(context.Background(), couponkit.CheckoutRequest{Cart: exampleCart(), Codes: []string{"TEN"}, Customer: shop.customer}); err != nil {
		fmt.Println(err)
		return
	}
	orders, err := shop.Orders(context.Background(), store.OrderList{CustomerID: "ann"})
	for _, o := range orders.Items {
		fmt.Println(o.Order.State, o.Order.Quote.Total, o.Uses[0].Discount)
	}
	uses, err2 := shop.Uses(context.Background(), store.UseList{CouponID: shop.coupon.ID, State: redemption.Reserved})
	fmt.Println(len(uses.Items), uses.Total, err, err2)
	// Output:
	// open 4488 1000
	// 1 1 <nil> <nil>
}

// A customer uses two coupons of different groups. The order has a use of each.
func ExampleService_Checkout_severalCoupons() {
	shop := openShop(func(d *coupon.Draft) { d.Group = "welcome" })
	if _, err := shop.Create(context.Background(), coupon.Draft{
		Code: "SPRING", Name: "Spring", Group: "season", DiscountType: pricing.Percentage, Percent: "5",
	}); err != nil {
		fmt.Println(err)
		return
	}
	checkout, err := shop.Checkout(context.Background(), couponkit.CheckoutRequest{
		Cart: exampleCart(), Codes: []string{"TEN", "SPRING"}, Customer: shop.customer,
	})
	fmt.Println(len(checkout.Uses), checkout.Uses[0].Discount+checkout.Uses[1].Discount == checkout.Order.Quote.Discount, err)
	// Output: 2 true <nil>
}

// Explain tells what each code does to the cart.
func ExampleService_Explain() {
	shop := openShop(func(d *coupon.Draft) { d.Group = "welcome" })
	if _, err := shop.Create(context.Background(), coupon.Draft{
		Code: "LARGE", Name: "Large", DiscountType: pricing.Percentage, Percent: "5", MinPurchase: coupon.Amounts{"": "100"},
	}); err != nil {
		fmt.Println(err)
		return
	}
	explanation, err := shop.Explain(context.Background(), couponkit.QuoteRequest{
		Cart: exampleCart(), Codes: []string{"TEN", "LARGE"}, Customer: shop.customer,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, code := range explanation.Codes {
		fmt.Println(code.Code, code.Applied, code.Discount)
		for _, reason := range code.Reasons {
			fmt.Println(" ", reason.Code, reason.Params.ExcludedBy)
		}
	}
	// Output:
	// TEN true 10.00 EUR
	// LARGE false 0.00 EUR
	//   minimum_purchase_not_met []
	//   not_combinable [TEN]
}

// A host with its own payments does what is due at its provider, and records what it learns.
func ExampleService_BeginPayment() {
	ctx, noon := context.Background(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	coupons, err := couponkit.New(memstore.New(), couponkit.WithClock(func() time.Time { return noon }))
	if err != nil {
		log.Fatal(err)
	}
	_, err = coupons.Create(ctx, coupon.Draft{
		Code: "LAST", Name: "The last one", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "10.00"}, MaxUses: coupon.Set(1),
	})
	if err != nil {
		log.Fatal(err)
	}
	want := couponkit.QuoteRequest{Customer: eligibility.Customer{ID: "ann"}, Codes: []string{"last"}, Cart: pricing.Cart{
		Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00}},
	}}
	for _, tab := range []string{"1001", "1002"} { // two tabs of one customer, and one use
		order, err := coupons.Reserve(ctx, couponkit.ReserveRequest{OrderID: tab, QuoteRequest: want})
		if err != nil {
			log.Fatal(err)
		}
		for d, err := range coupons.Due(ctx, couponkit.DueOptions{OrderID: tab}) {
			if err != nil {
				log.Fatal(err)
			}
			// Here, the provider voids the payment of the other tab.
			fmt.Println(d.Kind, "of", d.PaymentID)
			if _, err := coupons.Record(ctx, d.Answer(couponkit.Payment{ID: d.PaymentID, Status: couponkit.PaymentEnded})); err != nil {
				log.Fatal(err)
			}
		}
		if _, err := coupons.BeginPayment(ctx, tab); err != nil {
			log.Fatal(err)
		}
		// Here, the provider creates a payment of the order's total.
		if _, err := coupons.AttachPayment(ctx, couponkit.Payment{OrderID: tab, ID: "pay_" + tab}); err != nil {
			log.Fatal(err)
		}
		fmt.Println("pay", order.Order.Total(), "with pay_"+tab)
	}
	paid, err := coupons.Record(ctx, couponkit.Payment{ID: "pay_1002", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(20_00, pricing.EUR())})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("order", paid.Order.ID, "is", paid.Order.State)
	// Output:
	// pay 20.00 EUR with pay_1001
	// end_payment of pay_1001
	// pay 20.00 EUR with pay_1002
	// order 1002 is paid
}
