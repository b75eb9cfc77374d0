package engine

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// TestEveryMemberOfADocumentIsWritten: documents are written member by member and read by encoding/json.
// Whatever is read is written, in the same bytes.
func TestEveryMemberOfADocumentIsWritten(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenPercent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	discount := pricing.PercentOff(tenPercent)
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: "book", ItemID: "<atlas>", Quantity: 2, UnitPrice: 10_00},
	}}, pricing.Terms{ID: "cpn_1", Discount: discount})
	require.NoError(t, err)
	code, err := coupon.ParseCode("TEN")
	require.NoError(t, err)
	terms := coupon.Terms{Currency: pricing.EUR(), Discount: discount, Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep}
	charge := redemption.Charge{Currency: pricing.EUR(), Amount: 18_00}
	order, err := AppendOrder(nil, &redemption.Order{
		Fingerprint: "print", Replaces: "ord_0", Awaits: "ord_0", Kept: 2, BegunAt: noon, Asks: 1, Quote: quote, Charge: charge, Metadata: map[string]string{"b": "2", "a": "1"},
		Coupons:         []coupon.Snapshot{coupon.Coupon{ID: "cpn_1", Code: code, Name: "Ten", Terms: terms}.Snapshot()},
		Refunds:         []redemption.Refund{{ID: "rfd_1", Key: "k", Result: pricing.Refund{Currency: pricing.EUR()}, FailedIDs: []string{"re_0"}, At: noon}},
		ExternalRefunds: []redemption.ExternalRefund{{ID: "re_1", Amount: 1, Currency: pricing.EUR(), State: redemption.RepaymentPending, At: noon}},
		Disputes:        []redemption.Dispute{{ID: "dp_1", Amount: 1, Currency: pricing.EUR(), State: redemption.DisputeOpen, At: noon}},
		OtherPayments:   []redemption.Payment{{SessionID: "cs_2", Charge: charge, At: noon}},
	})
	require.NoError(t, err)
	sameAsEncodingJSON(t, order, new(orderDocument))
	use, err := AppendUse(nil, &redemption.Use{
		Code: code, Origin: redemption.FromPoints, Discount: 2_00, Returned: 1_00, Currency: pricing.EUR(), Points: 5,
		Restore: coupon.RestoreAlways, RestoredAt: noon,
	})
	require.NoError(t, err)
	sameAsEncodingJSON(t, use, new(useDocument))
	claims := []eligibility.Claim{{Counter: `"<c>`, Amount: 2, Limit: 3, Returned: 1}, {Counter: "d", Amount: 1}}
	again, err := json.Marshal(claims)
	require.NoError(t, err)
	require.Equal(t, string(again), string(AppendClaims(nil, claims)))
}

// sameAsEncodingJSON reads a document, requires that no member is missing, and writes it again.
func sameAsEncodingJSON(t *testing.T, written []byte, read any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(written, read))
	for _, field := range reflect.VisibleFields(reflect.TypeOf(read).Elem()) {
		require.False(t, reflect.ValueOf(read).Elem().FieldByIndex(field.Index).IsZero(), "%s is read and not written", field.Name)
	}
	again, err := json.Marshal(read)
	require.NoError(t, err)
	require.Equal(t, string(again), string(written))
}
