package agreement_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/agreement"
	"github.com/couponkit/couponkit/store/memstore"
)

// TestAQuoteIsWhatACheckoutWouldDo on the store in memory.
func TestAQuoteIsWhatACheckoutWouldDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { agreement.Check(t, memstore.New()) })
}
