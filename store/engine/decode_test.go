package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/engine"
)

// documents are the terms of coupons whose documents the benchmarks read.
func documents() map[string]string {
	return map[string]string{
		"short": `{"code":"SAVE10","name":"Save ten","discountType":"PERCENTAGE","discountValue":"10"}`,
		"long": `{"code":"SPRING","name":"Spring","description":"For the spring","discountType":"FIXED_AMOUNT",
			"discountValue":"10","appliesTo":"SPECIFIC","planIds":["basic","pro","team"],"maxUses":1000,
			"minPurchase":"50","minQuantity":2,"group":"sale","budget":{"EUR":"5000"},
			"customerTags":{"any":["new","vip"]},"firstOrder":true,"startsAt":"2026-03-01T00:00:00Z","expiresAt":"2026-06-01T00:00:00Z",
			"periodLimits":[{"per":"COUPON","period":"DAY","timeZone":"Europe/Berlin","maxUses":10}]}`,
	}
}

func couponOf(tb testing.TB, document string) coupon.Coupon {
	tb.Helper()
	var d coupon.Draft
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		tb.Fatal(err)
	}
	c, err := coupon.New(d, coupon.Creation{ID: "cpn_1", At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// A page of a list reads 100 documents.
func TestWhatReadingACouponAllocates(t *testing.T) {
	for name, most := range map[string]float64{"short": 25, "long": 130} {
		c := couponOf(t, documents()[name])
		text, err := engine.EncodeCoupon(c)
		if err != nil {
			t.Fatal(err)
		}
		var read coupon.Coupon
		if n := testing.AllocsPerRun(100, func() { err = engine.ReadCoupon(&read, "TEN", "active", 0, text) }); n > most || err != nil {
			t.Errorf("%s: %v allocations, want at most %v; %v", name, n, most, err)
		}
	}
}

func BenchmarkReadCoupon(b *testing.B) {
	for name, document := range documents() {
		text, err := engine.EncodeCoupon(couponOf(b, document))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var c coupon.Coupon
				if err := engine.ReadCoupon(&c, "TEN", "active", 0, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadOrder(b *testing.B) {
	for name, document := range documents() {
		c := couponOf(b, document)
		cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 2000, Recurs: pricing.Monthly},
			{ID: "B", Kind: pricing.Device, ItemID: "router", Quantity: 2, UnitPrice: 2500},
		}}
		quote, err := pricing.Price(cart, pricing.Terms{ID: c.ID, Discount: c.Discount, Eligible: []bool{true, true}})
		if err != nil {
			b.Fatal(err)
		}
		text, err := engine.AppendOrder(nil, &redemption.Order{
			Fingerprint: "f", Coupons: []coupon.Snapshot{c.Snapshot()}, Quote: quote,
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var o redemption.Order
				if err := engine.ReadOrder(&o, "open", text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
