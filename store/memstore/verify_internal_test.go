package memstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// TestVerifyFindsWrongNumbers: a counter and a batch that nobody has changed by a call are found.
func TestVerifyFindsWrongNumbers(t *testing.T) {
	t.Parallel()
	s := New()
	s.counters["shared/planted"] = eligibility.Count{Reserved: 2, Completed: 1}
	wrong := batch{}
	wrong.CouponID, wrong.ID, wrong.Added, wrong.Removed, wrong.Assigned, wrong.CreatedAt = "cpn_1", "spring", 5, 2, 1, time.Unix(1, 0)
	s.batches[engine.CodeKey{CouponID: "cpn_1", Code: "spring"}] = wrong
	var found []store.Difference
	for d, err := range s.Verify(t.Context()) {
		require.NoError(t, err)
		found = append(found, d)
	}
	of := eligibility.BatchUses("cpn_1", "spring")
	want := []store.Difference{
		{Counter: "shared/planted", Number: store.ReservedClaims, Counted: 2},
		{Counter: "shared/planted", Number: store.CompletedClaims, Counted: 1},
		{Counter: of, Number: store.BatchCodes, Counted: 3},
		{Counter: of, Number: store.AssignedCodes, Counted: 1},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("Verify (-want +got):\n%s", diff)
	}
	for d, err := range s.Verify(t.Context()) { // a loop may end early
		require.NoError(t, err)
		require.Equal(t, want[0], d)
		break
	}
	require.NoError(t, s.Close())
	for _, err := range s.Verify(t.Context()) {
		require.ErrorIs(t, err, store.ErrClosed)
	}
}
