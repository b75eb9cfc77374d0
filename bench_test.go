package couponkit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

// BenchmarkQuoteMirror is a whole quote of ten lines with one to three coupons, with everything in
// memory: with the remembered answer about the mirrors, and with a question to the fake processor
// in every call.
func BenchmarkQuoteMirror(b *testing.B) {
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i := range 10 {
		cart.Lines = append(cart.Lines, pricing.Line{
			ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: int64(999 + 7*i),
		})
	}
	for name, ttl := range map[string]time.Duration{"remembered": couponkit.DefaultMirrorTTL, "asked": 0} {
		for _, coupons := range []int{1, 3} {
			b.Run(fmt.Sprintf("%s/coupons=%d", name, coupons), func(b *testing.B) {
				fake := fakeprocessor.New(fakeprocessor.Options{})
				service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fake), couponkit.WithMirrorTTL(ttl))
				require.NoError(b, err)
				request := couponkit.QuoteRequest{Cart: cart, Customer: ann}
				for i := range coupons {
					code := fmt.Sprint("CODE-", i)
					_, err := service.Create(b.Context(), coupon.Draft{
						Code: code, Name: code, Group: code, DiscountType: pricing.Percentage, Percent: "10",
					})
					require.NoError(b, err)
					request.Codes = append(request.Codes, code)
				}
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
}
