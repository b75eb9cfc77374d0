package load_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/benchmarks/beside/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServe answers each turn on a line: a measurement, or what failed.
func TestServe(t *testing.T) {
	var calls atomic.Int64
	reserve := func(context.Context, uint64) error {
		if calls.Add(1) > 2 { // each of three clients calls at least once
			return errors.New("sold out")
		}
		return nil
	}
	var out strings.Builder
	turns := `{"clients":3,"duration":1000000000,"first":1}` + "\n"
	require.NoError(t, load.Serve(t.Context(), reserve, strings.NewReader(turns), &out))
	require.Contains(t, out.String(), "sold out")
	out.Reset()
	calls.Store(-1 << 60)
	turns = `{"clients":3,"duration":1000000,"first":1}` + "\n"
	require.NoError(t, load.Serve(t.Context(), reserve, strings.NewReader(turns), &out))
	require.NotContains(t, out.String(), "error")
	require.Error(t, load.Serve(t.Context(), reserve, strings.NewReader("no turn\n"), &out))
}
