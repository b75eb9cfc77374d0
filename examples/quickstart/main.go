// Command quickstart is one purchase from end to end: a coupon is created, a cart
// is quoted and checked out, the customer pays, the webhook arrives, and the use
// is counted.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	payments := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), payments)
	if err != nil {
		return err
	}

	summer, err := service.Create(ctx, coupon.Draft{
		Code: "summer10", Name: "Summer sale", MaxUses: coupon.Set[int64](100),
		DiscountType: pricing.FixedAmount, DiscountValue: decimal.RequireFromString("10.00"),
	})
	if err != nil {
		return err
	}
	fmt.Printf("created   %s: %s off, %d uses\n", summer.Code, summer.Discount, summer.Limits.MaxUses)

	ann := eligibility.Customer{ID: "ann", Email: "ann@example.org"}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
		{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
	quote, err := service.Quote(ctx, couponkit.QuoteRequest{Cart: cart, Code: "Summer10", Customer: ann})
	if err != nil {
		return err
	}
	show := quote.Currency.Format
	fmt.Printf("quoted    %s - %s + %s shipping = %s\n", show(quote.Subtotal), show(quote.Discount), show(quote.Shipping), show(quote.Total))
	for _, units := range quote.Lines[0].Units() {
		fmt.Printf("          %d x phone at %s\n", units.Quantity, show(units.UnitPrice))
	}

	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{Cart: cart, Code: "Summer10", Customer: ann, Key: "attempt-1"})
	if err != nil {
		return err
	}
	fmt.Printf("checkout  %s is due\n", show(checkout.Order.Quote.Total))

	if err := payments.Pay(checkout.Session.ID); err != nil {
		return err
	}
	webhook := payments.Handler(service.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		fmt.Printf("webhook   order is %s, redemption is %s\n", o.Order.State, o.Redemption.State)
		return nil
	}))
	if err := payments.Deliver(ctx, fakeprocessor.Serve(webhook)); err != nil {
		return err
	}

	summer, err = service.Get(ctx, summer.ID)
	if err != nil {
		return err
	}
	fmt.Printf("counted   %d of %d uses\n", summer.UsedCount, summer.Limits.MaxUses)
	_, refused := service.Validate(ctx, couponkit.ValidateRequest{Code: "SUMMER10", Customer: ann})
	fmt.Println("again     ", refused)
	return nil
}
