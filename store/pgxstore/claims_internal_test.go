package pgxstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/couponkit/couponkit/eligibility"
)

// FuzzClaims: claims are read as they were written, whatever their counters contain.
func FuzzClaims(f *testing.F) {
	f.Add("shared/uses/cpn_1", int64(1), int64(3), int64(0), "customer/uses/cpn_1/ann")
	f.Add(`a"b\{,}`, int64(1<<53), int64(0), int64(7), " NULL ")
	f.Add("ä\n", int64(5), int64(1), int64(5), "null")
	f.Fuzz(func(t *testing.T, first string, amount, limit, returned int64, second string) {
		claims := []eligibility.Claim{{Counter: first, Amount: amount, Limit: limit, Returned: returned}, {Counter: second, Amount: 1}}
		var row claimRow
		types := pgtype.NewMap()
		if err := types.Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, appendCounters(nil, claims), &row.counters); err != nil {
			t.Fatal(err)
		}
		if err := types.Scan(pgtype.Int8ArrayOID, pgtype.TextFormatCode, appendAmounts(nil, claims), &row.amounts); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(claims, row.list()); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
	var none claimRow
	if got := string(appendCounters(nil, nil)) + string(appendAmounts(nil, nil)); got != "{}{}" || none.list() != nil {
		f.Errorf("no claims are written as %s", got)
	}
}
