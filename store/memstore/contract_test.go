package memstore_test

import (
	"testing"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

func open(*testing.T) store.Store { return memstore.New() }

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open, storetest.Capabilities{Rounds: 3})
}

// TestHistories plays histories on two stores of the same kind: it finds answers that
// depend on the order of maps, and contradictions after any history.
func TestHistories(t *testing.T) {
	t.Parallel()
	storetest.Agree(t, open, open)
}
