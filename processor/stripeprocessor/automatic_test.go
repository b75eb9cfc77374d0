package stripeprocessor_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/memstore"
)

// TestAutomaticCoupons: an automatic coupon is mirrored without a promotion code. A session charges its discount,
// names it without a code, alone and beside a code, and is paid and refunded like any other.
func TestAutomaticCoupons(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line     pricing.Line
		codes    []string
		discount int64 // of 3 x 8.99, with 20 % and 5.00 in the order lane
	}{
		"alone":                         {phones(3), nil, 5_39},
		"beside a code":                 {phones(3), []string{"FIVE"}, 10_39},
		"of a subscription":             {gold(3), nil, 5_39},
		"of a subscription with a code": {gold(3), []string{"FIVE"}, 10_39},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			kept := memstore.New()
			current := couponkit.NewOffers(kept, offers.Limits{})
			var err error
			s.service, err = couponkit.New(kept, couponkit.WithProcessor(s.processor), couponkit.WithClock(s.clock.Now), couponkit.WithAutomatic(current))
			require.NoError(t, err)
			s.address = s.webhook(s.service.Webhook(nil))
			automatic, err := s.service.Create(t.Context(), coupon.Draft{
				Name: "A fifth", DiscountType: pricing.Percentage, Percent: "20", Group: "a", Automatic: true,
			})
			require.NoError(t, err)
			require.Empty(t, automatic.Mirror.PromotionCodeID)
			require.Empty(t, s.account.PromotionCodes())
			require.Len(t, s.account.Coupons(), 1)
			five, err := s.service.Create(t.Context(), coupon.Draft{
				Code: "FIVE", Name: "Five off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"}, Group: "b",
			})
			require.NoError(t, err)
			_, err = current.Update(t.Context())
			require.NoError(t, err)

			made, err := s.service.Checkout(t.Context(), couponkit.CheckoutRequest{
				Customer: eligibility.Customer{ID: "ann"}, Codes: test.codes, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{test.line}},
				SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
			})
			require.NoError(t, err)
			require.Equal(t, test.discount, made.Order.Quote.Discount)
			session, ok := s.account.Session(made.Session.ID)
			require.True(t, ok)
			require.Equal(t, int64(3*8_99)-test.discount, session.AmountTotal)
			want := map[string]string{}
			for i, id := range slices.Sorted(slices.Values([]string{automatic.ID, five.ID}[:1+len(test.codes)])) {
				want[[]string{"couponId", "couponId2"}[i]] = id
				if id == five.ID {
					want[[]string{"couponCode", "couponCode2"}[i]] = "FIVE"
				}
			}
			got := map[string]string{}
			for _, key := range []string{"couponId", "couponId2", "couponCode", "couponCode2"} {
				if value, there := session.Metadata[key]; there {
					got[key] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			require.Equal(t, made.Order.ID, session.Metadata[processor.MetadataOrderID])

			require.NoError(t, s.account.Pay(session.ID))
			refused, err := s.account.Deliver(t.Context(), s.server.Client(), s.address)
			require.NoError(t, err)
			require.Zero(t, refused)
			s.wantUsed(automatic.ID, 1)
			s.wantUsed(five.ID, int64(len(test.codes)))
			back, err := s.service.Refund(t.Context(), couponkit.RefundRequest{
				OrderID: made.Order.ID, Key: "all", Returns: pricing.Returns{All: true},
			})
			require.NoError(t, err)
			require.Equal(t, redemption.OrderRefunded, back.Order.State)
			refunds := s.account.Refunds()
			require.Len(t, refunds, 1)
			require.Equal(t, session.AmountTotal, refunds[0].Amount)
			s.wantUsed(automatic.ID, 0)
			s.wantUsed(five.ID, 0)
		})
	}
}

func (s *shop) wantUsed(couponID string, want int64) {
	s.Helper()
	c, err := s.service.Get(s.Context(), couponID)
	require.NoError(s, err)
	require.Equal(s, [2]int64{want, 0}, [2]int64{c.UsedCount, c.ReservedCount}, c.Name)
}

func gold(quantity int64) pricing.Line {
	return pricing.Line{ID: "1", Kind: pricing.Plan, ItemID: "gold", Quantity: quantity, UnitPrice: 8_99, Recurs: pricing.Monthly}
}
