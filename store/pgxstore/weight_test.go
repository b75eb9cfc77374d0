package pgxstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

const mebibyte = 1 << 20

// TestGroupWeight: what is in one batch sends 16 MiB at most, unless one alone sends more. The
// order of the calls stays, also of those that are not about a heavy one's coupon.
func TestGroupWeight(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.group.Weigh(func(request int) int {
		return map[int]int{3: 6 * mebibyte, 4: 10 * mebibyte, 5: 1, 7: 40 * mebibyte, 8: 40 * mebibyte}[request]
	})
	b.occupy("z")
	for i, turn := range "aaaabcaa" {
		b.call(t.Context(), i+2, string(turn), "")
	}
	for _, batch := range [][]int{{2, 6}, {7}, {3, 4}, {5}, {8}, {9}} {
		b.release(1)
		b.wantBatch(batch...)
	}
	b.release(1)
	b.wantAnswers(1, 2, 3, 4, 5, 6, 7, 8, 9)
}

// TestGroupWeightOfOthers: a heavy call that has to wait for others about its coupon makes no
// batch smaller.
func TestGroupWeightOfOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{Workers: 3})
	b.group.Patience(2 * time.Second)
	b.group.Weigh(func(request int) int { return map[int]int{4: 17 * mebibyte}[request] })
	defer b.group.Close()
	b.occupy("slow")
	b.call(t.Context(), 2, "slow", "")
	b.wantBatch(2)
	b.call(t.Context(), 3, "a", "")
	b.call(t.Context(), 4, "slow", "")
	b.call(t.Context(), 5, "b", "")
	b.wantBatch(3, 5) // while the others are run
	b.release(4)
	b.wantAnswers(1, 2, 3, 4, 5)
}

// TestReservationWeight: every document of an order counts.
func TestReservationWeight(t *testing.T) {
	t.Parallel()
	weight := func(change func(*store.Order)) int {
		t.Helper()
		r := reservation(t)
		change(r.Order)
		got, err := pgxstore.ReservationWeight(r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	more := strings.Repeat("x", 100)
	light := weight(func(*store.Order) {})
	for document, change := range map[string]func(*store.Order){
		"metadata": func(o *store.Order) { o.Metadata["channel"] += more },
		"coupon":   func(o *store.Order) { o.Coupon.Name += more },
		"quote":    func(o *store.Order) { o.Quote.Lines[0].ItemID += more },
	} {
		if got := weight(change); got != light+len(more) {
			t.Errorf("with %d bytes more of %s: %d, want %d", len(more), document, got, light+len(more))
		}
	}
}

// reservation is one of a coupon of ten per cent, with its order.
func reservation(t *testing.T) store.Reservation {
	t.Helper()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	code, err := coupon.ParseCode("TEN")
	if err != nil {
		t.Fatal(err)
	}
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		t.Fatal(err)
	}
	lines := []pricing.Line{{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000}}
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: lines}, pricing.PercentOff(percent), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store.Reservation{
		Redemption: redemption.Redemption{
			ID: "rsv_1", Key: "k", CouponID: "cpn_1", CustomerID: "ann", State: redemption.Reserved,
			Origin: redemption.FromCheckout, OrderID: "ord_1", Deadline: at, CreatedAt: at, UpdatedAt: at,
		},
		Order: &store.Order{
			ID: "ord_1", Key: "k", Fingerprint: "f", CustomerID: "ann", State: store.OrderOpen, CouponID: "cpn_1",
			ReservationID: "rsv_1", DiscountAmount: quote.Discount, Quote: quote,
			Coupon: &coupon.Snapshot{
				ID: "cpn_1", Code: code, Name: "Ten", DiscountType: pricing.Percentage, DiscountValue: "10",
				Currency: pricing.EUR(), AppliesTo: coupon.All, Distribution: coupon.General,
			},
			Metadata: map[string]string{"channel": "test"}, Deadline: at, CreatedAt: at, UpdatedAt: at,
		},
	}
}
