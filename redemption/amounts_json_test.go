package redemption_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// comesBack writes a record and reads it again, and holds malformed documents to an error that leaves
// the record unchanged.
func comesBack[T any](t *testing.T, record T, malformed ...string) {
	t.Helper()
	data, err := json.Marshal(record)
	require.NoError(t, err)
	var read T
	require.NoError(t, json.Unmarshal(data, &read), string(data))
	require.Empty(t, cmp.Diff(record, read))
	for _, document := range malformed {
		require.Error(t, json.Unmarshal([]byte(document), &read), document)
		require.Empty(t, cmp.Diff(record, read), document)
	}
}

// Stored amounts are decimal strings beside their currency, and malformed ones are refused.
func TestStoredAmountsAreRead(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	eur := pricing.EUR()
	bad := func(field string) string { return fmt.Sprintf(`{"currency":"EUR","state":"open","%s":"1.234"}`, field) }
	comesBack(t, redemption.Dispute{ID: "dp_1", Amount: 45_00, Currency: eur, State: redemption.DisputeOpen, At: noon},
		bad("amount"), `{"currency":"EUR","amount":"1.00"}`, `[]`)
	pending := func(field string) string { return fmt.Sprintf(`{"currency":"EUR","state":"pending","%s":"x"}`, field) }
	comesBack(t, redemption.ExternalRefund{ID: "re_1", Amount: 45_00, Tax: 7_18, Currency: eur, State: redemption.RepaymentPending, At: noon},
		pending("amount"), pending("tax"), `[]`)
	comesBack(t, redemption.Repayment{State: redemption.RepaymentDue, Amount: 10_80, Currency: eur, Attempt: 1}, pending("amount"), `[]`)
	charge := redemption.Charge{Currency: eur, Amount: 18_00, Tax: pricing.Tax{Amount: 3_60, Lines: []pricing.LineTax{{LineID: "A", Amount: 3_60}}}}
	comesBack(t, charge, `{"currency":"EUR","amount":"x"}`, `{"currency":"EUR","amount":"1.00","tax":"1.234"}`,
		`{"currency":"EUR","amount":"1.00","lineTaxes":[{"lineId":"A","amount":"x"}]}`, `[]`)
	comesBack(t, redemption.Payment{SessionID: "cs_2", Charge: charge, Returned: 4_50, At: noon}, `{"charge":{"currency":"EUR","amount":"1.00"},"returned":"x"}`, `[]`)
	comesBack(t, redemption.Use{
		ID: "use_1", State: redemption.Completed, Origin: redemption.FromCheckout, Discount: 5_00, Returned: 2_50, Currency: eur, CreatedAt: noon,
	}, `{"currency":"EUR","discount":"x"}`, `[]`)
	var refund redemption.Refund
	require.Error(t, json.Unmarshal([]byte(`{"tax":"x"}`), &refund))
	require.Error(t, json.Unmarshal([]byte(`[]`), &refund))
}
