package couponkit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

func newBenchmark(b *testing.B, options ...couponkit.Option) (*couponkit.Service, *fakeprocessor.Processor) {
	b.Helper()
	fake := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), fake, options...)
	require.NoError(b, err)
	_, err = service.Create(b.Context(), coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.Percentage, DiscountValue: decimal.NewFromInt(10),
	})
	require.NoError(b, err)
	return service, fake
}

func BenchmarkValidate(b *testing.B) {
	service, _ := newBenchmark(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := service.Validate(b.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkServiceQuote(b *testing.B) {
	for _, lines := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			service, _ := newBenchmark(b)
			cart := pricing.Cart{Currency: pricing.EUR()}
			for i := range lines {
				cart.Lines = append(cart.Lines, pricing.Line{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: int64(999 + 7*i)})
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := service.Quote(b.Context(), couponkit.QuoteRequest{Cart: cart, Code: "TEN", Customer: ann}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkQuoteMirror is a whole quote of ten lines with one coupon: with the remembered answer
// about the mirror, and with a question to the (fake) processor in every call.
func BenchmarkQuoteMirror(b *testing.B) {
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i := range 10 {
		cart.Lines = append(cart.Lines, pricing.Line{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: int64(999 + 7*i)})
	}
	request := couponkit.QuoteRequest{Cart: cart, Code: "TEN", Customer: ann}
	for name, ttl := range map[string]time.Duration{"remembered": couponkit.DefaultMirrorTTL, "asked": 0} {
		b.Run(name, func(b *testing.B) {
			service, fake := newBenchmark(b, couponkit.WithMirrorTTL(ttl))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := service.Quote(b.Context(), request); err != nil {
					b.Fatal(err)
				}
				if i%1000 == 0 {
					fake.ForgetCalls()
				}
			}
		})
	}
}

// BenchmarkPurchase is a whole purchase: checkout, payment, webhook.
func BenchmarkPurchase(b *testing.B) {
	service, fake := newBenchmark(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		customer := eligibility.Customer{ID: fmt.Sprint("customer", i)}
		c, err := service.Checkout(b.Context(), couponkit.CheckoutRequest{Cart: phones(), Code: "TEN", Customer: customer})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := service.HandleEvent(b.Context(), processor.Event{
			Type: processor.Completed, SessionID: c.Session.ID, PaymentStatus: processor.Paid,
			Currency: c.Order.Quote.Currency, Total: c.Order.Quote.Total,
		}); err != nil {
			b.Fatal(err)
		}
		fake.ForgetCalls()
	}
}
